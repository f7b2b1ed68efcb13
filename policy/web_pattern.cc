#include "policy/web_pattern.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>

#include "policy/address_class.h"

namespace policy {
namespace {

constexpr std::string_view kBelow = "*.", kAny = "any";

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (;;) {
    const auto end = text.find(at);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// What somebody most likely means who writes this for a host.
std::optional<std::string> meant_instead(std::string_view text) {
  if (text == "*" || text == "**") return "write `any` for every host";
  if (text.find("://") != std::string_view::npos) {
    return "leave out the scheme and what follows the name; they are asked about with `scheme`, `port` and "
           "`path`";
  }
  if (text.find('/') != std::string_view::npos) {
    return "blocks of addresses stand under `cidrs`, and paths under `paths`";
  }
  if (text.starts_with('.')) return "write `*" + std::string(text) + "` for every name below it";
  return std::nullopt;
}

}  // namespace

std::vector<std::string> labels_of(const Host& host) {
  if (const auto* address = host.address()) return {address->embedded_v4().value_or(*address).text()};
  auto labels = split(host.text(), '.');
  std::ranges::reverse(labels);
  return labels;
}

Result<PathPattern> host_pattern(std::string_view text) {
  if (text == kAny) return PathPattern::parse("**");
  if (auto instead = meant_instead(text)) {
    return fail("policy.pattern", "`" + std::string(text) + "` is no host: " + *instead);
  }
  const bool below = text.starts_with(kBelow);
  const auto name = below ? text.substr(kBelow.size()) : text;
  if (name.find('*') != std::string_view::npos || name.find('?') != std::string_view::npos) {
    return fail("policy.pattern",
                "a host is a name, an address, or `*.` and a name: not `" + std::string(text) + "`");
  }
  if (name.find(':') != std::string_view::npos && !name.starts_with('[')) {
    return fail(
        "policy.pattern",
        "`" + std::string(text) + "` is no host; ports stand under `port`, and IPv6 addresses in brackets");
  }
  auto host = Host::parse(name);
  if (!host) return fail("policy.pattern", "`" + std::string(text) + "` is no host: " + host.error().message);
  if (below && !host->is_name())
    return fail("policy.pattern", "nothing lies below the address `" + std::string(name) + "`");
  std::string pattern;
  for (const auto& label : labels_of(*host)) pattern += (pattern.empty() ? "" : "/") + label;
  return PathPattern::parse(below ? pattern + "/**" : pattern);
}

std::optional<std::string_view> refused_before_rules(std::string_view pattern) {
  if (pattern == kAny) return std::nullopt;
  // Below a name: any one of them stands for all.
  const auto host = Host::parse(pattern.starts_with(kBelow) ? "x" + std::string(pattern.substr(1)) : pattern);
  if (!host) return std::nullopt;
  const auto* address = host->address();
  if (address == nullptr) return refused_name_class(*host);
  const auto refused = refused_class(*address);
  return refused ? std::optional(refused->code) : std::nullopt;
}

Result<std::vector<PathPattern>> url_path_patterns(std::string_view text) {
  if (!text.starts_with('/')) {
    return fail("policy.pattern", "the path of a URL begins with `/`: write `/" + std::string(text) + "`");
  }
  if (text.find('%') != std::string_view::npos) {
    return fail("policy.pattern",
                "paths are matched decoded; write the character instead of `%` and its number");
  }
  if (text.find('?') != std::string_view::npos) {
    return fail("policy.pattern", "a path has no query; ask about that with `url`");
  }
  std::vector<PathPattern> patterns;
  const auto add = [&](std::string_view path) -> Result<void> {
    auto pattern =
        path == "/" ? Result<PathPattern>(PathPattern::root()) : PathPattern::parse(path.substr(1));
    if (!pattern) return tl::unexpected(pattern.error());
    patterns.push_back(std::move(*pattern));
    return {};
  };
  auto added = add(text);
  if (added && text.ends_with("/**") && text.size() > 3) added = add(text.substr(0, text.size() - 3));
  if (!added) return tl::unexpected(added.error());
  return patterns;
}

std::string host_text(std::span<const std::string> labels) {
  if (labels.size() == 1 && labels.front().find(':') != std::string::npos) return "[" + labels.front() + "]";
  std::string text;
  for (const auto& label : std::views::reverse(labels)) text += (text.empty() ? "" : ".") + label;
  return text;
}

std::string spell_host(const PathPattern& pattern) {
  const auto& text = pattern.text();
  if (text == "**") return std::string(kAny);
  auto labels = split(text, '/');
  const bool below = labels.back() == "**";
  if (below) labels.pop_back();
  return (below ? std::string(kBelow) : std::string()) + host_text(labels);
}

}  // namespace policy
