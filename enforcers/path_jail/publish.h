#pragma once

#include <cstdint>
#include <string>

#include "enforcers/path_jail/accept.h"
#include "enforcers/path_jail/proof.h"
#include "policy/result.h"

namespace enforcers {

enum class OnConflict { replace, refuse };

struct Published {
  std::string path;  // of the file or folder, below the transfer folder
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t replaced = 0;  // files that were there before
};

// Makes what was accepted visible under the granted path. A file goes to that path, or into it under the
// guest file's name when it is a folder or ends in a slash. A folder's contents go inside that path. Missing
// folders are made; files of the same name are replaced, each by one rename, never through a link or a hard
// link. A link in the way, a file where a folder must be, or a folder where a file must be: all is refused
// before anything changed. A folder that is new appears whole or not at all.
// Codes: `path.*`, `path.type` (file and folder in each other's place), `copy.changed` (not what was
// granted).
policy::Result<Published> publish(const PublishProof&, const Accepted&, OnConflict = OnConflict::replace);

}  // namespace enforcers
