#include "gateway/cli/policy_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "gateway/cli/printable.h"
#include "gateway/settings/folder.h"
#include "gateway/setup/policy_files.h"
#include "gateway/setup/setup.h"

namespace gateway::cli {
namespace {

Result<std::vector<std::string>> policies_in(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".yaml") found.push_back(at->path().string());
  }
  if (error) {
    return policy::fail("file.unreadable", "cannot read the folder `" + folder + "`: " + error.message());
  }
  if (found.empty()) return policy::fail("policy.none", "there is no *.yaml in the folder `" + folder + "`");
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Result<std::vector<policy::Source>> policy_sources(const Sources& sources,
                                                   const std::vector<std::string>& paths) {
  if (paths.empty()) {
    auto files = read_policies(load_settings(sources));
    if (!files.problems.empty()) return tl::unexpected(as_one(files.problems));
    return std::move(files.sources);
  }
  std::vector<std::string> files;
  for (const auto& path : paths) {
    if (!is_folder(path)) {
      files.push_back(path);
      continue;
    }
    const auto found = policies_in(path);
    if (!found) return tl::unexpected(found.error());
    files.insert(files.end(), found->begin(), found->end());
  }
  std::vector<policy::Source> texts;
  for (const auto& file : files) {
    if (file == kDefaultPolicy && !is_there(file)) {
      texts.push_back(built_in_policy());
      continue;
    }
    auto source = read_policy(file, file);
    if (!source) return tl::unexpected(source.error());
    texts.push_back(std::move(*source));
  }
  return texts;
}

std::string findings_text(const std::vector<policy::Diagnostic>& findings,
                          const std::vector<policy::Source>& sources) {
  std::string out;
  for (const auto& found : findings) {
    const auto source = std::find_if(sources.begin(), sources.end(),
                                     [&](const policy::Source& one) { return one.name == found.file; });
    out += source == sources.end() ? found.format() : found.format(source->text);
    out += "\n";
  }
  return printable(out);
}

}  // namespace gateway::cli
