#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "policy/random.h"
#include "policy/result.h"

namespace policy {

// A handle we hand out: `<prefix>-` and 32 lower-case hex digits (128 random bits). Two kinds of id never
// mix, and a value that was parsed is safe as a file name and as a word on a command line.
template <class Tag>
class Id {
 public:
  static Result<Id> parse(std::string_view text) {
    constexpr std::string_view prefix = Tag::prefix;
    if (text.size() != prefix.size() + 33 || !text.starts_with(prefix) || text[prefix.size()] != '-') {
      return malformed();
    }
    for (const char c : text.substr(prefix.size() + 1)) {
      if ((c < '0' || c > '9') && (c < 'a' || c > 'f')) return malformed();
    }
    return Id(std::string(text));
  }
  // A fresh id from the system's random source; aborts when there is none.
  static Id random();

  const std::string& text() const { return text_; }
  // The 32 hex digits alone.
  std::string_view hex() const { return std::string_view(text_).substr(text_.size() - 32); }
  auto operator<=>(const Id&) const = default;

 private:
  explicit Id(std::string text) : text_(std::move(text)) {}
  static tl::unexpected<Error> malformed() {
    return fail(std::string(Tag::prefix) + ".unknown", "not a " + std::string(Tag::noun) +
                                                           " id; it looks like `" + std::string(Tag::prefix) +
                                                           "-` and 32 hex digits");
  }
  std::string text_;
};

struct SandboxTag {
  static constexpr std::string_view prefix = "sbx", noun = "sandbox";
};
struct JobTag {
  static constexpr std::string_view prefix = "job", noun = "job";
};
struct SessionTag {
  static constexpr std::string_view prefix = "ses", noun = "session";
};
struct CallTag {
  static constexpr std::string_view prefix = "call", noun = "call";
};

using SandboxId = Id<SandboxTag>;
using JobId = Id<JobTag>;
using SessionId = Id<SessionTag>;
// One incoming call; everything it causes carries the same one.
using CallId = Id<CallTag>;

// Who a sandbox, a job or a record belongs to: `uid:1000`, later `token:…`, `oauth:…`; `system` is ourselves.
struct PrincipalId {
  std::string text;
  auto operator<=>(const PrincipalId&) const = default;
};

template <class Tag>
Id<Tag> Id<Tag>::random() {
  return Id(std::string(Tag::prefix) + "-" + random_hex32());
}

}  // namespace policy

template <class Tag>
struct std::hash<policy::Id<Tag>> {
  std::size_t operator()(const policy::Id<Tag>& id) const noexcept {
    return std::hash<std::string>()(id.text());
  }
};
