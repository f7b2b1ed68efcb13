#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/enforcer.h"

namespace enforcers {

// The vmrun commands that the driver can have use for, by their shapes. Every path is absolute and plain (no
// `.`, `..` or empty component) and is compared byte by byte.
struct VmrunShapes {
  std::string base_vmx;                     // the base machine: only cloned and looked at
  std::string images;                       // further bases are `<images>/<name>/<name>.vmx`; empty: none
  std::string image_snapshot;               // their snapshot
  std::string snapshot;                     // its snapshot that clones are made of
  std::string clones;                       // a clone is `<clones>/<id>/<id>.vmx`
  std::string host_files;                   // private folder for files on their way
  std::vector<std::string> guest_prefixes;  // how the names of our files in the guest begin
  std::vector<std::string> launcher;        // words that begin every program call; one token follows
  std::vector<std::string> launcher_verbs;  // words, one of which may follow the token
  std::vector<std::vector<std::string>> fixed_programs;  // further program calls, complete
};

// No vmrun command leaves the gateway but in a known shape, on the base or on the machine of the very sandbox
// it serves. Posture: contains a mistaken or subverted driver; whatever it does not know it refuses.
class VmrunAllowlist final : public policy::Enforcer {
 public:
  explicit VmrunAllowlist(VmrunShapes shapes) : shapes_(std::move(shapes)) {}
  std::string_view name() const override { return "vmrun_allowlist"; }
  std::optional<policy::Objection> check(const policy::Request&, std::span<const policy::Limit>,
                                         policy::Proofs&) noexcept override;

 private:
  std::string clone_vmx(const policy::SandboxId&) const;
  bool is_base(const std::string& vmx) const;
  bool fits(const policy::Vmrun&) const;
  bool fits_program(std::span<const std::string> words) const;

  VmrunShapes shapes_;
};

}  // namespace enforcers
