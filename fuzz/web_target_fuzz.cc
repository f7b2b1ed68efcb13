// The target of a web request and its Host fields, separated by the byte 0x1E after the method: what is
// accepted reads back equal as printed, its host has one reading, also to the C library, and a path that
// rules may judge holds nothing that leads elsewhere.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "policy/address_class.h"
#include "policy/web_fault.h"
#include "policy/web_target.h"
#include "property.h"

namespace {

using fuzz::require;

void check_address(const policy::Address& address) {
  const auto again = policy::Address::parse(address.text());
  require(again && *again == address);
  const auto inner = address.embedded_v4();
  if (inner) require(policy::refused_class(address) == policy::refused_class(*inner));
  const auto block = policy::Cidr::one(address);
  require(block.contains(address) && policy::Cidr::parse(block.text()) == block);
}

// Every text that is an address to us is the same one to the C library.
void check_spelling(std::string_view text) {
  const auto address = policy::Address::parse(text);
  if (!address) return;
  check_address(*address);
  std::array<std::uint8_t, 16> bytes{};
  const std::string terminated(text);
  require(inet_pton(address->is_v4() ? AF_INET : AF_INET6, terminated.c_str(), bytes.data()) == 1);
  const auto ours = address->bytes();
  require(std::equal(ours.begin(), ours.end(), bytes.begin()));
}

void check_host(const policy::Host& host) {
  const auto& text = host.text();
  const auto again = policy::Host::parse(text);
  require(again && *again == host && again->is_name() == host.is_name());
  if (const auto* address = host.address()) {
    check_address(*address);
    require(address->unmapped() == *address && !policy::refused_name_class(host));
    return;
  }
  require(!text.empty() && text.size() <= policy::Host::kMaxName);
  require(text.front() != '.' && text.back() != '.' && text.find("..") == std::string::npos);
  require(std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  }));
  // A name that a resolver would take for an address needs no query to lead to it.
  in_addr number{};
  require(inet_aton(text.c_str(), &number) == 0);
}

void check_path(const policy::WebTarget& target) {
  require(target.is_tunnel() || target.path == "*" || target.path.front() == '/');
  require(std::all_of(target.path.begin(), target.path.end(), [](char c) { return c > 0x20 && c < 0x7F; }));
  if (target.path_fault) require(target.segments.empty());
  for (const auto& segment : target.segments) {
    require(!segment.empty() && segment != "." && segment != "..");
    require(segment.find_first_of(std::string_view("/\\;\0\r\n", 6)) == std::string::npos);
  }
}

void check(const policy::Result<policy::WebTarget>& target) {
  if (!target) {
    const auto& [code, message, where] = target.error();
    require(!code.empty() && !message.empty());
    return;
  }
  check_host(target->host);
  check_path(*target);
  require(target->port != 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  constexpr char kSeparator = 0x1E;
  std::vector<std::string_view> parts;
  for (auto rest = fuzz::text_of(bytes, size);;) {
    parts.push_back(rest.substr(0, rest.find(kSeparator)));
    if (parts.back().size() == rest.size() || parts.size() == 16) break;
    rest.remove_prefix(parts.back().size() + 1);
  }
  for (const auto part : parts) {
    check_spelling(part);
    if (const auto host = policy::Host::parse(part)) check_host(*host);
    if (const auto block = policy::Cidr::parse(part)) {
      require(policy::Cidr::parse(block->text()) == block && block->contains(block->first()));
    }
  }
  const auto method = parts.front();
  const auto target = parts.size() > 1 ? parts[1] : std::string_view();
  std::vector<std::string_view> hosts(parts.begin() + std::min<std::ptrdiff_t>(2, std::ssize(parts)),
                                      parts.end());
  const auto parsed = policy::parse_web_target(method, target, hosts);
  check(parsed);
  if (parsed) {
    require(hosts.size() == 1);
    const auto authority = parsed->authority();
    const std::vector<std::string_view> own{authority};
    const auto text = parsed->text();
    const auto again = policy::parse_web_target(method, text, own);
    auto same = *parsed;
    same.host_rewritten = false;
    // The printed form may be longer by a port, and a slash.
    if (text.size() <= policy::kMaxWebTarget) require(again && *again == same);
  }
  const auto url = policy::parse_url(target);
  check(url);
  if (url && url->text().size() <= policy::kMaxWebTarget) require(policy::parse_url(url->text()) == url);
  if (parsed && !parsed->is_tunnel()) {
    require(url && url->host == parsed->host && url->port == parsed->port);
    if (parsed->path != "*") require(url->path == parsed->path);
  }
  return 0;
}
