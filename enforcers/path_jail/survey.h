#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "enforcers/path_jail/jail.h"
#include "enforcers/path_jail/manifest.h"
#include "policy/action.h"
#include "policy/path.h"
#include "policy/result.h"

namespace enforcers {

struct CopyLimits {
  std::uint64_t files = 100'000;  // files and folders, each
  std::uint64_t file_bytes = std::uint64_t{1} << 30U;
  std::uint64_t total_bytes = std::uint64_t{2} << 30U;
};

// A file or a folder with everything below it, as it was when it was looked at and hashed.
struct SurveyedTree {
  struct File {
    CopiedFile file;
    FileFacts facts;
  };
  Kind kind = Kind::file;
  Identity identity;                 // of the file or folder itself
  std::string name;                  // its last component; `.` for the root
  std::vector<std::string> folders;  // below it, parents first
  std::vector<File> files;           // in the manifest's order
  policy::Survey survey;
};

// Looks at what is to be copied in, before the decision: walks by handle and never by name, hashes every
// file. Refused: links and special files anywhere in the tree, files with more than one name, names that are
// not UTF-8 or hold control characters, too much of anything. Blocks; for a worker thread.
policy::Result<SurveyedTree> survey(const Jail&, const policy::HostPath&, const CopyLimits&,
                                    std::stop_token stop = {});

}  // namespace enforcers
