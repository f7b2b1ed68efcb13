#include "policy/host.h"

#include <algorithm>
#include <array>

#include "policy/alabel.h"
#include "policy/web_fault.h"

namespace policy {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

std::optional<WebFault> judge_bytes(std::string_view text) {
  const auto byte = [](char c) { return static_cast<unsigned char>(c); };
  if (std::any_of(text.begin(), text.end(), [&](char c) { return byte(c) < 0x20 || c == 0x7F; }))
    return WebFault::control_byte;
  if (std::any_of(text.begin(), text.end(), [&](char c) { return byte(c) >= 0x80; }))
    return WebFault::non_ascii_target;
  return std::nullopt;
}

// What a resolver could take for an IPv4 address: inet_aton and browsers read decimal, octal and hexadecimal,
// and fewer than four parts.
bool is_number(std::string_view label) {
  if (label.starts_with("0x")) return std::all_of(label.begin() + 2, label.end(), is_hex);
  return std::all_of(label.begin(), label.end(), is_digit);
}

std::optional<WebFault> judge_label(std::string_view label) {
  if (label.size() > Host::kMaxLabel) return WebFault::label_too_long;
  if (label.front() == '-' || label.back() == '-') return WebFault::bad_label;
  if (label.starts_with("xn--") && !is_alabel(label)) return WebFault::bad_alabel;
  return std::nullopt;
}

// A name in lower case, without the dot at its end.
std::optional<WebFault> judge_labels(std::string_view name) {
  for (std::string_view rest = name;;) {
    const auto label = rest.substr(0, rest.find('.'));
    if (const auto fault = judge_label(label)) return fault;
    if (label.size() == rest.size()) break;
    rest.remove_prefix(label.size() + 1);
  }
  return name.size() > Host::kMaxName ? std::optional(WebFault::name_too_long) : std::nullopt;
}

bool is_below(std::string_view name, std::string_view domain) {
  if (!name.ends_with(domain)) return false;
  name.remove_suffix(domain.size());
  return name.empty() || name.ends_with('.');
}

}  // namespace

Host Host::of(const Address& address) {
  const auto dialled = address.unmapped();
  auto text = dialled.text();
  return {dialled.is_v4() ? std::move(text) : "[" + text + "]", dialled};
}

Result<Host> Host::parse(std::string_view text) {
  if (const auto fault = judge_bytes(text)) return refuse(*fault);
  if (text.empty()) return refuse(WebFault::empty_host);
  if (text.front() == '[') {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return refuse(WebFault::bad_ipv6);
    const auto inner = text.substr(1, end - 1);
    if (inner.find('%') != std::string_view::npos) return refuse(WebFault::zone_id);
    const auto address = Address::read(inner);
    if (!address || address->is_v4()) return refuse(WebFault::bad_ipv6);
    if (end + 1 != text.size()) return refuse(WebFault::bad_authority);
    return of(*address);
  }
  if (text.find(':') != std::string_view::npos) return refuse(WebFault::bad_authority);
  if (text.find('%') != std::string_view::npos) return refuse(WebFault::percent_in_host);

  std::string name(text);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (!is_letter(c) && !is_digit(c) && c != '-' && c != '_' && c != '.')
      return refuse(WebFault::bad_host_char);
  }
  const bool dot = name.back() == '.';
  if (dot) name.pop_back();
  if (name.empty() || name.front() == '.' || name.back() == '.' || name.find("..") != std::string::npos)
    return refuse(WebFault::empty_label);
  const auto last = std::string_view(name).substr(name.rfind('.') + 1);  // npos + 1 is 0
  if (is_number(last)) {
    const auto address = Address::read(name);
    if (!address || dot) return refuse(WebFault::ambiguous_ipv4);
    return of(*address);
  }
  if (const auto fault = judge_labels(name)) return refuse(*fault);
  return Host(std::move(name), std::nullopt);
}

std::optional<std::string_view> refused_name_class(const Host& host) {
  if (!host.is_name()) return std::nullopt;
  const std::string_view name = host.text();
  if (is_below(name, "localhost")) return "loopback-name";
  // RFC 6761, 6762 (with appendix G), 7686, 8375, 9476 and the names that ICANN will not delegate: they mean
  // something on a local network, or nothing. Below `arpa` stands infrastructure.
  static constexpr std::array<std::string_view, 15> kDomains{
      "alt", "arpa",  "corp",        "example", "home",  "internal", "intranet", "invalid",
      "lan", "local", "localdomain", "mail",    "onion", "private",  "test"};
  if (name.find('.') == std::string_view::npos) return "single-label";
  const auto last = name.substr(name.rfind('.') + 1);
  if (std::find(kDomains.begin(), kDomains.end(), last) != kDomains.end()) return "special-use-name";
  return std::nullopt;
}

}  // namespace policy
