#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "policy/digest.h"
#include "policy/json.h"
#include "policy/request.h"
#include "policy/result.h"

namespace policy {

enum class Effect { allow, ask, deny };
std::string_view spelling(Effect);

// Which rule spoke: `default.yaml`'s rule `nat-off` of tier `user` at `default.yaml:31:3`. Enforcers are
// named `enforcer:path_jail`, the engine's own rules `builtin:own-sandboxes`, silence `default`.
struct RuleRef {
  std::string id;
  std::string tier;
  std::string where;
  bool operator==(const RuleRef&) const = default;
};

// A shadow rule that spoke, and whether the answer would have been another if it counted: another effect, a
// lower number, or more people to ask.
struct ShadowRuling {
  RuleRef rule;
  Effect effect = Effect::deny;
  bool differs = false;
  bool operator==(const ShadowRuling&) const = default;
};

// What a shadow policy says where its effect is another than that of the policy in force.
struct ShadowVerdict {
  Sha256 policy;
  Effect effect = Effect::deny;
  RuleRef rule;
};

// A secret that a web request gets on its way out: its name, never its value.
struct Injection {
  // `Bearer <value>`, `Basic <value in base64>`, or the value as it is.
  enum class As { bearer, basic, plain };
  RuleRef secret;
  std::string header;  // the field that carries it, in place of what the sandbox sent there
  As as = As::bearer;
  bool operator==(const Injection&) const = default;
};
std::string_view spelling(Injection::As);

// What is recorded about a decision.
struct Decision {
  Request request;
  Effect effect = Effect::deny;
  std::string code;    // allow | ask | deny.rule | deny.default | deny.limit | deny.audit | deny.stopped | a
                       // code of an enforcer
  RuleRef rule;        // the one that decided
  std::string reason;  // for people, may be empty on allow
  std::string hint;    // what to do instead, may be empty
  std::vector<RuleRef> matched;
  std::vector<std::string> unknown;       // facts that a matcher needed and did not get
  Sha256 policy;                          // digest of the policy in force
  std::int64_t micros = 0;                // spent deciding
  std::optional<Approval> approval = {};  // what made a rule that asks let it pass
  std::vector<RuleRef> waivers = {};      // that lifted a rule which would have spoken
  std::vector<ShadowRuling> shadow = {};  // these two counted for nothing
  std::optional<ShadowVerdict> shadow_policy = {};
  Labels labels = {};  // that the sandbox got with it and did not have
  std::vector<Injection> injections = {};
};

// How a decided action ended. `code` is `ok`, `abandoned`, `timeout`, `cancelled`, `running`, or an error
// code.
struct Outcome {
  bool ok = false;
  std::string code;
  std::optional<int> exit = {};
  std::optional<std::uint64_t> bytes_in = {};
  std::optional<std::uint64_t> bytes_out = {};
  std::optional<std::int64_t> duration_us = {};
  Json details = {};  // an object, may be empty
};

// Something that happened without being asked for: a session opened, a policy loaded, a sandbox became ready.
struct Event {
  std::string act;
  std::string level = "info";  // info | notice | warn | alert
  std::optional<Subject> who = {};
  std::optional<SandboxId> sandbox = {};
  Json object = {};
};

// Where a record stands in the log.
struct Receipt {
  std::string log;
  std::uint64_t seq = 0;
  std::string hash;  // 64 hex digits
};

// `durable`: on disk before the effect. `ordered`: written before the effect, flushed within 50 ms.
enum class Durability { durable, ordered };
Durability durability_of(const Action&);

// Called exactly once: inline from append(), or later on the sink's own thread.
using Completion = std::function<void(Result<Receipt>)>;

// The log, as the engine sees it. Thread-safe. An error from any of these means the record does not stand.
class DecisionSink {
 public:
  virtual ~DecisionSink() = default;
  virtual void append(const Decision&, Durability, Completion) = 0;
  // The one outcome of a decision; `decision` is what append() answered.
  virtual Result<Receipt> close(const Receipt& decision, const Request&, const Outcome&) = 0;
  virtual Result<Receipt> note(const Event&) = 0;
};

}  // namespace policy
