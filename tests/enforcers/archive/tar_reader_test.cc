#include "enforcers/archive/tar_reader.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "enforcers/archive/tar_writer.h"
#include "policy/digest.h"
#include "tests/enforcers/archive/string_stream.h"

namespace enforcers {
namespace {

using namespace std::string_literals;
using nlohmann::json;

struct Read {
  std::string verdict;  // `accept`, or the class
  json entries = json::array();
  Skipped skipped;
};

Read read_all(std::string_view bytes, const TarRules& rules, std::size_t step = 4096) {
  StringSource source(bytes, step);
  TarReader reader(source, rules);
  Read result;
  const auto refused = [&](const policy::Error& error) {
    EXPECT_TRUE(error.code.starts_with("archive.")) << error.code;
    result.verdict = error.code.substr(8);
    std::replace(result.verdict.begin(), result.verdict.end(), '_', '-');
    EXPECT_EQ(reader.next().error(), error) << "the error stays";
    return result;
  };
  while (true) {
    const auto entry = reader.next();
    if (!entry) return refused(entry.error());
    if (!*entry) break;
    json found = {{"path", (*entry)->path}, {"type", (*entry)->type == EntryType::file ? "file" : "dir"}};
    if ((*entry)->type == EntryType::file) {
      policy::Sha256Stream digest;
      std::uint64_t size = 0;
      while (true) {
        const auto piece = reader.read();
        if (!piece) return refused(piece.error());
        if (piece->empty()) break;
        size += piece->size();
        digest.update(*piece);
      }
      EXPECT_EQ(size, (*entry)->size);
      found["size"] = size;
      found["sha256"] = digest.finish().hex();
      found["exec"] = (*entry)->executable;
    }
    result.entries.push_back(found);
  }
  EXPECT_EQ(reader.bytes_read(), bytes.size());
  result.verdict = "accept";
  result.skipped = reader.skipped();
  return result;
}

TarRules strict(policy::NameRules names) {
  return {.limits = {}, .names = names, .links = OnFault::reject, .invalid_names = OnFault::reject};
}

std::string load(const std::string& file) {
  std::ifstream in(SALLYPORT_SOURCE_DIR "/tests/data/archives/" + file, std::ios::binary);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

json manifest() { return json::parse(load("manifest.json")); }

// The listing without folders that only stand for the parents of files.
json sorted(json entries) {
  std::sort(entries.begin(), entries.end(),
            [](const json& a, const json& b) { return a["path"] < b["path"]; });
  return entries;
}

void expect_as_given(const json& row, const std::string& suffix, policy::NameRules names) {
  const auto expect_key = row.contains("expect" + suffix) ? "expect" + suffix : "expect"s;
  const auto entries_key = row.contains("entries" + suffix) ? "entries" + suffix : "entries"s;
  const std::string expected = row[expect_key];
  const std::string bytes = load(row["file"]);
  for (const std::size_t step : {std::size_t{1}, std::size_t{333}, std::size_t{1} << 20U}) {
    const Read read = read_all(bytes, strict(names), step);
    if (expected.starts_with("accept")) {
      EXPECT_EQ(read.verdict, "accept");
      json wanted = json::array();
      for (const auto& entry : row[entries_key]) wanted.push_back(entry);
      // Parents of files stand in the listing too; the archive may leave them out.
      std::set<std::string> present;
      for (const auto& entry : read.entries) present.insert(entry["path"].get<std::string>());
      json explicit_only = json::array();
      for (const auto& entry : wanted) {
        if (entry["type"] == "file" || present.contains(entry["path"].get<std::string>())) {
          explicit_only.push_back(entry);
        }
      }
      EXPECT_EQ(sorted(read.entries), sorted(explicit_only));
    } else {
      std::set<std::string> good{expected.substr(8)};
      if (row.contains("also_ok")) {
        for (const std::string other : row["also_ok"]) good.insert(other.substr(8));
      }
      EXPECT_TRUE(good.contains(read.verdict)) << read.verdict << " instead of " << expected;
    }
  }
}

TEST(TarReader, JudgesEveryArchiveOfTheTableAsGiven) {
  int rows = 0;
  for (const auto& row : manifest()) {
    SCOPED_TRACE(row["name"].get<std::string>());
    expect_as_given(row, "", policy::NameRules::portable);
    expect_as_given(row, "_posix", policy::NameRules::posix);
    ++rows;
  }
  EXPECT_EQ(rows, 80);
}

TEST(TarReader, LeavesOutAndCountsLinksAndInvalidNamesWhenTold) {
  for (const auto& row : manifest()) {
    SCOPED_TRACE(row["name"].get<std::string>());
    const std::string expected = row["expect"];
    const Read read = read_all(load(row["file"]), TarRules{});
    if (row.contains("with_links_skip")) {
      EXPECT_EQ(read.verdict, "accept");
      ASSERT_EQ(read.entries.size(), 1U);
      EXPECT_EQ("accept: " + read.entries[0]["path"].get<std::string>(),
                row["with_links_skip"].get<std::string>());
      EXPECT_EQ(read.skipped.count, 1U);
      EXPECT_EQ(read.skipped.by_class.at(expected.substr(8)), 1U);
    } else if (row.contains("expect_posix")) {  // only the host's fault
      EXPECT_EQ(read.verdict, "accept");
      EXPECT_GE(read.skipped.count, 1U);
      EXPECT_GE(read.skipped.by_class.at(expected.substr(8)), 1U);
    } else if (expected.starts_with("reject") && expected != "reject: symlink" &&
               expected != "reject: hardlink") {
      EXPECT_NE(read.verdict, "accept");
    }
  }
  // What stands below or in place of a link that was left out is still refused.
  EXPECT_EQ(read_all(load("symlink-write-through.tar"), TarRules{}).verdict, "type-conflict");
  EXPECT_EQ(read_all(load("symlink-then-file.tar"), TarRules{}).verdict, "duplicate");
}

TEST(TarReader, RefusesEveryTruncation) {
  for (const auto* file : {"ok-pax-long-path.tar", "ok-gnu-longname.tar"}) {
    const std::string bytes = load(file);
    const std::size_t end = bytes.find_last_not_of('\0');
    const std::size_t whole = (end / 512 + 1) * 512 + 1024;
    for (std::size_t length = 0; length < whole; ++length) {
      ASSERT_EQ(read_all(bytes.substr(0, length), TarRules{}, 512).verdict, "truncated") << file << length;
    }
    EXPECT_EQ(read_all(bytes.substr(0, whole), TarRules{}).verdict, "accept");
  }
}

// One header block with a right checksum.
std::string block(std::string name, char type, std::uint64_t size, std::string magic = "ustar\00000"s) {
  StringSink sink;
  TarWriter writer(sink);
  EXPECT_TRUE(writer.file("n", 0, 1'700'000'000, false));
  std::string made = sink.bytes.substr(0, 512);
  name.resize(100, '\0');
  made.replace(0, 100, name);
  char octal[13];
  std::snprintf(octal, sizeof octal, "%011llo", static_cast<unsigned long long>(size));
  made.replace(124, 12, std::string(octal, 12));
  made[156] = type;
  made.replace(257, 8, magic);
  made.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : made) sum += static_cast<unsigned char>(c);
  std::snprintf(octal, sizeof octal, "%06o", sum);
  return made.replace(148, 8, std::string(octal, 7) + " ");
}

std::string padded(std::string bytes) {
  bytes.resize((bytes.size() + 511) / 512 * 512, '\0');
  return bytes;
}

std::string pax(const std::string& records, char type = 'x') {
  return block("pax", type, records.size()) + padded(records);
}

std::string gnu_name(const std::string& name, char type = 'L') {
  return block("././@LongLink", type, name.size() + 1) + padded(name + '\0');
}

const std::string kEnd(1024, '\0');

std::string verdict_of(const std::string& bytes, policy::NameRules names = policy::NameRules::posix) {
  return read_all(bytes + kEnd, strict(names)).verdict;
}

TEST(TarReader, RefusesHeadersThatDisagree) {
  const std::string file = block("a", '0', 0);
  EXPECT_EQ(verdict_of(file), "accept");
  EXPECT_EQ(verdict_of(pax("9 path=b\n") + file), "accept");
  EXPECT_EQ(verdict_of(pax("9 size=0\n") + file), "accept");
  EXPECT_EQ(verdict_of(pax("9 size=1\n") + file), "pax-conflict");
  EXPECT_EQ(verdict_of(pax("9 path=b\n") + gnu_name("c") + file), "pax-conflict");
  EXPECT_EQ(verdict_of(gnu_name("c") + pax("9 path=b\n") + file), "pax-conflict");
  EXPECT_EQ(verdict_of(gnu_name("c") + gnu_name("c") + file), "pax-conflict");
  EXPECT_EQ(verdict_of(pax("9 path=b\n") + pax("9 path=b\n") + file), "pax-conflict");
  EXPECT_EQ(verdict_of(pax("9 path=b\n") + pax("13 comment=x\n", 'g') + file), "pax-conflict");
  EXPECT_EQ(verdict_of(file + pax("9 path=b\n")), "pax-malformed");
  EXPECT_EQ(verdict_of(gnu_name("target", 'K') + file), "pax-malformed");
  EXPECT_EQ(verdict_of(pax("13 linkpath=x\n") + file), "pax-malformed");
}

TEST(TarReader, RefusesExtendedHeadersThatAreNotWellFormed) {
  const std::string file = block("a", '0', 0);
  for (const std::string& records :
       {"8 path=b\n"s, "11 path=b\n"s, "9 path=b"s, "0 path=b\n"s, "09 path=b\n"s, "path=b\n"s, "7 path\n"s,
        "99999999999 path=b\n"s, "-9 path=b\n"s, "5 =b\n"s, "8 path=\n"s, "9 path=b\n9 path=b\n"s,
        "10 p\0th=b\n"s, "9 size=x\n"s, "9 size=+\n"s, "11 mtime=1x\n"s, "17 hdrcharset=x\n"s, "\n"s,
        "9 path=b\n\0"s}) {
    EXPECT_EQ(verdict_of(pax(records) + file), "pax-malformed") << records;
  }
  EXPECT_EQ(verdict_of(pax("11 size=-1\n") + file), "negative-size");
  EXPECT_EQ(verdict_of(pax("12 path=b\0c\n"s) + file), "nul-in-name");
  EXPECT_EQ(verdict_of(pax("22 GNU.sparse.major=1\n") + file), "sparse");
  EXPECT_EQ(verdict_of(pax("20 mtime=-12.5000000\n") + file), "pax-malformed");
  EXPECT_EQ(verdict_of(pax("20 mtime=-12.500000\n") + file), "accept");
  EXPECT_EQ(verdict_of(pax("9 path=b\n", 'g') + file), "pax-global");
}

TEST(TarReader, RefusesHeadersThatReadersUnderstandDifferently) {
  EXPECT_EQ(verdict_of(block("a", '0', 0, "        ")), "not-tar");
  EXPECT_EQ(verdict_of(block("a\0b"s, '0', 0)), "nul-in-name");
  EXPECT_EQ(verdict_of(pax("9 path=b\n") + block("a\0b"s, '0', 0)), "accept");
  EXPECT_EQ(verdict_of(block("a", '7', 0)), "unknown-type");
  EXPECT_EQ(verdict_of(block("a", 'S', 0)), "sparse");
  EXPECT_EQ(verdict_of(block("a/", '0', 0)), "non-canonical");
  EXPECT_EQ(verdict_of(block("a//b", '0', 0)), "non-canonical");
  EXPECT_EQ(verdict_of(block("././a", '0', 0)), "non-canonical");
  EXPECT_EQ(verdict_of(block("a/.", '5', 0)), "non-canonical");
  EXPECT_EQ(verdict_of(block(".", '0', 0)), "non-canonical");
  EXPECT_EQ(verdict_of(block("", '0', 0)), "empty-name");
  EXPECT_EQ(verdict_of(block("./", '5', 0)), "accept") << "an empty folder";
  EXPECT_EQ(verdict_of(block("./", '5', 0) + block(".", '5', 0)), "duplicate");
  EXPECT_EQ(verdict_of(block(".sallyport-staging-1/x", '0', 0)), "reserved-name");
}

TEST(TarReader, FindsNamesThatOneHostTakesForOne) {
  const auto pair = [](const std::string& a, const std::string& b) {
    return verdict_of(block(a, '0', 0) + block(b, '0', 0), policy::NameRules::portable);
  };
  EXPECT_EQ(pair("stra\xc3\x9f"s + "e", "STRASSE"), "case-collision");
  EXPECT_EQ(pair("\xef\xac\x81le", "file"), "unicode-collision");
  EXPECT_EQ(pair("\xe2\x84\xaa", "K"), "unicode-collision");
  EXPECT_EQ(pair("\xe2\x84\xaa", "k"), "case-collision");
  EXPECT_EQ(pair("\xc3\x89", "E\xcc\x81"), "unicode-collision");
  EXPECT_EQ(pair("\xc3\x89", "e\xcc\x81"), "case-collision");
  EXPECT_EQ(pair("\xea\xb0\x81", "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8"), "unicode-collision");
  EXPECT_EQ(pair("a\xcc\xa3\xcc\x81", "a\xcc\x81\xcc\xa3"), "unicode-collision");
  EXPECT_EQ(pair("\xce\xa3", "\xcf\x82"), "case-collision");
  EXPECT_EQ(pair("\xd0\x96", "\xd0\xb6"), "case-collision");
  EXPECT_EQ(pair("Dir/a", "dir/b"), "case-collision") << "implied parents count";
  EXPECT_EQ(pair("a", "b"), "accept");
  EXPECT_EQ(pair("a/x", "b/x"), "accept");
}

TEST(TarReader, HoldsAtItsLimitsAndRefusesOneMore) {
  TarRules rules = strict(policy::NameRules::portable);
  rules.limits = {.entries = 3, .file_bytes = 600, .total_bytes = 1000};
  const auto verdict = [&](const std::string& bytes) { return read_all(bytes + kEnd, rules).verdict; };
  const auto file = [](const std::string& name, std::size_t size) {
    return block(name, '0', size) + padded(std::string(size, 'x'));
  };
  const std::string three = file("a", 0) + file("b", 0) + file("c", 0);
  EXPECT_EQ(verdict(three), "accept");
  EXPECT_EQ(verdict(three + file("d", 0)), "too-many-entries");
  EXPECT_EQ(verdict(file("p/q/r/a", 0)), "accept");
  EXPECT_EQ(verdict(file("p/q/r/s/a", 0)), "too-many-entries") << "implied folders are bounded too";
  EXPECT_EQ(verdict(file("a", 600)), "accept");
  EXPECT_EQ(verdict(file("a", 601)), "file-too-big");
  EXPECT_EQ(verdict(file("a", 600) + file("b", 400)), "accept");
  EXPECT_EQ(verdict(file("a", 600) + file("b", 401)), "total-too-big");

  const auto records = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "10 k" + std::to_string(100 + i) + "=v\n";
    return text;
  };
  EXPECT_EQ(verdict(pax(records(128)) + file("a", 0)), "accept");
  EXPECT_EQ(verdict(pax(records(129)) + file("a", 0)), "pax-limit");
  const std::string long_value(65536 - 16, 'v');
  EXPECT_EQ(verdict(pax("65536 comment=" + long_value + "v\n") + file("a", 0)), "accept");
  EXPECT_EQ(verdict(pax("65537 comment=" + long_value + "vv\n") + file("a", 0)), "pax-limit");
  EXPECT_EQ(verdict(gnu_name(std::string(4097, 'n')) + file("a", 0)), "pax-limit");

  EXPECT_EQ(verdict(file("a", 0) + std::string((1 << 20) - 512, '\0')), "accept");
  EXPECT_EQ(verdict(file("a", 0) + std::string((1 << 20) + 512, '\0')), "trailing-data");
}

TEST(TarReader, TakesEveryNumberOfEntriesUpToItsDefault) {
  StringSink sink;
  TarWriter writer(sink);
  for (int i = 0; i < 100'001; ++i) ASSERT_TRUE(writer.file("f" + std::to_string(i), 0, 0, false));
  ASSERT_TRUE(writer.finish());
  StringSource source(sink.bytes, 1 << 20);
  TarReader reader(source, TarRules{});
  for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(reader.next()) << i;
  EXPECT_EQ(reader.next().error().code, "archive.too_many_entries");
}

TEST(TarReader, PassesOnTheErrorOfItsSource) {
  class Broken final : public ByteSource {
   public:
    policy::Result<std::string_view> read(std::size_t) override {
      return policy::fail("copy.timeout", "late");
    }
  };
  Broken source;
  TarReader reader(source, TarRules{});
  EXPECT_EQ(reader.next().error().code, "copy.timeout");
  EXPECT_EQ(reader.read().error().code, "copy.timeout");
}

TEST(TarWriter, WritesWhatTheReaderReads) {
  StringSink sink;
  TarWriter writer(sink);
  const std::string long_name = std::string(200, 'd') + "/" + std::string(255, 'f');
  const std::string exact(100, 'e');
  ASSERT_TRUE(writer.folder("dir", 1'600'000'000));
  ASSERT_TRUE(writer.file("dir/a", 513, 1'600'000'000, true));
  ASSERT_TRUE(writer.content(std::string(513, 'a')));
  ASSERT_TRUE(writer.file(long_name, 3, -5, false));
  ASSERT_TRUE(writer.content("ab"));
  ASSERT_TRUE(writer.content("c"));
  ASSERT_TRUE(writer.file(exact, 0, 0, false));
  ASSERT_TRUE(writer.file("-rf caf\xc3\xa9", 0, 0, false));
  ASSERT_TRUE(writer.folder(std::string(100, 'g'), 0));
  ASSERT_TRUE(writer.finish());
  const Read read = read_all(sink.bytes, strict(policy::NameRules::portable));
  ASSERT_EQ(read.verdict, "accept");
  ASSERT_EQ(read.entries.size(), 6U);
  EXPECT_EQ(read.entries[0]["path"], "dir");
  EXPECT_EQ(read.entries[0]["type"], "dir");
  EXPECT_EQ(read.entries[1]["exec"], true);
  EXPECT_EQ(read.entries[1]["sha256"], policy::sha256(std::string(513, 'a')).hex());
  EXPECT_EQ(read.entries[2]["path"], long_name);
  EXPECT_EQ(read.entries[2]["sha256"], policy::sha256("abc").hex());
  EXPECT_EQ(read.entries[3]["path"], exact);
  EXPECT_EQ(read.entries[4]["path"], "-rf caf\xc3\xa9");
  EXPECT_EQ(read.entries[5]["type"], "dir");
}

TEST(TarWriter, WritesSizesThatOctalDigitsCannotHold) {
  StringSink sink;
  TarWriter writer(sink);
  const std::uint64_t size = std::uint64_t{9} << 30U;
  ASSERT_TRUE(writer.file("big", size, 0, false));
  const auto header = parse_tar_header(sink.bytes);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->size, size);
}

}  // namespace
}  // namespace enforcers
