#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/yaml.h"

namespace policy {

// Where a reader of YAML values puts its findings.
struct ReadInto {
  std::string_view file;
  Diagnostics* diagnostics;

  void error(std::string code, Position at, std::string message) const {
    diagnostics->error(std::move(code), file, at, std::move(message));
  }
};

// Typed access to the entries of a YAML map: for policies and for `sallyport.yaml`. Every getter reports what
// is wrong and answers nothing; one that is not required answers nothing silently when the key is absent.
// The node outlives the mapping.
class Mapping final {
 public:
  // `what` names the thing in messages: `tool rule `no-secrets``. Keys outside `known` are errors with the
  // nearest known one as a suggestion. When `node` is no map that is reported, and the mapping is empty.
  Mapping(const yaml::Node& node, std::string what, std::span<const std::string_view> known, ReadInto into);

  bool has(std::string_view key) const { return find(key) != nullptr; }
  const yaml::Entry* find(std::string_view key) const;
  // Reports a missing key at the map's own position.
  const yaml::Entry* require(std::string_view key) const;

  std::optional<std::string> text(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t min, std::int64_t max) const;
  std::optional<std::uint64_t> size(std::string_view key) const;              // `200MiB`
  std::optional<std::chrono::seconds> duration(std::string_view key) const;   // `10m`
  std::optional<std::vector<std::string>> texts(std::string_view key) const;  // one text or a list of them
  // The index of the value among `choices`.
  std::optional<std::size_t> choice(std::string_view key, std::span<const std::string_view> choices) const;

  const yaml::Node& node() const { return node_; }
  const std::string& what() const { return what_; }
  const ReadInto& into() const { return into_; }

 private:
  const yaml::Node& node_;
  std::string what_;
  ReadInto into_;
};

// Whether a section is the map of named things that it has to be; reports it otherwise. `of`: `rules, each
// under its id`.
bool is_section(const yaml::Node& section, std::string_view name, std::string_view of, const ReadInto&);

// The same for single values, with `what` naming the value in messages (`key `max``).
std::optional<std::string> read_text(const yaml::Node&, std::string_view what, const ReadInto&);
std::optional<bool> read_boolean(const yaml::Node&, std::string_view what, const ReadInto&);
std::optional<std::int64_t> read_integer(const yaml::Node&, std::int64_t min, std::int64_t max,
                                         std::string_view what, const ReadInto&);
std::optional<std::uint64_t> read_size(const yaml::Node&, std::string_view what, const ReadInto&);
std::optional<std::chrono::seconds> read_duration(const yaml::Node&, std::string_view what, const ReadInto&);
std::optional<std::chrono::sys_days> read_date(const yaml::Node&, std::string_view what, const ReadInto&);
std::optional<std::vector<std::string>> read_texts(const yaml::Node&, std::string_view what, const ReadInto&);
std::optional<std::size_t> read_choice(const yaml::Node&, std::span<const std::string_view> choices,
                                       std::string_view what, const ReadInto&);

}  // namespace policy
