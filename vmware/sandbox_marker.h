#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "policy/action.h"
#include "policy/ids.h"
#include "policy/request.h"
#include "policy/result.h"

namespace vmware {

// What stands in a sandbox's folder and says that it is ours: nothing without one is ever touched.
struct SandboxMarker {
  enum class State { creating, ready, destroying };

  policy::SandboxId id;
  policy::PrincipalId owner;
  std::string instance;  // 32 hex digits of the owner process that made or adopted it
  policy::Network network = policy::Network::none;
  State state = State::creating;
  std::int64_t created = 0;  // wall clock, seconds
  std::int64_t expires = 0;  // wall clock, seconds
  std::string boot;          // the host's boot id when it was written
  std::string version;       // of the program that wrote it
  std::string image = {};    // the base's name; empty: that of the settings
  policy::Labels labels = {};

  bool operator==(const SandboxMarker&) const = default;
};

inline constexpr std::string_view kMarkerName = "sallyport.json";

std::string write_marker(const SandboxMarker&);
// Strict: every field, of its kind, and no others. Code `marker.malformed`.
policy::Result<SandboxMarker> parse_marker(std::string_view bytes);

// Makes `<clones>/<id>` with the marker in it, both at once: the folder is never there without its marker.
policy::Result<> make_marked_folder(const std::string& clones, const SandboxMarker&);
policy::Result<> update_marker(const std::string& clones, const SandboxMarker&);

// The guard before anything is stopped or deleted: `<clones>/<id>` is a folder of ours and no link, its
// marker parses, and the marker names the folder. Codes `marker.missing`, `marker.malformed`, `marker.other`.
// If this could be passed by a folder that is not ours, somebody's machine would be deleted.
policy::Result<SandboxMarker> guard(const std::string& clones, const policy::SandboxId&);

// Removes a sandbox's folder, after the guard; the marker goes last, so that what is left of an interrupted
// removal is still known as ours.
policy::Result<> remove_marked_folder(const std::string& clones, const policy::SandboxId&);

}  // namespace vmware
