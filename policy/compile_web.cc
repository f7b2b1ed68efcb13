#include "policy/compile_web.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "policy/wording.h"

namespace policy {
namespace {

constexpr std::string_view kAny = "any";
// Those that are suggested; others are taken as they are written.
constexpr std::array<std::string_view, 8> kMethods{"GET",    "HEAD",  "POST",    "PUT",
                                                   "DELETE", "PATCH", "OPTIONS", "any"};
constexpr std::string_view kNone = "none", kPassthrough = "passthrough";

bool has_one_of(const yaml::Node& map, std::initializer_list<std::string_view> keys) {
  return std::any_of(keys.begin(), keys.end(),
                     [&](std::string_view key) { return map.find(key) != nullptr; });
}

// Whether a condition on `fact` holds for `word`, wherever the rule asks about it on its top level.
bool lets(const Condition& when, Fact fact, std::string_view word) {
  const auto* all = std::get_if<AllOf>(&when.is);
  if (all == nullptr) return true;
  return std::all_of(all->parts.begin(), all->parts.end(), [&](const Condition& part) {
    const auto* is = std::get_if<WordIs>(&part.is);
    if (is != nullptr && is->fact == fact)
      return std::find(is->words.begin(), is->words.end(), word) != is->words.end();
    const auto* negation = std::get_if<NotThis>(&part.is);
    const auto* not_this = negation == nullptr ? nullptr : std::get_if<WordIs>(&negation->part.front().is);
    if (not_this == nullptr || not_this->fact != fact) return true;
    return std::find(not_this->words.begin(), not_this->words.end(), word) == not_this->words.end();
  });
}

template <class Leaf>
concept AsksOfFact =
    requires(const Leaf& leaf) { requires std::same_as<std::remove_cvref_t<decltype(leaf.fact)>, Fact>; };

// Whether anything in it asks about one of the facts.
bool asks(const Condition& condition, std::initializer_list<Fact> facts) {
  const auto any_of = [&](const std::vector<Condition>& parts) {
    return std::any_of(parts.begin(), parts.end(), [&](const Condition& part) { return asks(part, facts); });
  };
  if (const auto* all = std::get_if<AllOf>(&condition.is)) return any_of(all->parts);
  if (const auto* any = std::get_if<AnyOf>(&condition.is)) return any_of(any->parts);
  if (const auto* negation = std::get_if<NotThis>(&condition.is)) return any_of(negation->part);
  return std::visit(
      [&](const auto& leaf) {
        if constexpr (AsksOfFact<decltype(leaf)>) {
          return std::find(facts.begin(), facts.end(), leaf.fact) != facts.end();
        } else {
          return false;
        }
      },
      condition.is);
}
bool asks(const Rule& rule, std::initializer_list<Fact> facts) {
  return asks(rule.when, facts) || (rule.unless && asks(*rule.unless, facts));
}

void also(Condition& when, Condition part) { std::get<AllOf>(when.is).parts.push_back(std::move(part)); }

std::string capitals(std::string word) {
  for (auto& c : word) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return word;
}

// The methods, or none for `any`.
std::vector<std::string> named_methods(const yaml::Entry& effect, const ReadInto& into) {
  const auto words = read_texts(effect.value, quoted(effect.key), into);
  if (!words) return {};
  if (words->empty())
    into.error("P0121", effect.value.at,
               quoted(effect.key) + " is empty and would match nothing; remove the rule");
  std::vector<std::string> methods;
  for (const auto& word : *words) {
    if (word == kAny) continue;
    if (word == "CONNECT") {
      into.error("P0161", effect.value.at,
                 "a tunnel is allowed by `any` with `tls: passthrough`; `CONNECT` is not named");
    } else if (!is_method_name(word)) {
      into.error("P0161", effect.value.at,
                 quoted(effect.key) + " names methods of HTTP in capitals, like `GET`, or `any`; not " +
                     quoted(word) + suggestion(capitals(word), kMethods));
    } else {
      methods.push_back(word);
    }
  }
  const bool any = std::find(words->begin(), words->end(), kAny) != words->end();
  if (any && words->size() > 1) into.error("P0161", effect.value.at, "`any` stands alone");
  return any ? std::vector<std::string>{} : methods;
}

}  // namespace

bool is_method_name(std::string_view word) {
  return is_method(word) &&
         std::all_of(word.begin(), word.end(), [](char c) { return (c >= 'A' && c <= 'Z') || c == '-'; });
}

void complete_web_rule(const yaml::Entry& effect, const yaml::Node& written, const std::string& what,
                       Rule& rule, const ReadInto& into) {
  auto methods = named_methods(effect, into);
  const bool sees = !methods.empty() || asks(rule, {Fact::method, Fact::path, Fact::url});
  if (!methods.empty()) also(rule.when, Condition{WordIs{Fact::method, std::move(methods)}});
  if (rule.effect == Effect::deny) return;

  if (!has_one_of(written, {"host", "hosts", "address", "cidrs"})) {
    into.error("P0162", effect.at, what + " lets every host through; say `hosts: any` if that is meant");
  }
  if (!asks(rule, {Fact::port})) {
    also(rule.when, Condition{NumberIs{Fact::port, {Range::of(80), Range::of(443)}}});
  }
  const auto* tls = written.find("tls");
  const bool plain = lets(rule.when, Fact::scheme, "http") && lets(rule.when, Fact::tls, kNone);
  const bool secure = lets(rule.when, Fact::scheme, "https") &&
                      (lets(rule.when, Fact::tls, "inspect") || lets(rule.when, Fact::tls, kPassthrough));
  if (!plain && !secure) {
    into.error("P0164", effect.at,
               what + " can never match: plain http has `tls: none`, and https `inspect` or `passthrough`");
    return;
  }
  const bool https = lets(rule.when, Fact::scheme, "https");
  const bool blind = tls == nullptr ? https : lets(rule.when, Fact::tls, kPassthrough);
  if (sees && blind) {
    into.error(
        "P0163", tls == nullptr ? effect.at : tls->at,
        "methods and paths cannot be judged in https that is passed through, so " + what +
            " could not be enforced; add `tls: inspect`, or `scheme: http`, or say `any` without a path");
  }
  if (!asks(rule, {Fact::tls})) {
    std::vector<std::string> ways{std::string(kNone)};
    if (!sees) ways.emplace_back(kPassthrough);
    also(rule.when, Condition{WordIs{Fact::tls, std::move(ways)}});
  }
}

}  // namespace policy
