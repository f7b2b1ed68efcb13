#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/action.h"
#include "vmware/process.h"
#include "vmware/settings.h"

namespace vmware {

// A running machine, for the commands that reach into its guest.
struct GuestAt {
  policy::SandboxId id;
  std::string vmx;
  GuestLogin login;
};

// How a vmrun command is carried out; what it does is in the action alone.
struct VmrunTerms {
  enum class Lane {
    work,     // one of four at a time, one at a time for a machine
    waiting,  // only waits for a program in the guest: one of many, beside the machine's other commands
  };
  std::chrono::milliseconds deadline{};
  Lane lane = Lane::work;
  std::optional<ProcessSpec::Growth> growth = {};
  GuestLogin login = {};  // for verbs that need one
};

struct VmrunCommand {
  policy::Vmrun what;
  VmrunTerms terms;
};

enum class StopHow { soft, hard };

// The commands there are. `vmx` is the absolute path of a sandbox's .vmx file, `time` the caller's own limit
// for a guest operation; 15 s are added for vmrun.
VmrunCommand list_command();
VmrunCommand list_snapshots_command(const std::string& base_vmx);
VmrunCommand clone_command(const std::string& base_vmx, const std::string& vmx, const std::string& snapshot,
                           const policy::SandboxId&);
VmrunCommand start_command(const std::string& vmx, const policy::SandboxId&);
VmrunCommand stop_command(const std::string& vmx, const policy::SandboxId&, StopHow);
VmrunCommand delete_command(const std::string& vmx, const policy::SandboxId&);
VmrunCommand tools_command(const std::string& vmx, const policy::SandboxId&);
// `words` are the program and its arguments. They reach a guest's shell, so they are of
// `[A-Za-z0-9/._-]+` only; aborts otherwise.
VmrunCommand run_command(const GuestAt&, std::vector<std::string> words, std::chrono::milliseconds time,
                         VmrunTerms::Lane);
VmrunCommand copy_in_command(const GuestAt&, const std::string& host_path, const std::string& guest_path,
                             std::chrono::milliseconds time);
// Stopped when the file on the host grows beyond `max_bytes`.
VmrunCommand copy_out_command(const GuestAt&, const std::string& guest_path, const std::string& host_path,
                              std::uint64_t max_bytes, std::chrono::milliseconds time);
VmrunCommand capture_command(const GuestAt&, const std::string& host_path, std::uint64_t max_bytes);

// vmrun's words for the action, login included where the verb needs one. For execution only: it holds the
// guest's password.
std::vector<std::string> vmrun_arguments(const policy::Vmrun&, const GuestLogin&);

// The text with every occurrence of the guest's password as `***`.
std::string redacted(std::string text, const GuestLogin&);

}  // namespace vmware
