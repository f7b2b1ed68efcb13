#include "policy/stated_question.h"
#include "policy/wording.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace policy {
namespace {

using Kind = yaml::Node::Kind;

constexpr std::array<std::string_view, 23> kKeys{
    "image",      "cpus",  "memory_mb", "disk_gb", "network", "command",  "timeout", "host_path",
    "guest_path", "bytes", "files",     "button",  "count",   "chars",    "keys",    "by",
    "cause",      "name",  "verb",      "as",      "sandbox", "settings", "at"};

// Longest text that a test makes up for `chars`.
constexpr std::int64_t kMaxChars = 100'000;

SandboxId some_sandbox() { return *SandboxId::parse("sbx-00000000000000000000000000000000"); }
JobId some_job() { return *JobId::parse("job-00000000000000000000000000000000"); }
CallId some_call() { return *CallId::parse("call-00000000000000000000000000000000"); }

// Somebody whom no subject names.
Subject anybody() {
  Subject who;
  who.uid = std::numeric_limits<std::uint32_t>::max() - 1;
  who.principal = PrincipalId{"uid:" + std::to_string(*who.uid)};
  who.os_user = "somebody";
  who.client_name = "some-client";
  return who;
}

Subject somebody_of(const SubjectIs& is) {
  auto who = anybody();
  if (!is.transports.empty()) who.transport = is.transports.front();
  if (!is.os_users.empty()) who.os_user = is.os_users.front();
  if (!is.uids.empty()) who.uid = is.uids.front();
  if (!is.clients.empty()) who.client_name = is.clients.front();
  return who;
}

// The facts stated in one map.
class Statements {
 public:
  Statements(const yaml::Node& map, const ReadInto& into) : map_(map), into_(into) {}

  std::bitset<kFacts> withheld;

  std::string text(Fact which, std::optional<std::string> otherwise = {}) {
    return value<std::string>(which, std::move(otherwise), "", [&](const yaml::Entry& entry) {
      return read_text(entry.value, quoted(entry.key), into_);
    });
  }
  std::int64_t number(Fact which, std::optional<std::int64_t> otherwise, std::int64_t max) {
    return value<std::int64_t>(which, otherwise, 0, [&](const yaml::Entry& entry) {
      return read_integer(entry.value, 0, max, quoted(entry.key), into_);
    });
  }
  std::chrono::seconds duration(Fact which, std::optional<std::chrono::seconds> otherwise,
                                std::string_view key = {}) {
    return value<std::chrono::seconds>(
        which, otherwise, {},
        [&](const yaml::Entry& entry) { return read_duration(entry.value, quoted(entry.key), into_); }, key);
  }
  template <class Path>
  Path path(Fact which, std::string_view filler) {
    return value<Path>(which, std::nullopt, *Path::parse(filler),
                       [&](const yaml::Entry& entry) -> std::optional<Path> {
                         const auto written = read_text(entry.value, quoted(entry.key), into_);
                         if (!written) return std::nullopt;
                         auto parsed = Path::parse(*written);
                         if (!parsed) {
                           into_.error("P0152", entry.value.at,
                                       quoted(entry.key) + " is no path: " + parsed.error().message);
                           return std::nullopt;
                         }
                         return std::move(*parsed);
                       });
  }
  // A word whose choices stand in the order of the enumeration.
  template <class Enum>
  Enum word(Fact which, std::string_view key = {}) {
    return value<Enum>(
        which, Enum{}, Enum{},
        [&](const yaml::Entry& entry) -> std::optional<Enum> {
          const auto at = read_choice(entry.value, info_of(which).choices, quoted(entry.key), into_);
          if (!at) return std::nullopt;
          return static_cast<Enum>(*at);
        },
        key);
  }
  Survey survey() {
    Survey found;
    found.bytes = value<std::uint64_t>(Fact::bytes, 1, 0, [&](const yaml::Entry& entry) {
      return read_size(entry.value, quoted(entry.key), into_);
    });
    found.files =
        static_cast<std::uint64_t>(number(Fact::files, 1, std::numeric_limits<std::int64_t>::max()));
    return found;
  }

 private:
  // What is stated; else `otherwise`; else the fact is withheld and `filler` stands in its place.
  template <class T, class Parse>
  T value(Fact which, std::optional<T> otherwise, T filler, Parse parse, std::string_view key = {}) {
    const auto* entry = map_.find(key.empty() ? info_of(which).name : key);
    if (entry == nullptr && otherwise) return std::move(*otherwise);
    const bool unknown = entry != nullptr && entry->value.kind == Kind::scalar && !entry->value.quoted &&
                         entry->value.text == "unknown";
    if (entry == nullptr || unknown) {
      withheld.set(static_cast<std::size_t>(which));
      return filler;
    }
    auto parsed = parse(*entry);
    return parsed ? std::move(*parsed) : std::move(filler);
  }

  const yaml::Node& map_;
  const ReadInto& into_;
};

std::vector<Action> copy_out(std::string_view call, Statements& say) {
  const auto guest = say.path<GuestPath>(Fact::guest_path, "/");
  const auto host = say.path<HostPath>(Fact::host_path, ".");
  std::vector<Action> halves;
  if (call == FetchOut::kName) halves.emplace_back(FetchOut{some_sandbox(), guest, host});
  halves.emplace_back(PublishOut{some_sandbox(), guest, host, say.survey()});
  return halves;
}

std::optional<Action> vmrun(const yaml::Node& map, Position at, const ReadInto& into) {
  const auto* entry = map.find("verb");
  if (entry == nullptr) {
    into.error("P0152", at, "a question about `vmrun` states the `verb`");
    return std::nullopt;
  }
  const auto word = read_text(entry->value, "`verb`", into);
  const auto verb = word ? vmrun_verb_from(*word) : std::nullopt;
  if (word && !verb)
    into.error("P0110", entry->value.at, "there is no vmrun command " + quoted(*word) + " here");
  if (!verb) return std::nullopt;
  return Vmrun{*verb, "", {}, some_sandbox()};
}

// The action, in its halves; nothing when it cannot be built, which has been reported.
std::vector<Action> actions_of(std::string_view call, Position at, const yaml::Node& map, Statements& say,
                               const ReadInto& into) {
  using std::chrono::seconds;
  const auto box = some_sandbox();
  if (call == Create::kName) {
    constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
    const auto number = [&](Fact which) { return static_cast<std::uint32_t>(say.number(which, 0, kMost)); };
    Create asked{say.word<Network>(Fact::network), say.text(Fact::image, "default")};
    asked.cpus = number(Fact::cpus);
    asked.memory_mb = number(Fact::memory_mb);
    asked.disk_gb = number(Fact::disk_gb);
    return {std::move(asked)};
  }
  if (call == List::kName) return {List{}};
  if (call == Run::kName)
    return {Run{box, say.text(Fact::command), say.duration(Fact::timeout, seconds(60))}};
  if (call == Start::kName) return {Start{box, say.text(Fact::command)}};
  if (call == Check::kName) return {Check{box, some_job()}};
  if (call == Stop::kName) return {Stop{box, some_job()}};
  if (call == CopyIn::kName) {
    auto host = say.path<HostPath>(Fact::host_path, ".");
    auto guest = say.path<GuestPath>(Fact::guest_path, "/");
    return {CopyIn{box, std::move(host), std::move(guest), say.survey()}};
  }
  if (call == FetchOut::kName || call == PublishOut::kName) return copy_out(call, say);
  if (call == Screenshot::kName) return {Screenshot{box}};
  if (call == Click::kName) {
    const auto button = say.word<MouseButton>(Fact::button);
    return {Click{box, 0, 0, button, static_cast<std::int32_t>(say.number(Fact::count, 1, 10))}};
  }
  if (call == TypeText::kName) {
    return {TypeText{box, std::string(static_cast<std::size_t>(say.number(Fact::chars, 1, kMaxChars)), 'x')}};
  }
  if (call == PressKey::kName) return {PressKey{box, say.text(Fact::keys)}};
  if (call == Extend::kName) return {Extend{box, say.duration(Fact::by, std::nullopt)}};
  if (call == Destroy::kName) return {Destroy{box, say.word<DestroyCause>(Fact::cause)}};
  if (call == KillSwitch::kName) return {KillSwitch{}};
  if (call == Approve::kName) return {Approve{Approve::Answer::allow, "ask-1"}};
  if (call == BuildImage::kName) return {BuildImage{say.text(Fact::name)}};
  if (call == RemoveImage::kName) return {RemoveImage{say.text(Fact::name)}};
  if (call == Vmrun::kName) {
    auto action = vmrun(map, at, into);
    if (action) return {std::move(*action)};
    return {};
  }
  std::vector<std::string_view> names{Vmrun::kName};
  for (const auto& word : action_words()) names.push_back(word.name);
  into.error("P0110", at, "there is no action " + quoted(call) + suggestion(call, names));
  return {};
}

SandboxFacts read_sandbox(const yaml::Node& map, Statements& outer, const ReadInto& into) {
  static constexpr std::array<std::string_view, 3> kSandboxKeys{"network", "age", "labels"};
  SandboxFacts facts{some_sandbox(), anybody().principal, Network::none, {}, {}};
  const auto* entry = map.find("sandbox");
  if (entry == nullptr) return facts;
  const Mapping mapping(entry->value, "`sandbox`", kSandboxKeys, into);
  Statements say(entry->value, into);
  facts.network = say.word<Network>(Fact::sandbox_network, "network");
  facts.age = say.duration(Fact::sandbox_age, std::chrono::seconds(0), "age");
  if (const auto* labels = mapping.find("labels")) {
    if (labels->value.kind == Kind::scalar && labels->value.text == "unknown" && !labels->value.quoted) {
      say.withheld.set(static_cast<std::size_t>(Fact::sandbox_labels));
    } else if (const auto texts = mapping.texts("labels")) {
      facts.labels.insert(texts->begin(), texts->end());
    }
  }
  outer.withheld |= say.withheld;
  return facts;
}

Subject read_subject(const yaml::Node& map, const Scope& scope, const ReadInto& into) {
  const auto* entry = map.find("as");
  if (entry == nullptr) return anybody();
  const auto name = read_text(entry->value, "`as`", into);
  if (!name) return anybody();
  if (*name == "system") return system_subject();
  const auto subject = scope.subjects.find(*name);
  if (subject != scope.subjects.end()) return somebody_of(subject->second);
  std::vector<std::string_view> names{"system"};
  for (const auto& [known, is] : scope.subjects) names.push_back(known);
  into.error("P0112", entry->value.at, "there is no subject " + quoted(*name) + suggestion(*name, names));
  return anybody();
}

Facts read_settings(const yaml::Node& map, const ReadInto& into) {
  Facts settings = known_settings();
  const auto* entry = map.find("settings");
  if (entry == nullptr) return settings;
  std::vector<std::string_view> names;
  for (const auto& [name, value] : settings) names.push_back(name);
  const Mapping mapping(entry->value, "`settings`", names, into);
  for (const auto& setting : entry->value.entries) {
    const auto known = settings.find(setting.key);
    if (known == settings.end()) continue;
    const auto what = quoted(setting.key);
    if (setting.value.kind == Kind::scalar && !setting.value.quoted && setting.value.text == "unknown") {
      settings.erase(known);
    } else if (std::holds_alternative<bool>(known->second)) {
      if (const auto value = read_boolean(setting.value, what, into)) known->second = *value;
    } else if (std::holds_alternative<std::int64_t>(known->second)) {
      if (const auto value =
              read_integer(setting.value, 0, std::numeric_limits<std::int64_t>::max(), what, into))
        known->second = *value;
    } else if (auto value = read_text(setting.value, what, into)) {
      known->second = std::move(*value);
    }
  }
  return settings;
}

// A fact that the action does not have would be stated for nothing.
void check_facts(std::string_view call, const yaml::Node& map, const ReadInto& into) {
  const auto* word = action_word(call);
  const auto actions = word == nullptr ? ActionSet() : word->actions;
  for (const auto& entry : map.entries) {
    const auto* info = fact_named(entry.key);
    const bool verb = entry.key == "verb" && call != Vmrun::kName;
    if (verb || (info != nullptr && (info->actions & actions).none())) {
      into.error("P0114", entry.at, quoted(call) + " has no " + quoted(entry.key));
    }
  }
}

}  // namespace

std::span<const std::string_view> statement_keys() { return kKeys; }

std::optional<StatedQuestion> read_question(std::string_view call, Position at, const yaml::Node& map,
                                            const Scope& scope, const ReadInto& into) {
  const auto errors = into.diagnostics->errors();
  Statements say(map, into);
  auto actions = actions_of(call, at, map, say, into);
  if (!actions.empty()) check_facts(call, map, into);
  const auto box = read_sandbox(map, say, into);
  const auto who = read_subject(map, scope, into);
  std::optional<std::chrono::sys_seconds> when;
  if (const auto* day = map.find("at")) when = read_date(day->value, "`at`", into);
  StatedQuestion question{{}, read_settings(map, into), say.withheld};
  for (auto& action : actions) {
    auto facts = sandbox_of(action) != nullptr ? std::optional(box) : std::nullopt;
    question.requests.push_back(
        Request{who, std::move(facts), std::move(action), Correlation{some_call(), "", std::nullopt}, when});
  }
  if (into.diagnostics->errors() != errors) return std::nullopt;
  return question;
}

Answer answer(const RuleProgram& program, const StatedQuestion& question) {
  Answer last;
  for (const auto& request : question.requests) {
    last.before.insert(last.before.end(), last.judgement.matched.begin(), last.judgement.matched.end());
    last.clamp = {};
    last.judgement = program.judge(Question{request, question.settings, question.withheld}, last.clamp);
    if (last.judgement.effect != Effect::allow) break;
  }
  return last;
}

}  // namespace policy
