#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "policy/program.h"

namespace policy {

// The version of the compiled-in rules; part of every policy digest.
inline constexpr std::string_view kBuiltinRules = "builtin/3";

// What the compiled-in tier grants whatever the files say, or even without a file: the subject `system` may
// destroy sandboxes and use the vmrun commands that takes; `system` and a person at the command line may pull
// the kill switch.
std::optional<Judgement> builtin_grant(const Request&);

// What the compiled-in tier says of a vmrun command: the sandboxes' own machines may be used in every way a
// sandbox needs, and without a sandbox (the base) only reading is allowed. Files can only narrow it.
Judgement builtin_vmrun(const Vmrun&);

// What the compiled-in tier refuses of the web whatever the files say: names and addresses that lead to the
// host, to its networks or nowhere. Code: `web.` and the class, as `web.loopback`.
std::optional<Judgement> builtin_web(const Request&);
// The same for a target that cannot be read: `why` is what the reader says.
Judgement refused_target(const Error& why);

// Every vmrun command there is here.
std::vector<VmrunVerb> vmrun_verbs();
std::vector<std::string_view> vmrun_verb_names();  // as vmrun spells them

// The vmrun commands that carrying out an action takes; a policy that allows the action and denies one of
// these would fail half way. `action` is a name as policies spell it.
std::span<const VmrunVerb> vmrun_needed_by(std::string_view action);

}  // namespace policy
