// FINDS: grant Grant
// FINDS: grant Pending
// FINDS: engine policy::Engine::program
#include "policy/engine.h"

policy::Grant<policy::Run> forged(std::unique_ptr<policy::Judged> judged) {
  return policy::Grant<policy::Run>(std::move(judged), nullptr);
}

policy::Pending<policy::Destroy> decided_by_nobody() {
  return policy::Pending<policy::Destroy>([](const policy::Pending<policy::Destroy>::Then&) {});
}

const policy::Program* policy::Engine::program() const { return nullptr; }
