#pragma once

#include <cstdint>
#include <span>
#include <string_view>

// What a sandbox's .vmx may hold, as data: a security person reads vmx_rules.cc and knows.
namespace vmware {

enum class VmxKind {
  flag,        // TRUE or FALSE
  number,      // low..high
  word,        // one of `words`, separated by `|`
  name,        // 1 to 64 of [A-Za-z0-9._-]
  list,        // as name, and `,` and `:`
  file,        // a plain file name, see plain_file_name()
  disk,        // a plain file name that ends in .vmdk or .qcow2
  kernel_text  // printable ASCII up to 512 bytes, no quotes: a kernel's command line
};

// A key the base may bring along. `#` in the pattern stands for one to three digits; everything else is
// compared without regard to case. A value outside its kind refuses the base.
struct VmxRule {
  std::string_view pattern;
  VmxKind kind = VmxKind::flag;
  std::int64_t low = 0, high = 0;
  std::string_view words = {};
};

struct VmxFixed {
  std::string_view key;
  std::string_view value;
};

// Everything else in the base is left out.
std::span<const VmxRule> vmx_allowed();
// In every sandbox's file, whatever the base says.
std::span<const VmxFixed> vmx_fixed();
// Prefixes of keys that make a base unusable: encryption, restrictions, a virtual TPM.
std::span<const std::string_view> vmx_refused();

}  // namespace vmware
