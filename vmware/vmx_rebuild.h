#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/action.h"
#include "policy/result.h"
#include "vmware/vmx.h"

namespace vmware {

// A sandbox's settings, built from nothing: the allowed keys of `base` with values of their kind, the fixed
// block, a name and an adapter only for `nat`. What is not known is left out; what is known and has a value
// it may not have refuses the base, as a key that was overlooked could reach into the host. Pure.
// Codes: `vmx.encrypted`, `vmx.value`, `vmx.disk` (no disk is left).
// What `asked` says of processors, memory and disk goes before the base's. Codes also: `vmx.disk_size` (only
// a disk that is qcow2 can grow).
policy::Result<Vmx> rebuild_vmx(const Vmx& base, const policy::SandboxId&, const policy::Create& asked);

// Reads the clone's .vmx strictly, replaces it by the rebuilt one, reads it again and compares: what VMware
// will read is what was checked. Codes: those of rebuild_vmx and Vmx::parse, `vmx.changed`, `file.*`.
policy::Result<Vmx> rewrite_vmx(const std::string& path, const policy::SandboxId&,
                                const policy::Create& asked);

// The files of the hard disks that `base` has and a sandbox would keep.
std::vector<std::string> disk_files(const Vmx& base);

// One path component of [A-Za-z0-9._-] and blanks inside, not hidden, at most 128 bytes.
bool plain_file_name(std::string_view name);

}  // namespace vmware
