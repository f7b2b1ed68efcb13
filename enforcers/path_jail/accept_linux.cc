#include "enforcers/path_jail/accept.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "enforcers/path_jail/file_stream.h"

namespace enforcers {
namespace {

using policy::Error;
using policy::fail;
using policy::Result;

constexpr std::string_view kSubject = "a file in staging";
constexpr std::uint64_t kFreeBytes = std::uint64_t{1} << 30U;  // stay free, or 5 % of a smaller disk
constexpr std::uint64_t kAskDiskEvery = std::uint64_t{16} << 20U;
constexpr std::int64_t kYear1980 = 315'532'800;
constexpr std::int64_t kDay = 86'400;

// Writes the tree of one archive below a folder that nobody else writes to.
class TreeWriter final {
 public:
  TreeWriter(const Descriptor& top, const Jail& jail, std::vector<std::string>& made)
      : top_(top), jail_(jail), resolver_(jail.resolver()), made_(made) {}

  Result<void> folder(const std::string& path) { return enter(path); }

  Result<Descriptor> file(const std::string& path, bool executable) {
    const auto slash = path.rfind('/');
    const std::string parent = slash == std::string::npos ? "" : path.substr(0, slash);
    if (auto entered = enter(parent); !entered) return tl::unexpected(entered.error());
    Opened opened = open_beneath(here(), slash == std::string::npos ? path : path.substr(slash + 1),
                                 O_WRONLY | O_CREAT | O_EXCL, jail_.file_mode(executable), resolver_);
    if (opened.error != 0) return tl::unexpected<Error>(open_error(opened.error, kSubject));
    return std::move(opened.file);
  }

 private:
  struct Level {
    std::string path;
    Descriptor handle;
  };

  int here() const { return levels_.empty() ? top_.number() : levels_.back().handle.number(); }

  // Makes `path` (empty for the top) the current folder, with all folders on the way that are missing.
  Result<void> enter(const std::string& path) {
    while (!levels_.empty() && path != levels_.back().path && !path.starts_with(levels_.back().path + "/")) {
      levels_.pop_back();
    }
    std::size_t from = levels_.empty() ? 0 : levels_.back().path.size() + 1;
    while (from < path.size()) {
      const std::size_t end = std::min(path.find('/', from), path.size());
      const std::string name = path.substr(from, end - from);
      if (::mkdirat(here(), name.c_str(), jail_.folder_mode()) == 0) {
        made_.push_back(path.substr(0, end));
      } else if (errno != EEXIST) {
        return tl::unexpected<Error>(open_error(errno, kSubject));
      }
      Opened opened = open_beneath(here(), name, O_PATH | O_DIRECTORY, 0, resolver_);
      if (opened.error != 0) return tl::unexpected<Error>(open_error(opened.error, kSubject));
      levels_.push_back({path.substr(0, end), std::move(opened.file)});
      from = end + 1;
    }
    return {};
  }

  const Descriptor& top_;
  const Jail& jail_;
  Resolver resolver_;
  std::vector<std::string>& made_;
  std::vector<Level> levels_;
};

// Refuses before the disk is all but full.
class DiskRoom final {
 public:
  explicit DiskRoom(int folder) : folder_(folder) {}
  Result<void> take(std::uint64_t bytes) {
    if (bytes <= known_) {
      known_ -= bytes;
      return {};
    }
    struct statvfs disk{};
    if (::fstatvfs(folder_, &disk) != 0) return tl::unexpected<Error>(open_error(errno, kSubject));
    if (disk.f_blocks == 0) return {};  // a file system without a size of its own
    const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
    const std::uint64_t keep = std::min(kFreeBytes, std::uint64_t{disk.f_blocks} * disk.f_frsize / 20);
    if (free < keep || free - keep < bytes) {
      return fail("copy.disk_full", "the copy would fill the disk of the transfer folder; free space there");
    }
    known_ = std::min(free - keep - bytes, kAskDiskEvery);
    return {};
  }

 private:
  int folder_;
  std::uint64_t known_ = 0;  // bytes that surely fit
};

Result<void> write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return tl::unexpected<Error>(open_error(errno, kSubject));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// A time that a file can sensibly have is kept.
void set_time(int file, std::int64_t modified) {
  if (modified < kYear1980 || modified > static_cast<std::int64_t>(std::time(nullptr)) + kDay) return;
  const timespec times[2] = {{0, UTIME_OMIT}, {static_cast<time_t>(modified), 0}};
  (void)::futimens(file, times);
}

Result<CopiedFile> accept_file(TarReader& reader, const TarEntry& entry, TreeWriter& tree, DiskRoom& room) {
  const auto file = tree.file(entry.path, entry.executable);
  if (!file) return tl::unexpected(file.error());
  policy::Sha256Stream digest;
  while (true) {
    const auto bytes = reader.read();
    if (!bytes) return tl::unexpected(bytes.error());
    if (bytes->empty()) break;
    if (auto fits = room.take(bytes->size()); !fits) return tl::unexpected(fits.error());
    if (auto written = write_all(file->number(), *bytes); !written) return tl::unexpected(written.error());
    digest.update(*bytes);
  }
  set_time(file->number(), entry.modified);
  return CopiedFile{entry.path, entry.size, digest.finish(), entry.executable};
}

}  // namespace

Result<Accepted> accept(const FetchProof& proof, int tar, const TarRules& rules,
                        std::chrono::steady_clock::time_point deadline, std::stop_token stop) {
  auto staging = Staging::make(proof.jail());
  if (!staging) return tl::unexpected(staging.error());
  const Resolver resolver = proof.jail()->resolver();
  Accepted accepted;
  accepted.staging = std::move(*staging);
  const int private_folder = accepted.staging->handle().number();
  if (::mkdirat(private_folder, "content", proof.jail()->folder_mode()) != 0) {
    return tl::unexpected<Error>(open_error(errno, kSubject));
  }
  Opened content = open_beneath(private_folder, "content", O_PATH | O_DIRECTORY, 0, resolver);
  if (content.error != 0) return tl::unexpected<Error>(open_error(content.error, kSubject));
  accepted.content = std::move(content.file);

  DescriptorSource source(tar, deadline, stop);
  TarReader reader(source, rules);
  TreeWriter tree(accepted.content, *proof.jail(), accepted.folders);
  DiskRoom room(private_folder);
  while (true) {
    const auto entry = reader.next();
    if (!entry) return tl::unexpected(entry.error());
    if (!*entry) break;
    if (auto fits = room.take(kTarBlock); !fits) return tl::unexpected(fits.error());
    if ((*entry)->type == EntryType::folder) {
      if (auto made = tree.folder((*entry)->path); !made) return tl::unexpected(made.error());
      continue;
    }
    auto file = accept_file(reader, **entry, tree, room);
    if (!file) return tl::unexpected(file.error());
    accepted.files.push_back(std::move(*file));
  }
  accepted.skipped = reader.skipped();
  if (!reader.has_root() && accepted.files.empty() && accepted.folders.empty()) {
    return fail("copy.nothing",
                "all of the guest path was left out, since it is a link or has a name that "
                "this host cannot hold; copy the file it leads to, or rename it");
  }
  const bool one_file = accepted.files.size() == 1 && accepted.folders.empty() && !reader.has_root();
  accepted.kind = one_file ? Kind::file : Kind::folder;
  std::sort(accepted.folders.begin(), accepted.folders.end());
  accepted.survey = survey_of(accepted.files);
  return accepted;
}

}  // namespace enforcers
