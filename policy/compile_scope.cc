#include "policy/compile_scope.h"
#include "policy/wording.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "policy/program.h"

namespace policy {
namespace {

template <class Map>
std::vector<std::string_view> names_of(const Map& map) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : map) names.push_back(name);
  return names;
}

// The values of a list that may not be empty.
std::optional<std::vector<std::string>> filled(const Mapping& mapping, std::string_view key) {
  const auto* entry = mapping.find(key);
  if (entry == nullptr) return std::nullopt;
  auto texts = mapping.texts(key);
  if (texts && texts->empty()) {
    mapping.into().error(
        "P0121", entry->value.at,
        "`" + std::string(key) + "` in " + mapping.what() + " is empty and would match nothing");
    return std::nullopt;
  }
  return texts;
}

// The same, of which none is empty: that would mean what is not known.
std::optional<std::vector<std::string>> named(const Mapping& mapping, std::string_view key) {
  auto texts = filled(mapping, key);
  if (texts && std::find(texts->begin(), texts->end(), "") != texts->end()) {
    mapping.into().error("P0121", mapping.find(key)->value.at,
                         quoted(key) + " in " + mapping.what() + " names nobody where it is empty");
  }
  return texts;
}

// A token without its issuer could be anybody's.
void compile_token(const yaml::Node& node, const std::string& of, const ReadInto& into,
                   NamedSubject& subject) {
  static constexpr std::array<std::string_view, 3> kKeys{"issuer", "subject", "audience"};
  const Mapping mapping(node, "`token` of " + of, kKeys, into);
  if (node.kind != yaml::Node::Kind::map) return;
  (void)mapping.require("issuer");
  subject.issuers = named(mapping, "issuer").value_or(std::vector<std::string>{});
  subject.token_subjects = named(mapping, "subject").value_or(std::vector<std::string>{});
  subject.audiences = named(mapping, "audience").value_or(std::vector<std::string>{});
}

NamedSubject compile_subject(const std::string& name, const yaml::Node& node, const ReadInto& into) {
  static constexpr std::array<std::string_view, 5> kKeys{"transport", "os_user", "uid", "token", "client"};
  static constexpr std::array<std::string_view, 3> kTransports{"stdio", "http", "cli"};
  const Mapping mapping(node, "subject `" + name + "`", kKeys, into);
  NamedSubject subject;
  subject.name = name;
  if (node.kind == yaml::Node::Kind::map && node.entries.empty()) {
    into.error("P0121", node.at, "subject `" + name + "` says nothing of who it is");
  }
  for (const auto& text : filled(mapping, "transport").value_or(std::vector<std::string>{})) {
    if (const auto transport = transport_from(text)) {
      subject.transports.push_back(*transport);
    } else {
      into.error(
          "S0108", mapping.find("transport")->value.at,
          "`transport` is one of stdio, http, cli, not `" + text + "`" + suggestion(text, kTransports));
    }
  }
  subject.os_users = named(mapping, "os_user").value_or(std::vector<std::string>{});
  subject.clients = named(mapping, "client").value_or(std::vector<std::string>{});
  if (const auto* token = mapping.find("token")) compile_token(token->value, mapping.what(), into, subject);
  if (const auto* uid = mapping.find("uid")) {
    const auto one = [&](const yaml::Node& value) {
      const auto number = read_integer(value, 0, std::numeric_limits<std::uint32_t>::max(), "`uid`", into);
      if (number) subject.uids.push_back(static_cast<std::uint32_t>(*number));
    };
    if (uid->value.kind == yaml::Node::Kind::list) {
      for (const auto& item : uid->value.items) one(item);
      if (uid->value.items.empty())
        into.error("P0121", uid->value.at, "`uid` is empty and would match nobody");
    } else {
      one(uid->value);
    }
  }
  return subject;
}

bool only_self_declared(const NamedSubject& subject) {
  return !subject.clients.empty() && subject.os_users.empty() && subject.uids.empty() &&
         subject.issuers.empty();
}

constexpr std::array<std::string_view, 5> kSetKinds{"paths", "words", "hosts", "cidrs", "re2"};

void compile_sets(const yaml::Node& section, const ReadInto& into, Scope& scope) {
  if (!is_section(section, "sets", "names", into)) return;
  for (const auto& entry : section.entries) {
    const Mapping mapping(entry.value, "set `" + entry.key + "`", kSetKinds, into);
    const auto kinds = std::count_if(kSetKinds.begin(), kSetKinds.end(),
                                     [&](std::string_view kind) { return mapping.has(kind); });
    if (kinds != 1) {
      if (entry.value.kind == yaml::Node::Kind::map) {
        into.error(
            "P0120", entry.at,
            "set `" + entry.key + "` needs exactly one of " + joined({kSetKinds.begin(), kSetKinds.end()}));
      }
      continue;
    }
    const auto kind = std::find_if(kSetKinds.begin(), kSetKinds.end(),
                                   [&](std::string_view name) { return mapping.has(name); });
    NamedSet set;
    set.where = place(into.file, entry.at);
    set.kind = static_cast<NamedSet::Kind>(kind - kSetKinds.begin());
    set.values = filled(mapping, *kind).value_or(std::vector<std::string>{});
    for (const auto& value : set.values) {
      if (value.starts_with('$')) {
        into.error("P0126", entry.value.at,
                   "set `" + entry.key + "` may not name another set (`" + value + "`)");
      }
    }
    const auto known = scope.sets.find(entry.key);
    if (known != scope.sets.end()) {
      into.error("P0105", entry.at, "set `" + entry.key + "` stands at " + known->second.where + " already");
      continue;
    }
    scope.sets.emplace(entry.key, std::move(set));
  }
}

// What `who`, `as` and `owner` say without any subject.
constexpr std::array<std::string_view, 4> kTaken{"user", "client", "system", "self"};

void compile_subjects(const yaml::Node& section, const ReadInto& into, Scope& scope) {
  if (!is_section(section, "subjects", "names", into)) return;
  for (const auto& entry : section.entries) {
    if (std::find(kTaken.begin(), kTaken.end(), entry.key) != kTaken.end()) {
      into.error(
          "P0116", entry.at,
          quoted(entry.key) +
              " means something already where rules and tests name people; call the subject otherwise");
    }
    auto subject = compile_subject(entry.key, entry.value, into);
    const auto known = scope.subject_places.find(entry.key);
    if (known != scope.subject_places.end()) {
      into.error("P0105", entry.at, "subject `" + entry.key + "` stands at " + known->second + " already");
      continue;
    }
    scope.subject_places.emplace(entry.key, place(into.file, entry.at));
    scope.subjects.emplace(entry.key, SubjectIs{std::make_shared<const NamedSubject>(std::move(subject))});
  }
}

}  // namespace

std::span<const std::string_view> set_kinds() { return kSetKinds; }

std::string_view spelling(NamedSet::Kind kind) { return kSetKinds[static_cast<std::size_t>(kind)]; }

std::optional<Transport> transport_from(std::string_view text) {
  for (const auto transport : {Transport::stdio, Transport::http, Transport::cli}) {
    if (spelling(transport) == text) return transport;
  }
  return std::nullopt;
}

void compile_names(const yaml::Node& file, const ReadInto& into, Scope& scope) {
  if (const auto* section = file.find("sets")) compile_sets(section->value, into, scope);
  if (const auto* section = file.find("subjects")) compile_subjects(section->value, into, scope);
}

const NamedSet* find_set(std::string_view reference, NamedSet::Kind kind, const Scope& scope, Position at,
                         const ReadInto& into) {
  const auto name = reference.substr(1);
  const auto found = scope.sets.find(name);
  if (found == scope.sets.end()) {
    into.error("P0111", at,
               "there is no set `" + std::string(name) + "`" + suggestion(name, names_of(scope.sets)));
    return nullptr;
  }
  if (found->second.kind != kind) {
    into.error("P0115", at,
               "set `" + std::string(name) + "` holds " + std::string(spelling(found->second.kind)) +
                   ", and " + std::string(spelling(kind)) + " are asked for here");
    return nullptr;
  }
  if (scope.used != nullptr) scope.used->sets.insert(found->first);
  return &found->second;
}

bool check_label(std::string_view label, Position at, const ReadInto& into) {
  constexpr std::size_t kLongest = 64;
  const bool good =
      !label.empty() && label.size() <= kLongest && std::all_of(label.begin(), label.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
               c == '_' || c == '.';
      });
  if (!good) {
    into.error(
        "P0126", at,
        "a label is a word of letters, digits, `-`, `_` and `.`, 64 bytes at most, not " + quoted(label));
  }
  return good;
}

void note_subject(const Scope& scope, std::string_view name) {
  if (scope.used != nullptr) scope.used->subjects.emplace(name);
}

std::string people_named(Tier tier, std::string_view subject) {
  return std::string(spelling(tier)) + ":" + std::string(subject);
}

std::string compile_people(const yaml::Entry* entry, const Scope& scope, const ReadInto& into) {
  if (entry == nullptr) return std::string(kPeopleUser);
  const auto name = read_text(entry->value, "`who`", into);
  if (!name || *name == kPeopleUser) return std::string(kPeopleUser);
  if (*name == kPeopleInClient) return std::string(kPeopleInClient);
  note_subject(scope, *name);
  const auto found = scope.subjects.find(*name);
  if (found == scope.subjects.end()) {
    auto names = names_of(scope.subjects);
    names.push_back(kPeopleUser);
    names.push_back(kPeopleInClient);
    const auto near = suggestion(*name, names);
    const auto message = "`who` is `user`, `client` or a subject, and there is no subject `" + *name + "`";
    if (near.empty()) {
      // Nothing is made possible by it, so a policy can be laid out before its people are known.
      into.diagnostics->warning("P0390", into.file, entry->value.at,
                                message + "; until it is described nobody can approve this");
    } else {
      into.error("P0112", entry->value.at, message + near);
    }
  } else if (only_self_declared(*found->second.subject)) {
    into.error("P0125", entry->value.at,
               "subject `" + *name +
                   "` rests on the name a client gives itself, which cannot approve anything; add `os_user`, "
                   "`uid` or `token`");
  }
  return people_named(scope.tier, *name);
}

std::optional<Condition> compile_subjects_named(const yaml::Node& node, const Scope& scope, SelfDeclared rule,
                                                const ReadInto& into) {
  const auto names = read_texts(node, "`for`", into);
  if (!names) return std::nullopt;
  if (names->empty()) {
    into.error("P0121", node.at, "`for` is empty and would match nobody");
    return std::nullopt;
  }
  AnyOf any;
  for (const auto& name : *names) {
    const auto found = scope.subjects.find(name);
    if (found == scope.subjects.end()) {
      into.error("P0112", node.at,
                 "there is no subject `" + name + "`" + suggestion(name, names_of(scope.subjects)));
      continue;
    }
    note_subject(scope, name);
    const auto& subject = found->second;
    if (rule == SelfDeclared::refused && only_self_declared(*subject.subject)) {
      into.error("P0125", node.at,
                 "subject `" + name +
                     "` rests on the name a client gives itself, which cannot allow anything; add `os_user`, "
                     "`uid` or `token`");
    }
    any.parts.push_back(Condition{subject});
  }
  if (any.parts.empty()) return std::nullopt;
  return Condition{std::move(any)};
}

}  // namespace policy
