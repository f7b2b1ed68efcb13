#pragma once

#include <string>
#include <string_view>

#include "policy/result.h"

namespace standin {

using policy::Result;

// Who may log in to a guest: `USER:pbkdf2-sha256:ROUNDS:SALT:KEY` in one line, salt and key in hex. The
// password itself is not kept.
class Credential final {
 public:
  static Result<Credential> parse(std::string_view line);
  // A fresh salt each time.
  static Result<Credential> make(std::string_view user, std::string_view password);

  std::string write() const;
  const std::string& user() const { return user_; }
  // Takes the same time whichever of user and password is wrong, and wherever they differ.
  bool admits(std::string_view user, std::string_view password) const;

 private:
  Credential(std::string user, unsigned rounds, std::string salt, std::string key);
  std::string user_;
  unsigned rounds_;
  std::string salt_, key_;  // bytes
};

// What useradd(8) allows, and so what is safe as a word for runuser(1).
bool is_user_name(std::string_view name);

}  // namespace standin
