#include "vmware/standin/faults.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace standin {
namespace {

using policy::fail;

constexpr std::pair<std::string_view, Faults::Kind> kNames[] = {
    {"hold-stdout", Faults::Kind::hold_stdout},
    {"hang", Faults::Kind::hang},
    {"error-exit-0", Faults::Kind::error_exit_0},
    {"exit-255-no-text", Faults::Kind::exit_255_no_text},
    {"tools-late", Faults::Kind::tools_late},
    {"tools-installed", Faults::Kind::tools_installed},
    {"list-lags", Faults::Kind::list_lags},
    {"delay", Faults::Kind::delay},
    {"quantum", Faults::Kind::quantum},
    {"ip-unknown", Faults::Kind::address_unknown},
    {"ip-stale", Faults::Kind::address_stale},
    {"clone-busy", Faults::Kind::clone_busy},
    {"stale-lck", Faults::Kind::stale_lock},
    {"path-case", Faults::Kind::path_case},
    {"path-spelling", Faults::Kind::path_spelling},
    {"truncated-copy", Faults::Kind::truncated_copy},
    {"usage-mixed", Faults::Kind::usage_mixed},
};
constexpr long kMaxNumber = 1000000000;

}  // namespace

Result<Faults> Faults::parse(std::string_view text) {
  Faults faults;
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const auto unknown = fail("fault", "unknown fault `" + std::string(word) + "` in VMRUN_FAULT");
    Fault fault{};
    if (const std::size_t at = word.find('@'); at != std::string_view::npos) {
      const Verb* const verb = verb_named(word.substr(at + 1));
      if (verb == nullptr) return unknown;
      fault.only = verb->command;
      word = word.substr(0, at);
    }
    if (const std::size_t equals = word.find('='); equals != std::string_view::npos) {
      const std::string_view number = word.substr(equals + 1);
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), fault.number);
      if (error != std::errc() || end != number.data() + number.size() || fault.number < 0 ||
          fault.number > kMaxNumber) {
        return unknown;
      }
      word = word.substr(0, equals);
    }
    bool known = false;
    for (const auto& [name, kind] : kNames) {
      if (name != word) continue;
      fault.kind = kind;
      known = true;
    }
    if (!known) return unknown;
    faults.faults_.push_back(fault);
  }
  return faults;
}

std::optional<long> Faults::find(Kind kind, Command command) const {
  for (const Fault& fault : faults_) {
    if (fault.kind == kind && (!fault.only || *fault.only == command)) return fault.number;
  }
  return std::nullopt;
}

std::string Faults::disguised(std::string path) const {
  if (find(Kind::path_case, Command::list)) {
    for (char& c : path) {
      if (c >= 'a' && c <= 'z') {
        c = static_cast<char>(c - 'a' + 'A');
      } else if (c >= 'A' && c <= 'Z') {
        c = static_cast<char>(c - 'A' + 'a');
      }
    }
  }
  if (find(Kind::path_spelling, Command::list)) {
    for (std::size_t at = path.rfind('/'); at != std::string::npos && at > 0; at = path.rfind('/', at - 1)) {
      path.insert(at, "/.");
    }
  }
  return path;
}

}  // namespace standin
