#include "policy/address.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "policy/address_class.h"
#include "policy/host.h"
#include "policy/special_addresses.h"
#include "tests/policy/egress_tables.h"

namespace policy {
namespace {

Address address(std::string_view text) {
  const auto parsed = Address::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(Address());
}

std::string class_of(const Address& address) {
  const auto refused = refused_class(address);
  return refused ? std::string(refused->code) : "public";
}

TEST(Address, IsWrittenInOneWay) {
  const std::map<std::string, std::string> spellings{
      {"0.0.0.0", "0.0.0.0"},
      {"255.255.255.255", "255.255.255.255"},
      {"::", "::"},
      {"::1", "::1"},
      {"1::", "1::"},
      {"0:0:0:0:0:0:0:1", "::1"},
      {"2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
      {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
      {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
      {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
      {"::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"},
      {"::ffff:127.0.0.1", "::ffff:7f00:1"},
      {"1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"},
      {"64:ff9b::8.8.8.8", "64:ff9b::808:808"},
  };
  for (const auto& [spelling, text] : spellings) {
    EXPECT_EQ(address(spelling).text(), text) << spelling;
    EXPECT_EQ(address(text), address(spelling)) << spelling;
  }
}

TEST(Statement16Addresses, RefusesWhatAnotherReaderCouldTakeForAnother) {
  for (const auto* text : {"",
                           "1",
                           "1.2.3",
                           "1.2.3.4.5",
                           "1.2.3.4.",
                           ".1.2.3.4",
                           "1..2.3",
                           "01.2.3.4",
                           "1.2.3.04",
                           "00.0.0.0",
                           "256.0.0.1",
                           "1.2.3.1000",
                           "0x7f.0.0.1",
                           "1.2.3.4 ",
                           " 1.2.3.4",
                           "+1.2.3.4",
                           "1.2.3.-4",
                           ":",
                           ":::",
                           ":1",
                           "1:",
                           "1::2::3",
                           "12345::",
                           "1:2:3:4:5:6:7",
                           "1:2:3:4:5:6:7:8:9",
                           "1:2:3:4:5:6:7:8::",
                           "::1:2:3:4:5:6:7:8",
                           "[::1]",
                           "fe80::1%1",
                           "::1/128",
                           "::127.0.0.01",
                           "::127.1",
                           "::1.2.3.4:5",
                           "1:2:3:4:5:6:7:1.2.3.4",
                           "::g",
                           "1:2:3:4:5:6:7:",
                           "::ffff:1.2.3.4.5",
                           "::.1.2.3",
                           "::-1"}) {
    const auto parsed = Address::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, "bad-address");
  }
}

TEST(Address, SortsIPv4BeforeIPv6AndByNumber) {
  const std::vector<std::string> sorted{"0.0.0.0", "9.255.0.0", "10.0.0.0", "255.0.0.0",
                                        "::",      "::1",       "ff::",     "100::"};
  for (std::size_t i = 1; i < sorted.size(); ++i) EXPECT_LT(address(sorted[i - 1]), address(sorted[i]));
}

TEST(Address, KnowsTheIPv4AddressInsideOfIt) {
  EXPECT_EQ(address("::ffff:1.2.3.4").embedded_v4(), address("1.2.3.4"));
  EXPECT_EQ(address("64:ff9b::1.2.3.4").embedded_v4(), address("1.2.3.4"));
  EXPECT_EQ(address("64:ff9b:1::1.2.3.4").embedded_v4(), std::nullopt);
  EXPECT_EQ(address("::1.2.3.4").embedded_v4(), std::nullopt);
  EXPECT_EQ(address("1.2.3.4").embedded_v4(), std::nullopt);
  EXPECT_EQ(address("::ffff:1.2.3.4").unmapped(), address("1.2.3.4"));
  EXPECT_EQ(address("64:ff9b::1.2.3.4").unmapped(), address("64:ff9b::1.2.3.4"));
}

TEST(Cidr, HoldsTheAddressesOfItsBlockAndFamily) {
  struct Case {
    const char *block, *inside, *last, *outside;
  };
  for (const auto& [block, inside, last, outside] :
       {Case{"10.0.0.0/8", "10.255.0.255", "10.255.255.255", "11.0.0.0"},
        Case{"0.0.0.0/0", "255.1.2.3", "255.255.255.255", "::1"},
        Case{"::/0", "ffff::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "1.2.3.4"},
        Case{"172.16.0.0/12", "172.31.0.1", "172.31.255.255", "172.32.0.0"},
        Case{"1.2.3.4/32", "1.2.3.4", "1.2.3.4", "1.2.3.5"},
        Case{"2001:db8::/33", "2001:db8:7ffe::", "2001:db8:7fff:ffff:ffff:ffff:ffff:ffff", "2001:db8:8000::"},
        Case{"::1/128", "::1", "::1", "::2"}}) {
    const auto cidr = Cidr::parse(block);
    ASSERT_TRUE(cidr) << block;
    EXPECT_EQ(cidr->text(), block);
    EXPECT_TRUE(cidr->contains(cidr->first()));
    EXPECT_EQ(cidr->last(), address(last)) << block;
    EXPECT_TRUE(cidr->contains(cidr->last()));
    EXPECT_TRUE(cidr->contains(address(inside))) << block;
    EXPECT_FALSE(cidr->contains(address(outside))) << block;
  }
}

TEST(Cidr, RefusesWhatIsNoBlockAndSaysWhichOneItCouldBe) {
  const std::map<std::string, std::string> messages{
      {"10.1.2.3/8", "`10.0.0.0/8` for the block, or `10.1.2.3/32`"},
      {"2001:db8::1/32", "`2001:db8::/32` for the block, or `2001:db8::1/128`"},
      {"10.0.0.1", "write `10.0.0.1/32`"},
      {"10.0.0.0/33", "from 0 to 32"},
      {"::/129", "from 0 to 128"},
      {"10.0.0.0/", "from 0 to 32"},
      {"10.0.0.0/08", "from 0 to 32"},
      {"10.0.0.0/+8", "from 0 to 32"},
      {"10.0.0.0/8 ", "from 0 to 32"},
      {"10.0.0.0/255.0.0.0", "from 0 to 32"},
      {"10/8", "no block of addresses"},
      {"", "no block of addresses"},
  };
  for (const auto& [text, message] : messages) {
    const auto cidr = Cidr::parse(text);
    ASSERT_FALSE(cidr) << text;
    EXPECT_EQ(cidr.error().code, "bad-cidr");
    EXPECT_NE(cidr.error().message.find(message), std::string::npos) << cidr.error().message;
  }
}

// A row of special-addresses.tsv.
struct Row {
  Cidr block;
  std::string verdict, code;
  Address last;
};

std::vector<Row> special_rows() {
  std::vector<Row> rows;
  for (const auto& fields : egress_rows("special-addresses.tsv")) {
    const auto block = Cidr::parse(fields.at(0));
    EXPECT_TRUE(block) << fields.at(0);
    if (!block) continue;
    EXPECT_EQ(block->first().text(), fields.at(7)) << fields.at(0);
    EXPECT_EQ(address(fields.at(8)).text(), fields.at(8)) << fields.at(0);
    rows.push_back({*block, fields.at(5), fields.at(6), address(fields.at(8))});
  }
  return rows;
}

// The verdict by the table's own words: the longest block, unwrapped where it says so.
std::string expected(const std::vector<Row>& rows, const Address& probe) {
  const Row* longest = nullptr;
  for (const auto& row : rows) {
    if (row.block.contains(probe) && (longest == nullptr || row.block.length() > longest->block.length()))
      longest = &row;
  }
  if (longest == nullptr) return "public";
  if (longest->verdict != "unwrap-v4") return longest->code;
  const auto bytes = probe.bytes().last(4);
  return expected(rows, Address::v4(std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
                                    std::uint32_t{bytes[2]} << 8 | bytes[3]));
}

TEST(Statement16Addresses, EveryBlockOfTheTableGivesItsVerdictInAllSpellings) {
  const auto rows = special_rows();
  ASSERT_EQ(rows.size(), 144U);
  std::size_t probes = 0;
  for (const auto& row : rows) {
    for (const auto& probe : {row.block.first(), row.last}) {
      SCOPED_TRACE(row.block.text() + " " + probe.text());
      const auto verdict = expected(rows, probe);
      EXPECT_EQ(class_of(probe), verdict);
      ++probes;
      if (!probe.is_v4()) {
        const auto host = Host::parse("[" + probe.text() + "]");
        ASSERT_TRUE(host);
        EXPECT_EQ(class_of(*host->address()), verdict);
        continue;
      }
      for (const auto* prefix : {"::ffff:", "0:0:0:0:0:FFFF:", "64:ff9b::", "64:FF9B:0:0:0:0:"}) {
        EXPECT_EQ(class_of(address(prefix + probe.text())), verdict) << prefix;
        const auto host = Host::parse("[" + (prefix + probe.text()) + "]");
        ASSERT_TRUE(host);
        EXPECT_EQ(class_of(*host->address()), verdict) << prefix;
        ++probes;
      }
      // Under an interface identifier of ISATAP it is refused for what it embeds.
      const auto isatap = verdict == "public" ? "public" : "isatap";
      EXPECT_EQ(class_of(address("2606:4700::5efe:" + probe.text())), isatap);
      EXPECT_EQ(class_of(address("2606:4700::200:5efe:" + probe.text())), isatap);
    }
  }
  EXPECT_GT(probes, 600U);
}

TEST(SpecialAddresses, TheProgramHasTheBlocksOfTheTable) {
  std::vector<std::string> ours, theirs;
  for (const auto& block : special_blocks()) {
    const bool unwraps = block.judged == SpecialBlock::Judged::by_embedded;
    ours.push_back(block.first.text() + "/" + std::to_string(block.length) + " " +
                   std::string(block.refused.code) + (unwraps ? " unwrap-v4" : " refuse"));
  }
  for (const auto& row : special_rows()) {
    if (row.verdict != "allow") theirs.push_back(row.block.text() + " " + row.code + " " + row.verdict);
  }
  std::sort(ours.begin(), ours.end());
  std::sort(theirs.begin(), theirs.end());
  EXPECT_EQ(ours, theirs);
}

TEST(SpecialAddresses, ALookUpFindsTheLongestBlockEverywhere) {
  const auto rows = special_rows();
  std::vector<Address> probes;
  for (const auto& row : rows) {
    for (const auto& edge : {row.block.first(), row.last}) {
      for (const int step : {-1, 1}) {
        std::array<std::uint8_t, 16> bytes{};
        std::copy(edge.bytes().begin(), edge.bytes().end(), bytes.begin());
        for (std::size_t i = edge.bytes().size(); i-- > 0;) {
          bytes[i] = static_cast<std::uint8_t>(bytes[i] + step);
          if (bytes[i] != (step > 0 ? 0x00 : 0xFF)) break;
        }
        probes.push_back(edge.is_v4()
                             ? Address::v4(std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
                                           std::uint32_t{bytes[2]} << 8 | bytes[3])
                             : Address::v6(bytes));
      }
    }
  }
  for (const auto& probe : probes) EXPECT_EQ(class_of(probe), expected(rows, probe)) << probe.text();
}

TEST(AddressClass, SomeStayShutWhateverARuleSays) {
  const auto reopenable = [](std::string_view text) { return refused_class(address(text))->reopenable; };
  for (const auto* text : {"10.0.0.1", "127.0.0.1", "::1", "100.64.0.1", "fc00::1", "2001:db8::1", "4000::1",
                           "::ffff:10.0.0.1", "100.100.100.100", "2606:4700::5efe:10.0.0.1"}) {
    EXPECT_TRUE(reopenable(text)) << text;
  }
  for (const auto* text :
       {"0.0.0.0", "0.1.2.3", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "169.254.1.1", "fe80::1",
        "fe80::5efe:8.8.8.8", "169.254.169.254", "100.100.100.200", "fd00:ec2::254", "::ffff:169.254.169.254",
        "64:ff9b::169.254.169.254", "192.0.0.192", "168.63.129.16"}) {
    EXPECT_FALSE(reopenable(text)) << text;
  }
  EXPECT_TRUE(is_reopenable("private"));
  EXPECT_FALSE(is_reopenable("cloud-metadata"));
}

}  // namespace
}  // namespace policy
