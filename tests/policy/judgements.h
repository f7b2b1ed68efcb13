#pragma once

#include <gtest/gtest.h>

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "policy/program.h"

// Judgements for tests: that two are the same, and a policy that gives none.
namespace policy {

// Everything that decides and is told; what is only tried out is left aside.
inline void expect_same(const Judgement& a, const Judgement& b) {
  ASSERT_EQ(a.effect, b.effect) << a.reason << " / " << b.reason;
  ASSERT_EQ(a.code, b.code);
  ASSERT_EQ(a.rule, b.rule);
  ASSERT_EQ(a.matched, b.matched);
  ASSERT_EQ(a.unknown, b.unknown);
  ASSERT_EQ(a.reason, b.reason);
  ASSERT_EQ(a.hint, b.hint);
  ASSERT_EQ(a.ask_who, b.ask_who);
  ASSERT_EQ(a.ask_within, b.ask_within);
}

class BrokenProgram final : public Program {
 public:
  Judgement judge(Request&, const Facts&) const override { throw std::runtime_error("broken"); }
  bool may_be_allowed(const Subject&, std::size_t) const override { throw std::runtime_error("broken"); }
  bool is_one_of(const Subject&, std::string_view) const override { return false; }
  std::span<const Limit> limits() const override { return {}; }
  Sha256 digest() const override { return {}; }
  const std::string& name() const override { return name_; }

 private:
  std::string name_ = "broken";
};

}  // namespace policy
