#include "tests/bench/many_rules.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>

#include "policy/compile.h"
#include "tests/policy/questions.h"

namespace bench {
namespace {

using namespace policy;

constexpr std::size_t kFileRules = 2500;
constexpr std::array<std::string_view, 4> kActions{"run", "stop", "screenshot", "destroy"};

std::size_t subjects_of(std::size_t rules) { return (rules + 3) / 4; }
std::string user(std::size_t number) { return "user" + std::to_string(number); }

std::string host_name(std::size_t rule) {
  return "service" + std::to_string(rule) + ".team" + std::to_string(rule % 97) + ".net";
}

std::string rule_text(Shape shape, std::size_t rule, std::size_t rules) {
  const auto number = std::to_string(rule);
  const auto id = "  rule-" + number;
  switch (shape) {
    case Shape::spread:
      return id + ": { allow: " + std::string(kActions[rule / subjects_of(rules)]) +
             ", for: " + user(rule % subjects_of(rules)) + " }\n";
    case Shape::dense:
      return id + ": { allow: copy_in, for: user0, host_path: \"transfer:" + folder(rule) + "/**\" }\n";
    case Shape::hosts:
      return id + ": { allow: any, for: user0, hosts: \"" + (rule % 2 == 0 ? "" : "*.") + host_name(rule) +
             "\" }\n";
    case Shape::mixed:
      break;
  }
  const std::array<std::string, 4> patterns{folder(rule) + "/**", "**/job" + number + "/*.log",
                                            folder(rule) + "/out-" + number + "*",
                                            "*/report" + number + "*.txt"};
  return id + ": { allow: copy_in, for: user0, host_path: \"transfer:" + patterns[rule % patterns.size()] +
         "\" }\n";
}

enum class Miss { no, yes };

// A path that rule number `rule` of the shape allows, or with `miss` one beside it.
std::string path_text(Shape shape, std::size_t rule, Miss miss) {
  const auto number = std::to_string(rule);
  const std::string other = miss == Miss::yes ? "-other" : "";
  if (shape == Shape::mixed && rule % 4 == 1) return "a/b/job" + number + other + "/x.log";
  if (shape == Shape::mixed && rule % 4 == 2) return folder(rule) + other + "/out-" + number + "-x";
  if (shape == Shape::mixed && rule % 4 == 3)
    return "a/report" + number + (miss == Miss::yes ? "-x.md" : "-x.txt");
  return folder(rule) + other + "/src/main.cc";
}

std::string url_text(std::size_t rule, Miss miss) {
  return std::string("http://") + (rule % 2 == 0 ? "" : "a.") + (miss == Miss::yes ? "other-" : "") +
         host_name(rule) + "/simple/";
}

std::string test_text(Shape shape, std::size_t rule, std::size_t rules) {
  const auto expected = "expect: allow rule-" + std::to_string(rule) + " }\n";
  if (shape == Shape::spread) {
    const auto action = kActions[rule / subjects_of(rules)];
    const std::string more = action == "run" ? ", command: x" : action == "destroy" ? ", cause: asked" : "";
    return "  - { call: " + std::string(action) + ", as: " + user(rule % subjects_of(rules)) + more + ", " +
           expected;
  }
  if (shape == Shape::hosts) {
    return "  - { call: fetch, as: user0, url: \"" + url_text(rule, Miss::no) + "\", " + expected;
  }
  return "  - { call: copy_in, as: user0, guest_path: /tmp/a, host_path: \"" +
         path_text(shape, rule, Miss::no) + "\", " + expected;
}

Action spread_action(std::size_t which, std::mt19937& dice) {
  switch (which % 5) {
    case 0:
      return policy::Run{questions::box(), "make " + std::to_string(dice()), std::chrono::seconds(60)};
    case 1:
      return Stop{questions::box(), questions::job()};
    case 2:
      return Screenshot{questions::box()};
    case 3:
      return Destroy{questions::box(), DestroyCause::asked};
    default:
      return PressKey{questions::box(), "ctrl+c"};  // which no rule allows
  }
}

}  // namespace

std::string_view spelling(Shape shape) {
  switch (shape) {
    case Shape::spread:
      return "spread";
    case Shape::dense:
      return "dense";
    case Shape::mixed:
      return "mixed";
    case Shape::hosts:
      return "hosts";
  }
  return {};
}

std::string folder(std::size_t rule) {
  return "team" + std::to_string(rule % 97) + "/service" + std::to_string(rule);
}

std::vector<Source> policy_text(Shape shape, std::size_t rules, std::size_t tests) {
  std::vector<Source> sources;
  const auto files = (rules + kFileRules - 1) / kFileRules;
  for (std::size_t file = 0; file < files; ++file) {
    std::string text = "sallyport: policy/v1\ntier: user\nname: many\ndefault: deny\n";
    if (file == 0) {
      text += "subjects:\n";
      const auto subjects = shape == Shape::spread ? subjects_of(rules) : 1;
      for (std::size_t i = 0; i < subjects; ++i) text += "  " + user(i) + ": { os_user: " + user(i) + " }\n";
    }
    text += shape == Shape::hosts ? "web:\n" : "actions:\n";
    for (auto rule = file * kFileRules; rule < std::min(rules, (file + 1) * kFileRules); ++rule) {
      text += rule_text(shape, rule, rules);
    }
    const auto share = tests / files;
    if (share != 0) text += "tests:\n";
    for (std::size_t i = 0; i < share; ++i)
      text += test_text(shape, (file * share + i) * (rules / tests), rules);
    sources.push_back({"many-" + std::to_string(file) + ".yaml", std::move(text), Tier::user});
  }
  return sources;
}

std::shared_ptr<const RuleProgram> program(Shape shape, std::size_t rules) {
  const auto compiled = compile(policy_text(shape, rules));
  if (!compiled.program) {
    std::fprintf(stderr, "%s\n", compiled.error().message.c_str());
    std::abort();
  }
  return std::dynamic_pointer_cast<const RuleProgram>(compiled.program);
}

std::vector<Request> questions(Shape shape, std::size_t rules, std::size_t count) {
  std::mt19937 dice(7);
  std::vector<Request> asked;
  asked.reserve(count);
  while (asked.size() < count) {
    const auto number = dice() % rules;
    const bool miss = asked.size() % 10 != 0, near = dice() % 2 == 0;
    auto who = policy::questions::agent();
    if (shape == Shape::spread) {
      // Of the misses, half are known subjects with an action they have not, half are strangers.
      const auto action = miss && near ? 4 : number / subjects_of(rules);
      who.os_user = miss && !near ? "stranger" + std::to_string(number) : user(number % subjects_of(rules));
      asked.push_back(policy::questions::ask(spread_action(action, dice), who));
      continue;
    }
    who.os_user = "user0";
    if (shape == Shape::hosts) {
      const auto url = miss && !near ? "http://nobody" + std::to_string(number) + ".net/"
                                     : url_text(number, miss ? Miss::yes : Miss::no);
      asked.push_back(
          policy::questions::ask(fetch_of(policy::questions::box(), "GET", *parse_url(url)), who));
      continue;
    }
    const auto path = miss && !near ? "home/nobody" + std::to_string(number) + "/notes.txt"
                                    : path_text(shape, number, miss ? Miss::yes : Miss::no);
    asked.push_back(
        policy::questions::ask(CopyIn{policy::questions::box(), policy::questions::host(path),
                                      policy::questions::guest("/tmp/copy"), policy::questions::survey(1, 1)},
                               who));
  }
  std::shuffle(asked.begin(), asked.end(), dice);
  return asked;
}

}  // namespace bench
