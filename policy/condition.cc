#include "policy/condition.h"

#include <algorithm>

namespace policy {
namespace {

template <class T, class Value>
bool holds(const std::vector<T>& values, const Value& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool like_one(const std::vector<std::string>& patterns, std::string_view text) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return text_matches(pattern, text); });
}

bool token_is(const NamedSubject& is, const Token& token) {
  const auto& audience = token.audience;
  return (is.issuers.empty() || holds(is.issuers, token.issuer)) &&
         (is.token_subjects.empty() || like_one(is.token_subjects, token.subject)) &&
         (is.audiences.empty() || std::any_of(audience.begin(), audience.end(), [&](const std::string& one) {
            return like_one(is.audiences, one);
          }));
}

Tri tri(bool answer) { return answer ? Tri::yes : Tri::no; }

struct Evaluator {
  const Question& question;
  Tri later;
  Gaps& gaps;

  Tri operator()(const AllOf& all) const {
    Tri answer = Tri::yes;
    for (const auto& part : all.parts) {
      answer = std::min(answer, evaluate(part, question, later, gaps));
      if (answer == Tri::no) break;
    }
    return answer;
  }
  Tri operator()(const AnyOf& any) const {
    Tri answer = Tri::no;
    for (const auto& part : any.parts) {
      answer = std::max(answer, evaluate(part, question, later, gaps));
      if (answer == Tri::yes) break;
    }
    return answer;
  }
  Tri operator()(const NotThis& negation) const {
    return opposite(evaluate(negation.part.front(), question, opposite(later), gaps));
  }
  Tri operator()(const SubjectIs& named) const {
    const auto& is = *named.subject;
    const auto& who = question.request.who;
    Tri answer = tri(is.transports.empty() || holds(is.transports, who.transport));
    const auto also = [&](bool asked, bool known, auto matches, std::string_view name) {
      if (!asked || answer == Tri::no) return;
      if (!known) gaps.named.push_back(name);
      answer = std::min(answer, known ? tri(matches()) : Tri::unknown);
    };
    also(
        !is.os_users.empty(), !who.os_user.empty(), [&] { return holds(is.os_users, who.os_user); },
        "subject.os_user");
    also(!is.uids.empty(), who.uid.has_value(), [&] { return holds(is.uids, *who.uid); }, "subject.uid");
    also(
        !is.clients.empty(), !who.client_name.empty(), [&] { return holds(is.clients, who.client_name); },
        "subject.client");
    // Whom the kernel vouches for has no token, and that is known.
    const bool of_token = !is.issuers.empty() || !is.token_subjects.empty() || !is.audiences.empty();
    const bool known = who.token.has_value() || who.transport != Transport::http;
    also(of_token, known, [&] { return who.token && token_is(is, *who.token); }, "subject.token");
    return answer;
  }
  Tri operator()(const SettingIs& is) const {
    const auto at = question.settings.find(is.name());
    const bool known = at != question.settings.end() &&
                       (is.values.empty() ? std::holds_alternative<std::int64_t>(at->second)
                                          : at->second.index() == is.values.front().index());
    if (!known) {
      gaps.named.push_back(is.fact);
      return Tri::unknown;
    }
    if (!is.values.empty()) return tri(holds(is.values, at->second));
    return tri(is.range.has(std::get<std::int64_t>(at->second)));
  }
  Tri operator()(const WordIs& is) const {
    return ask<std::string_view>(is.fact, [&](std::string_view word) { return takes(is, word); });
  }
  Tri operator()(const TextLike& like) const {
    return ask<std::string_view>(like.fact, [&](std::string_view text) { return takes(like, text); });
  }
  Tri operator()(const NumberIs& is) const {
    return ask<std::int64_t>(is.fact, [&](std::int64_t number) { return takes(is, number); });
  }
  Tri operator()(const PathLike& like) const {
    const auto value = value_of(like.fact, question);
    const auto* names = names_of(value);
    return names != nullptr ? tri(takes(like, *names)) : missing(like.fact, value);
  }
  Tri operator()(const AddressIn& in) const {
    using Addresses = std::vector<Address>;
    return ask<const Addresses*>(in.fact, [&](const Addresses* addresses) { return takes(in, *addresses); });
  }
  Tri operator()(const TextMatches& texts) const {
    const auto value = value_of(texts.fact, question);
    const auto* text = std::get_if<std::string_view>(&value);
    if (text == nullptr) return missing(texts.fact, value);
    Tri answer = Tri::no;
    for (const auto& pattern : texts.patterns) answer = std::max(answer, pattern.found_in(*text));
    if (answer == Tri::unknown) gaps.facts.set(static_cast<std::size_t>(texts.fact));
    return answer;
  }
  Tri operator()(const LabelsHave& have) const {
    return ask<const Labels*>(Fact::sandbox_labels, [&](const Labels* labels) {
      const auto has = [&](const std::string& label) {
        const auto at = labels->find(label);
        return at != labels->end() && (!have.seen_from || at->second <= *have.seen_from);
      };
      return have.how == LabelsHave::How::all ? std::all_of(have.labels.begin(), have.labels.end(), has)
                                              : std::any_of(have.labels.begin(), have.labels.end(), has);
    });
  }

  // A value that is missing or of another kind than the matcher's is unknown.
  template <class Kind, class Matches>
  Tri ask(Fact fact, Matches matches) const {
    const auto value = value_of(fact, question);
    if (const auto* known = std::get_if<Kind>(&value)) return tri(matches(*known));
    return missing(fact, value);
  }
  Tri missing(Fact fact, const Value& value) const {
    if (std::holds_alternative<Later>(value)) {
      gaps.later = true;
      return later;
    }
    gaps.facts.set(static_cast<std::size_t>(fact));
    return Tri::unknown;
  }
};

struct Namer {
  std::string_view operator()(const AllOf&) const { return "all"; }
  std::string_view operator()(const AnyOf& any) const {
    if (any.parts.empty()) return "any";
    const auto name = std::visit(*this, any.parts.front().is);
    const bool same = std::all_of(any.parts.begin(), any.parts.end(),
                                  [&](const Condition& part) { return std::visit(*this, part.is) == name; });
    return same ? name : "any";
  }
  std::string_view operator()(const NotThis& negation) const {
    return std::visit(*this, negation.part.front().is);
  }
  std::string_view operator()(const SubjectIs&) const { return "for"; }
  std::string_view operator()(const SettingIs& is) const { return is.fact; }
  std::string_view operator()(const LabelsHave&) const { return info_of(Fact::sandbox_labels).name; }
  template <class Leaf>
  std::string_view operator()(const Leaf& leaf) const {
    return info_of(leaf.fact).name;
  }
};

}  // namespace

bool takes(const WordIs& is, std::string_view word) { return holds(is.words, word); }

bool takes(const TextLike& like, std::string_view text) { return like_one(like.patterns, text); }

bool takes(const NumberIs& is, std::int64_t number) {
  return std::any_of(is.ranges.begin(), is.ranges.end(),
                     [&](const Range& range) { return range.has(number); });
}

bool takes(const PathLike& like, std::span<const std::string> names) {
  return std::any_of(like.patterns.begin(), like.patterns.end(),
                     [&](const PathPattern& pattern) { return pattern.matches(names, like.dotfiles); });
}

bool takes(const AddressIn& in, std::span<const Address> addresses) {
  const auto holds = [&](const Address& address) {
    return std::any_of(in.blocks.begin(), in.blocks.end(),
                       [&](const Cidr& block) { return block.contains(address); });
  };
  // What is reached through an address with an IPv4 address inside is the latter.
  if (in.how == AddressIn::How::every) {
    return std::all_of(addresses.begin(), addresses.end(), [&](const Address& address) {
      return holds(address.embedded_v4().value_or(address));
    });
  }
  return std::any_of(addresses.begin(), addresses.end(), [&](const Address& address) {
    const auto inner = address.embedded_v4();
    return holds(address) || (inner && holds(*inner));
  });
}

Tri evaluate(const Condition& condition, const Question& question, Tri later, Gaps& gaps) {
  return std::visit(Evaluator{question, later, gaps}, condition.is);
}

void unmet(const Condition& condition, const Question& question, Tri later,
           std::vector<std::string_view>& names) {
  if (const auto* all = std::get_if<AllOf>(&condition.is)) {
    for (const auto& part : all->parts) unmet(part, question, later, names);
    return;
  }
  Gaps gaps;
  if (evaluate(condition, question, later, gaps) == Tri::yes) return;
  const auto name = std::visit(Namer{}, condition.is);
  if (!holds(names, name)) names.push_back(name);
}

}  // namespace policy
