#pragma once

#include <optional>

#include "vmware/standin/files.h"

namespace standin {

// Ids that nothing on a host uses: below 2^31, above what systems hand out to people, services, containers
// and subordinate users. In a container that maps fewer ids the second range serves.
struct AccountRange {
  unsigned first, last;
};
constexpr AccountRange kAccounts{1900000000, 1900016383};
constexpr AccountRange kAccountsInContainer{60706, 61183};

// A user and group id that one running machine has for itself.
struct Account {
  unsigned id = 0;
  Fd slot;                        // locked as long as anybody holds it; the machine keeps it for life
  std::optional<unsigned> group;  // a further group, for /dev/kvm
};

// The range this process could hand out ids from; none when it is not root, or when neither range exists in
// its user namespace.
std::optional<AccountRange> account_range();

// One that is free on this host. A slot is free when nobody holds its lock and the process written in it is
// gone, so that a machine which gives up its lock keeps its id to itself. `account` when none can be had.
Result<Account> free_account(const AccountRange& range);

// Writes the calling process into the slot, which somebody holds for it.
Result<> occupy_slot(unsigned id);

// The group that opens /dev/kvm to an account; `kvm.closed` when only root can open it.
Result<std::optional<unsigned>> kvm_group();

}  // namespace standin
