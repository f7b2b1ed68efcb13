#include "enforcers/archive/archive_fault.h"

#include <algorithm>
#include <array>

namespace enforcers {
namespace {

struct Row {
  ArchiveFault fault;
  std::string_view name;
  std::string_view meaning;
};

constexpr std::string_view kRename = "rename it in the sandbox, or leave it out";

constexpr std::array kRows = {
    Row{ArchiveFault::absolute_path, "absolute-path",
        "a name begins at the root; pack names below one folder"},
    Row{ArchiveFault::parent_ref, "parent-ref", "a name holds `..`; pack names below one folder"},
    Row{ArchiveFault::empty_name, "empty-name", "an entry has no name"},
    Row{ArchiveFault::non_canonical, "non-canonical", "a name holds `//`, `/./` or a slash after a file"},
    Row{ArchiveFault::nul_in_name, "nul-in-name", "a name holds a NUL byte"},
    Row{ArchiveFault::control_char, "control-char", kRename},
    Row{ArchiveFault::format_char, "format-char", kRename},
    Row{ArchiveFault::non_utf8, "non-utf8", kRename},
    Row{ArchiveFault::component_too_long, "component-too-long", "a name has more than 255 bytes; shorten it"},
    Row{ArchiveFault::path_too_long, "path-too-long",
        "a path has more than 1024 bytes; copy a folder within"},
    Row{ArchiveFault::too_deep, "too-deep", "a path is deeper than 64 folders; copy a folder within"},
    Row{ArchiveFault::backslash, "backslash", kRename},
    Row{ArchiveFault::drive_letter, "drive-letter", kRename},
    Row{ArchiveFault::ads, "ads", kRename},
    Row{ArchiveFault::win_illegal_char, "win-illegal-char", kRename},
    Row{ArchiveFault::trailing_dot_space, "trailing-dot-space", kRename},
    Row{ArchiveFault::reserved_name, "reserved-name", kRename},
    Row{ArchiveFault::short_name, "short-name", kRename},
    Row{ArchiveFault::confusable, "confusable", kRename},
    Row{ArchiveFault::case_collision, "case-collision", kRename},
    Row{ArchiveFault::unicode_collision, "unicode-collision", kRename},
    Row{ArchiveFault::symlink, "symlink", "it holds a symbolic link; copy the file it leads to"},
    Row{ArchiveFault::hardlink, "hardlink", "it holds a hard link; copy the files apart"},
    Row{ArchiveFault::special_file, "special-file", "it holds a device or a pipe; leave it out"},
    Row{ArchiveFault::unknown_type, "unknown-type", "it holds an entry that is neither file nor folder"},
    Row{ArchiveFault::duplicate, "duplicate", "a name stands in it twice"},
    Row{ArchiveFault::type_conflict, "type-conflict", "a name is a folder and something else"},
    Row{ArchiveFault::not_tar, "not-tar", "it is no tar in the ustar, pax or GNU format"},
    Row{ArchiveFault::bad_checksum, "bad-checksum", "a header does not match its checksum"},
    Row{ArchiveFault::bad_number, "bad-number", "a header holds something that is no number"},
    Row{ArchiveFault::negative_size, "negative-size", "an entry has a negative size"},
    Row{ArchiveFault::size_on_nonfile, "size-on-nonfile", "an entry that is no file has content"},
    Row{ArchiveFault::file_too_big, "file-too-big", "a file is larger than the limit; split it"},
    Row{ArchiveFault::total_too_big, "total-too-big",
        "the files together are larger than the limit; copy less"},
    Row{ArchiveFault::too_many_entries, "too-many-entries",
        "it holds too many names; pack them into one file"},
    Row{ArchiveFault::pax_malformed, "pax-malformed", "an extended header is not well formed"},
    Row{ArchiveFault::pax_conflict, "pax-conflict", "two headers of one entry disagree"},
    Row{ArchiveFault::pax_global, "pax-global", "a global header changes entries"},
    Row{ArchiveFault::pax_limit, "pax-limit", "an extended header is larger than the limit"},
    Row{ArchiveFault::sparse, "sparse", "it holds a sparse file; pack it as an ordinary one"},
    Row{ArchiveFault::truncated, "truncated", "it ends too early"},
    Row{ArchiveFault::zero_block, "zero-block", "an empty block stands between entries"},
    Row{ArchiveFault::trailing_data, "trailing-data", "something follows its end"},
    Row{ArchiveFault::empty_archive, "empty-archive", "it holds no entry"},
};

const Row& row_of(ArchiveFault fault) { return kRows[static_cast<std::size_t>(fault)]; }

static_assert([] {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].fault != static_cast<ArchiveFault>(i)) return false;
  }
  return kRows.size() == static_cast<std::size_t>(ArchiveFault::empty_archive) + 1;
}());

}  // namespace

std::string_view class_of(ArchiveFault fault) { return row_of(fault).name; }

std::string code_of(ArchiveFault fault) {
  std::string name(class_of(fault));
  std::replace(name.begin(), name.end(), '-', '_');
  return "archive." + name;
}

std::string_view meaning_of(ArchiveFault fault) { return row_of(fault).meaning; }

bool is_invalid_name(ArchiveFault fault) {
  return fault >= ArchiveFault::backslash && fault <= ArchiveFault::unicode_collision;
}

bool is_link(ArchiveFault fault) { return fault == ArchiveFault::symlink || fault == ArchiveFault::hardlink; }

ArchiveFault fault_of(policy::PathFault fault) {
  using policy::PathFault;
  switch (fault) {
    case PathFault::empty:
      return ArchiveFault::empty_name;
    case PathFault::absolute:
      return ArchiveFault::absolute_path;
    case PathFault::parent_ref:
      return ArchiveFault::parent_ref;
    case PathFault::nul:
      return ArchiveFault::nul_in_name;
    case PathFault::control_char:
      return ArchiveFault::control_char;
    case PathFault::format_char:
      return ArchiveFault::format_char;
    case PathFault::non_utf8:
      return ArchiveFault::non_utf8;
    case PathFault::component_too_long:
      return ArchiveFault::component_too_long;
    case PathFault::path_too_long:
      return ArchiveFault::path_too_long;
    case PathFault::too_deep:
      return ArchiveFault::too_deep;
    case PathFault::staging_name:
      return ArchiveFault::reserved_name;
    case PathFault::unc:
    case PathFault::device_namespace:
    case PathFault::backslash:
      return ArchiveFault::backslash;
    case PathFault::drive_letter:
      return ArchiveFault::drive_letter;
    case PathFault::ads:
      return ArchiveFault::ads;
    case PathFault::win_illegal_char:
      return ArchiveFault::win_illegal_char;
    case PathFault::trailing_dot_space:
      return ArchiveFault::trailing_dot_space;
    case PathFault::reserved_name:
      return ArchiveFault::reserved_name;
    case PathFault::short_name:
      return ArchiveFault::short_name;
    case PathFault::confusable:
      return ArchiveFault::confusable;
  }
  return ArchiveFault::empty_name;
}

policy::Error error_of(ArchiveFault fault, std::uint64_t entry) {
  return policy::Error{code_of(fault), "the archive from the sandbox was refused at entry " +
                                           std::to_string(entry) + " (" + std::string(class_of(fault)) +
                                           "): " + std::string(meaning_of(fault))};
}

}  // namespace enforcers
