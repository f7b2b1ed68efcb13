// The compiled-in rules in words, found out by asking them about every action, vmrun command and caller.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policy/builtin.h"
#include "policy/compile.h"
#include "policy/facts.h"
#include "policy/reference.h"
#include "policy/stated_question.h"
#include "policy/wording.h"

namespace policy {
namespace {

constexpr std::string_view kSystem = "the gateway itself";

// One line of the answer: who, and with what.
using Found = std::map<std::string, std::map<std::string, std::vector<std::string>>>;

std::vector<Request> questions(std::string_view action) {
  Diagnostics quiet;
  yaml::Node none;
  none.kind = yaml::Node::Kind::map;
  auto stated = read_question(action, {1, 1}, none, {}, {"builtin", &quiet});
  return stated ? std::move(stated->requests) : std::vector<Request>{};
}

// Grants that hold whatever the files say.
Found grants() {
  Found found;
  for (const auto transport : {Transport::system, Transport::cli, Transport::stdio, Transport::http}) {
    const auto who = transport == Transport::system ? std::string(kSystem)
                                                    : "a caller over " + std::string(spelling(transport));
    const auto ask = [&](Request request, const std::string& what) {
      request.who = transport == Transport::system ? system_subject() : request.who;
      request.who.transport = transport;
      const auto granted = builtin_grant(request);
      if (granted && granted->effect == Effect::allow) found[granted->rule.id][who].push_back(what);
    };
    for (const auto& word : action_words()) {
      if (word.name == "any" || word.actions.count() != 1) continue;
      for (auto& request : questions(word.name)) ask(std::move(request), std::string(word.name));
    }
    for (auto& request : questions(Approve::kName)) {
      std::get_if<Approve>(&request.what)->channel = Approve::Channel::client;
      ask(std::move(request), "approve in the client");
    }
    auto any = questions("list");
    for (const auto verb : vmrun_verbs()) {
      auto request = any.front();
      Vmrun vmrun;
      vmrun.verb = verb;
      vmrun.sandbox = SandboxId::parse("sbx-00000000000000000000000000000000").value();
      request.what = vmrun;
      ask(std::move(request), "vmrun " + std::string(spelling(verb)));
    }
  }
  return found;
}

// What vmrun may do, on a sandbox's machine and without one.
Found machine_rules() {
  Found found;
  for (const bool of_sandbox : {true, false}) {
    for (const auto verb : vmrun_verbs()) {
      Vmrun vmrun;
      vmrun.verb = verb;
      if (of_sandbox) vmrun.sandbox = SandboxId::parse("sbx-00000000000000000000000000000000").value();
      const auto judgement = builtin_vmrun(vmrun);
      const auto where = std::string(spelling(judgement.effect)) +
                         (of_sandbox ? " on a sandbox's own machine" : " on the base machine or on none");
      found[judgement.rule.id][where].emplace_back(spelling(verb));
    }
  }
  return found;
}

void add(const Found& found, std::string_view before, std::string& out) {
  for (const auto& [rule, lines] : found) {
    out += rule + "\n";
    for (const auto& [who, what] : lines)
      out += "  " + std::string(before) + who + ": " + joined(what) + "\n";
  }
}

}  // namespace

std::string builtin_text() {
  std::string out = "The compiled-in rules, " + std::string(kBuiltinRules) +
                    ". No policy file can lift them; a file's `vmrun` section can narrow the last ones.\n\n";
  out += "Allowed whatever the files say:\n\n";
  add(grants(), "allow ", out);
  out += "\nvmrun, where no file refuses:\n\n";
  add(machine_rules(), "", out);
  out +=
      "\nvmrun commands that an action takes; a policy that allows the action and denies one of them is "
      "refused:\n\n";
  for (const auto& word : action_words()) {
    const auto needed = vmrun_needed_by(word.name);
    if (needed.empty()) continue;
    std::vector<std::string> names;
    for (const auto verb : needed) names.emplace_back(spelling(verb));
    out += "  " + std::string(word.name) + ": " + joined(names) + "\n";
  }
  out +=
      "\nThe door itself refuses, before any rule of a file is asked:\n\n"
      "  builtin:own-sandboxes  a sandbox of somebody else, as if there were none\n"
      "  builtin:stopped        every call while the kill switch is on or the gateway cannot work\n"
      "  builtin:no-policy      every call while no policy is loaded\n"
      "  builtin:record-first   what could not be written to the log first\n"
      "  builtin:internal       what failed while it was decided\n"
      "  default                what no rule of a tier with `default: deny` allows\n";
  return out;
}

}  // namespace policy
