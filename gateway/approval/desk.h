#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "policy/clock.h"
#include "policy/grant.h"
#include "policy/program.h"

namespace gateway {

using policy::Result;

// What a rule that asks wants to know of a person.
struct Question {
  std::string id;  // `ask-` and 32 hex digits
  policy::Subject asker;
  std::vector<std::int32_t> clients;  // processes that started those who wait; 0 or 1: not known
  std::string action;
  policy::Json what;
  policy::RuleRef rule;
  std::string reason;
  std::string people;  // Judgement::ask_who; `user`: root, as whom the user acts through sudo
  policy::Sha256 digest, policy;
  std::chrono::nanoseconds until{};  // since boot
  enum class State { open, allowed, denied } state = State::open;
  policy::PrincipalId by;
};

// Keeps what is asked until a person answers or its time is over. The same call by the same principal under
// the same policy is the same question, so that an agent that calls again finds the answer. An answer is good
// for one call. Lives on the deciding thread.
class Desk final {
 public:
  // `clock` outlives the desk.
  Desk(boost::asio::any_io_executor executor, const policy::Clock& clock);

  struct Reply {
    enum class Kind { allowed, denied, expired, waiting, cancelled, too_many, too_long } kind = Kind::waiting;
    std::string id;                                 // of the question
    std::optional<policy::Approval> approval = {};  // when allowed
    std::chrono::seconds left{};                    // when waiting
  };
  // Waits `max_wait` at most.
  boost::asio::awaitable<Reply> ask(policy::Subject asker, policy::Ask ask,
                                    std::chrono::milliseconds max_wait, std::stop_token stop);

  // A person's answer. `program` is the one in force; `ancestors` are the processes that started the
  // person's. It allows only from another account than the asker's, by somebody whom the rule means, and not
  // from below a client that waits. Whoever is shown a question may refuse it. Codes: approval.unknown,
  // approval.answered, approval.same_user, approval.same_client, approval.not_asked.
  Result<void> answer(policy::Grant<policy::Approve>, const policy::Program* program,
                      const std::vector<std::int32_t>& ancestors);

  // Open questions that `who` put or may answer.
  std::vector<Question> open_for(const policy::Subject& who, const policy::Program* program);
  // Other rules decide now: what was asked under the former ones is void.
  void forget_all();

 private:
  Result<void> judge(const policy::Approve&, const policy::Subject& by, const policy::Program*,
                     const std::vector<std::int32_t>& ancestors);
  void drop_expired();

  boost::asio::any_io_executor executor_;
  const policy::Clock& clock_;
  std::map<std::string, std::shared_ptr<Question>> questions_;
};

}  // namespace gateway
