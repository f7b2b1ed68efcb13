#include "gateway/mcp/elicitation.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "policy/json.h"

namespace gateway::mcp {
namespace {

using nlohmann::json;

constexpr std::string_view kFirst = "2025-06-18", kFirstWithModes = "2025-11-25";
constexpr const char* kBox = "approve";
constexpr const char* kApproval = "approval";  // the key of our one question in a result

// The params of `elicitation/create`.
std::string form(std::string_view message, std::string_view revision) {
  std::string params = revision < kFirstWithModes ? "{" : R"({"mode":"form",)";
  params += R"("message":)";
  policy::canonical_string(message, params);
  params += R"(,"requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean",)"
            R"("title":"Approve this one call","description":"Ticked and sent, it is done once. )"
            R"(Anything else refuses it."}},"required":["approve"]}})";
  return params;
}

Said sent(const json& result) {
  for (const auto& [key, value] : result.items()) {
    if (key != "action" && key != "content" && key != "_meta") return Said::unreadable;
  }
  const auto content = result.find("content");
  if (content == result.end() || !content->is_object() || content->size() != 1) return Said::unreadable;
  const auto box = content->find(kBox);
  if (box == content->end() || !box->is_boolean()) return Said::unreadable;
  return box->get<bool>() ? Said::yes : Said::no;
}

}  // namespace

Said said_in(const json* result) {
  if (result == nullptr || !result->is_object()) return Said::unreadable;
  const auto action = result->find("action");
  if (action == result->end() || !action->is_string()) return Said::unreadable;
  const auto& word = action->get_ref<const std::string&>();
  if (word == "decline") return Said::no;
  if (word == "cancel") return Said::dismissed;
  return word == "accept" ? sent(*result) : Said::unreadable;
}

bool takes_forms(const json* capabilities, std::string_view revision) {
  if (capabilities == nullptr || !capabilities->is_object() || revision < kFirst) return false;
  const auto declared = capabilities->find("elicitation");
  if (declared == capabilities->end() || !declared->is_object()) return false;
  if (revision < kFirstWithModes) return true;
  // Who names no mode shows forms.
  const auto named = declared->find("form");
  if (named != declared->end()) return named->is_object();
  return !declared->contains("url");
}

std::string asked_again_members(const Elicitation& asked, std::string_view revision, std::string_view state) {
  return R"("inputRequests":{")" + std::string(kApproval) + R"(":{"method":"elicitation/create","params":)" +
         form(asked.message, revision) + R"(}},"requestState":")" + std::string(state) + "\"";
}

policy::Result<std::optional<Answered>> carried_in(const json* params, const Seal& seal,
                                                   std::string_view context) {
  std::optional<Answered> answered;
  if (params == nullptr) return answered;
  const auto responses = params->find("inputResponses"), state = params->find("requestState");
  if (responses != params->end() && !responses->is_object()) {
    return policy::fail("mcp.params", "`inputResponses` must be an object");
  }
  if (state == params->end()) return answered;
  const auto question =
      state->is_string() ? seal.open(state->get_ref<const std::string&>(), context) : std::nullopt;
  if (!question) return policy::fail("mcp.params", "`requestState` is not what was given for this call");
  if (responses == params->end()) return answered;
  const auto response = responses->find(kApproval);
  if (response != responses->end()) answered = Answered{*question, said_in(&*response)};
  return answered;
}

std::string OpenForms::put(const Elicitation& asked, std::string_view revision) {
  const auto id = "elicit-" + std::to_string(++last_);
  open_.emplace(id, asked.question);
  return R"({"jsonrpc":"2.0","id":")" + id + R"(","method":"elicitation/create","params":)" +
         form(asked.message, revision) + "}";
}

std::string OpenForms::withdraw(std::string_view question) {
  const auto at = std::ranges::find_if(open_, [&](const auto& one) { return one.second == question; });
  if (at == open_.end()) return {};
  const auto id = at->first;
  open_.erase(at);
  return R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":")" + id +
         R"(","reason":"the question is over"}})";
}

std::optional<Answered> OpenForms::answered(const Response& response) {
  const auto* id = response.id ? std::get_if<std::string>(&*response.id) : nullptr;
  const auto at = id != nullptr ? open_.find(*id) : open_.end();
  if (at == open_.end()) return std::nullopt;
  Answered answered{std::move(at->second), said_in(response.result.get())};
  open_.erase(at);
  return answered;
}

}  // namespace gateway::mcp
