// A tar from a hostile guest. What the reader accepts has safe names that stand for different places, no more
// content than the archive has bytes, and reads the same when the bytes come in other pieces.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "enforcers/archive/name_fold.h"
#include "enforcers/archive/tar_reader.h"
#include "enforcers/archive/tar_writer.h"
#include "policy/path_rules.h"
#include "property.h"

namespace {

using fuzz::require;

using enforcers::EntryType;
using enforcers::OnFault;

class Pieces final : public enforcers::ByteSource {
 public:
  Pieces(std::string_view bytes, std::size_t step) : rest_(bytes), step_(step) {}
  policy::Result<std::string_view> read(std::size_t most) override {
    const auto piece = rest_.substr(0, std::min(most, step_));
    rest_.remove_prefix(piece.size());
    return piece;
  }

 private:
  std::string_view rest_;
  std::size_t step_;
};

class Text final : public enforcers::ByteSink {
 public:
  policy::Result<void> write(std::string_view more) override {
    bytes += more;
    return {};
  }
  std::string bytes;
};

struct Entry {
  std::string path;
  EntryType type;
  bool executable;
  std::string content;
  bool operator==(const Entry&) const = default;
};

struct Outcome {
  std::string code;  // empty when accepted
  std::vector<Entry> entries;
  std::uint64_t skipped = 0;
  bool operator==(const Outcome&) const = default;
};

Outcome read(std::string_view bytes, const enforcers::TarRules& rules, std::size_t step) {
  Pieces source(bytes, step);
  enforcers::TarReader reader(source, rules);
  Outcome outcome;
  std::uint64_t content = 0;
  while (true) {
    auto entry = reader.next();
    if (!entry) {
      outcome.code = entry.error().code;
      require(outcome.code.starts_with("archive."));
      return outcome;
    }
    if (!*entry) break;
    Entry found{(*entry)->path, (*entry)->type, (*entry)->executable, {}};
    while (true) {
      const auto piece = reader.read();
      if (!piece) {
        outcome.code = piece.error().code;
        return outcome;
      }
      if (piece->empty()) break;
      found.content += *piece;
      content += piece->size();
      require(content <= bytes.size());
    }
    require(found.content.size() == (*entry)->size);
    require(found.type != EntryType::link);
    outcome.entries.push_back(std::move(found));
  }
  require(reader.bytes_read() == bytes.size());
  outcome.skipped = reader.skipped().count;
  require(reader.skipped().names.size() <= enforcers::Skipped::kMostNames);
  return outcome;
}

void check_names(const Outcome& outcome, policy::NameRules names) {
  std::set<std::string> seen;
  std::set<std::string> files;
  for (const auto& entry : outcome.entries) {
    // Our own path rules hold for every name, and change nothing in it.
    const auto path = policy::HostPath::parse(entry.path, names);
    require(path.has_value() && path->text() == entry.path && !path->is_root());
    require(entry.type == EntryType::file || entry.content.empty());
    const std::string key = names == policy::NameRules::posix ? entry.path : enforcers::fold_name(entry.path);
    require(seen.insert(key).second);
    if (entry.type == EntryType::file) files.insert(key);
  }
  for (const auto& key : seen) {
    for (auto slash = key.find('/'); slash != std::string::npos; slash = key.find('/', slash + 1)) {
      require(!files.contains(key.substr(0, slash)));
    }
  }
}

// What was accepted, written by our writer, is accepted as the same.
void check_round_trip(const Outcome& outcome, const enforcers::TarRules& rules) {
  if (outcome.entries.empty()) return;
  Text text;
  enforcers::TarWriter writer(text);
  for (const auto& entry : outcome.entries) {
    if (entry.type == EntryType::folder) {
      require(writer.folder(entry.path, 0).has_value());
      continue;
    }
    require(writer.file(entry.path, entry.content.size(), 0, entry.executable).has_value());
    if (!entry.content.empty()) require(writer.content(entry.content).has_value());
  }
  require(writer.finish().has_value());
  const Outcome again = read(text.bytes, rules, text.bytes.size());
  require(again.code.empty() && again.entries == outcome.entries);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto archive = fuzz::text_of(bytes, size);
  for (const auto names : {policy::NameRules::portable, policy::NameRules::posix}) {
    for (const auto on_fault : {OnFault::skip, OnFault::reject}) {
      const enforcers::TarRules rules{
          .limits = {.entries = 200, .file_bytes = 1 << 16, .total_bytes = 1 << 18, .header_bytes = 1 << 18},
          .names = names,
          .links = on_fault,
          .invalid_names = on_fault};
      const Outcome outcome = read(archive, rules, archive.size() + 1);
      require(outcome == read(archive, rules, 509));
      if (!outcome.code.empty()) continue;
      require(on_fault == OnFault::skip || outcome.skipped == 0);
      check_names(outcome, names);
      check_round_trip(outcome, rules);
    }
  }
  return 0;
}
