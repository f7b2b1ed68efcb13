#pragma once

#include <memory>
#include <string>

#include "enforcers/path_jail/jails.h"

namespace gateway {

// One transfer folder for everybody: the owner's own user is the only caller. Opened now, and rid of what an
// earlier process left in it.
policy::Result<std::shared_ptr<const enforcers::Jails>> one_transfer_folder(const std::string& folder);

// The service's: below `root` a folder for each user, named by the uid, which that user and the service can
// reach and nobody else. Made at the user's first connection. If it could be shared with a third, or led
// elsewhere, one user could take another's files out through the service's rights.
std::shared_ptr<const enforcers::Jails> transfer_folders_of_users(const std::string& root);

}  // namespace gateway
