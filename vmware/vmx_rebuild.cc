#include "vmware/vmx_rebuild.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "vmware/host_files.h"
#include "vmware/vmx_rules.h"

namespace vmware {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_text(std::string_view a, std::string_view b) { return compare_vmx_keys(a, b) == 0; }

std::string folded(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), lower);
  return result;
}

bool digit(char c) { return c >= '0' && c <= '9'; }

// `#` takes one to three digits; nothing in our patterns follows it that is a digit too.
bool matches(std::string_view pattern, std::string_view key) {
  while (!pattern.empty()) {
    if (pattern.front() == '#') {
      std::size_t digits = 0;
      while (digits < key.size() && digits < 3 && digit(key[digits])) ++digits;
      if (digits == 0) return false;
      key.remove_prefix(digits);
    } else {
      if (key.empty() || lower(key.front()) != lower(pattern.front())) return false;
      key.remove_prefix(1);
    }
    pattern.remove_prefix(1);
  }
  return key.empty();
}

bool all_of(std::string_view text, std::string_view beyond_alphanumeric) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') ||
           beyond_alphanumeric.find(c) != std::string_view::npos;
  });
}

bool one_of(std::string_view words, std::string_view value) {
  while (!words.empty()) {
    const auto end = std::min(words.find('|'), words.size());
    if (same_text(words.substr(0, end), value)) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

bool in_range(std::string_view value, std::int64_t low, std::int64_t high) {
  std::int64_t number = 0;
  const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
  return read.ec == std::errc() && read.ptr == value.data() + value.size() && number >= low && number <= high;
}

bool fits(const VmxRule& rule, std::string_view value) {
  switch (rule.kind) {
    case VmxKind::flag:
      return same_text(value, "TRUE") || same_text(value, "FALSE");
    case VmxKind::number:
      return in_range(value, rule.low, rule.high);
    case VmxKind::word:
      return one_of(rule.words, value);
    case VmxKind::name:
      return !value.empty() && value.size() <= 64 && all_of(value, "._-");
    case VmxKind::list:
      return !value.empty() && value.size() <= 64 && all_of(value, "._-,:");
    case VmxKind::file:
      return plain_file_name(value);
    case VmxKind::disk:
      return plain_file_name(value) && (value.ends_with(".vmdk") || value.ends_with(".qcow2"));
    case VmxKind::kernel_text:
      return !value.empty() && value.size() <= 512 && std::all_of(value.begin(), value.end(), [](char c) {
        return c >= ' ' && c <= '~' && c != '"' && c != '\'' && c != '\\';
      });
  }
  return false;
}

// `scsi0:1` of `scsi0:1.fileName`; empty for a key of no attached device.
std::string device_of(std::string_view key) {
  for (const std::string_view bus : {"scsi#:#", "sata#:#", "nvme#:#", "ide#:#"}) {
    const auto dot = key.find('.');
    if (dot != std::string_view::npos && matches(bus, key.substr(0, dot))) return folded(key.substr(0, dot));
  }
  return {};
}

// The devices that are hard disks in files. A device of another type is left out with all its keys, so that a
// drive of the host or an image of a CD cannot come along under the name of a disk.
std::set<std::string> disks_of(const Vmx& base) {
  std::set<std::string> disks;
  for (const auto& entry : base.entries()) {
    const auto device = device_of(entry.key);
    if (device.empty() || disks.contains(device)) continue;
    const auto type = base.get_or(device + ".deviceType", "disk");
    const bool hard_disk = one_of("disk|scsi-hardDisk|ata-hardDisk", type);
    if (hard_disk && base.is_true(device + ".present") && base.get(device + ".fileName")) {
      disks.insert(device);
    }
  }
  return disks;
}

policy::Result<> refuse_encrypted(const Vmx& base) {
  for (const auto& entry : base.entries()) {
    for (const auto prefix : vmx_refused()) {
      if (entry.key.size() >= prefix.size() &&
          same_text(std::string_view(entry.key).substr(0, prefix.size()), prefix)) {
        return policy::fail("vmx.encrypted", "the base holds `" + entry.key +
                                                 "`: encrypted or restricted machines cannot be cloned; use "
                                                 "a base without encryption and without a TPM");
      }
    }
  }
  return {};
}

policy::Result<> take_allowed(const Vmx& base, Vmx& made) {
  const auto disks = disks_of(base);
  if (disks.empty()) return policy::fail("vmx.disk", "the base has no hard disk in a file of its folder");
  for (const auto& entry : base.entries()) {
    const auto device = device_of(entry.key);
    if (!device.empty() && !disks.contains(device)) continue;
    for (const auto& rule : vmx_allowed()) {
      if (!matches(rule.pattern, entry.key)) continue;
      if (!fits(rule, entry.value)) {
        return policy::fail("vmx.value", "the base's `" + entry.key + "` has a value a sandbox may not have");
      }
      if (auto set = made.set(entry.key, entry.value); !set) return set;
    }
  }
  return {};
}

std::map<std::string, std::string> adapter(const Vmx& base, policy::Network network) {
  if (network != policy::Network::nat) return {{"ethernet0.present", "FALSE"}};
  const auto model = base.get_or("ethernet0.virtualDev", "e1000e");
  return {{"ethernet0.present", "TRUE"},
          {"ethernet0.connectionType", "nat"},
          {"ethernet0.virtualDev", one_of("vmxnet3|e1000e|e1000", model) ? model : "e1000e"},
          {"ethernet0.addressType", "generated"},
          {"ethernet0.startConnected", "TRUE"},
          {"ethernet0.wakeOnPcktRcv", "FALSE"},
          {"ethernet0.noPromisc", "TRUE"},
          {"ethernet0.noForgedSrcAddr", "TRUE"}};
}

}  // namespace

std::vector<std::string> disk_files(const Vmx& base) {
  std::vector<std::string> files;
  for (const auto& disk : disks_of(base)) files.push_back(base.get_or(disk + ".fileName", ""));
  return files;
}

bool plain_file_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 && all_of(name, "._- ") && name.front() != '.' &&
         name.front() != ' ' && name.front() != '-' && name.back() != ' ' && name.back() != '.';
}

namespace {

// Keys for what was asked; the base's values stand where nothing was.
policy::Result<std::map<std::string, std::string>> shape(const Vmx& base, const policy::Create& asked) {
  std::map<std::string, std::string> keys;
  if (asked.cpus != 0) {
    keys["numvcpus"] = std::to_string(asked.cpus);
    keys["cpuid.coresPerSocket"] = std::to_string(asked.cpus);
  }
  if (asked.memory_mb != 0) keys["memsize"] = std::to_string(asked.memory_mb);
  if (asked.disk_gb != 0) {
    const auto files = disk_files(base);
    if (files.size() != 1 || !files.front().ends_with(".qcow2")) {
      return policy::fail("vmx.disk_size",
                          "the base's disk cannot grow with its clones; leave `disk_gb` out, or have the "
                          "operator make a base with a larger disk");
    }
    keys["qemu.disk.gib"] = std::to_string(asked.disk_gb);
  }
  return keys;
}

}  // namespace

policy::Result<Vmx> rebuild_vmx(const Vmx& base, const policy::SandboxId& id, const policy::Create& asked) {
  if (auto ok = refuse_encrypted(base); !ok) return tl::unexpected(ok.error());
  Vmx made;
  if (auto ok = take_allowed(base, made); !ok) return tl::unexpected(ok.error());
  for (const auto& fixed : vmx_fixed()) {
    if (auto set = made.set(fixed.key, fixed.value); !set) return tl::unexpected(set.error());
  }
  auto own = adapter(base, asked.network);
  auto sized = shape(base, asked);
  if (!sized) return tl::unexpected(sized.error());
  own.merge(*sized);
  own["displayName"] = id.text();
  own["nvram"] = id.text() + ".nvram";
  own["extendedConfigFile"] = id.text() + ".vmxf";
  for (const auto& [key, value] : own) {
    if (auto set = made.set(key, value); !set) return tl::unexpected(set.error());
  }
  return made;
}

policy::Result<Vmx> rewrite_vmx(const std::string& path, const policy::SandboxId& id,
                                const policy::Create& asked) {
  const auto bytes = read_file(path, Vmx::kMaxFile);
  if (!bytes) return tl::unexpected(bytes.error());
  const auto cloned = Vmx::parse(*bytes, id.text() + ".vmx");
  if (!cloned) return tl::unexpected(cloned.error());
  auto made = rebuild_vmx(*cloned, id, asked);
  if (!made) return made;
  if (auto written = write_file(path, made->write()); !written) return tl::unexpected(written.error());
  const auto again = read_file(path, Vmx::kMaxFile);
  if (!again) return tl::unexpected(again.error());
  const auto read = Vmx::parse(*again, id.text() + ".vmx");
  if (!read || *read != *made) {
    return policy::fail("vmx.changed", "the sandbox's settings are not what was just written");
  }
  return made;
}

}  // namespace vmware
