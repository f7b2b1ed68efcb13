// ROOM: enforcers
// EXPECT: no viable conversion|could not convert|cannot convert
#include "policy/enforcer.h"

class Generous final : public policy::Enforcer {
 public:
  std::string_view name() const override { return "generous"; }
  std::optional<policy::Objection> check(const policy::Request&, std::span<const policy::Limit>,
                                         policy::Proofs&) noexcept override {
#ifdef SALLYPORT_VIOLATION
    return policy::Effect::allow;
#else
    return std::nullopt;
#endif
  }
};
