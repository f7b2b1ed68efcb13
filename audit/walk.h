#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "audit/chain.h"
#include "audit/reader.h"

namespace audit {

// What is wrong with a line, as an auditor wants to read it.
struct Fault {
  std::string code;  // line | hash | prev | seq | log | open | outcome | anchor | segment
  std::string what;
  std::string expected;
  std::string found;
  std::optional<std::uint64_t> seq;  // of the record that should stand there
};

// Follows a chain line by line. Nothing is trusted that the chain does not hold: after a fault the walk is
// over.
class Walk final {
 public:
  struct Unfinished {
    std::string act, call;
  };
  // The segment before the one that begins now, as its successor must name it.
  struct Previous {
    std::string name;
    std::uint64_t size = 0;
  };

  // From record 0, or from the middle: then the first line's own word for what is before it is taken.
  enum class From { genesis, here };
  explicit Walk(From from = From::genesis) : adopt_(from == From::here) {}

  // The next line opens a segment; `before` is empty for segment 0.
  void begin_segment(std::optional<Previous> before);
  // One whole line without its newline. `fields` are views into it.
  std::optional<Fault> feed(std::string_view line, Fields& fields);

  const std::string& log() const { return log_; }
  const std::string& key() const { return key_; }
  const std::string& head() const { return head_; }
  std::uint64_t next_seq() const { return next_seq_; }
  bool any() const { return any_; }
  // Allowed actions without an outcome so far, by seq.
  const std::map<std::uint64_t, Unfinished>& unfinished() const { return unfinished_; }
  // More actions were unfinished at once than are followed; outcomes were not checked from there on.
  bool overflowed() const { return overflowed_; }

 private:
  std::optional<Fault> open_record(const Fields&);
  std::optional<Fault> pair(const Fields&);

  Hasher hasher_;
  bool adopt_;
  bool any_ = false;
  bool begins_segment_ = true;
  std::optional<Previous> before_;
  std::string log_, key_, head_;
  std::uint64_t next_seq_ = 0;
  std::map<std::uint64_t, Unfinished> unfinished_;
  bool overflowed_ = false;
};

}  // namespace audit
