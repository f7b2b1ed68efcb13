#include "gateway/app.h"

#include <algorithm>
#include <map>
#include <utility>

#include <spdlog/spdlog.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "audit/log.h"
#include "enforcers/builtin.h"
#include "gateway/approval/desk.h"
#include "gateway/call/calls.h"
#include "gateway/call/copies.h"
#include "gateway/call/granted.h"
#include "gateway/call/transfers.h"
#include "gateway/image/images.h"
#include "gateway/late_log.h"
#include "gateway/policy_book.h"
#include "gateway/policy_trial.h"
#include "gateway/settings/folder.h"
#include "gateway/setup/setup.h"
#include "policy/facts.h"
#include "vmware/link/launcher.h"
#include "vmware/sandboxes.h"
#include "vmware/settled.h"

namespace gateway {
namespace asio = boost::asio;
namespace {

using Json = nlohmann::json;

constexpr char kKillSwitchFile[] = "/kill-switch";

policy::Error kill_switch_refusal() {
  return {"deny.kill_switch",
          "the kill switch is on: every call is refused until a person runs `sallyport kill-switch off`"};
}

// The vmrun commands that our own driver gives, and no others.
enforcers::VmrunShapes shapes_of(const vmware::MachineSettings& machine) {
  auto launcher = vmware::launcher_words(std::string(32, '0'));
  launcher.pop_back();
  return {.base_vmx = machine.base_vmx,
          .images = images_folder(),
          .image_snapshot = kImageSnapshot,
          .snapshot = machine.snapshot,
          .clones = machine.clones,
          .host_files = machine.state,
          .guest_prefixes = {std::string(vmware::kGuestPrefix), std::string(vmware::kTarPrefix)},
          .launcher = std::move(launcher),
          .launcher_verbs = {},
          .fixed_programs = {}};
}

bool only_lacks_an_image(const std::vector<policy::Error>& problems) {
  return !problems.empty() && std::all_of(problems.begin(), problems.end(), [](const policy::Error& one) {
    return one.code == "setup.image" || one.code == "setup.guest_login";
  });
}

// Without machines there are no sandboxes.
class NoSandboxes final : public policy::Inventory {
 public:
  std::optional<policy::SandboxFacts> find(const policy::SandboxId&) const override { return std::nullopt; }
  std::size_t count(const policy::PrincipalId*) const override { return 0; }
  std::size_t running_jobs(const policy::SandboxId&) const override { return 0; }
};

}  // namespace

// What stands on a set-up that works, or, when it does not, an engine that refuses everything. Calls at work
// keep their world alive.
struct World {
  NoSandboxes none;
  std::unique_ptr<policy::Engine> engine;
  // Where nothing but an image is missing: that refuses every call, but must not refuse what mends it.
  std::unique_ptr<policy::Engine> image_maker;
  std::unique_ptr<vmware::Machines> machines;
  std::shared_ptr<const enforcers::Jails> transfers;
  std::unique_ptr<Copies> copies;
  std::unique_ptr<Calls> calls;
  std::vector<policy::Error> problems;
};

struct App::Parts {
  Parts(asio::any_io_executor given_executor, Settings given_settings)
      : executor(std::move(given_executor)),
        settings(std::move(given_settings)),
        log(settings.audit(), clock, settings.deployment == Deployment::service ? "service" : "personal"),
        book(settings),
        trial(settings, clock, log),
        desk(executor, clock, log) {
    stopped = is_regular_file(settings.state_dir + kKillSwitchFile);
    build();
    trial.look(PolicyBook::Effort::again);
  }

  // The order of these lines is the order of the system.
  void build() {
    auto next = std::make_shared<World>();
    auto setup = look_around(settings);
    next->problems = std::move(setup.problems);

    if (!book.program()) book.look(PolicyBook::Effort::again);
    const auto program = book.program();
    if (program) {
      log.set_policy(program->digest().hex());
    } else {
      next->problems.insert(next->problems.end(), book.problems().begin(), book.problems().end());
    }

    if (next->problems.empty() && settings.deployment == Deployment::service) {
      next->transfers = transfer_folders_of_users(settings.transfer_dir);
    } else if (next->problems.empty()) {
      auto opened = one_transfer_folder(settings.transfer_dir);
      if (opened) {
        next->transfers = std::move(*opened);
      } else {
        next->problems.push_back(opened.error());
      }
    }

    policy::Engine::Parts parts;
    parts.program = program;
    parts.sink = &log;
    parts.clock = &clock;
    parts.shadow = &trial.watch();
    parts.settings = settings.facts();
    parts.inventory = &next->none;
    if (next->problems.empty()) {
      next->machines = vmware::open_machines(executor, setup.machine, clock);
      parts.inventory = next->machines.get();
      parts.labels = next->machines.get();
      parts.enforcers = enforcers::builtin({.transfers = next->transfers,
                                            .vmrun = shapes_of(setup.machine),
                                            .remote_input = settings.remote_input == Switch::on
                                                                ? enforcers::RemoteInput::on
                                                                : enforcers::RemoteInput::off,
                                            .inventory = parts.inventory,
                                            .clock = &clock});
    }
    next->engine = std::make_unique<policy::Engine>(std::move(parts));
    if (next->machines) {
      next->machines->attach(*next->engine);
      auto copies = Copies::open({.engine = next->engine.get(),
                                  .machines = next->machines.get(),
                                  .sink = &log,
                                  .desk = &desk,
                                  .max_wait = settings.max_wait,
                                  .transfers = next->transfers,
                                  .staging = setup.machine.state + "/copies"});
      if (copies) {
        next->copies = std::move(*copies);
      } else {
        next->problems.push_back(copies.error());
      }
    }
    const auto closed = as_one(next->problems);
    if (!next->problems.empty()) next->engine->refuse_all(closed);
    if (next->problems.empty() && stopped) next->engine->refuse_all(kill_switch_refusal());
    if (only_lacks_an_image(next->problems)) {
      policy::Engine::Parts for_images;
      for_images.program = program;
      for_images.sink = &log;
      for_images.clock = &clock;
      for_images.shadow = &trial.watch();
      for_images.settings = settings.facts();
      for_images.inventory = &next->none;
      next->image_maker = std::make_unique<policy::Engine>(std::move(for_images));
      if (stopped) next->image_maker->refuse_all(kill_switch_refusal());
    }
    next->calls =
        std::make_unique<Calls>(Calls::Parts{next->engine.get(), next->machines.get(), next->copies.get(),
                                             &desk, &clock, &log, settings.max_wait, closed});
    world = std::move(next);
    ++policy_version;
    for (const auto& one : world->problems) spdlog::warn("{} [{}]", one.message, one.code);
  }

  // What the files say now decides from here on, or what they said before goes on doing so.
  PolicyNews renew(PolicyBook::Effort effort) {
    trial.look(effort);
    const auto before = book.program();
    const auto look = book.look(effort);
    if (look == PolicyBook::Look::same) {
      if (book.problems().empty()) rejected.clear();
      return PolicyNews::none;
    }
    if (look == PolicyBook::Look::rejected) {
      const auto why = as_one(book.problems());
      if (std::exchange(rejected, why.message) == why.message) return PolicyNews::none;
      policy::Event event{.act = "policy.rejected", .level = "warn"};
      event.object["code"] = why.code;
      event.object["why"] = why.message;
      if (before) event.object["kept"] = "sha256:" + before->digest().hex();
      (void)log.note(event);
      spdlog::error("the policy files cannot be used, what was in force stays: {} [{}]", why.message,
                    why.code);
      return PolicyNews::none;
    }
    rejected.clear();
    const auto& program = book.program();
    policy::Event event{.act = "policy.loaded", .level = "notice"};
    event.object["name"] = program->name();
    event.object["digest"] = "sha256:" + program->digest().hex();
    if (before) event.object["before"] = "sha256:" + before->digest().hex();
    (void)log.note(event);
    log.set_policy(program->digest().hex());
    desk.forget_all();
    if (world->problems.empty()) {
      ++policy_version;
      world->engine->put_in_force(program);
    } else {
      build();
    }
    return PolicyNews::changed;
  }

  // A set-up that failed is looked at again before each call, so that mending it is enough.
  std::shared_ptr<World> current() {
    if (!world->problems.empty()) build();
    return world;
  }

  // Sandboxes of principals that nobody has seen for too long.
  asio::awaitable<void> forget_absent(std::shared_ptr<World> at) {
    const auto now = clock.since_boot();
    for (const auto& info : at->machines->all()) {
      if (info.state == vmware::SandboxState::destroying || info.state == vmware::SandboxState::creating)
        continue;
      if (present.contains(info.owner)) continue;
      const auto seen = last_seen.try_emplace(info.owner, now).first->second;
      if (now - seen < settings.reattach) continue;
      policy::Caller caller{policy::system_subject(), {policy::CallId::random(), {}, {}}};
      auto pending = at->engine->decide(caller, policy::Destroy{info.id, policy::DestroyCause::orphaned});
      auto verdict = co_await vmware::settled(std::move(pending));
      if (auto* grant = std::get_if<policy::Grant<policy::Destroy>>(&verdict)) {
        co_await at->machines->destroy(std::move(*grant));
      }
    }
  }

  std::string transfer_folder_of(const std::shared_ptr<World>& at, const policy::Subject& who) const {
    if (!at->transfers) return settings.transfer_dir;
    const auto jail = at->transfers->of(who);
    return jail ? (*jail)->root() : settings.transfer_dir;
  }

  asio::any_io_executor executor;
  const Settings settings;
  policy::SystemClock clock;
  LateLog log;
  PolicyBook book;
  PolicyTrial trial;
  Desk desk;
  std::shared_ptr<World> world;
  bool stopped = false;
  std::uint64_t policy_version = 0;
  std::string rejected;                        // what was said of the policy files last
  std::map<policy::PrincipalId, int> present;  // connections of each principal
  std::map<policy::PrincipalId, std::chrono::nanoseconds> last_seen;
  std::size_t connected = 0;
};

App::App(asio::any_io_executor executor, Settings settings)
    : parts_(std::make_unique<Parts>(std::move(executor), std::move(settings))) {}
App::~App() = default;

asio::awaitable<mcp::ToolResult> App::call(std::string tool, mcp::JsonPtr arguments, policy::Caller caller,
                                           vmware::Progress progress, std::stop_token stop,
                                           std::optional<policy::Error> refusal,
                                           std::shared_ptr<ClientChannel> client) {
  const auto world = parts_->current();
  if (world->machines) co_await world->machines->taken_over(stop);
  co_return co_await world->calls->carry_out(std::move(tool), std::move(arguments), std::move(caller),
                                             std::move(progress), std::move(stop), std::move(refusal),
                                             std::move(client));
}

asio::awaitable<Result<std::string>> App::status(policy::Caller caller) {
  const auto world = parts_->current();
  if (world->machines) co_await world->machines->taken_over({});
  auto pending = world->engine->decide(caller, policy::List{});
  auto verdict = co_await vmware::settled(std::move(pending));
  auto* grant = std::get_if<policy::Grant<policy::List>>(&verdict);
  if (grant == nullptr) co_return policy::fail("deny", "policy does not let you see this");
  Json json;
  json["version"] = SALLYPORT_VERSION;
  json["state_dir"] = parts_->settings.state_dir;
  json["deployment"] = parts_->settings.deployment == Deployment::service ? "service" : "personal";
  json["transfer_dir"] = parts_->transfer_folder_of(world, caller.who);
  json["audit_dir"] = parts_->settings.audit();
  json["clients"] = parts_->connected;
  json["kill_switch"] = parts_->stopped ? "on" : "off";
  std::vector<std::string> waivers;  // to be looked after
  if (const auto* program = world->engine->program()) {
    json["policy"] = program->name();
    json["policy_digest"] = program->digest().hex();
    for (const auto& one : policy::waiver_findings(program->waivers(), policy::today(parts_->clock)))
      waivers.push_back(one.where() + ": " + one.message + " [" + one.code + "]");
  }
  json["sandboxes"] = Json::array();
  if (world->machines) {
    for (const auto& info : world->machines->all()) {
      if (info.owner == caller.who.principal) json["sandboxes"].push_back(info.id.text());
    }
  }
  json["problems"] = Json::array();
  for (const auto& one : world->problems) {
    json["problems"].push_back((one.where.empty() ? "" : one.where + ": ") + one.message + " [" + one.code +
                               "]");
  }
  if (parts_->book.program()) {
    for (const auto& one : parts_->book.problems())
      json["problems"].push_back("policy files not in force: " + one.message + " [" + one.code + "]");
  }
  for (const auto& one : parts_->trial.problems())
    json["problems"].push_back("shadow policy not in use: " + one.message + " [" + one.code + "]");
  for (const auto& line : waivers) json["problems"].push_back(line);
  for (const auto& line : parts_->book.findings()) json["problems"].push_back(line);
  if (const auto refused = parts_->log.refused()) json["problems"].push_back(refused->message);
  (void)grant->close({.ok = true, .code = "ok"});
  co_return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

asio::awaitable<Result<std::string>> App::policy_status(policy::Caller caller) {
  const auto world = parts_->current();
  auto pending = world->engine->decide(caller, policy::List{});
  auto verdict = co_await vmware::settled(std::move(pending));
  auto* grant = std::get_if<policy::Grant<policy::List>>(&verdict);
  if (grant == nullptr) co_return policy::fail("deny", "policy does not let you see this");
  auto json = parts_->trial.status();
  json["waivers"] = Json::array();
  if (const auto* program = world->engine->program()) {
    json["policy"] = program->name();
    json["policy_digest"] = program->digest().hex();
    json["waivers"] = waivers_of(*program, parts_->clock);
  }
  (void)grant->close({.ok = true, .code = "ok"});
  co_return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

asio::awaitable<Result<void>> App::kill_switch(policy::Caller caller, policy::KillSwitch::Position position) {
  const auto world = parts_->current();
  auto pending = world->engine->decide(caller, policy::KillSwitch{position});
  auto verdict = co_await vmware::settled(std::move(pending));
  auto grant = granted(std::move(verdict));
  if (!grant) co_return tl::unexpected(grant.error());
  const auto file = parts_->settings.state_dir + kKillSwitchFile;
  if (position == policy::KillSwitch::Position::off) {
    auto removed = remove_file(file);
    if (removed) {
      parts_->stopped = false;
      if (world->problems.empty()) world->engine->refuse_all(std::nullopt);
    }
    (void)grant->close({.ok = removed.has_value(), .code = removed ? "ok" : removed.error().code});
    co_return removed;
  }
  if (world->machines) co_await world->machines->taken_over({});
  // First nothing new, then what there is; the file makes it hold for the next owner too.
  parts_->stopped = true;
  world->engine->refuse_all(kill_switch_refusal());
  auto result = write_private_file(file, "on\n");
  if (world->machines) {
    for (const auto& info : world->machines->all()) {
      policy::Caller system{policy::system_subject(), caller.id};
      system.id.parent = grant->receipt().seq;
      auto destroying =
          world->engine->decide(system, policy::Destroy{info.id, policy::DestroyCause::kill_switch});
      auto allowed = co_await vmware::settled(std::move(destroying));
      if (auto* destroy = std::get_if<policy::Grant<policy::Destroy>>(&allowed)) {
        const auto gone = co_await world->machines->destroy(std::move(*destroy));
        if (!gone && result) result = tl::unexpected(gone.error());
      }
    }
  }
  (void)grant->close({.ok = result.has_value(), .code = result ? "ok" : result.error().code});
  co_return result;
}

asio::awaitable<Result<std::string>> App::questions(policy::Caller caller) {
  const auto world = parts_->current();
  auto pending = world->engine->decide(caller, policy::List{});
  auto verdict = co_await vmware::settled(std::move(pending));
  auto* grant = std::get_if<policy::Grant<policy::List>>(&verdict);
  // Whom policy lets see no sandboxes may still be one whom it asks.
  const auto open = parts_->desk.open_for(caller.who, world->engine->program());
  if (grant != nullptr) (void)grant->close({.ok = true, .code = "ok"});
  Json list = Json::array();
  const auto now = parts_->clock.since_boot();
  for (const auto& question : open) {
    list.push_back(
        {{"id", question.id},
         {"action", question.action},
         {"arguments", Json::parse(policy::canonical(question.what))},
         {"asker", question.asker.principal.text},
         {"user", question.asker.os_user},
         {"client", question.asker.client_name},
         {"rule", question.rule.id},
         {"where", question.rule.where},
         {"why", question.reason},
         {"asks", question.people},
         {"seconds_left", std::chrono::duration_cast<std::chrono::seconds>(question.until - now).count()}});
  }
  co_return Json{{"questions", list}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

asio::awaitable<Result<void>> App::answer(policy::Caller caller, policy::Approve answer,
                                          std::vector<std::int32_t> ancestors) {
  const auto world = parts_->current();
  auto pending = world->engine->decide(caller, std::move(answer));
  auto verdict = co_await vmware::settled(std::move(pending));
  auto grant = granted(std::move(verdict));
  if (!grant) co_return tl::unexpected(grant.error());
  co_return parts_->desk.answer(std::move(*grant), world->engine->program(), ancestors);
}

asio::awaitable<void> App::answer_in_client(policy::Caller caller, mcp::Answered answered) {
  using Answer = policy::Approve::Answer;
  if (answered.said == mcp::Said::unreadable) {
    parts_->desk.unreadable(answered.question, caller.who);
    co_return;
  }
  const auto said = answered.said == mcp::Said::yes  ? Answer::allow
                    : answered.said == mcp::Said::no ? Answer::deny
                                                     : Answer::dismiss;
  policy::Approve approve{said, std::move(answered.question), policy::Approve::Channel::client};
  auto answering = answer(std::move(caller), std::move(approve), {});
  const auto judged = co_await std::move(answering);
  (void)judged;  // what it came to is in the log
}

std::shared_ptr<policy::Engine> App::engine() {
  const auto world = parts_->current();
  return {world, world->image_maker ? world->image_maker.get() : world->engine.get()};
}

PolicyNews App::look_at_policy() { return parts_->renew(PolicyBook::Effort::if_changed); }
PolicyNews App::reload_policy() { return parts_->renew(PolicyBook::Effort::again); }

bool App::may_be_allowed(const policy::Subject& who, std::string_view action) const {
  const auto& program = parts_->book.program();
  const auto* word = policy::action_word(action);
  if (!program || !parts_->world->problems.empty() || word == nullptr) return true;
  for (std::size_t i = 0; i < word->actions.size(); ++i) {
    if (word->actions.test(i) && !program->may_be_allowed(who, i)) return false;
  }
  return true;
}

std::uint64_t App::policy_version() const { return parts_->policy_version; }

asio::awaitable<void> App::sweep() {
  const auto world = parts_->world;
  parts_->desk.drop_expired();
  if (!world->machines) co_return;
  co_await world->machines->sweep();
  co_await parts_->forget_absent(world);
}

void App::client_came(const policy::Subject& who) {
  ++parts_->connected;
  ++parts_->present[who.principal];
  // So that files can be put there before the first copy; a copy says what is wrong with it.
  if (parts_->world->transfers) (void)parts_->world->transfers->of(who);
}

void App::client_left(const policy::Subject& who) {
  --parts_->connected;
  const auto at = parts_->present.find(who.principal);
  if (at == parts_->present.end()) return;
  parts_->last_seen[who.principal] = parts_->clock.since_boot();
  if (--at->second == 0) parts_->present.erase(at);
}

void App::note_refusal(const policy::Caller& caller, std::string_view what, const policy::Error& why) {
  policy::Event event{.act = "call.refused", .level = "notice", .who = caller.who};
  event.object["action"] = std::string(what);
  event.object["code"] = why.code;
  event.object["call"] = caller.id.call.text();
  (void)parts_->log.note(event);
}

std::size_t App::clients() const { return parts_->connected; }
std::size_t App::sandboxes() const {
  return parts_->world->machines ? parts_->world->machines->all().size() : 0;
}
const policy::Clock& App::clock() const { return parts_->clock; }

}  // namespace gateway
