#include "gateway/doctor/report.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "gateway/cli/printable.h"

namespace gateway::doctor {
namespace {

constexpr std::array<std::string_view, 4> kHealth{"good", "notice", "bad", "skipped"};

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

}  // namespace

std::string_view spelling(Health health) { return kHealth[static_cast<std::size_t>(health)]; }

bool Report::healthy() const {
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& one) { return one.health == Health::bad; });
}

std::string to_text(const Report& report) {
  std::string out;
  std::size_t bad = 0, notices = 0;
  for (const auto& one : report.findings) {
    bad += one.health == Health::bad;
    notices += one.health == Health::notice;
    out +=
        padded(std::string(spelling(one.health)), 8) + padded(one.check, 14) + cli::printable_line(one.says);
    if (one.took.count() >= 0) out += " (" + std::to_string(one.took.count()) + " ms)";
    out += "\n";
    if (!one.mend.empty()) out += std::string(22, ' ') + "-> " + cli::printable_line(one.mend) + "\n";
  }
  const auto counted = [](std::size_t n, const char* what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
  };
  out += bad == 0 ? "\nall is well" : "\n" + counted(bad, "problem");
  if (notices > 0) out += ", " + counted(notices, "notice");
  return out + "\n";
}

std::string to_json(const Report& report) {
  nlohmann::json checks = nlohmann::json::array();
  for (const auto& one : report.findings) {
    nlohmann::json entry{{"check", one.check}, {"health", spelling(one.health)}, {"says", one.says}};
    if (!one.mend.empty()) entry["mend"] = one.mend;
    if (one.took.count() >= 0) entry["ms"] = one.took.count();
    checks.push_back(std::move(entry));
  }
  const nlohmann::json all{{"ok", report.healthy()}, {"checks", std::move(checks)}};
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace gateway::doctor
