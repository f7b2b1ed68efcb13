#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/condition.h"

namespace policy {

// One thing that rules can ask about independently of all others: a fact, a label, a setting, or one thing
// that is known of who asks.
struct Axis {
  enum class Of : std::uint8_t { transport, os_user, uid, client, fact, label, setting } of = Of::fact;
  Fact fact{};
  std::string_view name = {};  // of a label or setting; lives as long as the condition
  auto operator<=>(const Axis&) const = default;
};
// As rules spell it: `host_path`, `settings.web`, `for`.
std::string spelling(const Axis&);

// A value on an axis. Of a label: the tier that set it, as a number, or kTierCount when it is not there. Of a
// path: its names.
using AxisValue = std::variant<bool, std::int64_t, std::string, std::vector<std::string>>;

// That a label was set by this tier or one above.
struct SetBy {
  Tier lowest = Tier::session;
  bool operator==(const SetBy&) const = default;
};
// What is asked on one axis, or that it does not hold. Points into a condition.
struct Asked {
  Axis axis;
  bool holds = true;
  std::variant<SetBy, const std::vector<Transport>*, const std::vector<std::string>*,
               const std::vector<std::uint32_t>*, const WordIs*, const TextLike*, const NumberIs*,
               const PathLike*, const SettingIs*>
      what = {};

  Asked opposite() const {
    auto turned = *this;
    turned.holds = !holds;
    return turned;
  }
};
bool meets(const Asked&, const AxisValue&);

// Whether there is a value that meets everything asked on one axis, and one of those. `undecided` when
// finding out would take more than `steps`, which is lowered by what it took.
struct Meeting {
  enum class End { some, none, undecided } end;
  AxisValue value = {};
};
Meeting meet(std::span<const Asked> asked, std::size_t& steps);

// The value of a whole question on an axis, when it is known.
std::optional<AxisValue> value_at(const Axis&, const Question&);

}  // namespace policy
