// A stored log of arbitrary bytes: what the strict reader accepts is canonical, and the verifier, the viewer
// and the recovery agree about it and end.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "audit/chain.h"
#include "audit/escape.h"
#include "audit/reader.h"
#include "audit/recovery.h"
#include "audit/show.h"
#include "audit/verify.h"
#include "property.h"

namespace {

using fuzz::require;

using Files = std::map<std::string, std::string>;

class MemoryFile final : public audit::File {
 public:
  explicit MemoryFile(std::string& bytes) : bytes_(bytes) {}
  policy::Result<std::size_t> append(std::string_view more) override {
    bytes_ += more;
    return more.size();
  }
  policy::Result<void> truncate(std::uint64_t size) override {
    bytes_.resize(size);
    return {};
  }
  policy::Result<void> sync() override { return {}; }
  policy::Result<std::uint64_t> size() override { return bytes_.size(); }
  policy::Result<std::size_t> read(std::uint64_t offset, std::span<char> into) override {
    if (offset >= bytes_.size()) return std::size_t{0};
    const auto n = std::min<std::size_t>(into.size(), bytes_.size() - offset);
    std::memcpy(into.data(), bytes_.data() + offset, n);
    return n;
  }

 private:
  std::string& bytes_;
};

class MemoryDisk final : public audit::Disk {
 public:
  explicit MemoryDisk(Files& files) : files_(files) {}
  policy::Result<std::vector<std::string>> list() override {
    std::vector<std::string> out;
    for (const auto& [name, bytes] : files_) out.push_back(name);
    return out;
  }
  policy::Result<std::unique_ptr<audit::File>> open(const std::string& name, Open) override {
    return std::make_unique<MemoryFile>(files_[name]);
  }
  policy::Result<std::unique_ptr<audit::File>> set_aside(const std::string& name) override {
    return open("torn-" + name, Open::create);
  }
  policy::Result<void> sync_names() override { return {}; }
  bool owned_elsewhere() override { return false; }

 private:
  Files& files_;
};

// Seals every line anew, so that the fuzzer reaches what stands behind the hashes.
std::string resealed(std::string_view text) {
  audit::Hasher hasher;
  std::string out, prev = audit::genesis("3f9c2a10", "");
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    audit::Sealed sealed;
    if (audit::split(line, sealed)) {
      line = std::string(audit::kPrevStart) + prev +
             std::string(sealed.body.substr(audit::kPrevStart.size() + 64));
      prev = hasher.hex_closed(line);
      line += std::string(audit::kHashStart) + prev + "\"}";
    }
    out += line + "\n";
  }
  return out;
}

void look(const std::string& text) {
  const std::string name = "audit-3f9c2a10-0.jsonl";
  Files files{{name, text}};
  MemoryDisk disk(files);
  const auto report = audit::verify(disk);
  require(audit::exit_code(report.verdict) != 2);
  const auto shown = audit::to_text(report);
  require(audit::terminal_safe_lines(shown) == shown);
  (void)policy::canonical(audit::to_json(report));
  for (const auto form : {audit::ShowForm::text, audit::ShowForm::json}) {
    (void)audit::show(disk, audit::LastRecords{50}, form, [](std::string_view piece) {
      require(audit::terminal_safe_lines(piece) == piece);
      require(piece.ends_with("\n"));
    });
  }
  require(files.at(name) == text);

  // After a recovery that succeeds nothing is lost, and the rest is whole as far as it was before.
  const auto resume = audit::recover(disk);
  if (!resume) return;
  std::string kept = files.at(name);
  for (const auto& [other, bytes] : files) {
    if (other != name) kept += bytes;
  }
  require(kept == text);
  if (report.verdict == audit::Verdict::good || report.verdict == audit::Verdict::warnings) {
    require(audit::verify(disk).head == report.head);
    require(resume->head == report.head);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(fuzz::text_of(bytes, size));
  if (const auto value = audit::read_value(text)) require(policy::canonical(*value) == text);
  if (audit::read_fields(text)) {
    const auto value = audit::read_value(text);
    require(value && policy::canonical(*value) == text);
    require(audit::record_text(text).has_value());
  }
  look(text);
  look(resealed(text));
  return 0;
}
