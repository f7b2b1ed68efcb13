#include "enforcers/path_jail/survey.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "enforcers/path_jail/file_stream.h"
#include "policy/path_rules.h"

namespace enforcers {
namespace {

using policy::Error;
using policy::fail;
using policy::Result;

class Walk final {
 public:
  Walk(const Jail& jail, const CopyLimits& limits, const std::stop_token& stop, SurveyedTree& tree)
      : jail_(jail), limits_(limits), stop_(stop), tree_(tree) {}

  Result<void> folder(const Descriptor& handle, const std::string& prefix, std::size_t depth) {
    if (depth > policy::kMaxPathDepth) {
      return fail("path.too_deep", "the host path holds folders more than 64 deep; copy a folder within");
    }
    const auto names = names_in(handle, static_cast<std::size_t>(2 * limits_.files), jail_.resolver());
    if (!names) return tl::unexpected(names.error());
    for (const auto& name : *names) {
      if (stop_.stop_requested()) return fail("cancelled", "the copy was cancelled");
      if (auto done = entry(handle, name, prefix + name, depth); !done) return done;
    }
    return {};
  }

  Result<void> file(const Descriptor& handle, const FileFacts& facts, const std::string& path) {
    const std::string subject = "`" + path + "` in the host path";
    if (facts.links != 1) {
      return fail("path.hard_link", subject +
                                        " has more than one name, which may be known outside the "
                                        "transfer folder; copy it to a new file first");
    }
    if (facts.size > limits_.file_bytes) {
      return fail("copy.file_too_big", subject + " is larger than " + std::to_string(limits_.file_bytes) +
                                           " bytes; split it or leave it out");
    }
    if (facts.size > limits_.total_bytes - bytes_) {
      return fail("copy.too_big", "the files together are larger than " +
                                      std::to_string(limits_.total_bytes) + " bytes; copy fewer at a time");
    }
    bytes_ += facts.size;
    if (tree_.files.size() == limits_.files) {
      return fail("copy.too_many_files",
                  "there are more than " + std::to_string(limits_.files) + " files; copy fewer at a time");
    }
    auto digest = hash_file(handle, facts, subject, stop_);
    if (!digest) return tl::unexpected(digest.error());
    tree_.files.push_back({CopiedFile{path, facts.size, *digest, facts.executable}, facts});
    return {};
  }

 private:
  Result<void> entry(const Descriptor& parent, const std::string& name, const std::string& path,
                     std::size_t depth) {
    // Characters first: after that a name can be shown.
    if (const auto fault = policy::judge_characters(name)) {
      return tl::unexpected<Error>(policy::error_of(*fault, "a name in the host path"));
    }
    if (const auto fault = policy::judge_component(name, policy::NameRules::posix)) {
      if (*fault == policy::PathFault::staging_name) return {};
      return tl::unexpected<Error>(policy::error_of(*fault, "a name in the host path"));
    }
    if (path.size() > policy::kMaxPathBytes) {
      return tl::unexpected<Error>(
          policy::error_of(policy::PathFault::path_too_long, "a path below the host path"));
    }
    const std::string subject = "`" + path + "` in the host path";
    const Opened opened = open_beneath(parent.number(), name, O_RDONLY | O_NONBLOCK, 0, jail_.resolver());
    if (opened.error != 0) return tl::unexpected<Error>(open_error(opened.error, subject));
    const auto facts = facts_of(opened.file, subject);
    if (!facts) return tl::unexpected(facts.error());
    if (facts->kind == Kind::file) return file(opened.file, *facts, path);
    if (tree_.folders.size() == limits_.files) {
      return fail("copy.too_many_files",
                  "there are more than " + std::to_string(limits_.files) + " folders; copy fewer at a time");
    }
    tree_.folders.push_back(path);
    return folder(opened.file, path + "/", depth + 1);
  }

  const Jail& jail_;
  const CopyLimits& limits_;
  const std::stop_token& stop_;
  SurveyedTree& tree_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Result<SurveyedTree> survey(const Jail& jail, const policy::HostPath& path, const CopyLimits& limits,
                            std::stop_token stop) {
  auto source = jail.open_source(path);
  if (!source) return tl::unexpected(source.error());
  SurveyedTree tree;
  tree.kind = source->facts.kind;
  tree.identity = source->facts.identity;
  tree.name = path.is_root() ? "." : path.components().back();
  Walk walk(jail, limits, stop, tree);
  const auto done = tree.kind == Kind::file ? walk.file(source->handle, source->facts, tree.name)
                                            : walk.folder(source->handle, "", 1);
  if (!done) return tl::unexpected(done.error());

  std::sort(tree.files.begin(), tree.files.end(),
            [](const auto& a, const auto& b) { return a.file.path < b.file.path; });
  std::vector<CopiedFile> files;
  files.reserve(tree.files.size());
  for (const auto& file : tree.files) files.push_back(file.file);
  tree.survey = survey_of(files);
  return tree;
}

}  // namespace enforcers
