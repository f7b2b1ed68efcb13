#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/host.h"
#include "policy/result.h"

namespace policy {

inline constexpr std::size_t kMaxWebTarget = 8192;
inline constexpr std::size_t kMaxMethod = 32;

// Whether it can be the method of a request: a token of RFC 9110 of at most kMaxMethod bytes.
bool is_method(std::string_view);

enum class Scheme { http, https };
std::string_view spelling(Scheme);

// Where one web request goes. Policy, record, Host field, look-up, the comparison with SNI and the dialler
// all take it from here; nothing reads the bytes again, or two readers could see two hosts.
struct WebTarget {
  Scheme scheme = Scheme::http;  // of a tunnel: https, though what flows in it is not seen
  Host host;
  std::uint16_t port = 0;
  // As sent, with the query, and beginning with `/`; `*` for OPTIONS of a whole server; empty for a tunnel.
  std::string path;
  // The parts of the path between its slashes, decoded, without the query and without the empty one after a
  // last slash. Empty when path_fault is set, for `/`, and for a tunnel.
  std::vector<std::string> segments;
  // Why no rule about paths can judge it: two servers could read it as two paths. It may be sent as it stands
  // only where no such rule applies. Codes: ambiguous-path; no-path for a tunnel and `*`.
  std::optional<Error> path_fault;
  // The Host field named another host or port than the target, which decides.
  bool host_rewritten = false;

  bool is_tunnel() const { return path.empty(); }
  std::string authority() const;  // `example.org:80`, the port always written
  std::string text() const;       // `http://example.org:80/a`; of a tunnel the authority

  friend bool operator==(const WebTarget&, const WebTarget&) = default;
};

// The target of a request to a proxy, from the words of its first line and the values of its Host fields
// without surrounding white space. CONNECT takes `host:port` and nothing else, every other method a full
// `http` URL. Codes: those of WebFault. Whether the name or address may be reached is asked elsewhere
// (refused_name_class, refused_class).
Result<WebTarget> parse_web_target(std::string_view method, std::string_view target,
                                   std::span<const std::string_view> hosts);

// A full `http` or `https` URL as a person or a rule's test states it, by the same rules.
Result<WebTarget> parse_url(std::string_view url);

}  // namespace policy
