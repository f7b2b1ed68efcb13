#pragma once

#include <string_view>

#include "policy/result.h"

namespace policy {

// What can be wrong with the target of a web request, in the bytes alone.
enum class WebFault {
  bad_request_line,
  target_too_long,
  control_byte,
  non_ascii_target,
  asterisk_form,
  origin_form,
  not_absolute_form,
  not_authority_form,
  scheme_not_http,
  fragment,
  userinfo,
  bad_authority,
  empty_host,
  missing_port,
  bad_port,
  percent_in_host,
  bad_host_char,
  zone_id,
  bad_ipv6,
  ambiguous_ipv4,
  empty_label,
  label_too_long,
  bad_label,
  bad_alabel,
  name_too_long,
  missing_host,
  multiple_host,
  bad_host_header,
  ambiguous_path,
  no_path,  // a tunnel, or `*`
};

std::string_view code_of(WebFault);  // `ambiguous-ipv4`
// The code, and a message that says what to write instead. It never repeats what was sent.
Error error_of(WebFault);
tl::unexpected<Error> refuse(WebFault);

}  // namespace policy
