#include "policy/limit.h"

#include <array>
#include <utility>

namespace policy {
namespace {

constexpr std::array<std::pair<Meter, std::string_view>, 6> kMeters{{
    {Meter::sandboxes, "sandboxes"},
    {Meter::sandbox_age, "sandbox_age"},
    {Meter::calls, "calls"},
    {Meter::jobs, "jobs"},
    {Meter::copy_bytes, "copy_bytes"},
    {Meter::copy_files, "copy_files"},
}};

constexpr std::array<std::pair<Per, std::string_view>, 4> kPers{{
    {Per::everyone, "everyone"},
    {Per::principal, "subject"},
    {Per::session, "session"},
    {Per::sandbox, "sandbox"},
}};

template <class Table, class Value>
std::string_view spell(const Table& table, Value value) {
  for (const auto& [known, name] : table) {
    if (known == value) return name;
  }
  return {};
}

template <class Value, class Table>
std::optional<Value> read(const Table& table, std::string_view text) {
  for (const auto& [known, name] : table) {
    if (name == text) return known;
  }
  return std::nullopt;
}

}  // namespace

std::string_view spelling(Meter meter) { return spell(kMeters, meter); }
std::optional<Meter> meter_from(std::string_view text) { return read<Meter>(kMeters, text); }
std::string_view spelling(Per per) { return spell(kPers, per); }
std::optional<Per> per_from(std::string_view text) { return read<Per>(kPers, text); }

}  // namespace policy
