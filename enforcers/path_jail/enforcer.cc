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
    return std::visit([&](const auto& action) { return judge(action, request.who, proofs); }, request.what);
  } catch (const std::exception&) {
    return Objection{.code = "path.failed", .reason = "the path could not be checked", .hint = "try again"};
  }
}

Result<std::shared_ptr<const Jail>> PathJail::jail_of(const Subject& who) const {
  if (jails_) return jails_->of(who);
  if (jail_) return jail_;
  if (why_) return tl::unexpected(*why_);
  return policy::fail(
      "path.no_root",
      "no transfer folder is set up, so nothing can be copied; set `transfer_dir` to a folder");
}

std::optional<Objection> PathJail::judge(const policy::CopyIn& copy, const Subject& who,
                                         Proofs& proofs) const {
  auto jail = jail_of(who);
  if (!jail) return objection_of(jail.error());
  auto source = (*jail)->open_source(copy.host_path);
  if (!source) return objection_of(source.error());
  proofs.put(std::unique_ptr<SourceProof>(new SourceProof(*jail, std::move(*source), copy.survey)));
  return std::nullopt;
}

std::optional<Objection> PathJail::judge(const policy::FetchOut& copy, const Subject& who,
                                         Proofs& proofs) const {
  auto jail = jail_of(who);
  if (!jail) return objection_of(jail.error());
  if (const auto place = (*jail)->find_destination(copy.host_path); !place)
    return objection_of(place.error());
  proofs.put(std::unique_ptr<FetchProof>(new FetchProof(*jail)));
  return std::nullopt;
}

std::optional<Objection> PathJail::judge(const policy::PublishOut& copy, const Subject& who,
                                         Proofs& proofs) const {
  auto jail = jail_of(who);
  if (!jail) return objection_of(jail.error());
  if (const auto place = (*jail)->find_destination(copy.host_path); !place)
    return objection_of(place.error());
  proofs.put(std::unique_ptr<PublishProof>(new PublishProof(*jail, copy)));
  return std::nullopt;
}

}  // namespace enforcers
