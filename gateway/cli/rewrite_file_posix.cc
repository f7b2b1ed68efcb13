#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "gateway/cli/rewrite_file.h"
#include "gateway/net/descriptor.h"

namespace gateway::cli {
namespace {

tl::unexpected<policy::Error> broken(const std::string& path) {
  return policy::fail("file.write", "cannot write `" + path + "`: " + std::strerror(errno));
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto wrote = ::write(descriptor, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

}  // namespace

policy::Result<void> rewrite_file(const std::string& path, const std::string& bytes) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), std::free);
  struct stat before{};
  if (!resolved || ::stat(resolved.get(), &before) != 0) return broken(path);
  const std::string place = resolved.get();
  std::string fresh = place + ".XXXXXX";
  const int made = ::mkostemp(fresh.data(), O_CLOEXEC);
  if (made < 0) return broken(path);
  const Descriptor file(made);
  const bool good = write_all(made, bytes) && ::fchown(made, before.st_uid, before.st_gid) == 0 &&
                    ::fchmod(made, before.st_mode & 07777) == 0 && ::fsync(made) == 0 &&
                    ::rename(fresh.c_str(), place.c_str()) == 0;
  if (good) return {};
  auto failed = broken(path);
  ::unlink(fresh.c_str());
  return failed;
}

}  // namespace gateway::cli
