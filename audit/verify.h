#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/disk.h"
#include "audit/walk.h"
#include "policy/json.h"

namespace audit {

// A hash somebody kept outside of the log: a receipt in a client's transcript, a line on paper.
struct Anchor {
  std::uint64_t seq = 0;
  std::string hash;  // 64 hex digits
};

struct VerifyOptions {
  std::vector<Anchor> anchors;
};

enum class Verdict { good, tampered, incomplete, warnings };

// What a check of a whole log found.
struct VerifyReport {
  Verdict verdict = Verdict::incomplete;
  std::string log;
  std::string key;  // the public key record 0 names; empty when the log is not signed
  std::uint64_t segments = 0, records = 0, bytes = 0;
  std::string first_time, last_time;
  std::optional<std::uint64_t> last_seq;
  std::string head;
  bool live = false;  // a process was writing it; what came after the start of the check was not looked at

  struct Bad {
    std::string segment;
    std::uint64_t line = 0;    // from 1
    std::uint64_t offset = 0;  // of the line's first byte
    Fault fault;
  };
  std::optional<Bad> bad;  // the first bad place; nothing behind it was judged

  std::uint64_t unfinished = 0;      // allowed actions without an outcome so far
  std::uint64_t lost = 0;            // outcomes nobody saw
  std::vector<std::string> missing;  // what could not be read: the reason for `incomplete`
  std::vector<std::string> warnings;
  std::vector<std::string> not_covered;
};

// Checks every byte of every segment in constant memory, also while the log is being written: up to the
// sizes seen at the start.
VerifyReport verify(const std::string& folder, const VerifyOptions& options = {});
VerifyReport verify(Disk& disk, const VerifyOptions& options = {});

// 0 good, 1 tampered, 3 incomplete, 4 good with warnings (2 is left to the command line).
int exit_code(Verdict);
std::string to_text(const VerifyReport&);
policy::Json to_json(const VerifyReport&);

}  // namespace audit
