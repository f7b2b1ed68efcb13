#include "gateway/cli/request_line.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "gateway/cli/json_line.h"
#include "gateway/cli/stated_json.h"
#include "policy/builtin.h"
#include "policy/explain.h"
#include "policy/result.h"
#include "policy/stated_words.h"

namespace gateway::cli {
namespace {

using nlohmann::json;
using policy::Result;
using policy::yaml::Node;

std::string in_ticks(std::string_view text) { return "`" + std::string(text) + "`"; }

// What a line says, in the words of a test.
class Line {
 public:
  explicit Line(const json& line) : line_(line) { statement_.kind = Node::Kind::map; }

  Result<policy::StatedQuestion> read(const policy::Anatomy& anatomy, const policy::Facts& settings) {
    static constexpr std::array<std::string_view, 8> kKeys{"id",     "as",   "session", "sandbox",
                                                           "action", "args", "facts",   "at"};
    auto checked = only_keys(line_, "the request", kKeys);
    if (checked) checked = text_of("action", action);
    if (checked && action.empty()) checked = invalid_line("`action` is missing");
    if (checked) checked = take_subject();
    if (checked) checked = take_sandbox();
    if (checked) checked = take_arguments();
    if (checked) checked = take_facts();
    if (!checked) return tl::unexpected(checked.error());
    if (refused_) return policy::StatedQuestion{};

    policy::Diagnostics found;
    auto question = policy::read_question(action, {1, 1}, statement_, anatomy.everyone, {"request", &found});
    if (!question) {
      const auto findings = found.take();
      return invalid_line(findings.empty() ? "the request is malformed" : findings.front().message);
    }
    policy::assume_settings(*question, statement_, settings);
    for (auto* requests : {&question->requests, &question->instead}) {
      for (auto& request : *requests) {
        if (const auto said = take_session(request.who); !said) return tl::unexpected(said.error());
        finish(request);
      }
    }
    return std::move(*question);
  }

  // A target that is refused before any rule.
  const std::optional<policy::Judgement>& refused() const { return refused_; }
  bool foreign() const { return foreign_; }

  std::string action;

 private:
  const json* member(const char* name) const {
    const auto at = line_.find(name);
    return at == line_.end() ? nullptr : &*at;
  }
  Result<void> text_of(const char* name, std::string& into) const {
    const auto* value = member(name);
    if (value == nullptr) return {};
    if (!value->is_string()) return invalid_line(in_ticks(name) + " must be text");
    into = value->get<std::string>();
    return {};
  }
  Result<void> add(std::string_view key, const json& value) { return state_json(statement_, key, value); }

  Result<void> take_subject() {
    if (auto read = text_of("as", as_); !read) return read;
    if (!as_.empty()) policy::state(statement_, "as", policy::stated_value("as", as_));
    std::string day;
    if (auto read = text_of("at", day); !read) return read;
    if (!day.empty()) policy::state(statement_, "at", policy::stated_value("at", day));
    return {};
  }

  Result<void> take_sandbox() {
    static constexpr std::array<std::string_view, 4> kKeys{"owner", "labels", "network", "age"};
    const auto* box = member("sandbox");
    if (box == nullptr) return {};
    if (auto checked = only_keys(*box, "`sandbox`", kKeys); !checked) return checked;
    has_sandbox_ = true;
    for (const auto& [key, value] : box->items()) {
      if (key == "owner") {
        if (!value.is_string())
          return invalid_line("`owner` must be text: `self`, or who else owns the sandbox");
        const auto& owner = value.get_ref<const std::string&>();
        foreign_ = owner != "self" && (as_.empty() || owner != as_);
      } else if (auto added = add("sandbox." + key, value); !added) {
        return added;
      }
    }
    return {};
  }

  Result<void> take_arguments() {
    const auto* args = member("args");
    if (args == nullptr) return {};
    if (!args->is_object()) return invalid_line("`args` must be an object");
    for (const auto& [key, value] : args->items()) {
      Result<void> taken;
      if (action == policy::Vmrun::kName && key == "command") {
        taken = add("verb", value);
      } else if (action == policy::Vmrun::kName && key == "vmx") {
        if (!value.is_string() || !value.get_ref<const std::string&>().starts_with('/'))
          return invalid_line("`vmx` must be a full path");
        vmx_ = value.get<std::string>();
      } else if (action == policy::Fetch::kName && key == "url" && value.is_string()) {
        const auto target = policy::parse_url(value.get_ref<const std::string&>());
        if (!target) refused_ = policy::refused_target(target.error());
        taken = add(key, value);
      } else if (action == policy::TypeText::kName && key == "text") {
        if (!value.is_string()) return invalid_line("`text` must be text");
        const auto& text = value.get_ref<const std::string&>();
        taken = add("chars", std::count_if(text.begin(), text.end(), [](char c) {
                      return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
                    }));
      } else if (action == policy::Click::kName && (key == "x" || key == "y")) {
        if (!value.is_number_integer()) return invalid_line(in_ticks(key) + " must be a whole number");
      } else if (key == "as" || key == "sandbox" || key == "settings" || key == "verb" ||
                 key.find('.') != std::string::npos) {
        return invalid_line(in_ticks(key) + " is no argument");
      } else {
        taken = add(key, value);
      }
      if (!taken) return taken;
    }
    return {};
  }

  Result<void> take_facts() {
    const auto* facts = member("facts");
    if (facts == nullptr) return {};
    if (!facts->is_object()) return invalid_line("`facts` must be an object");
    for (const auto& [key, value] : facts->items()) {
      if (key == "settings") {
        if (!value.is_object()) return invalid_line("`settings` must be an object");
        for (const auto& [name, setting] : value.items()) {
          if (auto added = add("settings." + name, setting); !added) return added;
        }
        continue;
      }
      const bool fact = policy::fact_named(key) != nullptr || key.starts_with("settings.");
      if (!fact) return invalid_line("there is no fact " + in_ticks(key));
      if (auto added = add(key, value); !added) return added;
    }
    return {};
  }

  // Who asks, where the line knows more than a name. Null: not known.
  Result<void> take_session(policy::Subject& who) const {
    static constexpr std::array<std::string_view, 5> kKeys{"transport", "os_user", "uid", "client", "token"};
    const auto* session = member("session");
    if (session == nullptr) return {};
    if (auto checked = only_keys(*session, "`session`", kKeys); !checked) return checked;
    for (const auto& [key, value] : session->items()) {
      if (key == "uid") {
        const auto number = value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
        if (value.is_null()) {
          who.uid.reset();
        } else if (!value.is_number_unsigned() || number > std::numeric_limits<std::uint32_t>::max()) {
          return invalid_line("`uid` must be a user's number or null");
        } else {
          who.uid = static_cast<std::uint32_t>(number);
        }
        continue;
      }
      if (key == "token") {
        if (auto taken = take_token(value, who); !taken) return taken;
        continue;
      }
      if (!value.is_string() && !(value.is_null() && key != "transport"))
        return invalid_line(in_ticks(key) + " of `session` must be text");
      const auto text = value.is_null() ? std::string() : value.get<std::string>();
      if (key == "os_user") who.os_user = text;
      if (key == "client") who.client_name = text;
      if (key != "transport") continue;
      const auto transport = policy::transport_from(text);
      if (!transport) return invalid_line("`transport` must be stdio, http or cli");
      who.transport = *transport;
    }
    return {};
  }

  static Result<void> take_token(const json& value, policy::Subject& who) {
    static constexpr std::array<std::string_view, 3> kKeys{"issuer", "subject", "audience"};
    who.token.reset();
    if (value.is_null()) return {};
    if (auto checked = only_keys(value, "`token`", kKeys); !checked) return checked;
    policy::Token token;
    const auto text = [](const json& from, std::string& into) {
      if (!from.is_string()) return false;
      into = from.get<std::string>();
      return true;
    };
    for (const auto& [key, part] : value.items()) {
      bool good = true;
      if (key == "issuer") good = text(part, token.issuer);
      if (key == "subject") good = text(part, token.subject);
      if (key == "audience") {
        for (const auto& one : part.is_array() ? part : json::array({part})) {
          token.audience.emplace_back();
          good = text(one, token.audience.back()) && good;
        }
      }
      if (!good) return invalid_line(in_ticks(key) + " of `token` must be text");
    }
    who.token = std::move(token);
    return {};
  }

  void finish(policy::Request& request) {
    auto* vmrun = std::get_if<policy::Vmrun>(&request.what);
    if (vmrun == nullptr) return;
    vmrun->vmx = vmx_;
    // Without a sandbox the command is about the base machine.
    if (!has_sandbox_) vmrun->sandbox.reset();
  }

  const json& line_;
  Node statement_;
  std::string as_, vmx_;
  std::optional<policy::Judgement> refused_;
  bool has_sandbox_ = false;
  bool foreign_ = false;
};

std::string refused(const JsonLine& line, std::string_view code, std::string_view reason) {
  return refusal_of(line, "effect", "deny", code, reason);
}

std::string judged(const JsonLine& line, const policy::Judgement& judgement) {
  auto out = answer_to(line);
  out["effect"] = policy::spelling(judgement.effect);
  out["rule"] = judgement.rule.id;
  out["tier"] = judgement.rule.tier;
  out["src"] = judgement.rule.where;
  out["code"] = judgement.code;
  out["unknown"] = judgement.unknown;
  if (judgement.effect != policy::Effect::deny && !judgement.injections.empty()) {
    auto& injected = out["inject"] = nlohmann::ordered_json::array();
    for (const auto& one : judgement.injections) injected.push_back(one.secret.tier + ":" + one.secret.id);
  }
  if (judgement.effect != policy::Effect::deny && !judgement.labels.empty()) {
    auto& labels = out["labels"] = nlohmann::ordered_json::array();
    for (const auto& [label, tier] : judgement.labels) labels.push_back(label);
  }
  if (!judgement.reason.empty()) out["reason"] = judgement.reason;
  if (!judgement.hint.empty()) out["hint"] = judgement.hint;
  return line_of(out);
}

policy::Judgement own_rule(std::string id, std::string code, std::string reason) {
  policy::Judgement judgement;
  judgement.code = std::move(code);
  judgement.rule = {"builtin:" + std::move(id), "builtin", ""};
  judgement.reason = std::move(reason);
  return judgement;
}

policy::Judgement judge(const policy::Anatomy& anatomy, const Line& line,
                        const policy::StatedQuestion& question) {
  if (line.refused()) return *line.refused();
  for (const auto& request : question.requests) {
    const bool about_one = policy::sandbox_of(request.what) != nullptr;
    if (line.foreign() && about_one && request.who.transport != policy::Transport::system) {
      return own_rule("own-sandboxes", "sandbox.unknown", "the sandbox belongs to somebody else");
    }
  }
  return policy::answer(*anatomy.whole, question).judgement;
}

}  // namespace

std::string answer_request(const policy::Anatomy& anatomy, const policy::Facts& settings,
                           std::string_view text) {
  const auto read = read_json_line(text);
  if (!read.object) return refused(read, kInvalidLine, read.fault);
  Line line(*read.object);
  const auto question = line.read(anatomy, settings);
  if (!question) return refused(read, kInvalidLine, question.error().message);
  return judged(read, judge(anatomy, line, *question));
}

std::string answer_too_long() { return refused({}, kInvalidLine, too_long_reason()); }

}  // namespace gateway::cli
