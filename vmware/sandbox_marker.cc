#include "vmware/sandbox_marker.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "vmware/host_files.h"

namespace vmware {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxMarker = 16384;
// Together with the rest well below what a marker may have.
constexpr std::size_t kMaxLabels = 100;
constexpr std::size_t kMaxLabel = 64;
constexpr std::size_t kMaxEntries = 10'000;
constexpr std::string_view kProduct = "sallyport sandbox";
constexpr std::int64_t kLastSecond = 253'402'300'799;  // year 9999

constexpr std::array<std::pair<SandboxMarker::State, std::string_view>, 3> kStates{{
    {SandboxMarker::State::creating, "creating"},
    {SandboxMarker::State::ready, "ready"},
    {SandboxMarker::State::destroying, "destroying"},
}};

std::string_view spelling(SandboxMarker::State state) {
  for (const auto& [value, text] : kStates) {
    if (value == state) return text;
  }
  return {};
}

tl::unexpected<policy::Error> malformed(std::string_view what) {
  return policy::fail("marker.malformed",
                      "the marker of a sandbox's folder is damaged: " + std::string(what));
}

std::optional<std::string> text_at(const Json& json, const char* key, std::size_t max) {
  const auto at = json.find(key);
  if (at == json.end() || !at->is_string()) return std::nullopt;
  auto text = at->get<std::string>();
  if (text.empty() || text.size() > max) return std::nullopt;
  return text;
}

std::optional<std::int64_t> second_at(const Json& json, const char* key) {
  const auto at = json.find(key);
  if (at == json.end() || !at->is_number_integer()) return std::nullopt;
  const auto value = at->get<std::int64_t>();
  if (value < 0 || value > kLastSecond) return std::nullopt;
  return value;
}

std::optional<policy::Labels> labels_of(const Json& json) {
  if (!json.is_object() || json.empty() || json.size() > kMaxLabels) return std::nullopt;
  policy::Labels labels;
  for (const auto& [label, tier] : json.items()) {
    const auto which =
        tier.is_string() ? policy::tier_from(tier.get_ref<const std::string&>()) : std::nullopt;
    if (label.empty() || label.size() > kMaxLabel || !which) return std::nullopt;
    labels.emplace(label, *which);
  }
  return labels;
}

std::string marker_path(const std::string& clones, const policy::SandboxId& id) {
  return clones + "/" + id.text() + "/" + std::string(kMarkerName);
}

}  // namespace

std::string write_marker(const SandboxMarker& marker) {
  Json json;
  json["product"] = kProduct;
  json["version"] = marker.version;
  json["sandbox"] = marker.id.text();
  json["principal"] = marker.owner.text;
  json["instance"] = marker.instance;
  json["network"] = policy::spelling(marker.network);
  json["state"] = spelling(marker.state);
  json["created"] = marker.created;
  json["expires"] = marker.expires;
  json["boot"] = marker.boot;
  if (!marker.image.empty()) json["image"] = marker.image;
  for (const auto& [label, tier] : marker.labels) json["labels"][label] = policy::spelling(tier);
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

policy::Result<SandboxMarker> parse_marker(std::string_view bytes) {
  if (bytes.size() > kMaxMarker) return malformed("too long");
  const Json json = Json::parse(bytes, nullptr, false);
  const bool named = json.is_object() && json.contains("image");
  const bool labelled = json.is_object() && json.contains("labels");
  const std::size_t fields = 10 + (named ? 1 : 0) + (labelled ? 1 : 0);
  if (!json.is_object() || json.size() != fields) return malformed("not an object of its fields");
  if (text_at(json, "product", 64) != kProduct) return malformed("`product`");
  const auto id_text = text_at(json, "sandbox", 64);
  const auto owner = text_at(json, "principal", 512);
  const auto instance = text_at(json, "instance", 64);
  const auto network_text = text_at(json, "network", 16);
  const auto state_text = text_at(json, "state", 16);
  const auto version = text_at(json, "version", 64);
  const auto boot = text_at(json, "boot", 64);
  const auto created = second_at(json, "created");
  const auto expires = second_at(json, "expires");
  if (!id_text || !owner || !instance || !network_text || !state_text || !version || !boot || !created ||
      !expires) {
    return malformed("a field is missing or of the wrong kind");
  }
  auto id = policy::SandboxId::parse(*id_text);
  if (!id) return malformed("`sandbox`");
  const auto network = policy::network_from(*network_text);
  if (!network) return malformed("`network`");
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (instance->size() != 32 || !std::all_of(instance->begin(), instance->end(), hex)) {
    return malformed("`instance`");
  }
  const auto state = std::find_if(kStates.begin(), kStates.end(),
                                  [&](const auto& known) { return known.second == *state_text; });
  if (state == kStates.end()) return malformed("`state`");
  SandboxMarker marker{std::move(*id), {*owner}, *instance, *network, state->first,
                       *created,       *expires, *boot,     *version};
  if (named) marker.image = text_at(json, "image", 64).value_or("");
  if (named && !policy::is_image_name(marker.image)) return malformed("`image`");
  if (labelled) {
    auto labels = labels_of(json["labels"]);
    if (!labels) return malformed("`labels`");
    marker.labels = std::move(*labels);
  }
  return marker;
}

policy::Result<> make_marked_folder(const std::string& clones, const SandboxMarker& marker) {
  const std::string fresh = ".new-" + marker.id.text();
  const std::string path = clones + "/" + fresh;
  if (auto made = make_folder(path, MakeFolder::fresh); !made) return made;
  auto written = write_file(path + "/" + std::string(kMarkerName), write_marker(marker));
  if (written) written = rename_entry(clones, fresh, marker.id.text());
  if (!written) (void)remove_tree(clones, fresh);
  return written;
}

policy::Result<> update_marker(const std::string& clones, const SandboxMarker& marker) {
  if (marker.labels.size() > kMaxLabels) {
    return policy::fail("marker.labels", "a sandbox has at most " + std::to_string(kMaxLabels) + " labels");
  }
  return write_file(marker_path(clones, marker.id), write_marker(marker));
}

policy::Result<SandboxMarker> guard(const std::string& clones, const policy::SandboxId& id) {
  const auto entries = list_folder(clones, kMaxEntries);
  if (!entries) return tl::unexpected(entries.error());
  const auto found = std::find_if(entries->begin(), entries->end(),
                                  [&](const FolderEntry& entry) { return entry.name == id.text(); });
  if (found == entries->end()) return policy::fail("marker.missing", "the sandbox has no folder");
  if (found->kind != FolderEntry::Kind::folder || !found->ours) {
    return policy::fail("marker.other", "what stands under the sandbox's name is not a folder of ours");
  }
  const auto bytes = read_file(marker_path(clones, id), kMaxMarker);
  if (!bytes) return policy::fail("marker.missing", "the sandbox's folder does not carry our marker");
  auto marker = parse_marker(*bytes);
  if (!marker) return marker;
  if (marker->id != id) {
    return policy::fail("marker.other", "the marker in the sandbox's folder is that of another sandbox");
  }
  return marker;
}

policy::Result<> remove_marked_folder(const std::string& clones, const policy::SandboxId& id) {
  if (auto marker = guard(clones, id); !marker) return tl::unexpected(marker.error());
  return remove_tree(clones, id.text(), kMarkerName);
}

}  // namespace vmware
