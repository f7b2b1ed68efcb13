#include "enforcers/path_jail/enforcer.h"

#include <exception>
#include <variant>

#include "enforcers/objection.h"
#include "enforcers/path_jail/proof.h"

namespace enforcers {

using policy::Objection;
using policy::Proofs;

std::optional<Objection> PathJail::check(const policy::Request& request, std::span<const policy::Limit>,
                                         Proofs& proofs) noexcept {
  try {
    return std::visit([&](const auto& action) { return judge(action, proofs); }, request.what);
  } catch (const std::exception&) {
    return Objection{.code = "path.failed", .reason = "the path could not be checked", .hint = "try again"};
  }
}

std::optional<Objection> PathJail::no_jail() const {
  if (jail_) return std::nullopt;
  if (why_) return objection_of(*why_);
  return Objection{.code = "path.no_root",
                   .reason = "no transfer folder is set up, so nothing can be copied",
                   .hint = "set `transfer` in the configuration to a folder"};
}

std::optional<Objection> PathJail::judge(const policy::CopyIn& copy, Proofs& proofs) const {
  if (auto none = no_jail()) return none;
  auto source = jail_->open_source(copy.host_path);
  if (!source) return objection_of(source.error());
  proofs.put(std::unique_ptr<SourceProof>(new SourceProof(jail_, std::move(*source), copy.survey)));
  return std::nullopt;
}

std::optional<Objection> PathJail::judge(const policy::FetchOut& copy, Proofs& proofs) const {
  if (auto none = no_jail()) return none;
  if (const auto place = jail_->find_destination(copy.host_path); !place) return objection_of(place.error());
  proofs.put(std::unique_ptr<FetchProof>(new FetchProof(jail_)));
  return std::nullopt;
}

std::optional<Objection> PathJail::judge(const policy::PublishOut& copy, Proofs& proofs) const {
  if (auto none = no_jail()) return none;
  if (const auto place = jail_->find_destination(copy.host_path); !place) return objection_of(place.error());
  proofs.put(std::unique_ptr<PublishProof>(new PublishProof(jail_, copy)));
  return std::nullopt;
}

}  // namespace enforcers
