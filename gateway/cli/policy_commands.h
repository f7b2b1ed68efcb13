#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gateway/cli/policy.h"

namespace CLI {
class App;
}

namespace gateway::cli {

// The words `policy …` and `check …` of the command line: binds their options, and puts what the chosen
// one does into `run`. Outlives the parse, and stays where it is.
class PolicyCommands final {
 public:
  PolicyCommands(const Sources& sources, std::function<int()>& run) : sources_(sources), run_(run) {}
  PolicyCommands(const PolicyCommands&) = delete;
  PolicyCommands& operator=(const PolicyCommands&) = delete;

  void add_to(CLI::App& program);

 private:
  CLI::App* command(CLI::App& parent, const std::string& name, const std::string& what,
                    std::function<int()> run);
  void add_paths(CLI::App&);
  void add_words(CLI::App&);
  void add_form(CLI::App&, std::vector<std::string> forms);
  void add_asking(CLI::App& group);
  void add_reference(CLI::App& group);
  ReportForm form() const;

  const Sources& sources_;
  std::function<int()>& run_;
  std::string call_, subject_, old_, new_, form_ = "text";
  std::vector<std::string> words_;
  bool json_ = false, strict_ = false, builtin_ = false, check_only_ = false, fail_on_widening_ = false;
};

}  // namespace gateway::cli
