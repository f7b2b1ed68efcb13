#include "gateway/cli/policy_commands.h"

#include <utility>

#include <CLI/CLI.hpp>

namespace gateway::cli {

CLI::App* PolicyCommands::command(CLI::App& parent, const std::string& name, const std::string& what,
                                  std::function<int()> run) {
  auto* sub = parent.add_subcommand(name, what);
  sub->fallthrough();
  sub->callback([this, run = std::move(run)] { run_ = run; });
  return sub;
}

void PolicyCommands::add_paths(CLI::App& to) {
  to.add_option("paths", words_, "Policy files and folders of them; without any, the policies in force");
}

void PolicyCommands::add_words(CLI::App& to) {
  to.add_option("words", words_,
                "What is asked (`network=web`, `{ network: web }`), then policy files and folders");
}

void PolicyCommands::add_form(CLI::App& to, std::vector<std::string> forms) {
  std::string names;
  for (const auto& name : forms) names += (names.empty() ? "" : ", ") + name;
  to.add_option("--format", form_, names)->check(CLI::IsMember(std::move(forms)));
}

ReportForm PolicyCommands::form() const {
  if (json_ || form_ == "json") return ReportForm::json;
  if (form_ == "sarif") return ReportForm::sarif;
  return form_ == "markdown" ? ReportForm::markdown : ReportForm::text;
}

void PolicyCommands::add_to(CLI::App& program) {
  auto* policy = program.add_subcommand("policy", "Policies");
  policy->require_subcommand(1);
  policy->fallthrough();
  auto* check = command(*policy, "check", "Compile policy files and run their tests", [this] {
    return policy_check(sources_, words_, form(), strict_ ? Strictness::warnings : Strictness::errors);
  });
  add_paths(*check);
  add_form(*check, {"text", "json", "sarif"});
  check->add_flag("--strict", strict_, "Warnings count as errors");
  auto* test = command(*policy, "test", "Run tests and examples; says which rules have none",
                       [this] { return policy_test(sources_, words_, form()); });
  add_paths(*test);
  add_form(*test, {"text", "json"});
  command(*policy, "status", "What shadow rules and the shadow policy came to in the running gateway",
          [this] { return policy_status(sources_, form()); })
      ->add_flag("--json", json_);
  add_asking(*policy);
  add_reference(*policy);
  auto* checks = program.add_subcommand("check", "Ask about many inputs, answered in lines of JSON");
  checks->require_subcommand(1);
  checks->fallthrough();
  add_paths(*command(*checks, "request", "Questions to the policies, one object a line on stdin",
                     [this] { return check_request(sources_, words_); }));
  command(*checks, "url", "Where targets of web requests lead, one object a line on stdin",
          [] { return check_url(); });
}

void PolicyCommands::add_asking(CLI::App& group) {
  auto* explain = command(group, "explain", "Why a call is allowed or refused",
                          [this] { return policy_explain(sources_, call_, subject_, words_, form()); });
  explain->add_option("--call", call_, "The action")->required();
  explain->add_option("--as", subject_, "Who asks: a subject of the policies, or `system`");
  explain->add_flag("--json", json_);
  add_words(*explain);
  auto* who = command(group, "who-can", "What each subject gets for a call",
                      [this] { return policy_who_can(sources_, call_, words_, form()); });
  who->add_option("action", call_, "The action")->required();
  who->add_flag("--json", json_);
  add_words(*who);
  auto* diff = command(group, "diff", "What changed between two policies, and what became possible", [this] {
    return policy_diff(sources_, old_, new_, form(), fail_on_widening_ ? Widening::fails : Widening::told);
  });
  diff->add_option("old", old_, "A policy file, or a folder of them")->required();
  diff->add_option("new", new_, "Another")->required();
  add_form(*diff, {"text", "json"});
  diff->add_flag("--fail-on-widening", fail_on_widening_, "1 when something became possible");
}

void PolicyCommands::add_reference(CLI::App& group) {
  add_form(*command(group, "facts", "What rules can be about", [this] { return policy_facts(form()); }),
           {"text", "json", "markdown"});
  auto* show = command(group, "show", "Rules that stand in no file", [] { return policy_show_builtin(); });
  show->add_flag("--builtin", builtin_, "The compiled-in ones")->required();
  command(group, "schema", "A JSON Schema of policy files, for editors", [] { return policy_schema(); });
  auto* fmt = command(group, "fmt", "Lay policy files out; only white space changes", [this] {
    return policy_fmt(words_, check_only_ ? FormatMode::check : FormatMode::write);
  });
  fmt->add_option("files", words_, "Policy files")->required();
  fmt->add_flag("--check", check_only_, "Change nothing; 1 when a file is laid out otherwise");
  command(group, "default", "Print the built-in default", [] { return policy_default(); });
}

}  // namespace gateway::cli
