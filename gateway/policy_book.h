#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/settings/settings.h"
#include "policy/compile.h"

namespace gateway {

// The policy of this gateway, as its files say it: the last one that could be used, and what is wrong with
// what stands in the files now. Files that change are read when they have looked the same twice, and believed
// when they still do after they were read: the front part of a policy is a policy as well, without the rules
// that refuse.
class PolicyBook final {
 public:
  // Serials of what is only tried out are nobody's past.
  enum class Serials { kept, ignored };
  explicit PolicyBook(const Settings&, Serials = Serials::kept);

  enum class Look { same, changed, rejected };
  // Looks whether the files are others than last time, and reads them if so, or at once with `again`. A tier
  // whose files are gone is believed only with `again`.
  // `rejected`: they are, and cannot be used; program() stays what it was.
  enum class Effort { if_changed, again };
  Look look(Effort);

  // Null until there has been a usable one.
  const std::shared_ptr<const policy::Program>& program() const { return program_; }
  // Why the files as they are now are not in force; empty when they are.
  const std::vector<policy::Error>& problems() const { return problems_; }
  // All findings in them, warnings included, as text with file and line.
  const std::vector<std::string>& findings() const { return findings_; }

 private:
  // An older serial than one that was in force is a policy put back; remembered beyond the end of the
  // process.
  std::vector<policy::Error> rolled_back(const std::vector<policy::Serial>&) const;
  std::vector<policy::Error> vanished(const std::vector<policy::Serial>&) const;
  void remember(const std::vector<policy::Serial>&);
  std::string serials_file() const;

  const Settings& settings_;
  const Serials keep_;
  std::string seen_;                 // what the files looked like from outside when they were read
  std::string coming_;               // what they look like now, until they have looked so twice
  std::vector<policy::Tier> tiers_;  // that have files
  std::shared_ptr<const policy::Program> program_;
  std::vector<policy::Error> problems_;
  std::vector<std::string> findings_;
  std::map<std::string, std::int64_t> serials_;  // highest in force, by tier and name
};

}  // namespace gateway
