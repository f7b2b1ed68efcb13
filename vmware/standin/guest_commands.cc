#include <algorithm>
#include <cstddef>
#include <utility>

#include "vmware/standin/commands.h"
#include "vmware/standin/credential.h"
#include "vmware/standin/guest_session.h"
#include "vmware/standin/monitor.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

constexpr std::uint64_t kMaxScreenshot = 64 << 20;
constexpr Millis kScreenWait{20000};
constexpr Millis kAddressWait{300000};
constexpr Millis kToolsWait{1500};

// Shell texts run in the guest as the guest's user; the words are its positional parameters. What they exit
// with:
constexpr int kAbsent = 81;
constexpr int kDenied = 82;

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
constexpr char kExists[] = R"sh([ -e "$1" ] && [ ! -d "$1" ])sh";
constexpr char kDelete[] = R"sh(
[ -e "$1" ] || [ -L "$1" ] || exit 81
[ ! -d "$1" ] || exit 81
rm -f -- "$1" || exit 82
)sh";
Result<> check_deletion(int code) {
  if (code == 0) return {};
  if (code == kAbsent) return fail("guest.absent", std::string(texts::kFileNotFound));
  if (code == kDenied) return fail("guest.denied", std::string(texts::kGuestPermission));
  return fail("guest.failed", std::string(texts::kUnknownError));
}

Answer existence(bool there) {
  return there ? Answer{std::string(texts::kFileIsThere) + "\n"}
               : Answer{std::string(texts::kFileIsNotThere) + "\n", 1};
}

}  // namespace

Result<Answer> check_tools_state(const Call& call) {
  auto session = GuestSession::open(call, kToolsWait);
  if (session) return Answer{"running\n"};
  if (session.error().code == "vm.off") return Answer{"unknown\n"};
  if (session.error().code == "vm.tools") return Answer{"installed\n"};
  return tl::unexpected(session.error());
}

Result<Answer> run_program_in_guest(const Call& call) {
  auto session = GuestSession::open_as_user(call);
  if (!session) return tl::unexpected(session.error());
  const std::vector<std::string>& words = call.line.words;
  // As in VMware's: one text for the guest's shell to read, whatever stands in it.
  std::string arguments;
  for (std::size_t i = 1; i < words.size(); ++i) arguments += (i > 1 ? " " : "") + words[i];
  const auto ended = session->run(call.line.no_wait ? kRunInBackground : kRun, {words[0], arguments}, {});
  if (!ended) return tl::unexpected(ended.error());
  if (ended->out == "absent\n") return fail("guest.absent", std::string(texts::kFileNotFound));
  if (ended->code == 0) return Answer{};
  return Answer{std::string(texts::kGuestFailed) + std::to_string(ended->code) + "\n", ended->code};
}

Result<Answer> file_exists_in_guest(const Call& call) {
  auto session = GuestSession::open_as_user(call);
  if (!session) return tl::unexpected(session.error());
  const auto ended = session->run(kExists, {call.line.words[0]}, {});
  if (!ended) return tl::unexpected(ended.error());
  return existence(ended->code == 0);
}

Result<Answer> delete_file_in_guest(const Call& call) {
  auto session = GuestSession::open_as_user(call);
  if (!session) return tl::unexpected(session.error());
  const auto ended = session->run(kDelete, {call.line.words[0]}, {});
  if (!ended) return tl::unexpected(ended.error());
  if (auto checked = check_deletion(ended->code); !checked) return tl::unexpected(checked.error());
  return Answer{};
}

Result<Answer> capture_screen(const Call& call) {
  auto session = GuestSession::open_as_user(call);
  if (!session) return tl::unexpected(session.error());
  const RuntimeEntry entry = session->entry();
  auto monitor = Monitor::connect(entry.folder(), after(kScreenWait));
  if (!monitor) return fail("vm.communication", std::string(texts::kCommunication));
  // QEMU gets an open file of ours, and what it leaves there is copied as an untrusted file.
  const std::string picture = entry.file("screen.png");
  (void)remove_file(picture);
  const auto file = make_file(picture);
  const auto taken = file ? monitor->screenshot(*file, after(kScreenWait)) : tl::unexpected(file.error());
  const auto copied = taken ? copy_file(picture, call.line.words[0], kMaxScreenshot) : Result<>();
  (void)remove_file(picture);
  if (!taken) return fail("vm.screen", std::string(texts::kUnknownError));
  if (!copied) return tl::unexpected(host_error(copied.error()));
  return Answer{};
}

Result<Answer> get_guest_address(const Call& call) {
  const Deadline deadline = after(call.line.wait ? kAddressWait : Millis{0});
  for (;;) {
    auto session = GuestSession::open(call, kToolsWait);
    if (session) {
      auto address = session->address();
      if (!address) return tl::unexpected(address.error());
      if (!address->empty()) return Answer{*address + "\n"};
      if (!call.line.wait || left_ms(deadline) == 0) return Answer{"unknown\n"};
    } else if (session.error().code != "vm.tools" || left_ms(deadline) == 0) {
      return tl::unexpected(session.error());
    }
    pause_for(Millis{500});
  }
}

Result<Answer> run_command(const Call& call) {
  switch (call.line.command) {
    case Command::list:
      return list_machines(call);
    case Command::start:
      return start_machine(call);
    case Command::stop:
      return stop_machine(call);
    case Command::list_snapshots:
      return list_snapshots(call);
    case Command::snapshot:
      return take_snapshot(call);
    case Command::clone:
      return clone_machine(call);
    case Command::delete_vm:
      return delete_machine(call);
    case Command::check_tools_state:
      return check_tools_state(call);
    case Command::run_program:
      return run_program_in_guest(call);
    case Command::file_exists:
      return file_exists_in_guest(call);
    case Command::copy_to_guest:
      return copy_to_guest(call);
    case Command::copy_from_guest:
      return copy_from_guest(call);
    case Command::delete_file:
      return delete_file_in_guest(call);
    case Command::capture_screen:
      return capture_screen(call);
    case Command::get_ip_address:
      return get_guest_address(call);
  }
  return fail("usage.unknown", std::string(texts::kUnknownCommand));
}

}  // namespace standin
