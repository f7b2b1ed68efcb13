#include "policy/stated_question.h"
#include "policy/wording.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <utility>

namespace policy {
namespace {

using Kind = yaml::Node::Kind;

constexpr std::array<std::string_view, 30> kKeys{
    "image",      "cpus",    "memory_mb", "disk_gb", "network",  "command", "timeout", "host_path",
    "guest_path", "bytes",   "files",     "button",  "count",    "chars",   "keys",    "by",
    "cause",      "name",    "verb",      "url",     "method",   "scheme",  "host",    "port",
    "path",       "address", "as",        "sandbox", "settings", "at"};

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

// What a statement writes for a fact that could not be found out.
bool is_unknown(const yaml::Node& node) {
  return node.kind == Kind::scalar && !node.quoted && node.text == "unknown";
}

// A text that the pattern matches.
std::string one_of(std::string pattern) {
  for (auto& c : pattern) {
    if (c == '*' || c == '?') c = 'x';
  }
  return pattern;
}

Subject somebody_of(const NamedSubject& is) {
  auto who = anybody();
  if (!is.transports.empty()) who.transport = is.transports.front();
  if (!is.os_users.empty()) who.os_user = is.os_users.front();
  if (!is.uids.empty()) who.uid = is.uids.front();
  if (!is.clients.empty()) who.client_name = is.clients.front();
  if (!is.issuers.empty()) {
    who.token = Token{
        is.issuers.front(), is.token_subjects.empty() ? "somebody" : one_of(is.token_subjects.front()), {}};
    if (!is.audiences.empty()) who.token->audience.push_back(one_of(is.audiences.front()));
  }
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
  // What a web request is about; the addresses of its host are not looked up unless they are stated.
  WebTarget web_target(const char* filler) {
    const auto bad = [&](const yaml::Entry& entry, const Error& why) {
      into_.error("P0152", entry.value.at,
                  quoted(entry.key) + " is refused before any rule: " + why.message + " (" + why.code + ")");
    };
    if (const auto* url = map_.find("url")) {
      for (const auto* part : {"scheme", "host", "port", "path"}) {
        if (const auto* twice = map_.find(part))
          into_.error("P0114", twice->at, "`url` says " + quoted(part) + " already");
      }
      if (is_unknown(url->value)) {
        withhold({Fact::url, Fact::scheme, Fact::host, Fact::port, Fact::path, Fact::tls, Fact::address});
        return *parse_url(filler);
      }
      const auto text = read_text(url->value, "`url`", into_);
      auto parsed = text ? parse_url(*text) : parse_url(filler);
      if (parsed) return std::move(*parsed);
      bad(*url, parsed.error());
      return *parse_url(filler);
    }
    auto target = *parse_url(filler);
    target.scheme = map_.find("scheme") == nullptr ? Scheme::https : word<Scheme>(Fact::scheme);
    // Whether it is looked into follows from the scheme.
    if (withheld.test(static_cast<std::size_t>(Fact::scheme))) withhold({Fact::tls, Fact::url});
    target.host = value<Host>(Fact::host, std::nullopt, Host(target.host),
                              [&](const yaml::Entry& entry) -> std::optional<Host> {
                                const auto text = read_text(entry.value, "`host`", into_);
                                auto host = text ? Host::parse(*text) : Host::parse("");
                                if (!host && text) bad(entry, host.error());
                                return host ? std::optional(std::move(*host)) : std::nullopt;
                              });
    if (withheld.test(static_cast<std::size_t>(Fact::host))) withhold({Fact::address, Fact::url});
    const std::int64_t usual = target.scheme == Scheme::http ? 80 : 443;
    target.port = static_cast<std::uint16_t>(number(Fact::port, usual, 65535));
    const auto* path = map_.find("path");
    auto said = path == nullptr ? std::string("/") : text(Fact::path, "/");
    if (withheld.test(static_cast<std::size_t>(Fact::path))) {
      withhold({Fact::url});
      said = "/";
    }
    target.path = std::move(said);
    auto whole = parse_url(target.text());
    if (whole) return std::move(*whole);
    if (path != nullptr) bad(*path, whole.error());
    return *parse_url(filler);
  }
  std::string method() {
    auto method = text(Fact::method, "GET");
    const auto* entry = map_.find("method");
    if (entry != nullptr && !withheld.test(static_cast<std::size_t>(Fact::method)) && !is_method(method)) {
      into_.error("P0152", entry->value.at, quoted(method) + " is no method of HTTP");
    }
    return method;
  }
  void withhold(std::initializer_list<Fact> facts) {
    for (const auto fact : facts) withheld.set(static_cast<std::size_t>(fact));
  }
  std::vector<Address> addresses() {
    std::vector<Address> all;
    const auto* entry = map_.find("address");
    if (entry == nullptr) return all;
    if (is_unknown(entry->value)) {
      withhold({Fact::address});
      return all;
    }
    for (const auto& text :
         read_texts(entry->value, "`address`", into_).value_or(std::vector<std::string>{})) {
      const auto address = Address::parse(text);
      if (address) {
        all.push_back(*address);
      } else {
        into_.error("P0152", entry->value.at, quoted(text) + " is no address: " + address.error().message);
      }
    }
    return all;
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
    if (entry == nullptr || is_unknown(entry->value)) {
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

// An https request is asked twice, as the proxy would: looked into, and where that is refused as a tunnel
// that nobody looks into.
void fetch(Statements& say, std::vector<Action>& first, std::vector<Action>& instead) {
  auto method = say.method();
  auto target = say.web_target("https://unknown.invalid/");
  const auto addresses = say.addresses();
  const auto tunnel = [&](Tunnel::Sight sight) {
    auto made = tunnel_of(some_sandbox(), target.host, target.port, sight);
    made.addresses.insert(made.addresses.end(), addresses.begin(), addresses.end());
    return made;
  };
  if (target.scheme == Scheme::https) {
    first.emplace_back(tunnel(Tunnel::Sight::inspected));
    instead.emplace_back(tunnel(Tunnel::Sight::opaque));
  }
  auto asked = fetch_of(some_sandbox(), std::move(method), std::move(target));
  asked.addresses.insert(asked.addresses.end(), addresses.begin(), addresses.end());
  first.emplace_back(std::move(asked));
}

// The action, in its halves; nothing when it cannot be built, which has been reported.
std::vector<Action> actions_of(std::string_view call, Position at, const yaml::Node& map, Statements& say,
                               std::vector<Action>& instead, const ReadInto& into) {
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
  if (call == Fetch::kName) {
    std::vector<Action> first;
    fetch(say, first, instead);
    return first;
  }
  if (call == Tunnel::kName) {
    auto target = say.web_target("https://unknown.invalid/");
    auto asked = tunnel_of(box, std::move(target.host), target.port, Tunnel::Sight::opaque);
    const auto addresses = say.addresses();
    asked.addresses.insert(asked.addresses.end(), addresses.begin(), addresses.end());
    return {std::move(asked)};
  }
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
    if (is_unknown(labels->value)) {
      say.withheld.set(static_cast<std::size_t>(Fact::sandbox_labels));
    } else if (const auto texts = mapping.texts("labels")) {
      for (const auto& text : *texts) facts.labels.emplace(text, Tier::builtin);
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
  if (subject != scope.subjects.end()) return somebody_of(*subject->second.subject);
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
    if (is_unknown(setting.value)) {
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
    const bool url = entry.key == "url" && (actions & web_actions()).none();
    const bool unseen =
        call == Tunnel::kName && (entry.key == "method" || entry.key == "path" || entry.key == "scheme");
    if (verb || url || unseen || (info != nullptr && (info->actions & actions).none())) {
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
  std::vector<Action> instead;
  auto actions = actions_of(call, at, map, say, instead, into);
  if (!actions.empty()) check_facts(call, map, into);
  const auto box = read_sandbox(map, say, into);
  const auto who = read_subject(map, scope, into);
  std::optional<std::chrono::sys_seconds> when;
  if (const auto* day = map.find("at")) when = read_date(day->value, "`at`", into);
  StatedQuestion question{{}, read_settings(map, into), say.withheld};
  const auto ask = [&](std::vector<Action>& what, std::vector<Request>& requests) {
    for (auto& action : what) {
      auto facts = sandbox_of(action) != nullptr ? std::optional(box) : std::nullopt;
      requests.push_back(Request{who, std::move(facts), std::move(action),
                                 Correlation{some_call(), "", std::nullopt}, when});
    }
  };
  ask(actions, question.requests);
  ask(instead, question.instead);
  if (into.diagnostics->errors() != errors) return std::nullopt;
  return question;
}

namespace {

// What is refused in the end is refused, and what is asked on the way is asked.
Answer one_by_one(const RuleProgram& program, const StatedQuestion& question,
                  const std::vector<Request>& requests) {
  Answer decided;
  std::vector<RuleRef> before;
  for (const auto& request : requests) {
    Answer now;
    now.before = before;
    now.judgement = program.judge(Question{request, question.settings, question.withheld}, now.clamp);
    before.insert(before.end(), now.judgement.matched.begin(), now.judgement.matched.end());
    const bool first = &request == &requests.front(), last = &request == &requests.back();
    // Nothing follows: the question itself is what a person would be asked.
    if (last) ask_at_last(now.judgement);
    const bool goes_on =
        now.judgement.effect == decided.judgement.effect && decided.judgement.effect == Effect::allow;
    if (first || goes_on || now.judgement.effect > decided.judgement.effect) decided = std::move(now);
    if (decided.judgement.effect == Effect::deny) break;
  }
  return decided;
}

// Whether the proxy would look into it, and so never pass it through.
bool is_looked_into(const RuleProgram& program, const StatedQuestion& question) {
  Clamp clamp;
  const Question tunnel{question.requests.front(), question.settings, question.withheld};
  return question.instead.empty() || program.judge(tunnel, clamp).effect != Effect::deny;
}

}  // namespace

void ask_at_last(Judgement& judgement) {
  if (!judgement.waits) return;
  judgement.effect = Effect::ask;
  judgement.code = spelling(Effect::ask);
}

const std::vector<Request>& asked_of(const RuleProgram& program, const StatedQuestion& question) {
  if (is_looked_into(program, question)) return question.requests;
  const auto passed = one_by_one(program, question, question.instead).judgement.effect;
  return passed == Effect::deny ? question.requests : question.instead;
}

Answer answer(const RuleProgram& program, const StatedQuestion& question) {
  return one_by_one(program, question, asked_of(program, question));
}

}  // namespace policy
