#include "audit/escape.h"
#include "audit/verify.h"

namespace audit {
namespace {

std::string_view spelling(Verdict verdict) {
  switch (verdict) {
    case Verdict::good:
      return "good";
    case Verdict::tampered:
      return "tampered";
    case Verdict::incomplete:
      return "incomplete";
    case Verdict::warnings:
      return "good, with warnings";
  }
  return "tampered";
}

policy::Json list(const std::vector<std::string>& texts) {
  policy::Json::Array out;
  for (const auto& text : texts) out.emplace_back(text);
  return policy::Json(std::move(out));
}

}  // namespace

std::string to_text(const VerifyReport& r) {
  std::string out = "verdict: " + std::string(spelling(r.verdict)) + "\n";
  if (r.bad) {
    const auto& fault = r.bad->fault;
    out += "first bad place: ";
    if (!r.bad->segment.empty()) {
      out += r.bad->segment + " line " + std::to_string(r.bad->line) + ", byte " +
             std::to_string(r.bad->offset) + ", ";
    }
    if (fault.seq) out += "record " + std::to_string(*fault.seq) + ": ";
    out += fault.code + ": " + fault.what + "\n";
    if (!fault.expected.empty()) out += "  expected: " + fault.expected + "\n";
    if (!fault.found.empty()) out += "  found:    " + fault.found + "\n";
    out += "  nothing behind this place was judged\n";
  }
  if (!r.log.empty()) {
    out += "log " + r.log + ": " + std::to_string(r.records) + " records in " + std::to_string(r.segments) +
           " whole segments (" + std::to_string(r.bytes) + " bytes)\n";
  }
  if (r.last_seq) {
    out += "from " + r.first_time + " to " + r.last_time + "\n";
    out += "last record: " + std::to_string(*r.last_seq) + " " + r.head + "\n";
  }
  if (r.live) out += "the log is being written; checked up to where it was at the start\n";
  if (r.unfinished > 0) out += "actions under way: " + std::to_string(r.unfinished) + "\n";
  for (const auto& text : r.missing) out += "missing: " + text + "\n";
  for (const auto& text : r.warnings) out += "warning: " + text + "\n";
  for (const auto& text : r.not_covered) out += "not covered: " + text + "\n";
  return terminal_safe_lines(out);
}

policy::Json to_json(const VerifyReport& r) {
  policy::Json out;
  out["verdict"] = spelling(r.verdict);
  out["exit"] = exit_code(r.verdict);
  out["log"] = r.log;
  out["key"] = r.key;
  out["segments"] = r.segments;
  out["records"] = r.records;
  out["bytes"] = r.bytes;
  out["live"] = r.live;
  out["first_time"] = r.first_time;
  out["last_time"] = r.last_time;
  if (r.last_seq) out["last_seq"] = *r.last_seq;
  out["head"] = r.head;
  out["unfinished"] = r.unfinished;
  out["lost"] = r.lost;
  if (r.bad) {
    policy::Json bad;
    bad["segment"] = r.bad->segment;
    bad["line"] = r.bad->line;
    bad["offset"] = r.bad->offset;
    bad["code"] = r.bad->fault.code;
    bad["what"] = r.bad->fault.what;
    bad["expected"] = r.bad->fault.expected;
    bad["found"] = r.bad->fault.found;
    if (r.bad->fault.seq) bad["seq"] = *r.bad->fault.seq;
    out["bad"] = std::move(bad);
  }
  out["missing"] = list(r.missing);
  out["warnings"] = list(r.warnings);
  out["not_covered"] = list(r.not_covered);
  return out;
}

}  // namespace audit
