#include "enforcers/path_jail/manifest.h"

#include <algorithm>

namespace enforcers {

policy::Survey survey_of(std::vector<CopiedFile>& files) {
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  policy::Survey survey;
  policy::Sha256Stream manifest;
  for (const auto& file : files) {
    ++survey.files;
    survey.bytes += file.size;
    manifest.update(file.digest.hex() + " " + std::to_string(file.size) + " " + file.path + "\n");
  }
  survey.manifest = manifest.finish();
  return survey;
}

}  // namespace enforcers
