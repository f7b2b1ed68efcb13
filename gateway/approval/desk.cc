#include "gateway/approval/desk.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "gateway/approval/ancestry.h"
#include "gateway/approval/dialog.h"

namespace gateway {
namespace asio = boost::asio;
namespace {

constexpr std::size_t kMaxOpen = 16;          // of one principal
constexpr std::size_t kMaxShown = 16 * 1024;  // bytes of one question
constexpr std::chrono::milliseconds kLook{100};

// Whether `by` is all of the people, or any of them.
enum class Need { all, any };
bool counts(std::string_view people, const policy::Subject& by, const policy::Program* program, Need need) {
  while (true) {
    const auto one = people.substr(0, people.find('+'));
    const bool user = one == policy::kPeopleUser || one == policy::kPeopleInClient;
    const bool is = user ? by.uid == 0U : program != nullptr && program->is_one_of(by, one);
    if (is == (need == Need::any)) return is;
    if (one.size() == people.size()) return is;
    people.remove_prefix(one.size() + 1);
  }
}

bool concerns(const Question& question, const policy::Subject& who, const policy::Program* program) {
  return question.asker.principal == who.principal || who.uid == 0U ||
         counts(question.people, who, program, Need::any);
}

}  // namespace

Desk::Desk(asio::any_io_executor executor, const policy::Clock& clock, policy::DecisionSink& sink)
    : executor_(std::move(executor)), clock_(clock), sink_(sink) {}

Result<void> Desk::note(std::string act, const Question& question) {
  policy::Event event{.act = std::move(act), .level = "notice", .who = question.asker};
  event.object["question"] = question.id;
  event.object["action"] = question.action;
  event.object["rule"] = question.rule.id;
  event.object["asks"] = question.people;
  auto noted = sink_.note(event);
  if (!noted) return tl::unexpected(noted.error());
  return {};
}

void Desk::close_dialog(Question& question, Question::Dialog then) {
  if (question.dialog == Question::Dialog::open) {
    if (const auto client = question.shown_by.lock()) client->withdraw(question.id);
  }
  question.shown_by.reset();
  question.dialog = then;
}

void Desk::drop_expired() {
  const auto now = clock_.since_boot();
  std::erase_if(questions_, [&](const auto& entry) {
    auto& question = *entry.second;
    if (now < question.until) return false;
    close_dialog(question, Question::Dialog::over);
    if (question.state == Question::State::open) (void)note("approval.expired", question);
    return true;
  });
}

ClientChannel::Put Desk::show(Question& question, const std::shared_ptr<ClientChannel>& client) {
  using Put = ClientChannel::Put;
  if (!client || question.people != policy::kPeopleInClient || question.dialog == Question::Dialog::over)
    return Put::failed;
  if (!question.shown_by.expired()) return Put::asked;
  const auto left = std::chrono::duration_cast<std::chrono::seconds>(question.until - clock_.since_boot());
  const auto text = dialog_text(question, left);
  // Nobody is shown what the log does not know of.
  const auto put = text && note("approval.shown", question) ? client->put(question.id, *text) : Put::failed;
  question.dialog = put == Put::failed ? Question::Dialog::over : Question::Dialog::open;
  if (put == Put::asked) question.shown_by = client;
  return put;
}

asio::awaitable<Desk::Reply> Desk::ask(policy::Subject asker, policy::Ask ask,
                                       std::chrono::milliseconds max_wait, std::stop_token stop,
                                       std::shared_ptr<ClientChannel> client) {
  using Kind = Reply::Kind;
  drop_expired();
  std::shared_ptr<Question> question;
  std::size_t open = 0;
  for (const auto& [id, known] : questions_) {
    if (known->asker.principal != asker.principal) continue;
    open += known->state == Question::State::open ? 1 : 0;
    const bool same = known->digest == ask.action && known->policy == ask.policy;
    // Of another client of this principal, rules may ask other people about the same.
    if (same && known->people == ask.who) question = known;
  }
  if (!question) {
    if (open >= kMaxOpen) co_return Reply{Kind::too_many, {}};
    // What nobody reads to its end must not be agreed to.
    if (policy::canonical(ask.what).size() > kMaxShown) co_return Reply{Kind::too_long, {}};
    question = std::make_shared<Question>();
    question->id = "ask-" + policy::random_hex32();
    question->asker = asker;
    question->action = ask.action_name;
    question->what = std::move(ask.what);
    question->rule = ask.rule;
    question->reason = ask.reason;
    question->people = ask.who;
    question->digest = ask.action;
    question->policy = ask.policy;
    question->until = clock_.since_boot() + ask.within;
    questions_.emplace(question->id, question);
  }
  const auto process = asker.pid ? parent_of(*asker.pid) : 0;
  if (std::find(question->clients.begin(), question->clients.end(), process) == question->clients.end()) {
    question->clients.push_back(process);
  }
  auto give_up = clock_.since_boot() + max_wait;
  asio::steady_timer pause(executor_);
  while (question->state == Question::State::open) {
    const auto now = clock_.since_boot();
    if (stop.stop_requested()) {
      // Another call that waits for it puts it again.
      if (client && question->shown_by.lock() == client) close_dialog(*question, Question::Dialog::none);
      co_return Reply{Kind::cancelled, question->id};
    }
    drop_expired();
    if (!questions_.contains(question->id)) co_return Reply{Kind::expired, question->id};
    if (show(*question, client) == ClientChannel::Put::ends_call) give_up = now;
    if (now >= give_up) {
      co_return Reply{Kind::waiting,
                      question->id,
                      {},
                      std::chrono::duration_cast<std::chrono::seconds>(question->until - now),
                      question->dialog};
    }
    pause.expires_after(kLook);
    co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  if (question->state == Question::State::denied) co_return Reply{Kind::denied, question->id};
  if (question->state == Question::State::dismissed) co_return Reply{Kind::dismissed, question->id};
  // Whoever collects it first has it; another call that waited asks anew.
  if (questions_.erase(question->id) == 0) co_return Reply{Kind::expired, question->id};
  co_return Reply{
      Kind::allowed, question->id,
      policy::Approval{question->id, question->digest, question->policy, question->asker.principal,
                       question->until, question->by, question->channel}};
}

Result<void> Desk::judge(const policy::Approve& answer, const policy::Subject& by,
                         const policy::Program* program, const std::vector<std::int32_t>& ancestors) {
  drop_expired();
  const auto at = questions_.find(answer.question);
  if (at == questions_.end()) {
    return policy::fail("approval.unknown",
                        "no such question is open; `sallyport approve list` shows those that are");
  }
  auto& question = *at->second;
  if (question.state != Question::State::open)
    return policy::fail("approval.answered", "this question has its answer already");
  if (answer.channel == policy::Approve::Channel::client) return judge_in_client(question, by);
  // A refusal opens nothing.
  const bool own = by.principal == question.asker.principal;
  if (answer.answer == policy::Approve::Answer::deny && concerns(question, by, program)) return {};
  if (own || by.uid == question.asker.uid) {
    return policy::fail(
        "approval.same_user",
        "an approval counts from another account than the one the client runs as; a person who may "
        "become root says `sudo sallyport approve allow " +
            question.id + "`");
  }
  for (const auto client : question.clients) {
    const bool below = std::find(ancestors.begin(), ancestors.end(), client) != ancestors.end();
    if (!below && client > 1) continue;
    return policy::fail("approval.same_client",
                        client > 1
                            ? "this command was started from below the client that asks; use a terminal of "
                              "your own"
                            : "it cannot be found out which client asks, so it could be this one; refuse it, "
                              "and let the client ask again");
  }
  if (!counts(question.people, by, program, Need::all)) {
    return policy::fail("approval.not_asked",
                        "rule `" + question.rule.id + "` asks `" + question.people +
                            "` (`user`: whoever may become root), and you are not that");
  }
  return {};
}

Result<void> Desk::judge_in_client(const Question& question, const policy::Subject& by) {
  if (by.principal != question.asker.principal) {
    return policy::fail("approval.unknown", "no such question of this client is open");
  }
  if (question.people != policy::kPeopleInClient) {
    return policy::fail("approval.not_asked", "rule `" + question.rule.id + "` asks `" + question.people +
                                                  "`, and nobody in the client");
  }
  if (question.dialog != Question::Dialog::open) {
    return policy::fail("approval.not_shown", "this question does not stand before anybody in the client");
  }
  return {};
}

void Desk::unreadable(const std::string& question, const policy::Subject& by) {
  drop_expired();
  const auto at = questions_.find(question);
  if (at == questions_.end() || at->second->state != Question::State::open) return;
  if (!judge_in_client(*at->second, by)) return;
  at->second->shown_by.reset();
  at->second->dialog = Question::Dialog::over;
  (void)note("approval.unreadable", *at->second);
}

Result<void> Desk::answer(policy::Grant<policy::Approve> grant, const policy::Program* program,
                          const std::vector<std::int32_t>& ancestors) {
  const auto judged = judge(grant.action(), grant.who(), program, ancestors);
  policy::Outcome outcome{.ok = judged.has_value(), .code = judged ? "ok" : judged.error().code};
  if (judged) outcome.details["rule"] = questions_.at(grant.action().question)->rule.id;
  const auto said = grant.action().answer;
  const auto channel = grant.action().channel;
  const auto id = grant.action().question;
  const auto by = grant.who().principal;
  const auto closed = grant.close(outcome);
  if (!judged) return judged;
  if (!closed) return tl::unexpected(closed.error());
  auto& question = *questions_.at(id);
  question.by = by;
  question.channel = channel;
  switch (said) {
    case policy::Approve::Answer::allow:
      question.state = Question::State::allowed;
      break;
    case policy::Approve::Answer::deny:
      question.state = Question::State::denied;
      break;
    case policy::Approve::Answer::dismiss:
      question.state = Question::State::dismissed;
      break;
  }
  if (channel == policy::Approve::Channel::client) question.shown_by.reset();  // it is answered there already
  close_dialog(question, Question::Dialog::over);
  return {};
}

std::vector<Question> Desk::open_for(const policy::Subject& who, const policy::Program* program) {
  drop_expired();
  std::vector<Question> open;
  for (const auto& [id, question] : questions_) {
    if (question->state != Question::State::open) continue;
    if (concerns(*question, who, program)) open.push_back(*question);
  }
  return open;
}

void Desk::forget_all() {
  for (const auto& [id, question] : questions_) close_dialog(*question, Question::Dialog::over);
  questions_.clear();
}

}  // namespace gateway
