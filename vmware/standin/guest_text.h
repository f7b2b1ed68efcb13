#pragma once

#include <string>
#include <string_view>

#include "policy/result.h"

namespace standin {

// What programs in the guest say becomes lines of our output. A guest chooses process and file names: control
// characters in them become `?`, so that none of them looks like a line of its own.

// VMware cuts a list of processes there without a word.
inline constexpr std::size_t kMaxListing = 64 << 10;

// From id, owner and command line of each process, each with a NUL behind it. Processes whose id or owner are
// none are left out.
std::string process_listing(std::string_view bytes);

// From names with a NUL behind each. Sorted.
std::string directory_listing(std::string_view bytes);

// A path that a program printed: one line that begins with `/`; empty when it is anything else.
std::string printed_path(std::string_view bytes);

// Whether a guest could have a file of that name: not empty, and no part of it longer than file systems take
// (`parameter`).
policy::Result<> check_guest_path(std::string_view path);

}  // namespace standin
