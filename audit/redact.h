#pragma once

#include <memory>
#include <string>
#include <string_view>

// The one place where secrets leave a record, before it is hashed. What is missed here is in the log for
// ever.
namespace audit {

// Finds secret shapes in text and replaces them. Immutable after construction, usable from any thread.
//
// In running text a secret becomes `{~red:<rule>:<length>:<hmac>}`; a whole value becomes
// `{"~red":{"hmac":…,"len":…,"rule":…,"type":"str"}}`. The HMAC is keyed per log: equal secrets can be
// matched to each other inside a log, none can be guessed from it.
class Redactor final {
 public:
  // `key`: the log's secret, 32 random bytes.
  explicit Redactor(std::string_view key);
  ~Redactor();
  Redactor(const Redactor&) = delete;
  Redactor& operator=(const Redactor&) = delete;

  // How many secrets were found; with none `out` is left alone, else it holds the text without them.
  int text(std::string_view in, std::string& out) const;
  // A member of this name holds a secret whatever it looks like.
  static bool secret_member(std::string_view name);
  // The word after this one is a secret (`-gp`).
  static bool secret_follows(std::string_view word);
  // Appends the object that stands for a whole secret value.
  void whole(std::string_view value, std::string_view rule, std::string& append_to) const;

  // Keyed digest of a text that stands in the log only in part, 64 hex digits.
  std::string digest(std::string_view) const;
  // The key for digests of typed text.
  const std::string& text_key() const { return text_key_; }

 private:
  struct Rules;
  std::string hmac(std::string_view secret) const;
  std::unique_ptr<const Rules> rules_;
  std::string red_key_;
  std::string text_key_;
};

}  // namespace audit
