#include "gateway/tools/encode.h"

#include <algorithm>
#include <utility>

#include <fmt/chrono.h>

#include "gateway/mcp/utf8.h"
#include "gateway/tools/output_window.h"
#include "policy/json.h"

namespace gateway::tools {
namespace {

using policy::Json;

constexpr std::uint64_t kMaxNumber = (std::uint64_t{1} << 53) - 1;
constexpr std::size_t kMaxNames = 20;
constexpr std::size_t kMaxNameBytes = 255;

Json number(std::uint64_t value) { return Json(std::min(value, kMaxNumber)); }
Json whole(std::int64_t value) {
  return number(static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0)));
}
Json moment(vmware::TimePoint when) { return Json(fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(when))); }

// The structured result, and the same as text for clients that know only text.
ToolResult success(const Json& facts) {
  ToolResult result;
  result.structured = policy::canonical(facts);
  result.content.emplace_back(mcp::Text{result.structured});
  return result;
}

std::string_view spelling(vmware::SandboxState state) {
  switch (state) {
    case vmware::SandboxState::creating:
      return "creating";
    case vmware::SandboxState::ready:
      return "ready";
    case vmware::SandboxState::destroying:
      return "destroying";
    case vmware::SandboxState::lost:
      break;
  }
  return "lost";
}

std::string_view spelling(vmware::JobStatus status) {
  switch (status) {
    case vmware::JobStatus::running:
      return "running";
    case vmware::JobStatus::exited:
      return "exited";
    case vmware::JobStatus::stopped:
      return "stopped";
    case vmware::JobStatus::timed_out:
      return "timed_out";
    case vmware::JobStatus::lost:
      break;
  }
  return "lost";
}

Json sandbox(const vmware::SandboxInfo& info, Now now) {
  return Json(Json::Object{
      {"sandbox_id", Json(info.id.text())},
      {"network", Json(policy::spelling(info.network))},
      {"status", Json(spelling(info.state))},
      {"age_seconds", whole((now - info.created).count())},
      {"created_at", moment(info.created)},
      {"expires_at", moment(info.expires)},
      {"expires_in_seconds", whole((info.expires - now).count())},
  });
}

ToolResult job(const vmware::JobView& view, const Offsets& from) {
  const auto growth = view.status == vmware::JobStatus::running ? Growth::growing : Growth::ended;
  const Windows shown = windows(view.out, view.err, from.out, from.err, kMaxOutputChars, growth);
  Json::Object facts{
      {"job_id", Json(view.job.text())},
      {"status", Json(spelling(view.status))},
      {"stdout", Json(shown.out.bytes)},
      {"stderr", Json(shown.err.bytes)},
      {"stdout_truncated", Json(shown.out.truncated)},
      {"stderr_truncated", Json(shown.err.truncated)},
      {"stdout_offset", number(shown.out.offset)},
      {"stderr_offset", number(shown.err.offset)},
      {"stdout_next_offset", number(shown.out.next)},
      {"stderr_next_offset", number(shown.err.next)},
      {"stdout_total", number(shown.out.total)},
      {"stderr_total", number(shown.err.total)},
      {"duration_ms", whole(view.duration.count())},
      {"expires_at", moment(view.expires)},
  };
  if (view.status == vmware::JobStatus::exited && view.exit_code) {
    facts.emplace("exit_code", Json(*view.exit_code));
  }
  return success(Json(std::move(facts)));
}

// Big-endian, as PNG writes its numbers.
std::uint32_t u32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char c : bytes.substr(0, 4)) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

}  // namespace

ToolResult created(const vmware::SandboxInfo& info, Now now) { return success(sandbox(info, now)); }
ToolResult extended(const vmware::SandboxInfo& info, Now now) { return success(sandbox(info, now)); }

ToolResult listed(const std::vector<vmware::SandboxInfo>& infos, Now now) {
  Json::Array items;
  for (const auto& info : infos) items.push_back(sandbox(info, now));
  const auto count = number(items.size());
  return success(Json(Json::Object{{"sandboxes", Json(std::move(items))}, {"count", count}}));
}

ToolResult ran(const vmware::JobView& view) { return job(view, {}); }
ToolResult checked(const vmware::JobView& view, const Offsets& from) { return job(view, from); }

ToolResult started(const vmware::JobView& view) {
  return success(Json(Json::Object{{"job_id", Json(view.job.text())},
                                   {"status", Json(spelling(view.status))},
                                   {"expires_at", moment(view.expires)}}));
}

ToolResult stopped(const vmware::JobView& view, StopEffect effect) {
  Json::Object facts{{"job_id", Json(view.job.text())},
                     {"status", Json(spelling(view.status))},
                     {"effect", Json(effect == StopEffect::stopped ? "stopped" : "had_ended")},
                     {"duration_ms", whole(view.duration.count())}};
  if (view.status == vmware::JobStatus::exited && view.exit_code) {
    facts.emplace("exit_code", Json(*view.exit_code));
  }
  return success(Json(std::move(facts)));
}

ToolResult copied_in(const CopiedIn& copy) {
  Json::Object facts{
      {"guest_path", Json(copy.guest_path)}, {"files", number(copy.files)}, {"bytes", number(copy.bytes)}};
  if (!copy.sha256.empty()) facts.emplace("sha256", Json(copy.sha256));
  return success(Json(std::move(facts)));
}

ToolResult copied_out(const CopiedOut& copy) {
  Json::Object skipped;
  std::uint64_t total = 0;
  for (const auto& [reason, count] : copy.skipped) {
    skipped.emplace(reason, number(count));
    total += count;
  }
  Json::Array names;
  for (const auto& name : copy.skipped_names) {
    if (names.size() == kMaxNames) break;
    names.emplace_back(mcp::utf8_prefix(name, kMaxNameBytes));
  }
  Json::Object facts{{"saved_to", Json(copy.saved_to)},     {"files", number(copy.files)},
                     {"bytes", number(copy.bytes)},         {"skipped_total", number(total)},
                     {"skipped", Json(std::move(skipped))}, {"skipped_names", Json(std::move(names))}};
  if (!copy.sha256.empty()) facts.emplace("sha256", Json(copy.sha256));
  return success(Json(std::move(facts)));
}

ToolResult screen(std::string png) {
  constexpr std::string_view kSignature("\x89PNG\r\n\x1a\n", 8);
  constexpr std::size_t kWidthAt = 16, kHeightAt = 20, kHeaderEnd = 24;  // PNG 1.2, 11.2.2
  if (png.size() < kHeaderEnd || !png.starts_with(kSignature) || png.compare(12, 4, "IHDR") != 0) {
    return failed({"screenshot.format", "the sandbox's screen came as something that is no PNG; try again"});
  }
  if (png.size() > kMaxImageBytes) {
    return failed({"screenshot.too_large",
                   "the screen's picture has " + std::to_string(png.size()) + " bytes and an answer holds " +
                       std::to_string(kMaxImageBytes) + "; use a lower screen resolution in the sandbox"});
  }
  ToolResult result =
      success(Json(Json::Object{{"width", number(u32(std::string_view(png).substr(kWidthAt)))},
                                {"height", number(u32(std::string_view(png).substr(kHeightAt)))},
                                {"format", Json("png")},
                                {"bytes", number(png.size())}}));
  result.content.insert(result.content.begin(), mcp::Image{std::move(png), "image/png"});
  return result;
}

ToolResult clicked(const policy::Click& click) {
  return success(Json(Json::Object{{"x", Json(std::int64_t{click.x})},
                                   {"y", Json(std::int64_t{click.y})},
                                   {"button", Json(policy::spelling(click.button))},
                                   {"clicks", Json(std::int64_t{click.count})}}));
}

ToolResult typed(std::size_t characters) {
  return success(Json(Json::Object{{"characters", number(characters)}}));
}

ToolResult pressed(const policy::PressKey& key) {
  return success(Json(Json::Object{{"keys", Json(key.keys)}}));
}

ToolResult destroyed(const policy::SandboxId& id) {
  return success(Json(Json::Object{{"sandbox_id", Json(id.text())}, {"destroyed", Json(true)}}));
}

}  // namespace gateway::tools
