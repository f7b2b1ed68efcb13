#pragma once

#include <span>
#include <string>

#include "policy/result.h"
#include "vmware/vmx.h"

namespace vmware {

// Whether the machine may be the base of sandboxes, by its files alone: its .vmx is read strictly and has no
// encryption and no key a sandbox may not have; it is not suspended; `snapshot` exists once and holds no
// memory (vmrun fails on such with a text about something else); every disk and every layer below is a plain
// file of its folder. If this were wrong, a clone could read or write another file of the host. Codes:
// `base.missing`, `base.suspended`, `snapshot.*`, `vmx.*`, `disk.*`, `file.*`.
policy::Result<> check_base(const std::string& vmx_path, const std::string& snapshot);

// The disks that `vmx` in `folder` names, and each layer below: plain files in `folder` or in one of `below`,
// at most 64 deep. Folders are compared by what they are, not by their text. Codes: `disk.*`, `file.*`.
policy::Result<> check_disks(const Vmx& vmx, const std::string& folder, std::span<const std::string> below);

}  // namespace vmware
