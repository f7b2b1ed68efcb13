#include "enforcers/path_jail/pack.h"

#include <fcntl.h>

#include "enforcers/archive/tar_writer.h"
#include "enforcers/path_jail/file_stream.h"

namespace enforcers {
namespace {

using policy::Error;
using policy::fail;
using policy::Result;

tl::unexpected<Error> changed() {
  return fail("copy.changed",
              "the host path changed after it was judged; copy it again when nothing writes to it");
}

Result<void> pack_file(const Descriptor& handle, const SurveyedTree::File& entry, TarWriter& tar,
                       const std::stop_token& stop) {
  const std::string subject = "`" + entry.file.path + "` in the host path";
  if (const auto now = facts_of(handle, subject); !now || *now != entry.facts) return changed();
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (auto written =
          tar.file(entry.file.path, entry.file.size, entry.facts.modified / kSecond, entry.file.executable);
      !written) {
    return written;
  }
  const auto digest = read_file(handle, entry.facts, subject, stop,
                                [&](std::string_view bytes) { return tar.content(bytes); });
  if (!digest) return tl::unexpected(digest.error());
  if (*digest != entry.file.digest) return changed();
  return {};
}

}  // namespace

Result<void> pack(const SourceProof& proof, const SurveyedTree& tree, int out,
                  std::chrono::steady_clock::time_point deadline, std::stop_token stop) {
  const Source& source = proof.source();
  if (tree.survey.manifest != proof.survey().manifest || tree.identity != source.facts.identity) {
    return changed();
  }
  DescriptorSink sink(out, deadline, stop);
  TarWriter tar(sink);
  for (const auto& folder : tree.folders) {
    if (auto written = tar.folder(folder, 0); !written) return written;
  }
  for (const auto& entry : tree.files) {
    if (tree.kind == Kind::file) {
      if (auto done = pack_file(source.handle, entry, tar, stop); !done) return done;
      continue;
    }
    const Opened opened = open_beneath(source.handle.number(), entry.file.path, O_RDONLY | O_NONBLOCK, 0,
                                       proof.jail().resolver());
    if (opened.error != 0) return changed();
    if (auto done = pack_file(opened.file, entry, tar, stop); !done) return done;
  }
  if (auto ended = tar.finish(); !ended) return ended;
  return sink.flush();
}

}  // namespace enforcers
