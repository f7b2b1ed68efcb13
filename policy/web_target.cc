#include "policy/web_target.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "policy/web_fault.h"
#include "policy/web_path.h"

namespace policy {
namespace {

constexpr std::uint16_t kHttp = 80, kHttps = 443;

bool holds(std::string_view text, std::string_view any_of) {
  return text.find_first_of(any_of) != std::string_view::npos;
}

bool is_alnum(char c) {
  const char lower = static_cast<char>(c | 0x20);
  return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'z');
}

// Bytes that no target holds, wherever they stand.
std::optional<WebFault> judge_bytes(std::string_view target) {
  if (target.empty()) return WebFault::bad_request_line;
  if (target.size() > kMaxWebTarget) return WebFault::target_too_long;
  // A line end outweighs the others wherever it stands: what follows it could be read as another request.
  bool line_end = false, control = false, foreign = false;
  for (const char c : target) {
    line_end |= c == ' ' || c == '\r' || c == '\n';
    control |= static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    foreign |= static_cast<unsigned char>(c) >= 0x80;
  }
  if (line_end) return WebFault::bad_request_line;
  if (control) return WebFault::control_byte;
  return foreign ? std::optional(WebFault::non_ascii_target) : std::nullopt;
}

struct Authority {
  Host host;
  std::optional<std::uint16_t> port;  // nothing: none, or an empty one
};

Result<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  if (!whole || text.front() == '0') return refuse(WebFault::bad_port);
  return port;
}

Result<Authority> parse_authority(std::string_view text) {
  if (text.find('\\') != std::string_view::npos) return refuse(WebFault::bad_host_char);
  if (text.find('@') != std::string_view::npos) return refuse(WebFault::userinfo);
  const auto bracket = text.starts_with('[') ? text.find(']') : 0;
  auto colon = bracket == std::string_view::npos ? bracket : text.find(':', bracket);
  // After brackets there is a port or nothing; the host's parser refuses what else there is.
  if (bracket != 0 && colon != bracket + 1) colon = std::string_view::npos;
  const auto port = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (port.find(':') != std::string_view::npos) return refuse(WebFault::bad_authority);
  auto host = Host::parse(text.substr(0, colon));
  if (!host) return tl::unexpected(host.error());
  if (port.empty()) return Authority{std::move(*host), std::nullopt};
  const auto number = parse_port(port);
  if (!number) return tl::unexpected(number.error());
  return Authority{std::move(*host), *number};
}

// The scheme in lower case, and what stands after its colon.
struct Split {
  std::string scheme;
  std::string_view rest;
};

std::optional<Split> split_scheme(std::string_view url) {
  const auto colon = url.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  Split split{std::string(url.substr(0, colon)), url.substr(colon + 1)};
  if (split.scheme.front() >= '0' && split.scheme.front() <= '9') return std::nullopt;
  for (char& c : split.scheme) {
    if (!is_alnum(c) && c != '+' && c != '-' && c != '.') return std::nullopt;
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return is_alnum(split.scheme.front()) ? std::optional(std::move(split)) : std::nullopt;
}

// What a URL without a path asks for: `/`, or with OPTIONS the server as a whole (RFC 9112, 3.2.4).
enum class Pathless { root, server };
enum class Schemes { http, both };

void judge_path(WebTarget& target) {
  auto segments = path_segments(target.path);
  if (segments) {
    target.segments = std::move(*segments);
  } else {
    target.path_fault = std::move(segments.error());
  }
}

Result<WebTarget> parse_absolute(std::string_view url, Schemes schemes, Pathless pathless) {
  auto split = split_scheme(url);
  if (!split) return refuse(WebFault::not_absolute_form);
  const bool https = split->scheme == "https";
  if (split->scheme != "http" && !(https && schemes == Schemes::both))
    return refuse(WebFault::scheme_not_http);
  auto rest = split->rest;
  if (!rest.starts_with("//")) return refuse(WebFault::not_absolute_form);
  rest.remove_prefix(2);
  if (rest.find('#') != std::string_view::npos) return refuse(WebFault::fragment);
  const auto end = std::min(rest.find_first_of("/?"), rest.size());
  auto authority = parse_authority(rest.substr(0, end));
  if (!authority) return tl::unexpected(authority.error());

  WebTarget target{.scheme = https ? Scheme::https : Scheme::http,
                   .host = std::move(authority->host),
                   .port = authority->port.value_or(https ? kHttps : kHttp),
                   .path = std::string(rest.substr(end)),
                   .segments = {},
                   .path_fault = std::nullopt};
  if (target.path.empty() && pathless == Pathless::server) {
    target.path = "*";
  } else if (!target.path.starts_with('/')) {
    target.path.insert(0, "/");
  }
  judge_path(target);
  return target;
}

Result<WebTarget> parse_tunnel(std::string_view target) {
  if (holds(target, "/?#\\")) return refuse(WebFault::not_authority_form);
  auto authority = parse_authority(target);
  if (!authority) return tl::unexpected(authority.error());
  if (!authority->port) return refuse(WebFault::missing_port);
  return WebTarget{.scheme = Scheme::https,
                   .host = std::move(authority->host),
                   .port = *authority->port,
                   .path = {},
                   .segments = {},
                   .path_fault = error_of(WebFault::no_path)};
}

bool is_token(std::string_view method) {
  return !method.empty() && method.size() <= kMaxMethod &&
         std::all_of(method.begin(), method.end(), [](char c) {
           return is_alnum(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
         });
}

// Exactly one Host field, well-formed. The target decides in any case, so another host in it is noted only.
Result<void> judge_host_fields(WebTarget& target, std::span<const std::string_view> hosts) {
  if (hosts.empty()) return refuse(WebFault::missing_host);
  if (hosts.size() > 1) return refuse(WebFault::multiple_host);
  const auto field = hosts.front();
  if (judge_bytes(field)) return refuse(WebFault::bad_host_header);
  const auto stated = parse_authority(field);
  if (!stated) return refuse(WebFault::bad_host_header);
  const auto assumed = target.is_tunnel() ? target.port : kHttp;
  target.host_rewritten = stated->host != target.host || stated->port.value_or(assumed) != target.port;
  return {};
}

}  // namespace

bool is_method(std::string_view method) { return is_token(method); }

std::string_view spelling(Scheme scheme) { return scheme == Scheme::https ? "https" : "http"; }

std::string WebTarget::authority() const { return host.text() + ":" + std::to_string(port); }

std::string WebTarget::text() const {
  if (is_tunnel()) return authority();
  return std::string(spelling(scheme)) + "://" + authority() + (path == "*" ? "" : path);
}

Result<WebTarget> parse_web_target(std::string_view method, std::string_view target,
                                   std::span<const std::string_view> hosts) {
  if (!is_token(method)) return refuse(WebFault::bad_request_line);
  if (const auto fault = judge_bytes(target)) return refuse(*fault);
  if (method != "CONNECT" && target == "*") return refuse(WebFault::asterisk_form);
  if (method != "CONNECT" && target.front() == '/') return refuse(WebFault::origin_form);
  auto parsed = method == "CONNECT" ? parse_tunnel(target)
                                    : parse_absolute(target, Schemes::http,
                                                     method == "OPTIONS" ? Pathless::server : Pathless::root);
  if (!parsed) return parsed;
  if (const auto judged = judge_host_fields(*parsed, hosts); !judged) return tl::unexpected(judged.error());
  return parsed;
}

Result<WebTarget> parse_url(std::string_view url) {
  if (const auto fault = judge_bytes(url)) return refuse(*fault);
  return parse_absolute(url, Schemes::both, Pathless::root);
}

}  // namespace policy
