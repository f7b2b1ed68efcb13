#pragma once

#include <future>
#include <string>
#include <utility>

#include "audit/log.h"
#include "policy/decision.h"

// Questions and verdicts to record in tests.
namespace requests {

inline policy::CallId call(int number = 1) {
  std::string hex = std::to_string(number);
  return *policy::CallId::parse("call-" + std::string(32 - hex.size(), '0') + hex);
}

inline policy::SandboxId sandbox() {
  return *policy::SandboxId::parse("sbx-0123456789abcdef0123456789abcdef");
}

inline policy::Subject person() {
  policy::Subject who{{"uid:1000"}, policy::Transport::stdio, 1000U, 4242, "alice", {}, {}, "claude-code",
                      "2.1"};
  return who;
}

inline policy::Request request(policy::Action what, int number = 1) {
  return {person(), std::nullopt, std::move(what), {call(number), "17", std::nullopt}};
}

inline policy::Request run(std::string command, int number = 1) {
  return request(policy::Run{sandbox(), std::move(command), std::chrono::seconds(30)}, number);
}

inline policy::Decision decision(policy::Request request, policy::Effect effect = policy::Effect::allow) {
  const bool allows = effect == policy::Effect::allow;
  const policy::RuleRef rule{"run-in-own", "user", "default.yaml:31:3"};
  return {std::move(request),
          effect,
          allows ? "allow" : "deny.rule",
          rule,
          allows ? "" : "not here",
          "",
          {rule},
          {},
          policy::sha256("policy"),
          3};
}

// Waits for the record as its class demands.
inline policy::Result<policy::Receipt> append(audit::Log& log, const policy::Decision& decision,
                                              policy::Durability durability = policy::Durability::ordered) {
  auto done = std::make_shared<std::promise<policy::Result<policy::Receipt>>>();
  auto future = done->get_future();
  log.append(decision, durability,
             [done](policy::Result<policy::Receipt> result) { done->set_value(std::move(result)); });
  return future.get();
}

}  // namespace requests
