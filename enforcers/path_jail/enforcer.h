#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "enforcers/path_jail/jail.h"
#include "enforcers/path_jail/jails.h"
#include "policy/enforcer.h"

namespace enforcers {

// Copies touch one folder of the host and nothing else. Looks at where a copy would read or write, following
// no link, and leaves the proof (SourceProof, FetchProof, PublishProof) without which nothing is read or
// written there. Posture: protects the host's files from clients and guests; depends on the kernel's path
// resolution; without a folder every copy is refused.
class PathJail final : public policy::Enforcer {
 public:
  // Null when there is no usable transfer folder; `why` is then the reason that callers get.
  explicit PathJail(std::shared_ptr<const Jail> jail, std::optional<policy::Error> why = std::nullopt)
      : jail_(std::move(jail)), why_(std::move(why)) {}
  // With a folder for each caller.
  static std::unique_ptr<PathJail> of_callers(std::shared_ptr<const Jails> jails) {
    auto made = std::make_unique<PathJail>(nullptr);
    made->jails_ = std::move(jails);
    return made;
  }

  std::string_view name() const override { return "path_jail"; }
  std::optional<policy::Objection> check(const policy::Request&, std::span<const policy::Limit>,
                                         policy::Proofs&) noexcept override;

 private:
  using Subject = policy::Subject;
  std::optional<policy::Objection> judge(const policy::CopyIn&, const Subject&, policy::Proofs&) const;
  std::optional<policy::Objection> judge(const policy::FetchOut&, const Subject&, policy::Proofs&) const;
  std::optional<policy::Objection> judge(const policy::PublishOut&, const Subject&, policy::Proofs&) const;
  template <class Other>
  std::optional<policy::Objection> judge(const Other&, const Subject&, policy::Proofs&) const {
    return std::nullopt;
  }
  Result<std::shared_ptr<const Jail>> jail_of(const Subject&) const;

  std::shared_ptr<const Jails> jails_;
  std::shared_ptr<const Jail> jail_;
  std::optional<policy::Error> why_;
};

}  // namespace enforcers
