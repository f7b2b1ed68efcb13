#include "enforcers/archive/tar_reader.h"

#include <algorithm>

#include "policy/path_rules.h"

namespace enforcers {
namespace {

using policy::NameRules;
using policy::Result;

constexpr std::uint64_t kMaxPaxBytes = 64 * 1024;
constexpr std::uint64_t kMaxLongName = 4096 + 1;  // with its NUL
constexpr std::uint64_t kLargestOctal = 077777777777;
constexpr std::size_t kReadBytes = 256 * 1024;

std::uint64_t padding_of(std::uint64_t size) { return (kTarBlock - size % kTarBlock) % kTarBlock; }

struct Judged {
  std::vector<std::string_view> components;  // of `name`; empty for the root
  std::optional<ArchiveFault> fault;
};

std::optional<policy::PathFault> judge_drive(std::string_view name, NameRules rules) {
  if (rules == NameRules::posix || name.size() < 2 || name[1] != ':') return std::nullopt;
  const char letter = static_cast<char>(name[0] | 0x20);
  if (letter < 'a' || letter > 'z') return std::nullopt;
  return policy::PathFault::drive_letter;
}

// Judges a whole name. Faults that refuse the archive outweigh those for which an entry may be left out.
Judged judge_name(std::string_view name, EntryType type, NameRules rules) {
  Judged judged;
  const auto fault = [&](ArchiveFault which) {
    if (!judged.fault || (is_invalid_name(*judged.fault) && !is_invalid_name(which))) judged.fault = which;
  };
  if (name.empty()) fault(ArchiveFault::empty_name);
  if (const auto found = policy::judge_characters(name)) fault(fault_of(*found));
  if (name.starts_with('/')) fault(ArchiveFault::absolute_path);
  if (judged.fault) return judged;

  const std::size_t length = name.size();
  if (name == "." || name == "./") {
    if (type != EntryType::folder) fault(ArchiveFault::non_canonical);
    return judged;
  }
  if (name.starts_with("./")) name.remove_prefix(2);
  if (name.ends_with('/')) {
    if (type != EntryType::folder) fault(ArchiveFault::non_canonical);
    name.remove_suffix(1);
  }
  if (const auto found = judge_drive(name, rules)) fault(fault_of(*found));
  bool parent_ref = false;
  while (true) {
    const auto slash = name.find('/');
    const std::string_view component = name.substr(0, slash);
    if (component.empty() || component == ".") {
      fault(ArchiveFault::non_canonical);
    } else if (component == "..") {
      parent_ref = true;
    } else if (const auto found = policy::judge_component(component, rules)) {
      fault(fault_of(*found));
    }
    judged.components.push_back(component);
    if (slash == std::string_view::npos) break;
    name.remove_prefix(slash + 1);
  }
  if (parent_ref) {
    judged.fault = ArchiveFault::parent_ref;
  } else if (length > policy::kMaxPathBytes) {
    fault(ArchiveFault::path_too_long);
  } else if (judged.components.size() > policy::kMaxPathDepth) {
    fault(ArchiveFault::too_deep);
  }
  return judged;
}

std::string joined(const std::vector<std::string_view>& components) {
  std::string path;
  for (const auto component : components) {
    if (!path.empty()) path += '/';
    path += component;
  }
  return path;
}

}  // namespace

tl::unexpected<policy::Error> TarReader::refuse(ArchiveFault fault) {
  failed_ = error_of(fault, entry_);
  return tl::unexpected(*failed_);
}

Result<std::string_view> TarReader::take(std::size_t most) {
  auto bytes = source_.read(most);
  if (!bytes) {
    failed_ = bytes.error();
    return bytes;
  }
  bytes_read_ += bytes->size();
  return bytes;
}

// One block; shorter, or empty, where the archive ends.
Result<std::string> TarReader::take_block() {
  std::string block;
  while (block.size() < kTarBlock) {
    const auto bytes = take(kTarBlock - block.size());
    if (!bytes) return tl::unexpected(bytes.error());
    if (bytes->empty()) break;
    block += *bytes;
  }
  return block;
}

// The content of an extended header with its padding, which the caller has bounded.
Result<std::string> TarReader::take_content(std::uint64_t size) {
  std::string content;
  const std::uint64_t whole = size + padding_of(size);
  while (content.size() < whole) {
    const auto bytes = take(static_cast<std::size_t>(whole) - content.size());
    if (!bytes) return tl::unexpected(bytes.error());
    if (bytes->empty()) return refuse(ArchiveFault::truncated);
    content += *bytes;
  }
  content.resize(static_cast<std::size_t>(size));
  return content;
}

Result<std::string_view> TarReader::read() {
  if (failed_) return tl::unexpected(*failed_);
  if (content_ == 0) return std::string_view();
  const auto bytes = take(static_cast<std::size_t>(std::min<std::uint64_t>(content_, kReadBytes)));
  if (bytes && bytes->empty()) return refuse(ArchiveFault::truncated);
  if (bytes) content_ -= bytes->size();
  return bytes;
}

Result<void> TarReader::pass_over_content() {
  while (content_ > 0) {
    if (const auto bytes = read(); !bytes) return tl::unexpected(bytes.error());
  }
  content_ = std::exchange(padding_, 0);
  while (content_ > 0) {
    if (const auto bytes = read(); !bytes) return tl::unexpected(bytes.error());
  }
  return {};
}

Result<std::optional<TarEntry>> TarReader::next() {
  while (!failed_ && !ended_) {
    auto entry = advance();
    if (!entry || *entry || ended_) return entry;
  }
  if (failed_) return tl::unexpected(*failed_);
  return std::nullopt;
}

// One step: past the content, over the headers, to an entry. Nothing when the entry was left out.
Result<std::optional<TarEntry>> TarReader::advance() {
  if (auto passed = pass_over_content(); !passed) return tl::unexpected(passed.error());
  Pending pending;
  while (true) {
    auto block = take_block();
    if (!block) return tl::unexpected(block.error());
    if (block->size() < kTarBlock) return refuse(ArchiveFault::truncated);
    if (is_zero_block(*block)) {
      if (pending.any()) return refuse(ArchiveFault::pax_malformed);
      if (auto end = finish(); !end) return tl::unexpected(end.error());
      return std::nullopt;
    }
    ++entry_;
    const auto header = parse_tar_header(*block);
    if (!header) return refuse(header.error());
    const bool extension = std::string_view("xgLK").find(header->type) != std::string_view::npos;
    if (!extension) return take_entry(*header, pending);
    if (auto taken = take_extension(*header, pending); !taken) return tl::unexpected(taken.error());
  }
}

Result<void> TarReader::take_extension(const TarHeader& header, Pending& pending) {
  const bool pax = header.type == 'x' || header.type == 'g';
  // A second source for what a header before it says, or a global header in the middle of an entry.
  if (pending.any() && !(header.type == 'K' && pending.long_name && !pending.long_link && !pending.pax) &&
      !(header.type == 'L' && pending.long_link && !pending.long_name && !pending.pax)) {
    return refuse(ArchiveFault::pax_conflict);
  }
  if (header.size > (pax ? kMaxPaxBytes : kMaxLongName)) return refuse(ArchiveFault::pax_limit);
  metadata_ += kTarBlock + header.size;
  if (metadata_ > rules_.limits.header_bytes) return refuse(ArchiveFault::pax_limit);
  auto content = take_content(header.size);
  if (!content) return tl::unexpected(content.error());
  if (pax) {
    auto records = parse_pax_records(*content);
    if (header.type == 'g') {
      if (!records) {
        return refuse(records.error() == ArchiveFault::pax_limit       ? ArchiveFault::pax_limit
                      : records.error() == ArchiveFault::pax_malformed ? ArchiveFault::pax_malformed
                                                                       : ArchiveFault::pax_global);
      }
      if (!records->only_comment) return refuse(ArchiveFault::pax_global);
      return {};
    }
    if (!records) return refuse(records.error());
    pending.pax = std::move(*records);
    return {};
  }
  if (content->ends_with('\0')) content->pop_back();
  if (content->find('\0') != std::string::npos) return refuse(ArchiveFault::nul_in_name);
  if (header.type == 'L') {
    if (content->empty()) return refuse(ArchiveFault::empty_name);
    pending.long_name = std::move(*content);
  } else {
    pending.long_link = true;
  }
  return {};
}

Result<std::optional<TarEntry>> TarReader::take_entry(const TarHeader& header, const Pending& pending) {
  EntryType type = EntryType::file;
  switch (header.type) {
    case '0':
      break;
    case '5':
      type = EntryType::folder;
      break;
    case '1':
    case '2':
      type = EntryType::link;
      break;
    case '3':
    case '4':
    case '6':
      return refuse(ArchiveFault::special_file);
    default:
      return refuse(ArchiveFault::unknown_type);
  }
  std::uint64_t size = header.size;
  if (pending.pax && pending.pax->size) {
    // A size that no octal field can hold stands in the extended header alone; else both must say the same.
    const bool alone = header.size == 0 && *pending.pax->size > kLargestOctal;
    if (!alone && *pending.pax->size != header.size) return refuse(ArchiveFault::pax_conflict);
    size = *pending.pax->size;
  }
  const bool named_apart = pending.long_name || (pending.pax && pending.pax->path);
  if (header.nul_inside && !named_apart) return refuse(ArchiveFault::nul_in_name);
  if (type != EntryType::link && (pending.long_link || (pending.pax && pending.pax->has_link_path))) {
    return refuse(ArchiveFault::pax_malformed);
  }
  const std::string& name = pending.long_name                  ? *pending.long_name
                            : pending.pax && pending.pax->path ? *pending.pax->path
                                                               : header.name;
  Judged judged = judge_name(name, type, rules_.names);
  if (judged.fault && !is_invalid_name(*judged.fault)) return refuse(*judged.fault);
  const auto link_fault = header.type == '1' ? ArchiveFault::hardlink : ArchiveFault::symlink;
  if (type == EntryType::link && rules_.links == OnFault::reject) return refuse(link_fault);
  if (judged.fault && rules_.invalid_names == OnFault::reject) return refuse(*judged.fault);

  if (type != EntryType::file && size != 0) return refuse(ArchiveFault::size_on_nonfile);
  if (size > rules_.limits.file_bytes) return refuse(ArchiveFault::file_too_big);
  if (size > rules_.limits.total_bytes - total_) return refuse(ArchiveFault::total_too_big);
  total_ += size;
  content_ = size;
  padding_ = padding_of(size);

  if (judged.components.empty()) {
    if (has_root_) return refuse(ArchiveFault::duplicate);
    has_root_ = true;
    return std::nullopt;
  }
  if (++taken_ > rules_.limits.entries) return refuse(ArchiveFault::too_many_entries);
  metadata_ += name.size();
  if (metadata_ > rules_.limits.header_bytes) return refuse(ArchiveFault::pax_limit);
  if (!judged.fault) judged.fault = names_.add(judged.components, type);
  if (judged.fault && (!is_invalid_name(*judged.fault) || rules_.invalid_names == OnFault::reject)) {
    return refuse(*judged.fault);
  }
  std::string path = joined(judged.components);
  if (judged.fault || type == EntryType::link) {
    skip(path, judged.fault.value_or(link_fault));
    return std::nullopt;
  }
  const std::int64_t modified =
      pending.pax && pending.pax->modified ? *pending.pax->modified : header.modified;
  return TarEntry{std::move(path), type, size, modified, header.executable};
}

// The first of the two blocks that end an archive was read.
Result<void> TarReader::finish() {
  auto block = take_block();
  if (!block) return tl::unexpected(block.error());
  if (block->size() < kTarBlock) return refuse(ArchiveFault::truncated);
  if (!is_zero_block(*block)) return refuse(ArchiveFault::zero_block);
  for (std::uint64_t padding = 0;;) {
    const auto bytes = take(kReadBytes);
    if (!bytes) return tl::unexpected(bytes.error());
    if (bytes->empty()) break;
    padding += bytes->size();
    if (!is_zero_block(*bytes) || padding > rules_.limits.padding_bytes) {
      return refuse(ArchiveFault::trailing_data);
    }
  }
  if (taken_ == 0 && !has_root_) return refuse(ArchiveFault::empty_archive);
  ended_ = true;
  return {};
}

void TarReader::skip(const std::string& name, ArchiveFault fault) {
  ++skipped_.count;
  ++skipped_.by_class[std::string(class_of(fault))];
  if (skipped_.names.size() < Skipped::kMostNames) {
    skipped_.names.emplace_back(name, std::string(class_of(fault)));
  }
}

}  // namespace enforcers
