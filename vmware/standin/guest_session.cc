#include "vmware/standin/guest_session.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "policy/utf8.h"
#include "vmware/standin/credential.h"
#include "vmware/standin/machine.h"
#include "vmware/standin/machine_entry.h"
#include "vmware/standin/monitor.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

constexpr Millis kAgentWait{15000};     // until an agent that has its port open answers, on a busy host
constexpr Millis kExchangeWait{30000};  // one request and its reply
constexpr Millis kKeepAgent{1000};      // a program that ends sooner costs no second connection
constexpr Millis kWrongLoginDelay{1000};
constexpr char kSeen[] = "tools-seen";
constexpr Millis kLostWait{60000};  // a guest that says nothing for so long has no Tools any more

// The surroundings a login of that user would have. An unset HOME makes `~` what the password file says.
constexpr char kPrelude[] = R"sh(unset HOME; HOME=~; export HOME; cd 2> /dev/null || cd /
)sh";

// As root: opens the port that only root may open, then becomes the user. The words are the user, the shell
// text and its own words. /bin/sh, which starts in half the time of bash. One process at a time can have the
// port open: what is left of an aborted copy, which would send or wait for ever, is ended.
constexpr char kOpenPort[] = R"sh(
port=/dev/virtio-ports/org.sallyport-vmrun.copy.0
[ -c "$port" ] || exit 83
tries=0
until { command exec 3<> "$port"; } 2> /dev/null; do
  [ "$tries" -lt 50 ] || exit 83
  tries=$((tries + 1))
  for open in /proc/[0-9]*/fd/3; do
    [ "$open" -ef "$port" ] || continue
    open=${open#/proc/}
    kill -KILL "${open%%/*}"
  done
  sleep 0.1
done
user=$1
shift
exec /usr/sbin/chroot --userspec="$user:" / /bin/sh -c "$@"
)sh";

policy::Error tools_error(const std::string& path) {
  return {"vm.tools", std::string(texts::kToolsNotRunning) + ": " + path};
}

policy::Error off_error(const std::string& path) {
  return {"vm.off", std::string(texts::kNotPoweredOn) + ": " + path};
}

// `tools-late`: counts the questions asked of this run of the machine.
bool still_late(const Call& call, const RuntimeEntry& entry) {
  const auto late = call.faults.find(Faults::Kind::tools_late, call.line.command);
  if (!late) return false;
  long asked = 0;
  const std::string text = read_small_file(entry.file("tools-asked"), 32).value_or("");
  std::from_chars(text.data(), text.data() + text.size(), asked);
  if (asked >= *late) return false;
  (void)write_file_atomically(entry.file("tools-asked"), std::to_string(asked + 1));
  return true;
}

Result<> check_login(const Machine& machine, const CommandLine& line) {
  if (!line.user || !line.password) return fail("guest.anonymous", std::string(texts::kAnonymous));
  const auto file = machine.base_file("qemu.guest.credential");
  const auto text = file && !file->empty() ? read_small_file(*file, 4096)
                                           : policy::Result<std::string>(fail("credential", "none"));
  const auto credential = text ? Credential::parse(*text)
                               : Result<Credential>(fail("credential", "the machine names no guest login"));
  if (!credential || !credential->admits(*line.user, *line.password)) {
    pause_for(kWrongLoginDelay);
    return fail("guest.login", std::string(texts::kWrongLogin));
  }
  return {};
}

}  // namespace

Result<GuestSession> GuestSession::open(const Call& call, Millis wait) {
  const auto machine = Machine::open(call.line.vmx);
  if (!machine) return tl::unexpected(machine.error());
  auto entry = entry_of(*machine);
  if (!entry) return tl::unexpected(entry.error());
  if (!entry->is_alive()) return tl::unexpected(off_error(machine->path()));
  if (still_late(call, *entry)) return tl::unexpected(tools_error(machine->path()));
  {
    // A guest without the port open would leave us waiting for an answer that cannot come.
    // Nor does one whose processors stand still.
    auto monitor = Monitor::connect(entry->folder(), after(kExchangeWait));
    const auto open = monitor ? monitor->agent_port_open(after(kExchangeWait)) : Result<bool>(false);
    const auto status = monitor ? monitor->status(after(kExchangeWait)) : Result<std::string>("");
    if (!open || !*open || !status || *status != "running") {
      return tl::unexpected(entry->is_alive() ? tools_error(machine->path()) : off_error(machine->path()));
    }
  }
  auto agent = GuestAgent::connect(entry->folder(), after(wait));
  if (!agent) return tl::unexpected(tools_error(machine->path()));
  if (!exists(entry->file(kSeen))) (void)write_file_atomically(entry->file(kSeen), "");
  return GuestSession(std::move(*entry), machine->path(), std::move(*agent));
}

Result<GuestSession> GuestSession::open_as_user(const Call& call) {
  auto session = open(call, kAgentWait);
  if (!session) return session;
  const auto machine = Machine::open(call.line.vmx);
  if (!machine) return tl::unexpected(machine.error());
  if (auto checked = check_login(*machine, call.line); !checked) return tl::unexpected(checked.error());
  session->user_ = *call.line.user;
  return session;
}

bool tools_were_seen(const std::string& vmx) {
  const auto machine = Machine::open(vmx);
  if (!machine) return false;
  const auto entry = entry_of(*machine);
  return entry && exists(entry->file(kSeen));
}

policy::Error GuestSession::lost() const { return entry_.is_alive() ? tools_error(path_) : off_error(path_); }

Result<> GuestSession::reconnect() {
  if (agent_) return {};
  const Deadline deadline = after(kLostWait);
  for (;;) {
    auto agent = GuestAgent::connect(entry_.folder(), after(kAgentWait));
    if (agent) {
      agent_.emplace(std::move(*agent));
      return {};
    }
    if (!entry_.is_alive() || left_ms(deadline) == 0) return tl::unexpected(lost());
    pause_for(Millis{200});
  }
}

Result<GuestExit> GuestSession::run(const char* shell_text, const std::vector<std::string>& words,
                                    std::string_view input) {
  const auto pid = start(shell_text, words, input, Port::none);
  if (!pid) return tl::unexpected(pid.error());
  return wait(*pid);
}

Result<std::int64_t> GuestSession::start(const char* shell_text, const std::vector<std::string>& words,
                                         std::string_view input, Port port) {
  // What is no UTF-8 cannot travel in the agent's JSON.
  if (!std::all_of(words.begin(), words.end(), policy::is_utf8)) {
    return fail("parameter", std::string(texts::kInvalidParameter));
  }
  if (auto connected = reconnect(); !connected) return tl::unexpected(connected.error());
  // chroot(1) to `/` is the lightest way to become a user with his groups; runuser(1) loads all of PAM each
  // time.
  std::vector<std::string> argv{"/usr/sbin/chroot", "--userspec=" + user_ + ":", "/", "/bin/bash", "-c"};
  if (port == Port::copy) argv = {"/bin/sh", "-c", kOpenPort, "sh", user_};
  argv.push_back(port == Port::copy ? shell_text : std::string(kPrelude) + shell_text);
  argv.emplace_back("bash");
  argv.insert(argv.end(), words.begin(), words.end());
  const auto pid = agent_->start(argv, user_, input, after(kExchangeWait));
  if (pid) return pid;
  agent_.reset();
  if (pid.error().code == "agent") return fail("guest.start", std::string(texts::kUnknownError));
  return tl::unexpected(lost());
}

Result<std::optional<GuestExit>> GuestSession::poll(std::int64_t pid) {
  if (auto connected = reconnect(); !connected) return tl::unexpected(connected.error());
  auto ended = agent_->poll(pid, after(kExchangeWait));
  if (ended) return ended;
  // The agent was started anew and knows nothing of the process, or the process was asked for before.
  if (ended.error().code == "agent") return fail("guest.lost", std::string(texts::kCommunication));
  agent_.reset();
  if (!entry_.is_alive()) return tl::unexpected(off_error(path_));
  return std::optional<GuestExit>();
}

Result<GuestExit> GuestSession::wait(std::int64_t pid) {
  const Deadline keep = after(kKeepAgent);
  Millis pause{5};
  for (;;) {
    auto ended = poll(pid);
    if (!ended) return tl::unexpected(ended.error());
    if (*ended) return std::move(**ended);
    if (left_ms(keep) == 0) agent_.reset();
    if (!entry_.is_alive()) return tl::unexpected(off_error(path_));
    pause_for(pause);
    pause = std::min(pause * 3 / 2 + Millis{1}, agent_ ? Millis{50} : Millis{500});
  }
}

Result<std::string> GuestSession::address() {
  auto address = agent_->address(after(kExchangeWait));
  if (!address) return tl::unexpected(lost());
  return address;
}

}  // namespace standin
