#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>
#include <string>
#include <utility>

#include "vmware/standin/account.h"
#include "vmware/standin/runtime.h"

namespace standin {
namespace {

using policy::fail;

// One place for the whole host, whatever runtime folders there are.
constexpr char kHostFolder[] = "/run/sallyport-vmrun";
constexpr char kSlots[] = "/run/sallyport-vmrun/accounts";
constexpr std::size_t kMaxRecord = 64;

std::string slot_path(unsigned id) { return std::string(kSlots) + "/" + std::to_string(id); }

// Whether a map of /proc (lines `inside outside count`) has all the ids.
bool is_mapped(const char* map, const AccountRange& range) {
  std::istringstream lines(read_small_file(map, 65536).value_or(""));
  unsigned long long inside = 0, outside = 0, count = 0;
  while (lines >> inside >> outside >> count) {
    if (inside <= range.first && range.last < inside + count) return true;
  }
  return false;
}

// What a machine wrote into its slot, whoever holds the lock by now.
bool is_occupied(int slot) {
  std::string record(kMaxRecord, '\0');
  const ssize_t got = pread(slot, record.data(), record.size(), 0);
  if (got < 0) return true;
  record.resize(static_cast<std::size_t>(got));
  return process_of_record(record).has_value();
}

}  // namespace

std::optional<AccountRange> account_range() {
  if (geteuid() != 0) return std::nullopt;
  for (const AccountRange& range : {kAccounts, kAccountsInContainer}) {
    if (is_mapped("/proc/self/uid_map", range) && is_mapped("/proc/self/gid_map", range)) return range;
  }
  return std::nullopt;
}

Result<Account> free_account(const AccountRange& range) {
  for (const char* folder : {kHostFolder, kSlots}) {
    if (auto made = make_private_folder(folder); !made) return tl::unexpected(made.error());
  }
  for (unsigned id = range.first; id <= range.last; ++id) {
    // The machine keeps this descriptor, so it is for reading only.
    Fd slot(open(slot_path(id).c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!slot) return fail("account", std::string("cannot write in `") + kSlots + "`");
    if (flock(slot.get(), LOCK_EX | LOCK_NB) != 0 || is_occupied(slot.get())) continue;
    return Account{id, std::move(slot), std::nullopt};
  }
  return fail("account", "every user id for machines is taken");
}

Result<> occupy_slot(unsigned id) {
  const std::string record = record_of_this_process();
  const Fd slot(open(slot_path(id).c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW));
  if (!slot || write(slot.get(), record.data(), record.size()) != static_cast<ssize_t>(record.size())) {
    return fail("account", "cannot write who has the user id");
  }
  return {};
}

Result<std::optional<unsigned>> kvm_group() {
  struct stat info{};
  if (stat("/dev/kvm", &info) != 0) return fail("kvm.absent", "there is no /dev/kvm");
  if ((info.st_mode & 06) == 06) return std::optional<unsigned>();
  if ((info.st_mode & 060) == 060 && info.st_gid != 0) return std::optional<unsigned>(info.st_gid);
  return fail("kvm.closed", "/dev/kvm is open to root only; `chgrp kvm /dev/kvm && chmod 660 /dev/kvm`");
}

}  // namespace standin
