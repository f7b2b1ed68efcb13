#include "gateway/setup/policy_files.h"

#include <optional>
#include <utility>

#include "gateway/owner/spawn.h"
#include "gateway/settings/folder.h"
#include "policy/yaml.h"

namespace gateway {
namespace {

constexpr char kEnding[] = ".yaml";

struct Listed {
  std::string path;  // or kDefaultPolicy
  std::optional<policy::Tier> tier;
};

struct List {
  std::vector<Listed> files;
  std::vector<policy::Error> problems;
};

List list_policies(const Settings& settings, const std::string& system_folder, std::uint32_t trusted) {
  List list;
  const auto take = [&](Result<std::vector<std::string>> found, std::optional<policy::Tier> tier) {
    if (!found) {
      list.problems.push_back(found.error());
      return;
    }
    for (auto& path : *found) list.files.push_back({std::move(path), tier});
  };
  take(trusted_files_below(system_folder, kEnding, trusted), policy::Tier::org);
  for (const auto& path : settings.policies) {
    if (!is_folder(path)) {
      list.files.push_back({path, std::nullopt});
      continue;
    }
    // The service does not own what its administrator wrote.
    auto found = trusted_files_below(path, kEnding, own_user());
    if (!found) {
      if (auto of_root = trusted_files_below(path, kEnding, 0)) found = std::move(of_root);
    }
    if (found && found->empty()) {
      list.problems.push_back({"policy.empty_folder", "there is no *.yaml file in the policy folder", path});
    }
    take(std::move(found), std::nullopt);
  }
  if (settings.policies.empty()) list.files.push_back({kDefaultPolicy, std::nullopt});
  return list;
}

}  // namespace

Result<policy::Source> read_policy(const std::string& path, std::string name) {
  auto text = read_small_file(path, policy::yaml::kMaxBytes);
  if (!text) return tl::unexpected(text.error());
  return policy::Source{std::move(name), std::move(*text), std::nullopt};
}

policy::Source built_in_policy() {
  return {"default.yaml", std::string(policy::default_policy_text()), std::nullopt};
}

PolicyFiles read_policies(const Settings& settings, const std::string& system_folder, std::uint32_t trusted) {
  auto list = list_policies(settings, system_folder, trusted);
  PolicyFiles files{{}, std::move(list.problems)};
  for (const auto& [path, tier] : list.files) {
    if (path == kDefaultPolicy) {
      files.sources.push_back(built_in_policy());
      continue;
    }
    auto source = read_policy(path, path.substr(path.rfind('/') + 1));
    if (!source) {
      files.problems.push_back(source.error());
      continue;
    }
    source->tier = tier;
    files.sources.push_back(std::move(*source));
  }
  return files;
}

std::string look_of_policies(const Settings& settings, const std::string& system_folder,
                             std::uint32_t trusted) {
  const auto list = list_policies(settings, system_folder, trusted);
  std::string look;
  for (const auto& file : list.files) look += file.path + '\0' + look_of_file(file.path) + '\n';
  for (const auto& problem : list.problems) look += problem.code + problem.where + problem.message + '\n';
  return look;
}

}  // namespace gateway
