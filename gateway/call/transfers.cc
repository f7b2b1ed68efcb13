#include "gateway/call/transfers.h"

#include <map>
#include <utility>

#include "enforcers/path_jail/staging.h"
#include "gateway/settings/folder.h"

namespace gateway {
namespace {

using enforcers::Jail;
using Opened = policy::Result<std::shared_ptr<const Jail>>;

Opened swept(Opened jail) {
  if (!jail) return jail;
  if (auto done = enforcers::sweep_staging(**jail); !done) return tl::unexpected(done.error());
  return jail;
}

class OneFolder final : public enforcers::Jails {
 public:
  explicit OneFolder(std::shared_ptr<const Jail> jail) : jail_(std::move(jail)) {}
  Opened of(const policy::Subject&) const override { return jail_; }

 private:
  std::shared_ptr<const Jail> jail_;
};

class FolderOfEachUser final : public enforcers::Jails {
 public:
  explicit FolderOfEachUser(std::string root) : root_(std::move(root)) {}

  Opened of(const policy::Subject& who) const override {
    if (!who.uid) return policy::fail("path.no_root", "only users of this computer have a transfer folder");
    auto& known = jails_[*who.uid];
    if (known && known->still_there()) return known;
    const auto folder = root_ + "/" + std::to_string(*who.uid);
    if (auto made = make_shared_folder(folder, *who.uid); !made) return tl::unexpected(made.error());
    auto opened = swept(Jail::open(folder, std::nullopt, who.uid));
    if (opened) known = *opened;
    return opened;
  }

 private:
  std::string root_;
  mutable std::map<std::uint32_t, std::shared_ptr<const Jail>> jails_;
};

}  // namespace

policy::Result<std::shared_ptr<const enforcers::Jails>> one_transfer_folder(const std::string& folder) {
  auto jail = swept(Jail::open(folder));
  if (!jail) return tl::unexpected(jail.error());
  return std::make_shared<const OneFolder>(std::move(*jail));
}

std::shared_ptr<const enforcers::Jails> transfer_folders_of_users(const std::string& root) {
  return std::make_shared<const FolderOfEachUser>(root);
}

}  // namespace gateway
