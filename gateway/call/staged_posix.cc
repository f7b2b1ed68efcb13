#include "gateway/call/staged.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/settings/folder.h"
#include "policy/ids.h"

namespace gateway {
namespace {

tl::unexpected<policy::Error> failed(const char* what) {
  return policy::fail("copy.staging", std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

policy::Result<std::unique_ptr<Staged>> Staged::make(const std::string& folder) {
  auto path = folder + "/" + policy::random_hex32();
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return failed("cannot make a file for the copy");
  return std::unique_ptr<Staged>(new Staged(std::move(path), std::move(file)));
}

policy::Result<std::unique_ptr<Staged>> Staged::name_only(const std::string& folder) {
  const auto room = folder + "/" + policy::random_hex32();
  if (auto made = make_private_folder(room); !made) return tl::unexpected(made.error());
  std::unique_ptr<Staged> staged(new Staged(room + "/copy", Descriptor()));
  staged->room_ = room;
  return staged;
}

Staged::~Staged() {
  ::unlink(path_.c_str());
  if (!room_.empty()) (void)remove_tree(room_);
}

policy::Result<std::uint64_t> Staged::size() const {
  struct stat status{};
  if (::fstat(file_.get(), &status) != 0) return failed("the copy's file is gone");
  return static_cast<std::uint64_t>(status.st_size);
}

policy::Result<Descriptor> Staged::open() const {
  Descriptor file(::open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0)
    return failed("what came out of the sandbox cannot be read");
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1) {
    return policy::fail("copy.staging", "what came out of the sandbox is not a file of its own");
  }
  return file;
}

policy::Result<void> empty_staging_folder(const std::string& folder) {
  if (auto removed = remove_tree(folder); !removed) return removed;
  return make_private_folder(folder);
}

}  // namespace gateway
