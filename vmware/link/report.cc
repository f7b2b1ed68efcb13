#include "vmware/link/report.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace vmware {
namespace {

constexpr std::size_t kMaxHead = 256;
constexpr std::size_t kMaxTokens = 1000;
constexpr std::int64_t kMaxTotal = std::int64_t{1} << 53;
constexpr std::int64_t kMaxMilliseconds = std::int64_t{1} << 40;

constexpr std::array<std::pair<std::string_view, JobStatus>, 5> kStatus{{
    {"running", JobStatus::running},
    {"exited", JobStatus::exited},
    {"stopped", JobStatus::stopped},
    {"timed_out", JobStatus::timed_out},
    {"lost", JobStatus::lost},
}};

tl::unexpected<policy::Error> malformed() {
  return policy::fail("guest.report",
                      "the guest's report on the job is damaged or forged; the job's output cannot be read");
}

struct Head {
  std::string_view status;
  std::int64_t code = 0, ms = 0, out_total = 0, out_kept = 0, err_total = 0, err_kept = 0;
  std::string_view body;
};

std::optional<std::int64_t> number(std::string_view text, std::int64_t max) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  if (value < 0 || value > max) return std::nullopt;
  return value;
}

std::optional<Head> read_head(std::string_view bytes, std::string_view token) {
  if (bytes.size() > kMaxReport) return std::nullopt;
  const auto end = bytes.substr(0, kMaxHead).find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  std::array<std::string_view, 9> words;
  auto line = bytes.substr(0, end);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto blank = i + 1 == words.size() ? line.size() : line.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    words[i] = line.substr(0, blank);
    line.remove_prefix(std::min(blank + 1, line.size()));
  }
  if (words[0] != "sallyport1" || words[1] != token) return std::nullopt;
  const auto code = number(words[3], 255);
  const auto ms = number(words[4], kMaxMilliseconds);
  const auto out_total = number(words[5], kMaxTotal);
  const auto out_kept = number(words[6], kStreamKept);
  const auto err_total = number(words[7], kMaxTotal);
  const auto err_kept = number(words[8], kStreamKept);
  if (!code || !ms || !out_total || !out_kept || !err_total || !err_kept) return std::nullopt;
  Head head{words[2], *code, *ms, *out_total, *out_kept, *err_total, *err_kept, bytes.substr(end + 1)};
  const bool agree = head.out_kept <= head.out_total && head.err_kept <= head.err_total &&
                     head.body.size() == static_cast<std::size_t>(head.out_kept + head.err_kept);
  if (!agree) return std::nullopt;
  return head;
}

StreamView stream(std::string_view bytes, std::int64_t total) {
  StreamView view;
  view.bytes = std::string(bytes);
  view.total = static_cast<std::uint64_t>(total);
  view.offset = view.total - bytes.size();
  view.truncated = view.offset > 0;
  return view;
}

}  // namespace

policy::Result<GuestReport> parse_report(std::string_view bytes, std::string_view token) {
  const auto head = read_head(bytes, token);
  if (!head) return malformed();
  const auto status = std::find_if(kStatus.begin(), kStatus.end(),
                                   [&](const auto& known) { return known.first == head->status; });
  if (status == kStatus.end()) return malformed();
  GuestReport report;
  report.status = status->second;
  report.exit_code = static_cast<int>(head->code);
  report.ran = std::chrono::milliseconds(head->ms);
  const auto split = static_cast<std::size_t>(head->out_kept);
  report.out = stream(head->body.substr(0, split), head->out_total);
  report.err = stream(head->body.substr(split), head->err_total);
  return report;
}

std::string write_report(const GuestReport& report, std::string_view token) {
  std::string bytes = "sallyport1 ";
  bytes += token;
  for (const auto& [word, status] : kStatus) {
    if (status == report.status) (bytes += ' ') += word;
  }
  const auto add = [&](std::uint64_t value) { bytes += ' ' + std::to_string(value); };
  add(static_cast<std::uint64_t>(report.exit_code));
  add(static_cast<std::uint64_t>(report.ran.count()));
  add(report.out.total);
  add(report.out.bytes.size());
  add(report.err.total);
  add(report.err.bytes.size());
  return bytes + '\n' + report.out.bytes + report.err.bytes;
}

policy::Result<std::vector<std::string>> parse_census(std::string_view bytes, std::string_view token) {
  const auto head = read_head(bytes, token);
  if (!head || head->status != "census") return malformed();
  std::vector<std::string> tokens;
  for (auto rest = head->body; !rest.empty();) {
    const auto end = rest.find('\n');
    if (end != 32 || tokens.size() >= kMaxTokens) return malformed();
    const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    if (!std::all_of(rest.begin(), rest.begin() + 32, hex)) return malformed();
    tokens.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return tokens;
}

}  // namespace vmware
