#include "vmware/base/vmdk_descriptor.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "vmware/vmx.h"
#include "vmware/vmx_rebuild.h"

namespace vmware {
namespace {

using policy::fail;

constexpr std::size_t kSector = 512;
constexpr std::size_t kMaxExtents = 1000;
constexpr std::size_t kMaxLines = 4000;
constexpr std::array<std::string_view, 4> kFileDisks{"monolithicSparse", "monolithicFlat",
                                                     "twoGbMaxExtentSparse", "twoGbMaxExtentFlat"};

// Descriptors are compared as .vmx files are: without regard to ASCII case.
bool same_text(std::string_view a, std::string_view b) { return compare_vmx_keys(a, b) == 0; }

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Takes the next word off `rest`; a word in quotes may hold blanks. Nothing when a quote is not closed.
std::optional<std::string_view> take_word(std::string_view& rest) {
  rest = trimmed(rest);
  std::string_view word;
  if (!rest.empty() && rest.front() == '"') {
    const auto end = rest.find('"', 1);
    if (end == std::string_view::npos) return std::nullopt;
    word = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  } else {
    word = rest.substr(0, std::min(rest.find_first_of(" \t"), rest.size()));
    rest.remove_prefix(word.size());
  }
  return word;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 19 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_access(std::string_view word) {
  return same_text(word, "RW") || same_text(word, "RDONLY") || same_text(word, "NOACCESS");
}

// `RW 4192256 SPARSE "disk-s001.vmdk"`, `RW 63 FLAT "disk-flat.vmdk" 0`, `RW 2048 ZERO`.
policy::Result<VmdkDescriptor::Extent> read_extent(std::string_view rest) {
  std::array<std::string_view, 5> words;
  for (auto& word : words) {
    const auto next = take_word(rest);
    if (!next) return fail("disk.format", "a line of the disk's descriptor has an open quote");
    word = *next;
  }
  const auto& [access, sectors, kind, file, offset] = words;
  if (!trimmed(rest).empty() || !is_number(sectors) || (!offset.empty() && !is_number(offset))) {
    return fail("disk.format", "a line of the disk's descriptor is not an extent");
  }
  if (same_text(kind, "ZERO") && file.empty()) return VmdkDescriptor::Extent{};
  if (!same_text(kind, "SPARSE") && !same_text(kind, "FLAT")) {
    return fail("disk.raw", "the disk is not made of plain files only");
  }
  if (!plain_file_name(file)) {
    return fail("disk.elsewhere", "a part of the disk is not a plain file in the disk's own folder");
  }
  return VmdkDescriptor::Extent{std::string(file)};
}

struct Line {
  std::string_view key, value;
};

std::optional<Line> read_assignment(std::string_view line) {
  const auto equals = line.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  Line made{trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1))};
  if (made.key.empty() || made.key.find_first_of(" \t\"") != std::string_view::npos) return std::nullopt;
  if (!made.value.empty() && made.value.front() == '"') {
    if (made.value.size() < 2 || made.value.find('"', 1) != made.value.size() - 1) return std::nullopt;
    made.value = made.value.substr(1, made.value.size() - 2);
  } else if (made.value.find('"') != std::string_view::npos) {
    return std::nullopt;
  }
  return made;
}

std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

}  // namespace

policy::Result<std::string> vmdk_descriptor_of(std::string_view head) {
  if (!head.starts_with("KDMV")) {
    if (head.size() > kMaxVmdkDescriptor) return fail("disk.format", "the file is no disk descriptor");
    return std::string(head);
  }
  if (head.size() < kSector) return fail("disk.format", "the head of the disk is cut off");
  const auto at = little_endian(head, 28, 8);
  const auto sectors = little_endian(head, 36, 8);
  if (at == 0 || sectors == 0) return std::string();
  if (sectors > kMaxVmdkDescriptor / kSector || at > head.size() / kSector ||
      sectors * kSector > head.size() - at * kSector) {
    return fail("disk.format", "the disk's descriptor lies outside of its head");
  }
  const auto text = head.substr(at * kSector, sectors * kSector);
  return std::string(text.substr(0, std::min(text.find('\0'), text.size())));
}

policy::Result<VmdkDescriptor> parse_vmdk_descriptor(std::string_view text) {
  if (text.size() > kMaxVmdkDescriptor) return fail("disk.format", "the disk's descriptor is too long");
  if (text.find('\0') != std::string_view::npos) {
    return fail("disk.format", "the disk's descriptor holds a NUL");
  }
  VmdkDescriptor made;
  bool parent_named = false, has_parent = false;
  std::size_t lines = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (++lines > kMaxLines) return fail("disk.format", "the disk's descriptor has too many lines");
    if (line.empty() || line.front() == '#') continue;
    if (is_access(line.substr(0, std::min(line.find_first_of(" \t"), line.size())))) {
      auto extent = read_extent(line);
      if (!extent) return tl::unexpected(extent.error());
      made.extents.push_back(std::move(*extent));
      if (made.extents.size() > kMaxExtents) return fail("disk.format", "the disk has too many parts");
      continue;
    }
    const auto assignment = read_assignment(line);
    if (!assignment)
      return fail("disk.format", "a line of the disk's descriptor is neither value nor extent");
    const auto& [key, value] = *assignment;
    if (same_text(key, "createType")) {
      if (!made.create_type.empty()) return fail("disk.format", "the disk says twice of which kind it is");
      made.create_type = std::string(value);
    } else if (same_text(key, "parentFileNameHint")) {
      if (parent_named || value.empty()) return fail("disk.format", "the disk's parent is not clear");
      parent_named = true;
      made.parent = std::string(value);
    } else if (same_text(key, "parentCID")) {
      has_parent = !same_text(value, "ffffffff");
    } else if (same_text(key.substr(0, 7), "encrypt")) {
      return fail("disk.encrypted", "the disk is encrypted");
    } else if (same_text(key, "changeTrackPath") || same_text(key, "digestFilename")) {
      if (!plain_file_name(value)) {
        return fail("disk.elsewhere", "the disk names a file outside of its own folder");
      }
    }
  }
  if (std::none_of(kFileDisks.begin(), kFileDisks.end(),
                   [&](std::string_view kind) { return same_text(kind, made.create_type); })) {
    return fail("disk.raw", "the disk is of a kind that is not kept in plain files of its folder");
  }
  if (made.extents.empty()) return fail("disk.format", "the disk's descriptor names no part of it");
  if (has_parent != parent_named) return fail("disk.format", "the disk's parent is not clear");
  return made;
}

}  // namespace vmware
