#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "gateway/doctor/program.h"
#include "gateway/doctor/report.h"
#include "gateway/settings/settings.h"
#include "gateway/setup/policy_files.h"
#include "gateway/setup/setup.h"

namespace gateway::doctor {

// What is looked at of the computer, so that a test can show another one.
struct Host {
  std::vector<std::string> program_folders;
  std::string kvm = "/dev/kvm";
  Access (*access)(const std::string& device) = access_of;
  std::string user;                                   // name of who asks
  std::uint64_t least_free = std::uint64_t{1} << 30;  // bytes; less on a disk is a problem
  std::uint64_t enough_free = std::uint64_t{5} << 30;
  std::string system_policies = kSystemPolicies;
  std::uint32_t trusted = 0;  // who may write system policies
};
Host this_host();

// A personal set-up without its owner: settings, folders that overlap, permissions, tools, image,
// accelerator, disk, policy. Makes the folders that are missing, as a start of the owner does.
void examine(const Settings&, const Host&, Report&);

// What the owner says of itself; the problems it sees are listed.
void examine_owner(const Result<nlohmann::json>& status, Report&);

// The chain of a log's folder.
void examine_log(const std::string& folder, Report&);

}  // namespace gateway::doctor
