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

#include "gateway/approval/client_channel.h"
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
  // Judgement::ask_who; `user`: root, as whom the user acts through sudo; `client`: he, or what the client
  // says that its user answered.
  std::string people;
  policy::Sha256 digest, policy;
  std::chrono::nanoseconds until{};  // since boot
  enum class State { open, allowed, denied, dismissed } state = State::open;
  // Whether it stands before the person in his client; over: it does not any more, and not again.
  enum class Dialog { none, open, over } dialog = Dialog::none;
  std::weak_ptr<ClientChannel> shown_by;  // where it can be withdrawn
  policy::PrincipalId by;
  policy::Approve::Channel channel = policy::Approve::Channel::command;
};

// Keeps what is asked until a person answers or its time is over. The same call by the same principal under
// the same policy is the same question, so that an agent that calls again finds the answer. An answer is good
// for one call. Lives on the deciding thread.
class Desk final {
 public:
  // Both outlive the desk.
  Desk(boost::asio::any_io_executor executor, const policy::Clock& clock, policy::DecisionSink& sink);

  struct Reply {
    enum class Kind {
      allowed,
      denied,
      dismissed,
      expired,
      waiting,
      cancelled,
      too_many,
      too_long
    } kind = Kind::waiting;
    std::string id;                                 // of the question
    std::optional<policy::Approval> approval = {};  // when allowed
    std::chrono::seconds left{};                    // when waiting
    Question::Dialog dialog = Question::Dialog::none;
  };
  // Waits `max_wait` at most. Where the rules ask the user in his client and there is a way to him, he is
  // asked there too; a dialog that is open stays so when the wait is over.
  boost::asio::awaitable<Reply> ask(policy::Subject asker, policy::Ask ask,
                                    std::chrono::milliseconds max_wait, std::stop_token stop,
                                    std::shared_ptr<ClientChannel> client);

  // A person's answer. `program` is the one in force; `ancestors` are the processes that started the
  // person's. It allows only from another account than the asker's, by somebody whom the rule means, and not
  // from below a client that waits. Whoever is shown a question may refuse it. What comes through the client
  // counts where the rules ask nobody else, for the asker's own questions, while they stand before him there.
  // Codes: approval.unknown, approval.answered, approval.same_user, approval.same_client, approval.not_asked,
  // approval.not_shown.
  Result<void> answer(policy::Grant<policy::Approve>, const policy::Program* program,
                      const std::vector<std::int32_t>& ancestors);

  // The client of `by` sent what is no answer: it is not asked about this again.
  void unreadable(const std::string& question, const policy::Subject& by);

  // Open questions that `who` put or may answer.
  std::vector<Question> open_for(const policy::Subject& who, const policy::Program* program);
  // Other rules decide now: what was asked under the former ones is void.
  void forget_all();
  // Ends what nobody answered in time; to be called now and then.
  void drop_expired();

 private:
  Result<void> judge(const policy::Approve&, const policy::Subject& by, const policy::Program*,
                     const std::vector<std::int32_t>& ancestors);
  Result<void> judge_in_client(const Question&, const policy::Subject& by);
  ClientChannel::Put show(Question&, const std::shared_ptr<ClientChannel>&);
  void close_dialog(Question&, Question::Dialog then);
  Result<void> note(std::string act, const Question&);

  boost::asio::any_io_executor executor_;
  const policy::Clock& clock_;
  policy::DecisionSink& sink_;
  std::map<std::string, std::shared_ptr<Question>> questions_;
};

}  // namespace gateway
