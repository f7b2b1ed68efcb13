#pragma once

#include <cstdint>

namespace policy {

// An answer that may be missing.
enum class Tri : std::uint8_t { no, unknown, yes };
constexpr Tri opposite(Tri t) { return t == Tri::no ? Tri::yes : t == Tri::yes ? Tri::no : Tri::unknown; }

}  // namespace policy
