// A tar of a guest through the strict reader. A regression makes copies out slower; the reader should stay
// well above what vmrun can carry.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>

#include "enforcers/archive/tar_reader.h"
#include "enforcers/archive/tar_writer.h"

namespace {

class ToText final : public enforcers::ByteSink {
 public:
  policy::Result<void> write(std::string_view bytes) override {
    text += bytes;
    return {};
  }
  std::string text;
};

class FromText final : public enforcers::ByteSource {
 public:
  explicit FromText(std::string_view text) : left_(text) {}
  policy::Result<std::string_view> read(std::size_t most) override {
    const auto part = left_.substr(0, std::min(most, left_.size()));
    left_.remove_prefix(part.size());
    return part;
  }

 private:
  std::string_view left_;
};

std::string archive(int files, std::size_t bytes) {
  ToText out;
  enforcers::TarWriter writer(out);
  const std::string content(bytes, 'x');
  for (int i = 0; i < files; ++i) {
    (void)writer.file("folder/file-" + std::to_string(i) + ".txt", bytes, 0, false);
    (void)writer.content(content);
  }
  (void)writer.finish();
  return out.text;
}

void ReadTar(benchmark::State& state) {
  const auto tar = archive(static_cast<int>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  for (auto round : state) {
    (void)round;
    FromText source(tar);
    enforcers::TarReader reader(source, {});
    int entries = 0;
    for (auto entry = reader.next(); entry && *entry; entry = reader.next()) ++entries;
    if (entries != state.range(0)) state.SkipWithError("not all entries were read");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(tar.size()));
}
BENCHMARK(ReadTar)->Args({1000, 100})->Args({4, 4 << 20});

}  // namespace
