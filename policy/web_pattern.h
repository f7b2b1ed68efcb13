#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/glob.h"
#include "policy/host.h"

// How hosts and paths of URLs are matched: with the patterns of paths, a host's labels taken from the right.
namespace policy {

// The labels of a host with the top level first; an address is one label, without brackets, and
// one with an IPv4 address inside is that.
std::vector<std::string> labels_of(const Host&);

// `any` is every host, `example.org` is that name alone, `*.example.org` every name below it and not the name
// itself; a literal address stands for itself. Code: policy.pattern.
Result<PathPattern> host_pattern(std::string_view text);
// Why nothing of what a host pattern stands for is ever reached, whatever rules say: the class of the name or
// address. Nothing where something is.
std::optional<std::string_view> refused_before_rules(std::string_view pattern);
// `/simple/**` is `/simple`, `/simple/` and what lies below: to most servers the first two are one, and a
// rule that refuses the rest must not let one of them through. Code: policy.pattern.
Result<std::vector<PathPattern>> url_path_patterns(std::string_view text);
// The inverse of labels_of().
std::string host_text(std::span<const std::string> labels);
// A host pattern as it was written.
std::string spell_host(const PathPattern&);

}  // namespace policy
