#include "gateway/policy_book.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "gateway/settings/folder.h"
#include "gateway/setup/policy_files.h"

namespace gateway {
namespace {

constexpr std::size_t kMaxSerials = 64 * 1024;

std::string key_of(const policy::Serial& serial) {
  return std::string(policy::spelling(serial.tier)) + " " + serial.name;
}

// Lines of `<number> <tier> <name>`.
std::map<std::string, std::int64_t> read_serials(const std::string& path) {
  std::map<std::string, std::int64_t> serials;
  const auto text = read_small_file(path, kMaxSerials);
  if (!text) return serials;
  for (std::size_t at = 0; at < text->size();) {
    const auto end = std::min(text->find('\n', at), text->size());
    const auto line = std::string_view(*text).substr(at, end - at);
    at = end + 1;
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    const auto digits = static_cast<std::size_t>(stop - line.data());
    if (error == std::errc() && digits + 1 < line.size())
      serials[std::string(line.substr(digits + 1))] = number;
  }
  return serials;
}

}  // namespace

PolicyBook::PolicyBook(const Settings& settings, Serials keep) : settings_(settings), keep_(keep) {
  if (keep_ == Serials::kept && !settings_.state_dir.empty()) serials_ = read_serials(serials_file());
}

std::string PolicyBook::serials_file() const { return settings_.state_dir + "/policy-serials"; }

PolicyBook::Look PolicyBook::look(Effort effort) {
  auto now = look_of_policies(settings_);
  if (effort == Effort::if_changed) {
    if (now == seen_) return Look::same;
    if (std::exchange(coming_, now) != now) return Look::same;
  }
  auto files = read_policies(settings_);
  if (effort == Effort::if_changed && look_of_policies(settings_) != now) return Look::same;
  seen_ = std::move(now);

  auto compiled = policy::compile(files.sources, settings_.facts());
  findings_.clear();
  for (const auto& one : compiled.diagnostics) findings_.push_back(one.format());
  problems_ = std::move(files.problems);
  // It may be readable the next time without having changed.
  if (!problems_.empty()) seen_.clear();
  if (!compiled.program) problems_.push_back(compiled.error());
  if (problems_.empty() && keep_ == Serials::kept) problems_ = rolled_back(compiled.serials);
  if (problems_.empty() && effort == Effort::if_changed) problems_ = vanished(compiled.serials);
  if (!problems_.empty()) return Look::rejected;

  if (keep_ == Serials::kept) remember(compiled.serials);
  tiers_.clear();
  for (const auto& serial : compiled.serials) tiers_.push_back(serial.tier);
  const bool other = !program_ || program_->digest() != compiled.program->digest();
  program_ = std::move(compiled.program);
  return other ? Look::changed : Look::same;
}

// A folder that is being replaced has no files for a moment, and no rules.
std::vector<policy::Error> PolicyBook::vanished(const std::vector<policy::Serial>& now) const {
  std::vector<policy::Error> gone;
  for (const auto tier : tiers_) {
    const auto at = std::find_if(now.begin(), now.end(), [&](const auto& one) { return one.tier == tier; });
    if (at != now.end()) continue;
    gone.push_back({"policy.tier_gone", "there is no file of tier `" + std::string(policy::spelling(tier)) +
                                            "` any more; if that is meant, send the owner SIGHUP (`systemctl "
                                            "reload sallyport`, or `sallyport daemon --stop`)"});
  }
  return gone;
}

std::vector<policy::Error> PolicyBook::rolled_back(const std::vector<policy::Serial>& serials) const {
  std::vector<policy::Error> older;
  for (const auto& serial : serials) {
    const auto known = serials_.find(key_of(serial));
    if (known == serials_.end() || serial.number >= known->second) continue;
    const auto number = serial.number ? "serial " + std::to_string(*serial.number) : std::string("no serial");
    older.push_back(
        {"policy.rolled_back", "the policy `" + serial.name + "` of tier `" +
                                   std::string(policy::spelling(serial.tier)) + "` has " + number +
                                   ", and serial " + std::to_string(known->second) +
                                   " was in force already; give what you want to have a higher one"});
  }
  return older;
}

void PolicyBook::remember(const std::vector<policy::Serial>& serials) {
  bool news = false;
  for (const auto& serial : serials) {
    if (!serial.number) continue;
    auto& known = serials_[key_of(serial)];
    news = news || known < *serial.number;
    known = std::max(known, *serial.number);
  }
  if (!news || settings_.state_dir.empty()) return;
  std::string text;
  for (const auto& [key, number] : serials_) text += std::to_string(number) + " " + key + "\n";
  (void)write_private_file(serials_file(), text);
}

}  // namespace gateway
