// Policies as people test and explain them; what is said comes from policy/, and is read and printed here.
#include "gateway/cli/policy.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "gateway/cli/client.h"
#include "gateway/cli/policy_files.h"
#include "gateway/cli/printable.h"
#include "gateway/cli/request_line.h"
#include "gateway/cli/stated_json.h"
#include "gateway/cli/url_line.h"
#include "gateway/mcp/json_reader.h"
#include "gateway/settings/folder.h"
#include "policy/checks.h"
#include "policy/clock.h"
#include "policy/difference.h"
#include "policy/explain.h"
#include "policy/finding_report.h"
#include "policy/json_schema.h"
#include "policy/layout.h"
#include "policy/reference.h"
#include "policy/stated_words.h"
#include "policy/test_run.h"
#include "policy/units.h"
#include "policy/who_can.h"

namespace gateway::cli {
namespace {

void put(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }
void put_json(const policy::Json& json) { put(policy::canonical(json) + "\n"); }
void say(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

// The policies with their parts; or nothing, with what is wrong on stderr.
struct Known {
  policy::Facts settings;
  std::vector<policy::Source> texts;
  policy::Studied studied;
};
std::optional<Known> know(const Sources& sources, const Words& paths, ReportForm form = ReportForm::text) {
  auto texts = policy_sources(sources, paths);
  if (!texts) {
    complain(texts.error());
    return std::nullopt;
  }
  Known known{load_settings(sources).facts(), *std::move(texts), {}};
  known.studied = policy::study(known.texts, known.settings);
  if (known.studied.anatomy) return known;
  if (form == ReportForm::json) {
    put_json(policy::findings_json(known.studied.compiled));
  } else {
    say(findings_text(known.studied.compiled.diagnostics, known.texts));
  }
  return std::nullopt;
}

// The same for commands that judge: with a failing test the files are in nobody's force.
std::optional<Known> know_good(const Sources& sources, const Words& paths) {
  auto known = know(sources, paths);
  if (known && !known->studied.compiled.program) {
    complain(known->studied.compiled.error());
    return std::nullopt;
  }
  return known;
}

struct Parted {
  Words statements, paths;
};
Parted part(const Words& words) {
  Parted parted;
  for (const auto& word : words) {
    (policy::is_statement(word) ? parted.statements : parted.paths).push_back(word);
  }
  return parted;
}

// What the words of a command line state. An object of JSON is taken as well as a map of YAML, which has no
// quoted keys.
std::optional<policy::yaml::Node> read_words(const Words& words, const policy::ReadInto& into) {
  Words plain;
  std::vector<mcp::JsonPtr> objects;
  for (const auto& word : words) {
    auto read = word.starts_with('{') ? mcp::read_json(word) : mcp::JsonRead{};
    if (read.value && !read.value->empty()) {
      objects.push_back(std::move(read.value));
    } else {
      plain.push_back(word);
    }
  }
  auto map = policy::read_statements(plain, into);
  if (!map) return std::nullopt;
  for (const auto& object : objects) {
    const auto stated = state_json_object(*map, *object);
    if (stated) continue;
    into.error(stated.error().code, {1, 1}, stated.error().message);
    return std::nullopt;
  }
  return map;
}

std::chrono::sys_days today() { return policy::today(policy::SystemClock()); }

// Questions of a command line are of today unless they say another day.
void assume_today(policy::yaml::Node& map) {
  if (map.find("at") == nullptr)
    policy::state(map, "at", policy::stated_value("at", policy::spell_date(today())));
}

int usage(policy::Diagnostics& found) {
  for (const auto& one : found.take()) {
    say("sallyport: " + printable_line(one.message) + " [" + one.code + "]\n");
  }
  return 2;
}

}  // namespace

int policy_check(const Sources& sources, const Words& paths, ReportForm form, Strictness strictness) {
  const auto texts = policy_sources(sources, paths);
  if (!texts) return complain(texts.error());
  auto compiled = policy::compile_and_check(*texts, load_settings(sources).facts());
  policy::check_days(compiled, today());
  const bool warned = std::any_of(
      compiled.diagnostics.begin(), compiled.diagnostics.end(),
      [](const policy::Diagnostic& found) { return found.severity == policy::Severity::warning; });
  const bool good = compiled.program != nullptr && (strictness == Strictness::errors || !warned);
  if (form == ReportForm::json) {
    put_json(policy::findings_json(compiled));
  } else if (form == ReportForm::sarif) {
    put_json(policy::findings_sarif(compiled, SALLYPORT_VERSION));
  } else {
    say(findings_text(compiled.diagnostics, *texts));
    if (good) {
      put("good: " + printable_line(compiled.program->name()) + ", digest " +
          compiled.program->digest().hex() + "\n");
    }
  }
  return good ? 0 : 1;
}

int policy_test(const Sources& sources, const Words& paths, ReportForm form) {
  auto known = know(sources, paths, form);
  if (!known) return 1;
  const auto run = policy::run_all_tests(*known->studied.anatomy);
  auto& compiled = known->studied.compiled;
  policy::add_warnings(compiled, *known->studied.anatomy->whole);
  policy::check_days(compiled, today());
  if (form == ReportForm::json) {
    put_json(policy::to_json(run, compiled));
  } else {
    // Those that fail stand among the tests.
    std::erase_if(compiled.diagnostics, policy::is_failed_test);
    say(findings_text(compiled.diagnostics, known->texts));
    put(printable(policy::to_text(run)));
  }
  return run.failures() == 0 && compiled.program ? 0 : 1;
}

int policy_explain(const Sources& sources, const std::string& call, const std::string& subject,
                   const Words& words, ReportForm form) {
  const auto parted = part(words);
  const auto known = know_good(sources, parted.paths);
  if (!known) return 1;
  policy::Diagnostics found;
  const policy::ReadInto into{"command line", &found};
  auto map = read_words(parted.statements, into);
  if (map && !subject.empty() && !policy::state(*map, "as", policy::stated_value("as", subject)))
    found.error("Y0116", into.file, {1, 1}, "`as` is stated twice");
  if (!map || found.has_errors()) return usage(found);
  assume_today(*map);
  auto question = policy::read_question(call, {1, 1}, *map, known->studied.anatomy->everyone, into);
  if (!question) return usage(found);
  policy::assume_settings(*question, *map, known->settings);
  const auto explained = policy::explain(*known->studied.anatomy, *question);
  if (form == ReportForm::json) {
    put_json(policy::to_json(explained));
  } else {
    put(printable(policy::to_text(explained)));
  }
  return 0;
}

int policy_who_can(const Sources& sources, const std::string& action, const Words& words, ReportForm form) {
  const auto parted = part(words);
  const auto known = know_good(sources, parted.paths);
  if (!known) return 1;
  policy::Diagnostics found;
  const policy::ReadInto into{"command line", &found};
  auto map = read_words(parted.statements, into);
  if (!map) return usage(found);
  assume_today(*map);
  const auto rows = policy::who_can(*known->studied.anatomy, action, *map, known->settings, into);
  if (!rows) return usage(found);
  if (form == ReportForm::json) {
    put_json(policy::to_json(*rows));
  } else {
    put(printable(policy::to_text(*rows)));
  }
  return 0;
}

int policy_diff(const Sources& sources, const std::string& before, const std::string& after, ReportForm form,
                Widening widening) {
  const auto old = know(sources, {before}), fresh = know(sources, {after});
  if (!old || !fresh) return 2;
  const auto difference = policy::difference(*old->studied.anatomy, *fresh->studied.anatomy);
  if (form == ReportForm::json) {
    put_json(policy::to_json(difference));
  } else {
    put(printable(policy::to_text(difference)));
  }
  return widening == Widening::fails && difference.widens() ? 1 : 0;
}

int check_request(const Sources& sources, const Words& paths) {
  const auto known = know_good(sources, paths);
  if (!known) return 1;
  return answer_lines(
      [&](std::string_view line) { return answer_request(*known->studied.anatomy, known->settings, line); },
      answer_too_long());
}

int check_url() { return answer_lines(answer_url, url_too_long()); }

int policy_default() {
  put(policy::default_policy_text());
  return 0;
}

int policy_facts(ReportForm form) {
  if (form == ReportForm::json) {
    put_json(policy::facts_json());
  } else {
    put(form == ReportForm::markdown ? policy::facts_markdown() : policy::facts_text());
  }
  return 0;
}

int policy_schema() {
  put(nlohmann::json::parse(policy::canonical(policy::policy_schema())).dump(2) + "\n");
  return 0;
}

int policy_fmt(const Words& files, FormatMode mode) {
  int result = 0;
  for (const auto& file : files) {
    const auto text = read_small_file(file, policy::yaml::kMaxBytes);
    if (!text) {
      result = complain(text.error());
      continue;
    }
    policy::Diagnostics found;
    const auto laid = policy::layout(*text, file, found);
    if (!laid) {
      say(findings_text(found.take(), {policy::Source{file, *text, {}}}));
      result = 1;
    } else if (*laid != *text) {
      put(printable_line(file) + "\n");
      if (mode == FormatMode::check) {
        result = 1;
      } else if (const auto written = rewrite_file(file, *laid); !written) {
        result = complain(written.error());
      }
    }
  }
  return result;
}

int policy_show_builtin() {
  put(policy::builtin_text());
  return 0;
}

}  // namespace gateway::cli
