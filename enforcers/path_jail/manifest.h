#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/action.h"
#include "policy/digest.h"

namespace enforcers {

// One regular file of a copy: its path below the copied folder (its name, when a single file is copied).
struct CopiedFile {
  std::string path;
  std::uint64_t size = 0;
  policy::Sha256 digest;
  bool executable = false;
};

// Sorts the files by the bytes of their paths and says what they are together. The manifest is SHA-256 over
// `<hex digest> <size> <path>\n` of each, in that order.
policy::Survey survey_of(std::vector<CopiedFile>& files);

}  // namespace enforcers
