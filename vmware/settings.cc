#include "vmware/settings.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace vmware {
namespace {

constexpr std::size_t kMaxPath = 1024;
constexpr std::size_t kMaxWord = 60;

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

policy::Result<> path_ok(std::string_view field, std::string_view path) {
  const auto refuse = [&](std::string_view why) {
    return policy::fail("settings." + std::string(field), "`" + std::string(field) + "` " + std::string(why));
  };
  if (path.empty()) return refuse("is not set");
  if (path.front() != '/') return refuse("must be an absolute path");
  if (path.size() > kMaxPath) return refuse("is longer than 1024 bytes");
  if (!printable(path))
    return refuse("may hold printable ASCII without blanks only; vmrun misreads the rest");
  if (path.size() > 1 && path.back() == '/') return refuse("must not end in `/`");
  if (path.find("/../") != std::string_view::npos || path.ends_with("/..")) {
    return refuse("must not hold `..`");
  }
  return {};
}

bool word_ok(std::string_view text, std::string_view beyond_alphanumeric) {
  if (text.empty() || text.size() > kMaxWord || text.front() == '-') return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           beyond_alphanumeric.find(c) != std::string_view::npos;
  });
}

}  // namespace

policy::Result<> check_base_settings(const Base& base) {
  if (auto ok = path_ok("base_vmx", base.vmx); !ok) return ok;
  if (!base.vmx.ends_with(".vmx")) {
    return policy::fail("settings.base_vmx", "`base_vmx` must name a .vmx file");
  }
  if (!word_ok(base.snapshot, "._-")) {
    return policy::fail("settings.snapshot",
                        "`snapshot` must be 1 to 60 letters, digits, `.`, `_` or `-`; rename the snapshot");
  }
  if (!word_ok(base.login.user, "._-@\\")) {
    return policy::fail("settings.guest_user", "`guest_user` is not a user name vmrun can be given");
  }
  const auto& password = base.login.password;
  if (password.empty() || password.front() == '-' || password.size() > 256 || !printable(password)) {
    return policy::fail("settings.guest_password",
                        "`guest_password` must be set, be printable ASCII without blanks, and not begin with "
                        "`-`; vmrun cannot tell it from a flag");
  }
  return {};
}

policy::Result<> check_settings(const MachineSettings& settings) {
  const std::array<std::pair<std::string_view, const std::string*>, 3> paths{{
      {"vmrun", &settings.vmrun},
      {"clones", &settings.clones},
      {"state", &settings.state},
  }};
  for (const auto& [field, path] : paths) {
    if (auto ok = path_ok(field, *path); !ok) return ok;
  }
  return check_base_settings(*base_named(settings, {}));
}

policy::Result<Base> base_named(const MachineSettings& settings, const std::string& image) {
  if (image.empty()) {
    return Base{settings.base_vmx, settings.snapshot, {settings.guest_user, settings.guest_password}};
  }
  if (!settings.find_image) {
    return policy::fail("image.unknown", "there is no image `" + image + "`; leave `image` out");
  }
  auto found = settings.find_image(image);
  if (!found) return found;
  if (auto ok = check_base_settings(*found); !ok) return tl::unexpected(ok.error());
  return found;
}

std::vector<std::string> vmrun_environment(const char* const* environment) {
  constexpr std::array<std::string_view, 9> names{"PATH",   "HOME",    "USER", "LOGNAME",   "TMPDIR",
                                                  "LC_ALL", "DISPLAY", "LANG", "XAUTHORITY"};
  constexpr std::array<std::string_view, 3> families{"XDG_", "VMRUN_", "SALLYPORT_VMRUN_"};
  std::vector<std::string> kept;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    const auto name = entry.substr(0, entry.find('='));
    const bool wanted =
        std::find(names.begin(), names.end(), name) != names.end() ||
        std::any_of(families.begin(), families.end(), [&](auto family) { return name.starts_with(family); });
    if (wanted && name.size() < entry.size()) kept.emplace_back(entry);
  }
  return kept;
}

}  // namespace vmware
