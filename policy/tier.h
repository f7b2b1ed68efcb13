#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace policy {

// Whose rules they are, the highest first. A tier only narrows what the tiers above it allow.
enum class Tier { builtin, org, user, project, session };
inline constexpr std::size_t kTierCount = 5;
std::string_view spelling(Tier);
std::optional<Tier> tier_from(std::string_view);

}  // namespace policy
