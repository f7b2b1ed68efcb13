#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "audit/chain.h"
#include "audit/redact.h"
#include "policy/decision.h"

namespace audit {

// The name of an action in the log (the table in FORMAT.md).
std::string_view act_of(const policy::Action&);
// Whether an event may carry this name: dotted lower case, at most 48 bytes.
bool is_act(std::string_view);

// All of a record that can be written before its place in the log is known. The pieces are canonical JSON
// members, each behind its comma.
struct Draft {
  std::string head;    // act, call, dec, dur
  std::string level;   // lvl
  std::string middle;  // obj, par, ph, red, ref, req, res, sbx
  std::string tail;    // ses, sub
};

Draft draft(const policy::Decision&, policy::Durability, const Redactor&);
Draft draft(const policy::Receipt& decision, const policy::Request&, const policy::Outcome&, const Redactor&);
Draft draft(const policy::Event&, const Redactor&);
// The outcome of an action whose end nobody saw.
Draft draft_lost(std::uint64_t decision, std::string_view act, std::string_view call);

// Where and when a record stands.
struct Stamp {
  std::string_view log;
  std::uint64_t seq = 0;
  std::string_view prev;
  std::chrono::sys_time<std::chrono::nanoseconds> wall;
  std::chrono::nanoseconds since_boot{};
  std::string_view id;
};

// Replaces `line` by the whole record with its newline; the answer is its hash.
std::string compose(const Draft&, const Stamp&, Hasher&, std::string& line);

// UTC, RFC 3339, nine digits of the second.
std::string timestamp(std::chrono::sys_time<std::chrono::nanoseconds>);

// A UUID of version 7 (RFC 9562); `seq` orders those of one millisecond.
std::string uuid_v7(std::chrono::sys_time<std::chrono::nanoseconds>, std::uint64_t seq);

}  // namespace audit
