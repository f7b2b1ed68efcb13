#pragma once

#include <string>
#include <string_view>

#include "policy/path_rules.h"
#include "policy/result.h"

namespace enforcers {

// Why an archive, or one entry of it, is not taken. The names are those of the published test data.
enum class ArchiveFault {
  // Of names.
  absolute_path,
  parent_ref,
  empty_name,
  non_canonical,
  nul_in_name,
  control_char,
  format_char,
  non_utf8,
  component_too_long,
  path_too_long,
  too_deep,
  // Of names that only some hosts cannot hold.
  backslash,
  drive_letter,
  ads,
  win_illegal_char,
  trailing_dot_space,
  reserved_name,
  short_name,
  confusable,
  case_collision,
  unicode_collision,
  // Of entries.
  symlink,
  hardlink,
  special_file,
  unknown_type,
  duplicate,
  type_conflict,
  // Of the structure.
  not_tar,
  bad_checksum,
  bad_number,
  negative_size,
  size_on_nonfile,
  file_too_big,
  total_too_big,
  too_many_entries,
  pax_malformed,
  pax_conflict,
  pax_global,
  pax_limit,
  sparse,
  truncated,
  zero_block,
  trailing_data,
  empty_archive,
};

std::string_view class_of(ArchiveFault);    // `parent-ref`
std::string code_of(ArchiveFault);          // `archive.parent_ref`
std::string_view meaning_of(ArchiveFault);  // what it is and what to do instead

// An entry that is left out instead of refusing the archive: names that a host of the other kind could hold.
bool is_invalid_name(ArchiveFault);
bool is_link(ArchiveFault);

// The fault of a name, in an archive's terms.
ArchiveFault fault_of(policy::PathFault);

// `entry` counts from 1. The name is not in the text: it is the guest's.
policy::Error error_of(ArchiveFault, std::uint64_t entry);

}  // namespace enforcers
