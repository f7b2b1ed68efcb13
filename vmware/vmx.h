#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"

namespace vmware {

// A .vmx file as a value: names to values, names compared without regard to ASCII case. Values are UTF-8
// text.
//
// Two readers share one grammar (that of VMware's own dictionary reader): `parse` refuses whatever is damaged
// or ambiguous, so that what we checked is what VMware reads; `parse_lenient` takes what VMware takes and is
// for programs that play VMware's part, never for deciding whether a file is safe.
class Vmx final {
 public:
  struct Entry {
    std::string key;
    std::string value;
    bool operator==(const Entry&) const = default;
  };

  static constexpr std::size_t kMaxFile = 1 << 20;
  static constexpr std::size_t kMaxLines = 5000;
  static constexpr std::size_t kMaxKey = 256;
  static constexpr std::size_t kMaxValue = 8192;

  // Strict reading. `file` names the source in the position of an error (`file:line:column`). Codes:
  // `vmx.size`, `vmx.lines`, `vmx.nul`, `vmx.line` (no `name = value`), `vmx.name`, `vmx.duplicate`,
  // `vmx.value` (too long), `vmx.control`, `vmx.encoding` (unknown, or bytes it does not allow).
  static policy::Result<Vmx> parse(std::string_view bytes, std::string_view file = ".vmx");

  // VMware's reading: lines that are not `name = value` are ignored, a NUL ends its line, of two equal names
  // the last counts, values keep bytes their encoding does not allow. Fails only with `vmx.size`.
  static policy::Result<Vmx> parse_lenient(std::string_view bytes);

  // Nothing when the key is absent. `.encoding` is always `UTF-8`: reading converts, writing declares it.
  std::optional<std::string_view> get(std::string_view key) const;
  // `otherwise` when the key is absent.
  std::string get_or(std::string_view key, std::string_view otherwise) const;
  // `TRUE` in any case; absent or anything else is false.
  bool is_true(std::string_view key) const;

  // Adds the key or replaces its value. Refuses what `parse` would refuse to read back.
  policy::Result<> set(std::string_view key, std::string_view value);
  // False when there was no such key.
  bool erase(std::string_view key);

  // Sorted by name without regard to case; does not contain `.encoding`.
  const std::vector<Entry>& entries() const { return entries_; }

  // Canonical form: `.encoding = "UTF-8"`, then `name = "value"` sorted, LF line ends.
  std::string write() const;

  bool operator==(const Vmx&) const = default;

 private:
  std::vector<Entry> entries_;
};

// ASCII order without regard to case, as .vmx names are compared: <0, 0, >0.
int compare_vmx_keys(std::string_view a, std::string_view b);

}  // namespace vmware
