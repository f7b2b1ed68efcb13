#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "vmware/standin/qcow2.h"
#include "vmware/standin/qemu_process.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

constexpr std::uint64_t kMaxBootFile = 1ULL << 30;
constexpr std::size_t kMostBootCopies = 16;
// What a machine's files may grow by beyond its disk and its memory: tables of the image, pictures.
constexpr std::uint64_t kGrowth = 1ULL << 30;

enum class Access { read, write };

Result<Fd> open_plain(const std::string& path, Access access) {
  const int mode = access == Access::write ? O_RDWR : O_RDONLY;
  Fd fd(open(path.c_str(), mode | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info{};
  if (!fd || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return fail("vm.disk", std::string(texts::kFileNotFound) + ": " + path);
  }
  return fd;
}

Result<Fd> listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return fail("channel", "socket path too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  (void)unlink(path.c_str());
  // SAFETY: the sockets interface takes every address family as sockaddr.
  if (!fd || bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      chmod(path.c_str(), 0600) != 0 || listen(fd.get(), 1) != 0) {
    return fail("channel", "cannot make the socket `" + path + "`");
  }
  return fd;
}

std::string version_of(const struct stat& info) {
  const FileIdentity identity{info.st_dev, info.st_ino};
  return identity.text() + "-" + std::to_string(info.st_size) + "-" + std::to_string(info.st_mtim.tv_sec) +
         "." + std::to_string(info.st_mtim.tv_nsec) + "-" + std::to_string(info.st_ctim.tv_sec) + "." +
         std::to_string(info.st_ctim.tv_nsec);
}

// A boot file as QEMU can open it again through its descriptor. With an id of its own that takes a file
// which everybody may read, so it gets a copy; the folder of the copies stays closed to all but the caller.
Result<Fd> boot_file(const std::string& path, bool copied, const std::string& runtime_root) {
  auto source = open_plain(path, Access::read);
  if (!source || !copied) return source;
  struct stat info{};
  if (fstat(source->get(), &info) != 0)
    return fail("vm.disk", std::string(texts::kFileNotFound) + ": " + path);
  const std::string folder = runtime_root + "/boot";
  const std::string copy = folder + "/" + version_of(info);
  if (!exists(copy)) {
    if (auto made = make_private_folder(folder); !made) return tl::unexpected(made.error());
    const std::vector<std::string> old = names_in(folder, 1000);
    // Whoever has one open keeps it.
    for (std::size_t i = 0; i + kMostBootCopies <= old.size(); ++i) (void)remove_file(folder + "/" + old[i]);
    if (auto done = copy_file(path, copy, kMaxBootFile); !done) return tl::unexpected(done.error());
  }
  auto fd = open_plain(copy, Access::read);
  if (fd && fchmod(fd->get(), 0444) != 0) return fail("vm.disk", "cannot share the copy of a boot file");
  return fd;
}

class Giving final {
 public:
  explicit Giving(LaunchPlan& launch) : launch_(launch) {}
  // Into `number`, what the descriptor will be in the process.
  Result<> add(Result<Fd> fd, int& number) {
    if (!fd) return tl::unexpected(fd.error());
    if (launch_.given.size() >= kMostGiven) return fail("vm.disk", "the machine has too many disk layers");
    number = kFirstGiven + static_cast<int>(launch_.given.size());
    launch_.given.push_back(std::move(*fd));
    return {};
  }
  Result<> add_readable(Result<Fd> fd, int& number) {
    if (auto added = add(std::move(fd), number); !added) return added;
    launch_.confinement.readable.push_back(number);
    return {};
  }

 private:
  LaunchPlan& launch_;
};

Result<> take_account(LaunchPlan& launch, bool kvm) {
  const auto range = account_range();
  if (!range) return {};
  auto account = free_account(*range);
  if (!account) return tl::unexpected(account.error());
  launch.account = std::move(*account);
  if (!kvm) return {};
  const auto group = kvm_group();
  if (!group) return tl::unexpected(group.error());
  launch.account->group = *group;
  return {};
}

Result<> give_disk(const QemuPlan& plan, Giving& giving, LaunchPlan& launch, QemuDescriptors& descriptors) {
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    const Access access = i == 0 ? Access::write : Access::read;
    if (auto added = giving.add(open_plain(plan.layers[i], access), descriptors.layers.emplace_back());
        !added) {
      return added;
    }
    const auto head = read_head(plan.layers[i], kQcow2Head);
    size = std::max(size, qcow2_size(head.value_or("")).value_or(0));
  }
  launch.confinement.largest_file = size + size / 8 + (std::uint64_t{plan.memory_mib} << 20) + kGrowth;
  return {};
}

}  // namespace

Result<LaunchPlan> confined_machine(const QemuPlan& plan, const std::string& program,
                                    const std::string& runtime_root) {
  LaunchPlan launch;
  QemuDescriptors descriptors;
  Giving giving(launch);
  if (auto taken = take_account(launch, plan.accelerator == Accelerator::kvm); !taken)
    return tl::unexpected(taken.error());
  if (auto given = give_disk(plan, giving, launch, descriptors); !given) return tl::unexpected(given.error());
  const bool copied = launch.account.has_value();
  for (const auto& [path, number] : {std::pair<const std::string&, int&>(plan.kernel, descriptors.kernel),
                                     {plan.initrd, descriptors.initrd}}) {
    if (path.empty()) continue;
    if (auto added = giving.add_readable(boot_file(path, copied, runtime_root), number); !added)
      return tl::unexpected(added.error());
  }
  const auto serve = [&](const std::string& path, int& number) {
    return giving.add(listen_at(path), number);
  };
  for (const auto& [name, number] : {std::pair<const char*, int&>("/qmp.sock", descriptors.qmp),
                                     {"/qga.sock", descriptors.qga},
                                     {"/copy.sock", descriptors.copy}}) {
    if (auto added = serve(plan.qemu_folder + name, number); !added) return tl::unexpected(added.error());
  }
  for (const GuestPort& port : plan.ports) {
    if (auto added = serve(port.socket, descriptors.ports.emplace_back()); !added)
      return tl::unexpected(added.error());
  }
  launch.argv = qemu_words(plan, descriptors);
  launch.argv.insert(launch.argv.begin(), program);
  launch.confinement.network =
      plan.nic == Nic::nat ? Confinement::Network::host : Confinement::Network::own_empty;
  return launch;
}

Result<LaunchPlan> confined_probe(std::vector<std::string> argv, const std::string& kernel,
                                  const std::string& initrd, const std::string& runtime_root) {
  LaunchPlan launch;
  Giving giving(launch);
  if (auto taken = take_account(launch, true); !taken) return tl::unexpected(taken.error());
  const bool copied = launch.account.has_value();
  launch.argv = std::move(argv);
  for (const auto& [option, path] :
       {std::pair<const char*, const std::string&>("-kernel", kernel), {"-initrd", initrd}}) {
    int number = -1;
    if (auto added = giving.add_readable(boot_file(path, copied, runtime_root), number); !added)
      return tl::unexpected(added.error());
    launch.argv.insert(launch.argv.end(), {option, "/proc/self/fd/" + std::to_string(number)});
  }
  return launch;
}

}  // namespace standin
