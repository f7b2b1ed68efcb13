#include "policy/web_fault.h"

#include <string>
#include <utility>

namespace policy {
namespace {

struct Text {
  std::string_view code, message;
};

Text text_of(WebFault fault) {
  switch (fault) {
    case WebFault::bad_request_line:
      return {"bad-request-line",
              "the request line is malformed; send a method, one target without spaces or line ends, and the "
              "version"};
    case WebFault::target_too_long:
      return {"target-too-long", "the target is longer than 8192 bytes; shorten the path or the query"};
    case WebFault::control_byte:
      return {"control-byte",
              "the target holds a control byte; percent-encode it in a path, drop it elsewhere"};
    case WebFault::non_ascii_target:
      return {
          "non-ascii-target",
          "the target holds bytes outside of ASCII; write a host as its `xn--` form, and percent-encode the "
          "rest"};
    case WebFault::asterisk_form:
      return {"asterisk-form", "`*` names no server; write a full URL, such as `http://example.org`"};
    case WebFault::origin_form:
      return {"origin-form", "this is a proxy; write a full URL, such as `http://example.org/`"};
    case WebFault::not_absolute_form:
      return {"not-absolute-form", "no full URL; write one, such as `http://example.org/`"};
    case WebFault::not_authority_form:
      return {"not-authority-form", "CONNECT takes a host and a port and nothing else: `example.org:443`"};
    case WebFault::scheme_not_http:
      return {"scheme-not-http", "only `http://` is fetched for a client; use CONNECT for `https://`"};
    case WebFault::fragment:
      return {"fragment", "a target has no fragment; leave `#` and what follows out"};
    case WebFault::userinfo:
      return {"userinfo", "there is a `@` before the host; send credentials in a header, not in the target"};
    case WebFault::bad_authority:
      return {"bad-authority",
              "host and port are malformed; write `example.org:80`, and an IPv6 address in brackets"};
    case WebFault::empty_host:
      return {"empty-host", "the host is missing; name one, as in `http://example.org/`"};
    case WebFault::missing_port:
      return {"missing-port", "the port is missing; write `example.org:443`"};
    case WebFault::bad_port:
      return {"bad-port", "the port must be a whole number from 1 to 65535 without a sign or leading zeros"};
    case WebFault::percent_in_host:
      return {"percent-in-host", "a host is never percent-encoded; write its characters as they are"};
    case WebFault::bad_host_char:
      return {"bad-host-char",
              "a host holds letters, digits, `-`, `_` and `.` only; leave other characters out"};
    case WebFault::zone_id:
      return {"zone-id", "an address with a zone leads to a local link; leave `%` and what follows out"};
    case WebFault::bad_ipv6:
      return {"bad-ipv6", "the brackets hold no IPv6 address; write one, such as `[2001:db8::1]`"};
    case WebFault::ambiguous_ipv4:
      return {
          "ambiguous-ipv4",
          "what ends in a number must be an IPv4 address; write four numbers from 0 to 255 without leading "
          "zeros and a last dot"};
    case WebFault::empty_label:
      return {"empty-label", "the name has an empty label; leave superfluous dots out"};
    case WebFault::label_too_long:
      return {"label-too-long", "a label of the name is longer than 63 bytes; no such name exists"};
    case WebFault::bad_label:
      return {"bad-label", "a label of the name begins or ends with `-`; no such name exists"};
    case WebFault::bad_alabel:
      return {"bad-alabel", "a label begins with `xn--` and encodes no international label; correct it"};
    case WebFault::name_too_long:
      return {"name-too-long", "the name is longer than 253 bytes; no such name exists"};
    case WebFault::missing_host:
      return {"missing-host", "the Host field is missing; send one, with the host of the target"};
    case WebFault::multiple_host:
      return {"multiple-host", "there is more than one Host field; send one"};
    case WebFault::bad_host_header:
      return {"bad-host-header", "the Host field is no host with a port or without; send the target's"};
    case WebFault::ambiguous_path:
      return {
          "ambiguous-path",
          "a rule judges paths of this host, and this path could be read in two ways; leave out `.`, `..` "
          "and empty parts, `;`, `\\`, encoded slashes and control bytes, double and broken encoding"};
    case WebFault::no_path:
      return {"no-path", "a rule judges paths of this host, and this request shows none; ask for a path"};
  }
  return {};
}

}  // namespace

std::string_view code_of(WebFault fault) { return text_of(fault).code; }

Error error_of(WebFault fault) {
  const auto text = text_of(fault);
  return {std::string(text.code), std::string(text.message)};
}

tl::unexpected<Error> refuse(WebFault fault) { return tl::unexpected<Error>(error_of(fault)); }

}  // namespace policy
