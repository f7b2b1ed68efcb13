#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "policy/address.h"
#include "policy/result.h"

namespace policy {

// Where a web request goes: a name in lower-case ASCII without a trailing dot, or an address. Equal text is
// the same host, and no two readers can take the text for different hosts.
class Host final {
 public:
  static constexpr std::size_t kMaxName = 253;
  static constexpr std::size_t kMaxLabel = 63;

  // A host as it stands in an authority: a name, a dotted quad, or an IPv6 address in brackets. An IPv4
  // address that is mapped into IPv6 becomes the IPv4 address. Codes (web_fault.h): control-byte,
  // non-ascii-target, empty-host, percent-in-host, bad-host-char, empty-label, label-too-long, bad-label,
  // bad-alabel, name-too-long, ambiguous-ipv4, zone-id, bad-ipv6, bad-authority. What ends in a number is an
  // address or refused: `0x7f.1` would be a name here and 127.0.0.1 to a resolver.
  static Result<Host> parse(std::string_view text);
  static Host of(const Address& address);  // mapped becomes IPv4 here too

  const Address* address() const { return address_ ? &*address_ : nullptr; }
  bool is_name() const { return !address_; }
  // As printed in an authority: IPv6 in brackets. parse() of it gives an equal host.
  const std::string& text() const { return text_; }

  friend auto operator<=>(const Host& a, const Host& b) { return a.text_ <=> b.text_; }
  friend bool operator==(const Host& a, const Host& b) { return a.text_ == b.text_; }

 private:
  Host(std::string text, std::optional<Address> address) : text_(std::move(text)), address_(address) {}

  std::string text_;
  std::optional<Address> address_;
};

// Why a name is refused before it is looked up, unless a rule names exactly this host: `loopback-name`,
// `special-use-name`, `single-label`. Nothing for other names and for addresses.
std::optional<std::string_view> refused_name_class(const Host&);

}  // namespace policy
