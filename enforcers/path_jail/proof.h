#pragma once

#include <memory>
#include <utility>

#include "enforcers/path_jail/jail.h"
#include "policy/action.h"
#include "policy/enforcer.h"

namespace enforcers {

// Left by the path jail in the grant of a copy into a sandbox: what may be packed. Only the path jail makes
// one, so nothing is read for a guest without a decision.
class SourceProof final : public policy::Proof {
 public:
  const Jail& jail() const { return *jail_; }
  const Source& source() const { return source_; }
  const policy::Survey& survey() const { return survey_; }  // what was judged

 private:
  friend class PathJail;
  SourceProof(std::shared_ptr<const Jail> jail, Source source, policy::Survey survey)
      : jail_(std::move(jail)), source_(std::move(source)), survey_(std::move(survey)) {}
  std::shared_ptr<const Jail> jail_;
  Source source_;
  policy::Survey survey_;
};

// Left in the grant of a fetch: staging may be made in this jail, and nothing else.
class FetchProof final : public policy::Proof {
 public:
  const std::shared_ptr<const Jail>& jail() const { return jail_; }

 private:
  friend class PathJail;
  explicit FetchProof(std::shared_ptr<const Jail> jail) : jail_(std::move(jail)) {}
  std::shared_ptr<const Jail> jail_;
};

// Left in the grant of a publication: what may be placed, and where.
class PublishProof final : public policy::Proof {
 public:
  const Jail& jail() const { return *jail_; }
  const policy::HostPath& path() const { return path_; }
  const policy::GuestPath& guest_path() const { return guest_path_; }
  const policy::Survey& survey() const { return survey_; }  // what was judged

 private:
  friend class PathJail;
  PublishProof(std::shared_ptr<const Jail> jail, const policy::PublishOut& action)
      : jail_(std::move(jail)),
        path_(action.host_path),
        guest_path_(action.guest_path),
        survey_(action.survey) {}
  std::shared_ptr<const Jail> jail_;
  policy::HostPath path_;
  policy::GuestPath guest_path_;
  policy::Survey survey_;
};

}  // namespace enforcers
