#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "policy/compile.h"

// Questions for tests, in few words.
namespace policy::questions {

inline SandboxId box() { return *SandboxId::parse("sbx-0123456789abcdef0123456789abcdef"); }
inline JobId job() { return *JobId::parse("job-0123456789abcdef0123456789abcdef"); }
inline HostPath host(std::string_view text) { return *HostPath::parse(text); }
inline GuestPath guest(std::string_view text) { return *GuestPath::parse(text); }

inline Subject agent() {
  Subject who;
  who.principal = PrincipalId{"uid:1000"};
  who.uid = 1000;
  who.os_user = "alice";
  who.client_name = "some-agent";
  return who;
}
inline Subject person() {
  auto who = agent();
  who.transport = Transport::cli;
  return who;
}

inline Request ask(Action what, Subject who = agent()) {
  Request request{std::move(who), std::nullopt, std::move(what),
                  Correlation{CallId::random(), "1", std::nullopt}};
  if (const auto* id = sandbox_of(request.what)) {
    request.sandbox = SandboxFacts{*id, request.who.principal, Network::none, {}, {}};
  }
  return request;
}

inline Survey survey(std::uint64_t files, std::uint64_t bytes) { return Survey{files, bytes, {}}; }

inline Judgement judge(const Program& program, Action what, const Facts& settings = known_settings(),
                       Subject who = agent()) {
  auto request = ask(std::move(what), std::move(who));
  return program.judge(request, settings);
}

// `deny no-secrets`
inline std::string said(const Judgement& judgement) {
  return std::string(spelling(judgement.effect)) + " " + judgement.rule.id;
}

}  // namespace policy::questions
