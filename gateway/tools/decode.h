#pragma once

#include "gateway/tools/arguments.h"
#include "gateway/tools/decoded.h"

// Checked arguments to the typed call, one function a tool. Anyone but the tool table goes through decode().
namespace gateway::tools {

policy::Result<Call> decode_create(const Arguments&);
policy::Result<Call> decode_run(const Arguments&);
policy::Result<Call> decode_start(const Arguments&);
policy::Result<Call> decode_check(const Arguments&);
policy::Result<Call> decode_stop(const Arguments&);
policy::Result<Call> decode_copy_in(const Arguments&);
policy::Result<Call> decode_copy_out(const Arguments&);
policy::Result<Call> decode_screenshot(const Arguments&);
policy::Result<Call> decode_click(const Arguments&);
policy::Result<Call> decode_type(const Arguments&);
policy::Result<Call> decode_key(const Arguments&);
policy::Result<Call> decode_destroy(const Arguments&);
policy::Result<Call> decode_list(const Arguments&);
policy::Result<Call> decode_extend(const Arguments&);

}  // namespace gateway::tools
