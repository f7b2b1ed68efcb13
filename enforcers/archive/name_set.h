#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "enforcers/archive/archive_fault.h"
#include "policy/path.h"

namespace enforcers {

enum class EntryType { file, folder, link };

// The names of one archive so far, as a tree. Finds names that stand for the same place: twice the same, a
// folder that is also a file, and, unless the rules are POSIX's, names that a host could take for one.
class NameSet final {
 public:
  // `most` bounds the entries, and the folders that are only implied, each.
  NameSet(policy::NameRules rules, std::size_t most) : rules_(rules), most_(most) {}

  // Takes a name by its components, or says why not; after a fault that is no collision the set is of no use
  // any more, after a collision it is as if the name had not been there.
  std::optional<ArchiveFault> add(const std::vector<std::string_view>& components, EntryType type);

 private:
  struct Key {
    std::uint32_t parent;
    std::string name;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::string>()(key.name) * 31 + key.parent;
    }
  };
  struct Node {
    std::uint32_t number;
    EntryType type;
    bool implied;          // known only as the parent of others
    std::string spelling;  // empty when it is the key's
  };
  Key key_of(std::uint32_t parent, std::string_view name) const;

  policy::NameRules rules_;
  std::size_t most_;
  std::size_t implied_ = 0;
  std::uint32_t last_number_ = 0;  // 0 is the root
  std::unordered_map<Key, Node, KeyHash> nodes_;
};

}  // namespace enforcers
