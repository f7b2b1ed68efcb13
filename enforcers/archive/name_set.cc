#include "enforcers/archive/name_set.h"

#include "enforcers/archive/name_fold.h"

namespace enforcers {

NameSet::Key NameSet::key_of(std::uint32_t parent, std::string_view name) const {
  return {parent, rules_ == policy::NameRules::posix ? std::string(name) : fold_name(name)};
}

std::optional<ArchiveFault> NameSet::add(const std::vector<std::string_view>& components, EntryType type) {
  // Looks first and adds afterwards, so that a collision leaves nothing behind.
  std::uint32_t parent = 0;
  std::size_t known = 0;
  while (known < components.size()) {
    const std::string_view name = components[known];
    const bool last = known + 1 == components.size();
    const auto at = nodes_.find(key_of(parent, name));
    if (at == nodes_.end()) break;
    Node& node = at->second;
    const std::string_view spelling = node.spelling.empty() ? at->first.name : node.spelling;
    if (spelling != name) {
      return decompose_name(spelling) == decompose_name(name) ? ArchiveFault::unicode_collision
                                                              : ArchiveFault::case_collision;
    }
    if (!last && node.type != EntryType::folder) return ArchiveFault::type_conflict;
    if (last) {
      if (node.type != type) {
        return node.type == EntryType::folder || type == EntryType::folder ? ArchiveFault::type_conflict
                                                                           : ArchiveFault::duplicate;
      }
      if (!node.implied) return ArchiveFault::duplicate;
      node.implied = false;
    }
    parent = node.number;
    ++known;
  }
  for (; known < components.size(); ++known) {
    const bool last = known + 1 == components.size();
    if (!last && ++implied_ > most_) return ArchiveFault::too_many_entries;
    Key key = key_of(parent, components[known]);
    Node node{++last_number_, last ? type : EntryType::folder, !last, {}};
    if (key.name != components[known]) node.spelling = components[known];
    parent = node.number;
    nodes_.emplace(std::move(key), std::move(node));
  }
  return std::nullopt;
}

}  // namespace enforcers
