#include "policy/compile_secrets.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "policy/axis.h"
#include "policy/compile_condition.h"
#include "policy/host.h"
#include "policy/web_pattern.h"
#include "policy/wording.h"

namespace policy {
namespace {

constexpr std::array<std::string_view, 8> kBindings{"host",   "hosts",   "port", "ports",
                                                    "method", "methods", "path", "paths"};
constexpr std::array<std::string_view, 3> kWays{"bearer", "basic", "plain"};
constexpr std::int64_t kHttps = 443;
constexpr std::size_t kEnough = 200'000;  // steps of comparing two patterns
constexpr std::size_t kMaxSecrets = 64;   // of a tier; each is compared with each

// Fields that say where a request goes, how its body is framed, or what the connection is: never a secret's.
constexpr std::array<std::string_view, 15> kNotForSecrets{"accept-encoding",
                                                          "connection",
                                                          "content-encoding",
                                                          "content-length",
                                                          "content-type",
                                                          "expect",
                                                          "forwarded",
                                                          "host",
                                                          "keep-alive",
                                                          "te",
                                                          "trailer",
                                                          "upgrade",
                                                          "via",
                                                          "range",
                                                          "transfer-encoding"};

constexpr std::array<std::string_view, 7> kNotBegun{"proxy-", "x-forwarded-", "x-http-method", "content-",
                                                    "http2-", "sec-",         "x-original-"};

// Names of fields mean the same in either case.
std::string field(std::string text) {
  for (auto& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

bool may_carry(std::string_view header) {
  constexpr std::size_t kLongest = 64;
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";
  const auto begins = [&](std::string_view with) { return header.starts_with(with); };
  return !header.empty() && header.front() >= 'a' && header.size() <= kLongest &&
         header.find_first_not_of(kLetters) == std::string::npos &&
         std::none_of(kNotBegun.begin(), kNotBegun.end(), begins) &&
         std::find(kNotForSecrets.begin(), kNotForSecrets.end(), header) == kNotForSecrets.end();
}

std::span<const Condition> parts_of(const Condition& all) { return std::get<AllOf>(all.is).parts; }

// A leaf that asks about one fact only, as comparing needs it.
std::optional<Asked> asked(const Condition& part, bool holds = true) {
  if (const auto* negation = std::get_if<NotThis>(&part.is)) return asked(negation->part.front(), !holds);
  const auto leaf = [&](const auto* of) { return Asked{{Axis::Of::fact, of->fact}, holds, of}; };
  if (const auto* words = std::get_if<WordIs>(&part.is)) return leaf(words);
  if (const auto* paths = std::get_if<PathLike>(&part.is)) return leaf(paths);
  if (const auto* numbers = std::get_if<NumberIs>(&part.is)) return leaf(numbers);
  return std::nullopt;
}

// The fact on which what the two ask has nothing in common; null where there may be a request that both hold
// for.
const FactInfo* apart(const Condition& secret, const Condition& other) {
  for (const auto& part : parts_of(secret)) {
    const auto one = asked(part);
    if (!one) continue;
    std::vector<Asked> together{*one};
    for (const auto& theirs : parts_of(other)) {
      const auto two = asked(theirs);
      if (two && two->axis == one->axis) together.push_back(*two);
    }
    auto steps = kEnough;
    if (meet(together, steps).end == Meeting::End::none) return &info_of(one->axis.fact);
  }
  return nullptr;
}

const yaml::Entry* written_under(const yaml::Node& map, Fact fact) {
  for (const auto& entry : map.entries) {
    const auto* info = fact_of_key(entry.key);
    if (info != nullptr && info->fact == fact) return &entry;
  }
  return nullptr;
}

// That a secret goes to names which are written out: whoever has a name below one must not get it by that.
void check_hosts(const Condition& bound, const yaml::Entry& hosts, const std::string& what,
                 const ReadInto& into) {
  for (const auto& part : parts_of(bound)) {
    const auto* like = std::get_if<PathLike>(&part.is);
    if (like == nullptr || like->fact != Fact::host) continue;
    for (const auto& pattern : like->patterns) {
      const auto host = spell_host(pattern);
      const auto read = Host::parse(host);
      if (host == "any" || !read || !read->is_name()) {
        into.error("P0181", hosts.at,
                   what + " goes to hosts that have a name and are named in full, not to " + quoted(host));
      }
    }
  }
}

// Everything that a secret is bound to is said by its entry, in the plainest way.
Condition compile_bound(const Mapping& mapping, const Scope& scope) {
  const auto& into = mapping.into();
  const auto& map = mapping.node();
  bool plain = true;
  for (const auto fact : {Fact::host, Fact::method, Fact::path, Fact::port}) {
    const auto* entry = written_under(map, fact);
    const auto name = std::string(info_of(fact).name);
    if (entry == nullptr && fact != Fact::port) {
      into.error(
          "P0181", map.at,
          mapping.what() + " needs " + quoted(name + "s") + ": a secret goes to no more than it is for");
    }
    if (entry != nullptr && entry->value.kind == yaml::Node::Kind::map) {
      into.error("P0181", entry->value.at,
                 quoted(entry->key) + " of " + mapping.what() + " takes a value or a list");
      plain = false;
    }
  }
  Condition bound{AllOf{}};
  if (plain)
    bound =
        compile_conditions(map, Ground{web_actions(), Effect::allow, false, &scope}, mapping.what(), into);
  if (const auto* hosts = written_under(map, Fact::host)) check_hosts(bound, *hosts, mapping.what(), into);
  auto& parts = std::get<AllOf>(bound.is).parts;
  if (written_under(map, Fact::port) == nullptr) parts.push_back({NumberIs{Fact::port, {Range::of(kHttps)}}});
  parts.push_back({WordIs{Fact::scheme, {"https"}}});
  parts.push_back({WordIs{Fact::tls, {"inspect"}}});
  return bound;
}

Injection compile_carrier(const yaml::Entry& entry, const Mapping& mapping, const Scope& scope) {
  Injection gives;
  gives.secret = {entry.key, std::string(spelling(scope.tier)), place(mapping.into().file, entry.at)};
  gives.header = field(mapping.text("header").value_or("authorization"));
  if (const auto* header = mapping.find("header"); header != nullptr && !may_carry(gives.header)) {
    mapping.into().error("P0182", header->value.at,
                         "no secret is sent as " + quoted(gives.header) +
                             "; `header` names a field like `Authorization` or `X-Api-Key`");
  }
  if (mapping.has("as")) gives.as = static_cast<Injection::As>(mapping.choice("as", kWays).value_or(0));
  return gives;
}

// Which of two would be sent must not depend on anything that is not written.
void check_against(const Secret& secret, const yaml::Entry& entry, const Scope& scope, const ReadInto& into) {
  for (const auto& [name, other] : scope.secrets) {
    if (other->gives.header != secret.gives.header || apart(secret.bound, other->bound) != nullptr) continue;
    into.error("P0182", entry.at,
               "secrets " + quoted(entry.key) + " and " + quoted(name) + " (" + other->gives.secret.where +
                   ") would both be sent as " + quoted(secret.gives.header) +
                   " with the same request; tell them apart by host, method or path");
  }
}

// Whether all https that the rule lets through is looked into.
bool is_inspected(const Rule& rule) {
  const auto parts = parts_of(rule.when);
  return std::any_of(parts.begin(), parts.end(), [](const Condition& part) {
    const auto* is = std::get_if<WordIs>(&part.is);
    return is != nullptr && is->fact == Fact::tls && is->words == std::vector<std::string>{"inspect"};
  });
}

}  // namespace

std::string_view spelling(Injection::As as) { return kWays[static_cast<std::size_t>(as)]; }

void compile_secrets(const yaml::Node& file, const ReadInto& into, Scope& scope) {
  const auto* section = file.find("secrets");
  if (section == nullptr) return;
  if (scope.tier > Tier::user) {
    into.error("P0180", section->at,
               "tier " + quoted(spelling(scope.tier)) +
                   " has no secrets; they stand in the policy of `org` or `user`");
    return;
  }
  if (!is_section(section->value, section->key, "secrets, each under its name", into)) return;
  std::vector<std::string_view> keys{"header", "as", "why"};
  keys.insert(keys.end(), kBindings.begin(), kBindings.end());
  for (const auto& entry : section->value.entries) {
    const auto errors = into.diagnostics->errors();
    const Mapping mapping(entry.value, "secret " + quoted(entry.key), keys, into);
    if (entry.value.kind != yaml::Node::Kind::map) continue;
    (void)mapping.text("why");
    Secret secret{scope.tier, compile_carrier(entry, mapping, scope), compile_bound(mapping, scope)};
    if (const auto known = scope.secrets.find(entry.key); known != scope.secrets.end()) {
      into.error(
          "P0105", entry.at,
          "secret " + quoted(entry.key) + " stands at " + known->second->gives.secret.where + " already");
      continue;
    }
    if (scope.secrets.size() == kMaxSecrets) {
      into.error("P0185", entry.at, "a tier has at most " + std::to_string(kMaxSecrets) + " secrets");
      return;
    }
    if (into.diagnostics->errors() == errors) check_against(secret, entry, scope, into);
    scope.secrets.emplace(entry.key, std::make_shared<const Secret>(std::move(secret)));
  }
}

std::vector<std::shared_ptr<const Secret>> compile_injections(const yaml::Entry& entry, const Rule& rule,
                                                              bool of_web, const std::string& what,
                                                              const Scope& scope, const ReadInto& into) {
  std::vector<std::shared_ptr<const Secret>> injects;
  const auto names = read_texts(entry.value, "`inject`", into);
  if (!names) return injects;
  if (names->empty()) into.error("P0121", entry.value.at, "`inject` is empty and would do nothing");
  if (!of_web) {
    into.error("P0129", entry.at, "secrets are put into web requests; " + what + " is about other actions");
    return injects;
  }
  if (rule.effect != Effect::allow) {
    into.error("P0129", entry.at, "`inject` goes with what a rule allows; " + what + " allows nothing");
  } else if (!is_inspected(rule)) {
    into.error("P0183", entry.at,
               "a secret can be put only into https that is looked into; add `tls: inspect` to " + what);
  }
  std::vector<std::string_view> known;
  for (const auto& [name, secret] : scope.secrets) known.push_back(name);
  for (const auto& name : *names) {
    const auto found = scope.secrets.find(name);
    if (found == scope.secrets.end()) {
      into.error("P0112", entry.value.at,
                 "tier " + quoted(spelling(scope.tier)) + " has no secret " + quoted(name) +
                     suggestion(name, known) + "; a tier injects its own secrets only");
      continue;
    }
    if (scope.used != nullptr) scope.used->secrets.insert(name);
    if (const auto* fact = apart(found->second->bound, rule.when)) {
      into.error("P0184", entry.value.at,
                 what + " would never inject " + quoted(name) + ": they have no " + quoted(fact->name) +
                     " in common (" + found->second->gives.secret.where + ")");
    }
    injects.push_back(found->second);
  }
  return injects;
}

}  // namespace policy
