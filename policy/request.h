#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "policy/action.h"
#include "policy/digest.h"
#include "policy/ids.h"
#include "policy/tier.h"

namespace policy {

enum class Transport { stdio, http, cli, system };
std::string_view spelling(Transport);

// What a checked token says of who holds it.
struct Token {
  std::string issuer;
  std::string subject;
  std::vector<std::string> audience;
};

// Who asks. What the kernel or a checked token says is separate from what the client says of itself.
struct Subject {
  PrincipalId principal;
  Transport transport = Transport::stdio;
  std::optional<std::uint32_t> uid;
  std::optional<std::int32_t> pid;
  std::string os_user;  // the uid's name, empty when it has none
  std::optional<Token> token;
  std::optional<SessionId> session;
  std::string client_name;     // self-declared
  std::string client_version;  // self-declared
};

// Ourselves: roll-back, reaping, age limit.
Subject system_subject();

// What rules have said of a sandbox, with the highest tier that said it. Labels are never taken off.
using Labels = std::map<std::string, Tier, std::less<>>;
// Adds `more`; of a label that both have, the higher tier stands. Says whether anything changed.
bool add_labels(Labels&, const Labels& more);

// What the gateway knows of a sandbox, never what the caller says.
struct SandboxFacts {
  SandboxId id;
  PrincipalId owner;
  Network network = Network::none;
  std::chrono::seconds age{};
  Labels labels;
};

// What ties together a call and everything it causes.
struct Correlation {
  CallId call;
  std::string request;                  // the client's JSON-RPC id as text, empty when there is none
  std::optional<std::uint64_t> parent;  // seq of the decision that caused this one
};

// Settings that policy may read, as `settings.<name>`: remote_input, web, web_ports, max_sandboxes, ...
using FactValue = std::variant<bool, std::int64_t, std::string>;
using Facts = std::map<std::string, FactValue, std::less<>>;

// A person's yes to one action: this one, of this principal, under this policy, until then. Whoever keeps
// approvals gives each to one decision and no second.
struct Approval {
  std::string id;                    // as the question was called: `ask-…`
  Sha256 action;                     // Ask::action of what the person was shown
  Sha256 policy;                     // digest of the policy that asked
  PrincipalId asker;                 // for whom
  std::chrono::nanoseconds until{};  // since boot
  PrincipalId by;                    // the person
  // Through the client it counts only where the rules ask nobody but kPeopleInClient.
  Approve::Channel channel = Approve::Channel::command;
};

// Who wants to do it, and on whose behalf: what a caller of the engine brings beside the action.
struct Caller {
  Subject who;
  Correlation id;
  std::optional<Approval> approval = {};
};

// The whole question, as the engine puts it together: facts come from the inventory and the settings.
struct Request {
  Subject who;
  std::optional<SandboxFacts> sandbox;
  Action what;
  Correlation id;
  std::optional<std::chrono::sys_seconds> at = {};  // when it is decided; not known: no waiver holds
};

}  // namespace policy
