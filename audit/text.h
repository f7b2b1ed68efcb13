#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "audit/redact.h"
#include "policy/json.h"

namespace audit {

// Writes values that came from outside into a record: canonical JSON whose texts are redacted, bounded and
// UTF-8. Bytes that are not UTF-8 become `{"~b64":…}`, a text over the limit
// `{"~cut":{"bytes":…,"head":…,"hmac":…}}` (size and keyed digest of the whole text as it was given).
class CleanWriter final {
 public:
  CleanWriter(const Redactor& redactor, std::string& out) : redactor_(redactor), out_(out) {}

  // At most `bytes` of canonical text: texts in it are cut shorter and shorter until it fits, and when even
  // that is not enough the whole value stands as a `~cut`.
  void value(const policy::Json&, std::size_t bytes);
  void text(std::string_view, std::size_t limit);
  // How many secrets were taken out so far.
  int redactions() const { return redactions_; }

 private:
  void cut(std::size_t bytes, const std::string& digest, std::string_view head, bool utf8);
  void any(const policy::Json&, std::size_t text_limit, int depth);
  const Redactor& redactor_;
  std::string& out_;
  int redactions_ = 0;
};

// Appends `,"name":` — every member of a record but `_prev` stands behind another.
void member(std::string_view name, std::string& out);
// Appends an integer; beyond ±(2^53 - 1) as a text of digits.
void integer(std::int64_t value, std::string& out);
void integer(std::uint64_t value, std::string& out);

// The longest front of at most `limit` bytes that ends between characters.
std::string_view front_of(std::string_view text, std::size_t limit);
std::string base64(std::string_view);

}  // namespace audit
