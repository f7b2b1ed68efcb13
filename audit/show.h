#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "audit/disk.h"
#include "policy/result.h"

namespace audit {

// Which records.
struct BySeq {
  std::uint64_t seq = 0;
};
struct LastRecords {
  std::size_t count = 20;  // at most kMaxShown
};
// All of one call, oldest first: what was asked, and everything it caused.
struct ByCall {
  std::string call;
};
using Selection = std::variant<BySeq, LastRecords, ByCall>;
constexpr std::size_t kMaxShown = 10'000;

// `text`: for people. `json`: one line each, the stored value with what a terminal would act on escaped.
// `raw`: the stored bytes, hash and all, not safe for a terminal.
enum class ShowForm { text, json, raw };

// Hands each record to `out`, a piece of text that ends with a newline. Answers how many. It shows what is
// stored and checks nothing but the shape of a line; that is verify()'s work. Errors: `audit.none` (no such
// record), `audit.line` (a stored line is not a record; `where` is segment:line), audit.disk, audit.folder.
using ShowSink = std::function<void(std::string_view)>;
policy::Result<std::size_t> show(const std::string& folder, const Selection&, ShowForm, const ShowSink& out);
policy::Result<std::size_t> show(Disk& disk, const Selection&, ShowForm, const ShowSink& out);

// One record for people, on several lines. `line` is without its newline.
policy::Result<std::string> record_text(std::string_view line);

}  // namespace audit
