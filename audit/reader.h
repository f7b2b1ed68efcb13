#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "policy/json.h"
#include "policy/result.h"

// Reads stored lines back. Strict: only the one canonical form of a value is accepted, so a line that reads
// is a line that we could have written.
namespace audit {

// The members of a record, as views into the line. Texts are still escaped; objects are raw JSON; what is
// absent is empty.
struct Fields {
  std::string_view act, call, dec, dur, id, lvl, log, obj, ph, req, res, sbx, ses, sub, ts;
  std::optional<std::uint64_t> seq, ref, par;
  std::int64_t mono = 0;
  std::int64_t version = 0;
};

// Checks one line (without its newline) from end to end; allocates nothing unless member names hold escapes.
// The error's `where` is the byte offset.
policy::Result<Fields> read_fields(std::string_view line);

// The value of one canonical text: no null, no fraction, no blanks, sorted members.
policy::Result<policy::Json> read_value(std::string_view text);

// The raw value of a member of a canonical object that read_fields() accepted; empty when it has none.
std::string_view member_of(std::string_view object, std::string_view name);

}  // namespace audit
