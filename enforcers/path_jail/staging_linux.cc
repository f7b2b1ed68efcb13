#include "enforcers/path_jail/staging.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "policy/ids.h"
#include "policy/path_rules.h"

namespace enforcers {
namespace {

using policy::Error;
using policy::Result;

constexpr std::string_view kSubject = "a staging folder in the transfer folder";
constexpr std::size_t kMostNames = 4'000'000;
constexpr int kMostDepth = 256;

// Removes a name and all below it, by handle; gives up silently on what it may not remove.
void remove_tree(const Descriptor& parent, const std::string& name, Resolver resolver, int depth) {
  if (::unlinkat(parent.number(), name.c_str(), 0) == 0 || depth > kMostDepth) return;
  const Opened folder = open_beneath(parent.number(), name, O_RDONLY | O_DIRECTORY, 0, resolver);
  if (folder.error != 0) return;
  if (const auto names = names_in(folder.file, kMostNames, resolver)) {
    for (const auto& inner : *names) remove_tree(folder.file, inner, resolver, depth + 1);
  }
  (void)::unlinkat(parent.number(), name.c_str(), AT_REMOVEDIR);
}

}  // namespace

Result<std::unique_ptr<Staging>> Staging::make(std::shared_ptr<const Jail> jail) {
  if (auto there = jail->still_there(); !there) return tl::unexpected(there.error());
  const std::string name = std::string(policy::kStagingPrefix) + policy::random_hex32();
  const int root = jail->handle().number();
  if (::mkdirat(root, name.c_str(), 0700) != 0) return tl::unexpected(open_error(errno, kSubject));
  Opened opened = open_beneath(root, name, O_RDONLY | O_DIRECTORY, 0, jail->resolver());
  if (opened.error != 0 || ::flock(opened.file.number(), LOCK_EX | LOCK_NB) != 0) {
    const int error = opened.error != 0 ? opened.error : errno;
    (void)::unlinkat(root, name.c_str(), AT_REMOVEDIR);
    return tl::unexpected(open_error(error, kSubject));
  }
  return std::unique_ptr<Staging>(new Staging(std::move(jail), name, std::move(opened.file)));
}

Staging::~Staging() { remove_tree(jail_->handle(), name_, jail_->resolver(), 0); }

Result<std::size_t> sweep_staging(const Jail& jail) {
  const auto names = names_in(jail.handle(), kMostNames, jail.resolver());
  if (!names) return tl::unexpected(names.error());
  std::size_t removed = 0;
  for (const auto& name : *names) {
    if (!name.starts_with(policy::kStagingPrefix)) continue;
    const Opened folder =
        open_beneath(jail.handle().number(), name, O_RDONLY | O_DIRECTORY, 0, jail.resolver());
    if (folder.error != 0 || ::flock(folder.file.number(), LOCK_EX | LOCK_NB) != 0) continue;
    remove_tree(jail.handle(), name, jail.resolver(), 0);
    ++removed;
  }
  return removed;
}

}  // namespace enforcers
