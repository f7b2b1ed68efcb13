#include "policy/test_run.h"
#include "policy/finding_report.h"
#include "policy/wording.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

namespace policy {
namespace {

Json refs(const std::vector<RuleRef>& rules) {
  Json::Array all;
  for (const auto& rule : rules) {
    all.push_back(to_json(rule));
  }
  return Json(std::move(all));
}

}  // namespace

std::size_t TestRun::failures() const {
  return static_cast<std::size_t>(
      std::count_if(checks.begin(), checks.end(), [](const Checked& c) { return !c.failure.empty(); }));
}

TestRun run_all_tests(const Anatomy& anatomy) {
  TestRun run;
  Diagnostics quiet;  // the compiler has reported the same
  std::set<std::pair<std::string, std::string>> spoke;
  for (const auto& [tier, part] : anatomy.tiers) {
    const auto take = [&](std::vector<Checked> checks) {
      for (auto& checked : checks) {
        for (const auto& rule : checked.spoke) spoke.emplace(rule.tier, rule.id);
        run.checks.push_back(std::move(checked));
      }
    };
    for (const auto& placed : part.rules) {
      run.rules.push_back(placed.parsed.rule.ref);
      take(run_examples(placed.parsed, part.scope, {placed.file->name, &quiet}));
    }
    for (const auto& parsed : part.refusals) run.rules.push_back(parsed.refusal.ref);
    for (const auto* file : part.files) {
      const auto* section = file->root.find("tests");
      if (section != nullptr) take(run_tests(section->value, part.scope, *part.alone, {file->name, &quiet}));
    }
  }
  std::sort(run.checks.begin(), run.checks.end(), [](const Checked& a, const Checked& b) {
    return std::tie(a.file, a.at, a.name) < std::tie(b.file, b.at, b.name);
  });
  std::copy_if(run.rules.begin(), run.rules.end(), std::back_inserter(run.not_covered),
               [&](const RuleRef& rule) { return !spoke.contains({rule.tier, rule.id}); });
  return run;
}

Json to_json(const TestRun& run, const Compiled& compiled) {
  Json::Array tests;
  for (const auto& checked : run.checks) {
    Json::Object one{{"kind", checked.kind == Checked::Kind::test ? "test" : "example"},
                     {"name", checked.name},
                     {"file", checked.file},
                     {"line", checked.at.line},
                     {"column", checked.at.column},
                     {"passed", checked.failure.empty()}};
    if (!checked.failure.empty()) one.emplace("message", checked.failure);
    tests.push_back(Json(std::move(one)));
  }
  Json report(Json::Object{{"tests", std::move(tests)}});
  report["failed"] = static_cast<std::int64_t>(run.failures());
  report["rules"] = refs(run.rules);
  report["not_covered"] = refs(run.not_covered);
  report["findings"] = *findings_json(compiled).find("findings");
  return report;
}

std::string to_text(const TestRun& run) {
  std::string out;
  for (const auto& checked : run.checks) {
    out += (checked.failure.empty() ? "pass  " : "FAIL  ") + place(checked.file, checked.at) + ": " +
           in_line(checked.name) + "\n";
    if (!checked.failure.empty()) out += "      " + in_line(checked.failure) + "\n";
  }
  const auto failed = run.failures();
  out += std::to_string(run.checks.size() - failed) + " passed, " + std::to_string(failed) + " failed; " +
         std::to_string(run.rules.size() - run.not_covered.size()) + " of " +
         std::to_string(run.rules.size()) + " rules have a test or example\n";
  for (const auto& rule : run.not_covered) {
    out += "no test or example: rule `" + rule.id + "` (" + rule.where + ")\n";
  }
  return out;
}

}  // namespace policy
