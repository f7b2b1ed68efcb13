#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vmware/standin/files.h"

namespace standin {

// The steps by which the launcher gives up rights, each for the whole process and for whatever it becomes.

// No core files (they would hold the guest's memory), few descriptors, no message queues; `largest_file` in
// bytes, 0 for no limit.
void set_limits(std::uint64_t largest_file);

// A network and System V objects of its own, with nothing in them. Root may have that at once; others through
// a user namespace that maps only themselves, where the system permits it; an account to be taken later does
// not exist in such a one. False where it cannot be had.
bool leave_network(std::optional<unsigned> account);

// Gives up every capability, for good, and with an account every id of the caller: user, group and
// supplementary groups become the account's (`group` stays as a supplementary one).
Result<> give_up_identity(std::optional<unsigned> account, std::optional<unsigned> group);

// What Landlock lets the process open. Built before identities are given up, in force from `restrict` on.
class FileRules final {
 public:
  // ABI version of the running kernel, 0 when it has no Landlock.
  static int landlock_version();
  enum class Network { none, internet };
  // Nothing but the program, its libraries and data files, and harmless devices. On a kernel without Landlock
  // there are no rules.
  static Result<FileRules> make(const std::string& program, Network network);
  // The file behind a descriptor may be opened again, for reading.
  void allow_reading(int fd);
  // Needs PR_SET_NO_NEW_PRIVS.
  Result<> enforce() const;

 private:
  FileRules() = default;
  void allow(const std::string& path, std::uint64_t file_rights, std::uint64_t folder_rights);
  Fd ruleset_;
  std::uint64_t handled_ = 0;
};

}  // namespace standin
