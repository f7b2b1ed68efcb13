#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "enforcers/archive/tar_reader.h"
#include "enforcers/path_jail/manifest.h"
#include "enforcers/path_jail/proof.h"
#include "enforcers/path_jail/staging.h"
#include "policy/action.h"
#include "policy/result.h"

namespace enforcers {

// What came out of a sandbox and was found good, in staging. Goes away, with the files, when it is destroyed.
struct Accepted {
  Kind kind = Kind::folder;          // a file when the archive held one file and no folder
  std::vector<std::string> folders;  // parents first, also those that are only implied
  std::vector<CopiedFile> files;     // in the manifest's order
  Skipped skipped;
  policy::Survey survey;
  std::unique_ptr<Staging> staging;
  Descriptor content;  // the folder in staging that holds them
};

// Reads a hostile tar from `tar`, an open file or pipe, to its end and writes its files to staging: new files
// only, by handle, with modes 0644 or 0755 less the umask, no owners, no other bits. On any error nothing
// stays. Codes: `archive.<class>`, `copy.nothing` (all of it was left out), `copy.disk_full` (the disk would
// be all but full), `timeout`, `cancelled`, `path.*`. Blocks; for a worker thread.
policy::Result<Accepted> accept(const FetchProof&, int tar, const TarRules&,
                                std::chrono::steady_clock::time_point deadline, std::stop_token stop = {});

}  // namespace enforcers
