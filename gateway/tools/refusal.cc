#include <array>
#include <utility>

#include "gateway/mcp/utf8.h"
#include "gateway/tools/encode.h"
#include "policy/json.h"

namespace gateway::tools {
namespace {

using policy::Json;

constexpr std::size_t kMaxReason = 4000;  // bytes; clients cut error texts at about 10,000

enum class Retry { never, later };

struct Kind {
  std::string_view name;
  Retry retry;
};

// By the whole code first, then by its part before the dot.
constexpr std::array<std::pair<std::string_view, Kind>, 51> kKinds{{
    {"allow", {"internal", Retry::never}},
    {"approval", {"approval", Retry::later}},
    {"archive", {"content", Retry::never}},
    {"argument", {"argument", Retry::never}},
    {"ask", {"approval", Retry::later}},
    {"audit", {"audit", Retry::later}},
    {"base", {"configuration", Retry::never}},
    {"base.busy", {"limit", Retry::later}},
    {"busy", {"limit", Retry::later}},
    {"cancelled", {"cancelled", Retry::never}},
    {"capability", {"capability", Retry::never}},
    {"clone", {"hypervisor", Retry::never}},
    {"config", {"configuration", Retry::never}},
    {"copy", {"content", Retry::never}},
    {"default", {"policy", Retry::never}},
    {"deny", {"policy", Retry::never}},
    {"deny.audit", {"audit", Retry::later}},
    {"deny.kill_switch", {"stopped", Retry::never}},
    {"deny.limit", {"limit", Retry::later}},
    {"deny.stopped", {"stopped", Retry::never}},
    {"egress", {"network", Retry::never}},
    {"file", {"host", Retry::never}},
    {"folder", {"configuration", Retry::never}},
    {"guest", {"guest", Retry::later}},
    {"guest.login", {"configuration", Retry::never}},
    {"guest.no_file", {"path", Retry::never}},
    {"guest.permission", {"guest", Retry::never}},
    {"host", {"host", Retry::never}},
    {"image", {"configuration", Retry::never}},
    {"input", {"input", Retry::never}},
    {"job", {"unknown_id", Retry::never}},
    {"limit", {"limit", Retry::later}},
    {"lock", {"host", Retry::later}},
    {"network", {"network", Retry::never}},
    {"owner", {"configuration", Retry::never}},
    {"path", {"path", Retry::never}},
    {"policy", {"configuration", Retry::never}},
    {"process", {"hypervisor", Retry::later}},
    {"sandbox", {"unknown_id", Retry::never}},
    {"screenshot", {"guest", Retry::later}},
    {"screenshot.too_large", {"limit", Retry::never}},
    {"settings", {"configuration", Retry::never}},
    {"setup", {"configuration", Retry::never}},
    {"snapshot", {"configuration", Retry::never}},
    {"socket", {"host", Retry::later}},
    {"tar", {"content", Retry::never}},
    {"timeout", {"timeout", Retry::later}},
    {"vm", {"hypervisor", Retry::never}},
    {"vmrun", {"hypervisor", Retry::later}},
    {"vmx", {"configuration", Retry::never}},
    {"web", {"network", Retry::never}},
}};

const Kind* look_up(std::string_view code) {
  for (const auto& [key, kind] : kKinds) {
    if (key == code) return &kind;
  }
  return nullptr;
}

Kind kind_of(std::string_view code) {
  if (const auto* exact = look_up(code)) return *exact;
  if (code.ends_with(".timeout")) return {"timeout", Retry::later};
  if (const auto* group = look_up(code.substr(0, code.find('.')))) return *group;
  return {"internal", Retry::never};
}

std::string clipped(std::string_view text) { return std::string(mcp::utf8_prefix(text, kMaxReason)); }

Json::Object facts(std::string_view decision, std::string_view code, std::string_view reason,
                   std::string_view hint) {
  const Kind kind = kind_of(code);
  return {{"decision", Json(decision)},      {"code", Json(code)},
          {"class", Json(kind.name)},        {"retryable", Json(kind.retry == Retry::later)},
          {"reason", Json(clipped(reason))}, {"hint", Json(clipped(hint))}};
}

ToolResult error(Json::Object structured, std::string text) {
  ToolResult result;
  result.outcome = mcp::ToolOutcome::error;
  result.structured = policy::canonical(Json(std::move(structured)));
  result.content.emplace_back(mcp::Text{std::move(text)});
  return result;
}

std::string policy_version(const policy::Sha256& digest) { return "sha256:" + digest.hex(); }

}  // namespace

std::string_view class_of(std::string_view code) { return kind_of(code).name; }

ToolResult refused(const policy::Denial& denial) {
  auto structured = facts("deny", denial.code, denial.reason, denial.hint);
  structured.emplace("rule", Json(denial.rule.id));
  structured.emplace("policy_version", Json(policy_version(denial.policy)));
  std::string text =
      "Refused (" + denial.code + ", rule " + denial.rule.id +
      "): " + (denial.reason.empty() ? std::string("no rule allows this") : clipped(denial.reason)) + ".";
  if (!denial.hint.empty()) text += " What to do instead: " + clipped(denial.hint) + ".";
  if (kind_of(denial.code).name == "policy") {
    text +=
        " This is a decision of the policy: the same call will be refused again, and other ways to the same "
        "end "
        "are not allowed either.";
  }
  return error(std::move(structured), std::move(text));
}

namespace {

struct Unanswered {
  std::string_view decision, code, says, hint;
};

Unanswered told_of(Desk::Reply::Kind kind) {
  using Answer = Desk::Reply::Kind;
  switch (kind) {
    case Answer::denied:
      return {"deny", "approval.denied", "Refused: a person was asked and said no",
              "do something else; the same call is not asked about again for a while"};
    case Answer::dismissed:
      return {"deny", "approval.dismissed",
              "Refused: a person was asked in the client and closed the question",
              "do something else; the same call is not asked about again for a while"};
    case Answer::expired:
      return {"deny", "approval.expired",
              "Not done: nobody answered in time, or the policy was changed meanwhile",
              "call again to ask anew"};
    case Answer::too_long:
      return {"deny", "approval.too_long",
              "Refused: a person would have to approve this, and it is more than a person can judge",
              "ask for less at a time; put a long command into a file and copy it in"};
    case Answer::too_many:
      return {"deny", "approval.too_many", "Not done: too many questions of yours wait for a person",
              "wait until some of them are answered"};
    case Answer::cancelled:
      return {"error", "cancelled", "Not done: the call was cancelled while a person was asked", ""};
    case Answer::allowed:
    case Answer::waiting:
      break;
  }
  return {"ask", "approval.waiting", "Not done yet: a person must approve this first, and was asked",
          "tell the user that approval is needed (`sallyport approve list` shows the question), then call "
          "again with the same arguments to wait for the answer"};
}

}  // namespace

ToolResult unanswered(const policy::Ask& ask, const Desk::Reply& reply) {
  auto told = told_of(reply.kind);
  if (reply.kind == Desk::Reply::Kind::waiting && reply.dialog == Question::Dialog::open) {
    told.hint =
        "tell the user that the client shows a question which he should answer (`sallyport approve list` "
        "shows "
        "it too), then call again with the same arguments to wait for the answer";
  }
  auto structured = facts(told.decision, told.code, ask.reason, told.hint);
  structured.emplace("rule", Json(ask.rule.id));
  structured.emplace("policy_version", Json(policy_version(ask.policy)));
  if (!reply.id.empty()) structured.emplace("approval_id", Json(reply.id));
  structured.emplace("approval_digest", Json(policy_version(ask.action)));
  structured.emplace("approval_who", Json(ask.who));
  if (reply.left.count() > 0)
    structured.emplace("approval_within_seconds", Json(std::int64_t{reply.left.count()}));
  std::string text = std::string(told.says) + " (rule " + ask.rule.id;
  if (!reply.id.empty()) text += ", question " + reply.id;
  text += ask.reason.empty() ? ")." : "): " + clipped(ask.reason) + ".";
  if (!told.hint.empty()) text += " What to do: " + std::string(told.hint) + ".";
  return error(std::move(structured), std::move(text));
}

ToolResult failed(const policy::Error& fault) {
  return error(facts("error", fault.code, fault.message, ""),
               "Failed (" + fault.code + "): " + clipped(fault.message) + ".");
}

ToolResult bad_argument(const policy::Error& fault) {
  auto structured = facts("error", fault.code, fault.message, "call again with the argument corrected");
  if (!fault.where.empty()) structured.emplace("field", Json(fault.where));
  return error(std::move(structured), "Wrong argument (" + fault.code + "): " + clipped(fault.message) + ".");
}

}  // namespace gateway::tools
