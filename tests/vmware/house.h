#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "policy/engine.h"
#include "tests/fakes/fake_sink.h"
#include "vmware/machines.h"
#include "vmware/settled.h"

namespace house {

// Allows whatever reaches it, with the limits a test gives.
class AllowAll final : public policy::Program {
 public:
  explicit AllowAll(std::vector<policy::Limit> limits = {}) : limits_(std::move(limits)) {}
  policy::Judgement judge(policy::Request&, const policy::Facts&) const override {
    policy::Judgement judgement;
    judgement.effect = policy::Effect::allow;
    judgement.code = "allow";
    judgement.rule = {"test:allow", "test", ""};
    return judgement;
  }
  bool may_be_allowed(const policy::Subject&, std::size_t) const override { return true; }
  bool is_one_of(const policy::Subject&, std::string_view) const override { return false; }
  std::span<const policy::Limit> limits() const override { return limits_; }
  policy::Sha256 digest() const override { return {}; }
  const std::string& name() const override { return name_; }

 private:
  std::vector<policy::Limit> limits_;
  std::string name_ = "allow-all";
};

// A folder that is gone with the test.
class TempFolder final {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sallyport-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string path(const std::string& below = {}) const {
    return below.empty() ? path_ : path_ + "/" + below;
  }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

 private:
  std::string path_;
};

inline std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The deciding thread of a test: the test's own.
class Thread final {
 public:
  template <class T>
  T wait(boost::asio::awaitable<T> work, std::chrono::seconds limit = std::chrono::seconds(400)) {
    auto result = std::make_shared<std::optional<T>>();
    finish(store(std::move(work), result), limit);
    return std::move(**result);
  }
  void wait(boost::asio::awaitable<void> work, std::chrono::seconds limit = std::chrono::seconds(400)) {
    finish(std::move(work), limit);
  }
  boost::asio::io_context& io() { return io_; }

 private:
  template <class T>
  static boost::asio::awaitable<void> store(boost::asio::awaitable<T> work,
                                            std::shared_ptr<std::optional<T>> into) {
    auto result = co_await std::move(work);
    into->emplace(std::move(result));
  }
  void finish(boost::asio::awaitable<void> work, std::chrono::seconds limit) {
    auto done = boost::asio::co_spawn(io_, std::move(work), boost::asio::use_future);
    const auto end = std::chrono::steady_clock::now() + limit;
    while (done.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("the test's work did not end");
      if (io_.stopped()) io_.restart();
      io_.run_one_for(std::chrono::milliseconds(200));
    }
    done.get();
  }

  boost::asio::io_context io_;
};

inline policy::Caller caller(std::string principal = "uid:1000") {
  policy::Subject who;
  who.principal = {std::move(principal)};
  return policy::Caller{who, policy::Correlation{policy::CallId::random(), "", {}}};
}

// Machines behind an engine that allows everything.
struct House {
  explicit House(policy::Clock& given, std::vector<policy::Limit> limits = {})
      : clock(given), all_limits(std::move(limits)) {}

  void open(std::unique_ptr<vmware::Machines> given) {
    machines = std::move(given);
    policy::Engine::Parts parts;
    parts.program = std::make_shared<AllowAll>(all_limits);
    parts.sink = &sink;
    parts.inventory = machines.get();
    parts.clock = &clock;
    parts.enforcers = std::move(enforcers);
    engine = std::make_unique<policy::Engine>(std::move(parts));
    machines->attach(*engine);
  }
  // The grant for an action; throws on a refusal.
  template <class A>
  policy::Grant<A> grant(A action, policy::Caller by = caller()) {
    auto pending = engine->decide(by, std::move(action));
    auto verdict = thread.wait(vmware::settled(std::move(pending)));
    if (const auto* denial = std::get_if<policy::Denial>(&verdict)) {
      throw std::runtime_error("denied: " + denial->code);
    }
    return std::move(*std::get_if<policy::Grant<A>>(&verdict));
  }

  policy::Clock& clock;
  std::vector<policy::Limit> all_limits;
  std::vector<std::unique_ptr<policy::Enforcer>> enforcers;  // moved into the engine at `open`
  fakes::FakeSink sink;
  std::unique_ptr<vmware::Machines> machines;
  std::unique_ptr<policy::Engine> engine;
  Thread thread;  // goes first, and with it the work that never ended and what it holds
};

}  // namespace house
