#include "policy/special_addresses.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace policy {
namespace {

using Judged = SpecialBlock::Judged;

constexpr std::array<std::string_view, 6> kNeverReopened{"unspecified", "this-network", "multicast",
                                                         "broadcast",   "link-local",   "cloud-metadata"};

constexpr bool may_reopen(std::string_view code) {
  return std::find(kNeverReopened.begin(), kNeverReopened.end(), code) == kNeverReopened.end();
}

// A block as the table writes it. What is no block does not compile.
consteval SpecialBlock row(std::string_view block, std::string_view code, Judged judged = Judged::refused) {
  const auto slash = block.find('/');
  unsigned length = 0;
  for (const char digit : block.substr(slash + 1)) length = length * 10 + static_cast<unsigned>(digit - '0');
  return {Address::read(block.substr(0, slash)).value(), length, {code, may_reopen(code)}, judged};
}

// The special-purpose registries of IANA for both families as of 2026-07, multicast, the address space that
// is not delegated, forms that embed IPv4, and addresses of cloud and overlay services; sorted, a block
// before those inside of it. tests/data/egress/special-addresses.tsv says where each row comes from.
// clang-format off
constexpr std::array kWritten{
    row("0.0.0.0/8", "this-network"),  // This network
    row("0.0.0.0/32", "unspecified"),  // This host on this network
    row("10.0.0.0/8", "private"),  // Private-Use
    row("100.64.0.0/10", "shared-cgnat"),  // Shared Address Space (CGNAT)
    row("100.100.100.100/32", "overlay-service"),  // Tailscale quad100 (MagicDNS, local API)
    row("100.100.100.200/32", "cloud-metadata"),  // Alibaba Cloud metadata
    row("127.0.0.0/8", "loopback"),  // Loopback
    row("168.63.129.16/32", "cloud-metadata"),  // Azure WireServer / platform DNS
    row("169.254.0.0/16", "link-local"),  // Link Local
    row("169.254.0.23/32", "cloud-metadata"),  // Tencent Cloud metadata
    row("169.254.42.42/32", "cloud-metadata"),  // Scaleway metadata
    row("169.254.169.123/32", "cloud-metadata"),  // AWS time sync
    row("169.254.169.253/32", "cloud-metadata"),  // AWS VPC resolver
    row("169.254.169.254/32", "cloud-metadata"),  // Instance metadata: AWS, Azure, GCP, OCI, DigitalOcean, Hetzner, OpenStack, IBM, Linode
    row("169.254.170.2/32", "cloud-metadata"),  // AWS ECS task credentials
    row("169.254.170.23/32", "cloud-metadata"),  // AWS EKS Pod Identity
    row("172.16.0.0/12", "private"),  // Private-Use
    row("192.0.0.0/24", "ietf-protocol"),  // IETF Protocol Assignments
    row("192.0.0.0/29", "ietf-protocol"),  // IPv4 Service Continuity Prefix (DS-Lite)
    row("192.0.0.8/32", "ietf-protocol"),  // IPv4 dummy address
    row("192.0.0.9/32", "anycast-service"),  // Port Control Protocol Anycast
    row("192.0.0.10/32", "anycast-service"),  // TURN Anycast
    row("192.0.0.170/32", "ietf-protocol"),  // NAT64/DNS64 Discovery
    row("192.0.0.171/32", "ietf-protocol"),  // NAT64/DNS64 Discovery
    row("192.0.0.192/32", "cloud-metadata"),  // Oracle Cloud Infrastructure Classic metadata
    row("192.0.2.0/24", "documentation"),  // Documentation (TEST-NET-1)
    row("192.31.196.0/24", "anycast-service"),  // AS112-v4
    row("192.52.193.0/24", "anycast-service"),  // AMT
    row("192.88.99.0/24", "deprecated"),  // Deprecated (6to4 Relay Anycast)
    row("192.88.99.2/32", "anycast-service"),  // 6a44-relay anycast address
    row("192.168.0.0/16", "private"),  // Private-Use
    row("192.175.48.0/24", "anycast-service"),  // Direct Delegation AS112 Service
    row("198.18.0.0/15", "benchmarking"),  // Benchmarking
    row("198.51.100.0/24", "documentation"),  // Documentation (TEST-NET-2)
    row("203.0.113.0/24", "documentation"),  // Documentation (TEST-NET-3)
    row("224.0.0.0/4", "multicast"),  // Multicast (former class D)
    row("224.0.0.0/24", "multicast"),  // Local Network Control Block
    row("232.0.0.0/8", "multicast"),  // Source-Specific Multicast
    row("233.252.0.0/24", "multicast"),  // MCAST-TEST-NET
    row("239.0.0.0/8", "multicast"),  // Administratively Scoped Multicast
    row("240.0.0.0/4", "reserved"),  // Reserved (class E)
    row("255.255.255.255/32", "broadcast"),  // Limited Broadcast
    row("::/8", "outside-2000-3"),  // Reserved by IETF
    row("::/96", "ipv4-compatible"),  // IPv4-compatible (deprecated)
    row("::/128", "unspecified"),  // Unspecified Address
    row("::1/128", "loopback"),  // Loopback Address
    row("::ffff:0:0/96", "ipv4-mapped", Judged::by_embedded),  // IPv4-mapped Address
    row("::ffff:0:0:0/96", "ipv4-translated"),  // IPv4-translated (SIIT)
    row("64:ff9b::/96", "nat64-wkp", Judged::by_embedded),  // IPv4-IPv6 Translation (NAT64 well-known prefix)
    row("64:ff9b:1::/48", "nat64-local"),  // IPv4-IPv6 Translation (local-use NAT64)
    row("100::/8", "outside-2000-3"),  // Reserved by IETF
    row("100::/64", "discard"),  // Discard-Only Address Block
    row("100:0:0:1::/64", "dummy"),  // Dummy IPv6 Prefix
    row("200::/7", "outside-2000-3"),  // Reserved by IETF (formerly NSAP)
    row("400::/6", "outside-2000-3"),  // Reserved by IETF
    row("800::/5", "outside-2000-3"),  // Reserved by IETF
    row("1000::/4", "outside-2000-3"),  // Reserved by IETF
    row("2001::/23", "ietf-protocol"),  // IETF Protocol Assignments
    row("2001::/32", "teredo"),  // TEREDO
    row("2001:1::1/128", "anycast-service"),  // Port Control Protocol Anycast
    row("2001:1::2/128", "anycast-service"),  // TURN Anycast
    row("2001:1::3/128", "anycast-service"),  // DNS-SD SRP Anycast
    row("2001:2::/48", "benchmarking"),  // Benchmarking
    row("2001:3::/32", "anycast-service"),  // AMT
    row("2001:4:112::/48", "anycast-service"),  // AS112-v6
    row("2001:10::/28", "deprecated"),  // Deprecated (previously ORCHID)
    row("2001:20::/28", "identifier"),  // ORCHIDv2
    row("2001:30::/28", "identifier"),  // Drone Remote ID Protocol Entity Tags
    row("2001:db8::/32", "documentation"),  // Documentation
    row("2002::/16", "6to4"),  // 6to4
    row("2620:4f:8000::/48", "anycast-service"),  // Direct Delegation AS112 Service
    row("3fff::/20", "documentation"),  // Documentation
    row("4000::/3", "outside-2000-3"),  // Reserved by IETF
    row("5f00::/16", "srv6-sid"),  // Segment Routing (SRv6) SIDs
    row("6000::/3", "outside-2000-3"),  // Reserved by IETF
    row("8000::/3", "outside-2000-3"),  // Reserved by IETF
    row("a000::/3", "outside-2000-3"),  // Reserved by IETF
    row("c000::/3", "outside-2000-3"),  // Reserved by IETF
    row("e000::/4", "outside-2000-3"),  // Reserved by IETF
    row("f000::/5", "outside-2000-3"),  // Reserved by IETF
    row("f800::/6", "outside-2000-3"),  // Reserved by IETF
    row("fc00::/7", "unique-local"),  // Unique-Local
    row("fd00:42::42/128", "cloud-metadata"),  // Scaleway metadata over IPv6
    row("fd00:c1::a9fe:a9fe/128", "cloud-metadata"),  // Oracle OCI metadata over IPv6
    row("fd00:100::100:200/128", "cloud-metadata"),  // Alibaba metadata over IPv6
    row("fd00:ec2::/32", "cloud-metadata"),  // AWS IPv6 service block
    row("fd00:ec2::23/128", "cloud-metadata"),  // AWS EKS Pod Identity over IPv6
    row("fd00:ec2::254/128", "cloud-metadata"),  // AWS IMDS over IPv6
    row("fd00:a9fe:a9fe::1/128", "cloud-metadata"),  // Akamai/Linode metadata over IPv6
    row("fd20:ce::254/128", "cloud-metadata"),  // GCP metadata on IPv6-only instances
    row("fd7a:115c:a1e0::/48", "overlay-service"),  // Tailscale IPv6
    row("fe00::/9", "outside-2000-3"),  // Reserved by IETF
    row("fe80::/10", "link-local"),  // Link-Local Unicast
    row("fe80::a9fe:a9fe/128", "cloud-metadata"),  // OpenStack metadata over IPv6 link-local
    row("fe80::5efe:0:0/96", "isatap"),  // ISATAP link-local interface identifier
    row("fec0::/10", "site-local"),  // Site-Local (deprecated)
    row("ff00::/8", "multicast"),  // Multicast
    row("ff02::/16", "multicast"),  // Link-Local scope multicast
};
// clang-format on

struct Key {
  std::uint64_t high = 0, low = 0;
  constexpr auto operator<=>(const Key&) const = default;
};

constexpr Key key_of(const Address& address) {
  const auto words = address.words();
  return {words[0], words[1]};
}

constexpr Key mask(unsigned length) {
  const auto ones = [](unsigned bits) { return bits == 0 ? 0 : ~std::uint64_t{0} << (64 - bits); };
  return length <= 64 ? Key{ones(length), 0} : Key{ones(64), ones(length - 64)};
}

constexpr std::uint8_t kNone = 0xFF;
static_assert(kWritten.size() < kNone);

// The blocks, and what makes a look-up short: numbers to search, and for each block the one around it.
struct Table {
  std::array<SpecialBlock, kWritten.size()> blocks = kWritten;
  std::array<Key, kWritten.size()> first{}, mask{};
  std::array<std::uint8_t, kWritten.size()> around{};
  std::size_t v6 = 0;  // where IPv6 begins

  constexpr bool holds(std::size_t block, const Key& key) const {
    return (key.high & mask[block].high) == first[block].high &&
           (key.low & mask[block].low) == first[block].low;
  }
};

consteval Table make_table() {
  Table table;
  for (std::size_t i = 0; i < kWritten.size(); ++i) {
    auto& block = table.blocks[i];
    if (block.first.is_v4()) table.v6 = i + 1;
    table.first[i] = key_of(block.first);
    table.mask[i] = mask(block.length);
    table.around[i] = kNone;
    const std::size_t begin = block.first.is_v4() ? 0 : table.v6;
    for (std::size_t j = begin; j < i; ++j) {
      if (table.holds(j, table.first[i])) table.around[i] = static_cast<std::uint8_t>(j);
    }
    // What lies in a block that stays shut stays shut, whatever it is called.
    if (table.around[i] != kNone && !table.blocks[table.around[i]].refused.reopenable)
      block.refused.reopenable = false;
  }
  return table;
}

constexpr Table kTable = make_table();

consteval bool is_sorted() {
  for (std::size_t i = 1; i < kWritten.size(); ++i) {
    const auto& a = kWritten[i - 1];
    const auto& b = kWritten[i];
    if (std::pair(a.first, a.length) >= std::pair(b.first, b.length)) return false;
  }
  return true;
}
static_assert(is_sorted());

}  // namespace

std::span<const SpecialBlock> special_blocks() { return kTable.blocks; }

const SpecialBlock* special_block(const Address& address) {
  const auto key = key_of(address);
  const auto begin = kTable.first.begin() + static_cast<std::ptrdiff_t>(address.is_v4() ? 0 : kTable.v6);
  const auto end =
      address.is_v4() ? kTable.first.begin() + static_cast<std::ptrdiff_t>(kTable.v6) : kTable.first.end();
  const auto after = std::upper_bound(begin, end, key);
  if (after == begin) return nullptr;
  auto block = static_cast<std::size_t>(after - kTable.first.begin() - 1);
  while (!kTable.holds(block, key)) {
    if (kTable.around[block] == kNone) return nullptr;
    block = kTable.around[block];
  }
  return &kTable.blocks[block];
}

bool is_reopenable(std::string_view code) { return may_reopen(code); }

}  // namespace policy
