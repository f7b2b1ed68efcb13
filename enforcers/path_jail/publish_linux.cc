#include "enforcers/path_jail/publish.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <vector>

#include "policy/path_rules.h"

namespace enforcers {
namespace {

using policy::Error;
using policy::fail;
using policy::Result;

constexpr std::string_view kSubject = "the host path";

tl::unexpected<Error> refuse(int error, std::string_view subject = kSubject) {
  return tl::unexpected<Error>(open_error(error, subject));
}

tl::unexpected<Error> wrong_type(const std::string& path, std::string_view there) {
  return fail("path.type", "`" + path + "` at the destination is a " + std::string(there) +
                               ", which the copy does not replace; remove it or name another place");
}

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// What is under a path, without following anything; `error` is ENOENT when nothing is.
struct Present {
  int error = 0;
  Kind kind = Kind::file;
};

Result<Present> look(const Descriptor& folder, const std::string& path, Resolver resolver) {
  const std::string subject = "`" + path + "` at the destination";
  const Opened opened = open_beneath(folder.number(), path, O_PATH, 0, resolver);
  if (opened.error == ENOENT) return Present{ENOENT};
  if (opened.error == ENOTDIR) return wrong_type(parent_of(path), "file");
  if (opened.error != 0) return refuse(opened.error, subject);
  const auto facts = facts_of(opened.file, subject);
  if (!facts) return tl::unexpected(facts.error());
  return Present{0, facts->kind};
}

// Folders made on the way to a destination; taken away again unless the copy succeeds.
class NewFolders final {
 public:
  explicit NewFolders(const Jail& jail) : mode_(jail.folder_mode()), resolver_(jail.resolver()) {}
  ~NewFolders() {
    for (auto at = made_.rbegin(); !kept_ && at != made_.rend(); ++at) {
      (void)::unlinkat(at->parent.number(), at->name.c_str(), AT_REMOVEDIR);
    }
  }
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;

  // Makes `name` in `parent`, takes `parent` and gives the new folder. One that appeared meanwhile is as
  // good.
  Result<Descriptor> make(Descriptor parent, const std::string& name) {
    const bool made = ::mkdirat(parent.number(), name.c_str(), mode_) == 0;
    if (!made && errno != EEXIST) return refuse(errno);
    Opened opened = open_beneath(parent.number(), name, O_PATH | O_DIRECTORY, 0, resolver_);
    if (opened.error != 0) return refuse(opened.error);
    if (made) made_.push_back({std::move(parent), name});
    return std::move(opened.file);
  }
  void keep() { kept_ = true; }

 private:
  struct Made {
    Descriptor parent;
    std::string name;
  };
  unsigned mode_;
  Resolver resolver_;
  std::vector<Made> made_;
  bool kept_ = false;
};

int rename_without_replace(int from, const char* name, int to, const char* new_name) {
  return ::renameat2(from, name, to, new_name, RENAME_NOREPLACE) == 0 ? 0 : errno;
}

// Looks at every name of the copy at its destination, so that nothing is changed when one cannot be placed.
Result<std::uint64_t> check_merge(const Accepted& accepted, const Descriptor& to, Resolver resolver) {
  std::uint64_t replaced = 0;
  for (const auto& folder : accepted.folders) {
    const auto there = look(to, folder, resolver);
    if (!there) return tl::unexpected(there.error());
    if (there->error == 0 && there->kind == Kind::file) return wrong_type(folder, "file");
  }
  for (const auto& file : accepted.files) {
    const auto there = look(to, file.path, resolver);
    if (!there) return tl::unexpected(there.error());
    if (there->error == 0 && there->kind == Kind::folder) return wrong_type(file.path, "folder");
    if (there->error == 0) ++replaced;
  }
  return replaced;
}

// The folder of one path below two trees, kept open while neighbours follow.
class Parents final {
 public:
  Parents(const Descriptor& top, Resolver resolver) : top_(top), resolver_(resolver) {}
  Result<int> of(const std::string& path) {
    const std::string parent = parent_of(path);
    if (parent.empty()) return top_.number();
    if (!open_ || parent != path_) {
      open_ = Descriptor();
      Opened opened = open_beneath(top_.number(), parent, O_PATH | O_DIRECTORY, 0, resolver_);
      if (opened.error != 0) return refuse(opened.error, "`" + parent + "` at the destination");
      open_ = std::move(opened.file);
      path_ = parent;
    }
    return open_.number();
  }

 private:
  const Descriptor& top_;
  Resolver resolver_;
  Descriptor open_;
  std::string path_;
};

Result<void> merge(const Accepted& accepted, const Descriptor& to, const Jail& jail) {
  const Resolver resolver = jail.resolver();
  Parents sources(accepted.content, resolver);
  Parents targets(to, resolver);
  for (const auto& folder : accepted.folders) {
    const auto parent = targets.of(folder);
    if (!parent) return tl::unexpected(parent.error());
    if (::mkdirat(*parent, name_of(folder).c_str(), jail.folder_mode()) != 0 && errno != EEXIST)
      return refuse(errno);
  }
  for (const auto& file : accepted.files) {
    const auto from = sources.of(file.path);
    if (!from) return tl::unexpected(from.error());
    const auto parent = targets.of(file.path);
    if (!parent) return tl::unexpected(parent.error());
    const std::string name = name_of(file.path);
    if (::renameat(*from, name.c_str(), *parent, name.c_str()) != 0) {
      return refuse(errno, "`" + file.path + "` at the destination");
    }
  }
  return {};
}

// Opens a further handle on the folder that a destination found.
Result<Descriptor> again(const Descriptor& folder, Resolver resolver) {
  Opened opened = open_beneath(folder.number(), ".", O_PATH | O_DIRECTORY, 0, resolver);
  if (opened.error != 0) return refuse(opened.error);
  return std::move(opened.file);
}

Result<Published> publish_folder(const PublishProof& proof, const Accepted& accepted,
                                 Destination destination) {
  const Resolver resolver = proof.jail().resolver();
  if (destination.present == Kind::file) return wrong_type(proof.path().text(), "file");
  Published published{proof.path().text(), accepted.survey.files, accepted.survey.bytes, 0};
  NewFolders folders(proof.jail());
  Descriptor at = std::move(destination.folder);
  const auto& components = proof.path().components();
  if (!destination.present) {
    for (std::size_t i = destination.existing; i + 1 < components.size(); ++i) {
      auto next = folders.make(std::move(at), components[i]);
      if (!next) return tl::unexpected(next.error());
      at = std::move(*next);
    }
    const int error = rename_without_replace(accepted.staging->handle().number(), "content", at.number(),
                                             components.back().c_str());
    if (error == 0) {
      folders.keep();
      return published;
    }
    if (error != EINVAL && error != ENOSYS) return refuse(error);
    // A file system without that rename: a new folder, filled file by file.
    auto next = folders.make(std::move(at), components.back());
    if (!next) return tl::unexpected(next.error());
    at = std::move(*next);
  }
  const auto replaced = check_merge(accepted, at, resolver);
  if (!replaced) return tl::unexpected(replaced.error());
  published.replaced = *replaced;
  folders.keep();
  if (auto merged = merge(accepted, at, proof.jail()); !merged) return tl::unexpected(merged.error());
  return published;
}

Result<Published> publish_file(const PublishProof& proof, const Accepted& accepted, Destination destination,
                               OnConflict on_conflict) {
  const Resolver resolver = proof.jail().resolver();
  std::vector<std::string> components = proof.path().components();
  const bool inside =
      destination.present == Kind::folder || (!destination.present && proof.path().names_folder());
  if (inside) {
    const auto& guest = proof.guest_path().components();
    const auto named = policy::HostPath::parse(guest.empty() ? "" : guest.back());
    if (!named || named->components().size() != 1) {
      return fail("path.name",
                  "the guest file's name is none that this host can hold; give the host path a file "
                  "name");
    }
    components.push_back(guest.back());
  }
  NewFolders folders(proof.jail());
  auto at = again(destination.folder, resolver);
  if (!at) return tl::unexpected(at.error());
  for (std::size_t i = destination.existing; i + 1 < components.size(); ++i) {
    auto next = folders.make(std::move(*at), components[i]);
    if (!next) return tl::unexpected(next.error());
    at = std::move(next);
  }
  const auto there = look(*at, components.back(), resolver);
  if (!there) return tl::unexpected(there.error());
  std::string path;
  for (const auto& component : components) path += (path.empty() ? "" : "/") + component;
  if (there->error == 0 && there->kind == Kind::folder) return wrong_type(path, "folder");
  const std::string& from = accepted.files.front().path;
  const int error =
      on_conflict == OnConflict::refuse ? rename_without_replace(accepted.content.number(), from.c_str(),
                                                                 at->number(), components.back().c_str())
      : ::renameat(accepted.content.number(), from.c_str(), at->number(), components.back().c_str()) == 0
          ? 0
          : errno;
  if (error != 0) return refuse(error);
  folders.keep();
  return Published{path, 1, accepted.survey.bytes, there->error == 0 ? 1U : 0U};
}

}  // namespace

Result<Published> publish(const PublishProof& proof, const Accepted& accepted, OnConflict on_conflict) {
  if (accepted.survey.manifest != proof.survey().manifest) {
    return fail("copy.changed", "what was accepted is not what was granted; copy it out again");
  }
  auto destination = proof.jail().find_destination(proof.path());
  if (!destination) return tl::unexpected(destination.error());
  if (on_conflict == OnConflict::refuse && destination->present) return refuse(EEXIST);
  return accepted.kind == Kind::file ? publish_file(proof, accepted, std::move(*destination), on_conflict)
                                     : publish_folder(proof, accepted, std::move(*destination));
}

}  // namespace enforcers
