// What is tried out beside the policy in force, from its files to what `policy status` tells.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gateway/policy_trial.h"
#include "gateway/settings/folder.h"
#include "policy/engine.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_inventory.h"
#include "tests/fakes/fake_sink.h"

namespace gateway {
namespace {

const std::string kHead = "sallyport: policy/v1\ntier: user\nname: t\ndefault: deny\nactions:\n";

class PolicyTrialTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/sallyport-trial-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    settings_.shadow_policies = {folder_ + "/next.yaml"};
  }
  void TearDown() override { ASSERT_TRUE(remove_tree(folder_)); }

  void write(const std::string& rules) const { std::ofstream(folder_ + "/next.yaml") << kHead + rules; }
  void decide(PolicyTrial& trial, policy::Network network) {
    if (!engine_) {
      const std::vector<policy::Source> sources{
          {"p.yaml",
           kHead + "  all: { allow: create }\n  try: { deny: create, network: web, shadow: true }\n",
           {}}};
      policy::Engine::Parts parts;
      parts.program = policy::compile(sources).program;
      ASSERT_TRUE(parts.program);
      parts.sink = &sink_;
      parts.inventory = &inventory_;
      parts.clock = &clock_;
      parts.shadow = &trial.watch();
      parts.settings = settings_.facts();
      engine_.emplace(std::move(parts));
    }
    policy::Subject who;
    who.principal = {"uid:1000"};
    engine_->decide({who, {policy::CallId::random(), "", {}}}, policy::Create{network})
        .settle([](auto verdict) {
          EXPECT_TRUE(std::holds_alternative<policy::Grant<policy::Create>>(verdict));
        });
  }

  std::string folder_;
  Settings settings_;
  fakes::FakeClock clock_;
  fakes::FakeSink sink_;
  fakes::FakeInventory inventory_;
  std::optional<policy::Engine> engine_;
};

TEST_F(PolicyTrialTest, TellsWhatCameOfRulesAndOfThePolicy) {
  write("  make: { allow: create, network: none }\n");
  PolicyTrial trial(settings_, clock_, sink_);
  trial.look(PolicyBook::Effort::again);
  ASSERT_EQ(sink_.events().size(), 1U);
  EXPECT_EQ(sink_.events()[0].act, "policy.shadow_loaded");
  decide(trial, policy::Network::none);
  decide(trial, policy::Network::web);
  EXPECT_EQ(sink_.decisions()[1].decision.shadow_policy->rule.id, "default");
  clock_.advance(std::chrono::hours(25));
  const auto status = trial.status();
  EXPECT_EQ(status["since"], "2026-01-01T00:00:00.000000000Z");
  ASSERT_EQ(status["shadow"].size(), 1U);
  EXPECT_EQ(status["shadow"][0]["rule"], "try");
  EXPECT_EQ(status["shadow"][0]["evaluated"], 2);
  EXPECT_EQ(status["shadow"][0]["matched"], 1);
  EXPECT_EQ(status["shadow"][0]["changed"], 1);
  EXPECT_EQ(status["shadow"][0]["never_evaluated"], false);
  EXPECT_EQ(status["shadow_policy"]["evaluated"], 2);
  EXPECT_EQ(status["shadow_policy"]["changed"], 1);
  EXPECT_EQ(status["shadow_policy"]["name"], "t");
  EXPECT_TRUE(status["problems"].empty());
}

TEST_F(PolicyTrialTest, ABrokenFileIsToldOfAndTheLastGoodOneIsTriedOn) {
  write("  make: { alow: create }\n");
  PolicyTrial trial(settings_, clock_, sink_);
  trial.look(PolicyBook::Effort::again);
  decide(trial, policy::Network::web);
  EXPECT_EQ(trial.status().count("shadow_policy"), 0U);
  EXPECT_EQ(trial.status()["problems"].size(), 1U);
  ASSERT_EQ(sink_.events().size(), 1U);
  EXPECT_EQ(sink_.events()[0].act, "policy.shadow_rejected");

  write("  make: { deny: create }\n");
  trial.look(PolicyBook::Effort::again);
  EXPECT_EQ(sink_.events().back().act, "policy.shadow_loaded");
  EXPECT_TRUE(trial.problems().empty());
  decide(trial, policy::Network::web);
  EXPECT_EQ(trial.status()["shadow_policy"]["changed"], 1);
  std::filesystem::remove(folder_ + "/next.yaml");
  trial.look(PolicyBook::Effort::again);
  trial.look(PolicyBook::Effort::again);
  EXPECT_FALSE(trial.problems().empty());
  decide(trial, policy::Network::web);
  EXPECT_EQ(trial.status()["shadow_policy"]["changed"], 2);
  EXPECT_EQ(sink_.events().size(), 3U) << "the same mistake is told once";
}

TEST_F(PolicyTrialTest, ALowerSerialCanBeTried) {
  for (const auto* serial : {"7", "6"}) {
    std::ofstream(folder_ + "/next.yaml") << "serial: " << serial << "\n"
                                          << kHead << "  a: { allow: list }\n";
    PolicyTrial trial(settings_, clock_, sink_);
    trial.look(PolicyBook::Effort::again);
    EXPECT_TRUE(trial.problems().empty());
  }
}

TEST_F(PolicyTrialTest, WithoutASettingNothingIsTried) {
  settings_.shadow_policies.clear();
  PolicyTrial trial(settings_, clock_, sink_);
  trial.look(PolicyBook::Effort::again);
  decide(trial, policy::Network::web);
  EXPECT_FALSE(sink_.decisions()[0].decision.shadow_policy);
  EXPECT_EQ(trial.status().count("shadow_policy"), 0U);
  EXPECT_TRUE(sink_.events().empty());
}

}  // namespace
}  // namespace gateway
