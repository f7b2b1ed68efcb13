#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "vmware/standin/commands.h"
#include "vmware/standin/guest_session.h"
#include "vmware/standin/guest_status.h"
#include "vmware/standin/guest_text.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

constexpr long kQuantumMs = 1000;

// Shell texts run in the guest as the guest's user; the words are its positional parameters.

// Says on standard output, which is captured, that there is nothing to run; the program itself has no output.
constexpr char kRun[] = R"sh(
if [ ! -f "$1" ] || [ ! -x "$1" ]; then echo absent; exit 1; fi
exec > /dev/null 2>&1 < /dev/null
eval "\"\$1\" $2"
)sh";
constexpr char kRunInBackground[] = R"sh(
if [ ! -f "$1" ] || [ ! -x "$1" ]; then echo absent; exit 1; fi
exec > /dev/null 2>&1 < /dev/null
setsid /bin/bash -c 'eval "\"\$1\" $2"' bash "$1" "$2" &
)sh";

// The script arrives on standard input and stands in a folder of its own while it runs.
constexpr char kScript[] = R"sh(
[ -n "$1" ] || set -- /bin/sh
program=${1%% *}
if [ ! -f "$program" ] || [ ! -x "$program" ]; then echo absent; exit 1; fi
umask 077
folder=$(mktemp -d /tmp/vmware-XXXXXXXX) || { echo denied; exit 1; }
cat > "$folder/script" || { rm -rf -- "$folder"; echo denied; exit 1; }
umask 022
)sh";
constexpr char kScriptHere[] = R"sh(
exec > /dev/null 2>&1 < /dev/null
eval "$1 \"\$folder/script\""
status=$?
rm -rf -- "$folder"
exit "$status"
)sh";
constexpr char kScriptInBackground[] = R"sh(
exec > /dev/null 2>&1 < /dev/null
setsid /bin/bash -c 'eval "$1 \"\$2/script\""; rm -rf -- "$2"' bash "$1" "$folder" &
)sh";

// Three words for each process, each with a NUL behind it: id, owner, command line. No program is started for
// a process: there may be hundreds.
constexpr char kProcesses[] = R"sh(
cd /proc || exit 1
stat -c '%n %U' [0-9]* 2> /dev/null | while read -r pid owner; do
  words=()
  { mapfile -d '' -t words < "$pid/cmdline"; } 2> /dev/null
  if [ "${#words[@]}" = 0 ]; then
    { read -r name < "$pid/comm"; } 2> /dev/null || continue
    words=("[$name]")
  fi
  printf '%s\0%s\0%s\0' "$pid" "$owner" "${words[*]}"
done
)sh";
constexpr char kKill[] = R"sh(
[ -d "/proc/$1" ] || exit 86
kill -KILL "$1" 2> /dev/null && exit 0
[ -d "/proc/$1" ] || exit 86
exit 82
)sh";

// `quantum`: the end is noticed at the next of VMware's looks.
void wait_for_quantum(const Call& call, Deadline begun) {
  const auto quantum = call.faults.find(Faults::Kind::quantum, call.line.command);
  if (!quantum) return;
  const std::int64_t each = std::max(*quantum == 0 ? kQuantumMs : *quantum, 1L);
  const std::int64_t spent = std::chrono::duration_cast<Millis>(after(Millis{0}) - begun).count();
  pause_for(Millis{each - spent % each});
}

Result<Answer> finish(const Call& call, const Result<GuestExit>& ended, Deadline begun) {
  if (!ended) return tl::unexpected(ended.error());
  if (!call.line.no_wait) wait_for_quantum(call, begun);
  if (ended->out == "absent\n") return fail("guest.absent", std::string(texts::kFileNotFound));
  if (ended->out == "denied\n") return fail("guest.denied", std::string(texts::kGuestPermission));
  if (ended->code == 0) return Answer{};
  return Answer{std::string(texts::kGuestFailed) + std::to_string(ended->code) + "\n", ended->code};
}

}  // namespace

Result<Answer> run_program_in_guest(const Call& call) {
  auto session = GuestSession::open_as_user(call);
  if (!session) return tl::unexpected(session.error());
  const std::vector<std::string>& words = call.line.words;
  // As in VMware's: one text for the guest's shell to read, whatever stands in it.
  std::string arguments;
  for (std::size_t i = 1; i < words.size(); ++i) arguments += (i > 1 ? " " : "") + words[i];
  const Deadline begun = after(Millis{0});
  const auto ended = session->run(call.line.no_wait ? kRunInBackground : kRun, {words[0], arguments}, {});
  return finish(call, ended, begun);
}

Result<Answer> run_script_in_guest(const Call& call) {
  auto session = GuestSession::open_as_user(call);
  if (!session) return tl::unexpected(session.error());
  const std::string text = std::string(kScript) + (call.line.no_wait ? kScriptInBackground : kScriptHere);
  const Deadline begun = after(Millis{0});
  // The agent would take no input at all for an empty script, and the shell wait for none.
  const auto ended = session->run(text.c_str(), {call.line.words[0]}, call.line.words[1] + "\n");
  return finish(call, ended, begun);
}

Result<Answer> list_processes_in_guest(const Call& call) {
  auto session = GuestSession::open_as_user(call);
  if (!session) return tl::unexpected(session.error());
  const auto ended = session->run(kProcesses, {}, {});
  if (!ended) return tl::unexpected(ended.error());
  if (auto checked = check_guest_status(ended->code); !checked) return tl::unexpected(checked.error());
  return Answer{process_listing(ended->out)};
}

Result<Answer> kill_process_in_guest(const Call& call) {
  const std::string& pid = call.line.words[0];
  if (pid.empty() || pid.size() > 10 || pid.front() == '0' ||
      pid.find_first_not_of("0123456789") != std::string::npos) {
    return fail("parameter", std::string(texts::kInvalidParameter));
  }
  auto session = GuestSession::open_as_user(call);
  if (!session) return tl::unexpected(session.error());
  const auto ended = session->run(kKill, {pid}, {});
  if (!ended) return tl::unexpected(ended.error());
  if (auto checked = check_guest_status(ended->code); !checked) return tl::unexpected(checked.error());
  return Answer{};
}

}  // namespace standin
