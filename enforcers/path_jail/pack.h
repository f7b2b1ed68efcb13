#pragma once

#include <chrono>
#include <stop_token>

#include "enforcers/path_jail/proof.h"
#include "enforcers/path_jail/survey.h"
#include "policy/result.h"

namespace enforcers {

// Writes a tar of what was surveyed and granted to `out`, an open file. A folder's entries stand in it
// without the folder's own name (an empty folder gives an archive of no entries); a file is one entry.
// Executable bits are kept. `copy.changed` when anything is not what was judged: the tar written so far is
// then to be thrown away. Blocks; for a worker thread.
policy::Result<void> pack(const SourceProof&, const SurveyedTree&, int out,
                          std::chrono::steady_clock::time_point deadline, std::stop_token stop = {});

}  // namespace enforcers
