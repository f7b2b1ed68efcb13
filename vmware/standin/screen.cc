#include "vmware/standin/commands.h"
#include "vmware/standin/guest_session.h"
#include "vmware/standin/keystrokes.h"
#include "vmware/standin/monitor.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

constexpr std::uint64_t kMaxScreenshot = 64 << 20;
constexpr Millis kScreenWait{20000};
constexpr std::size_t kMaxKeystrokes = 4096;
// QEMU holds each for 20 ms and drops those that come before there is room for them.
constexpr Millis kBetweenKeys{40};

}  // namespace

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

Result<Answer> type_keystrokes_in_guest(const Call& call) {
  const std::string& text = call.line.words[0];
  const auto keys = keys_for(text);
  if (!keys || text.size() > kMaxKeystrokes) {
    return fail("parameter", std::string(texts::kInvalidParameter));
  }
  auto session = GuestSession::open_as_user(call);
  if (!session) return tl::unexpected(session.error());
  session->let_go();
  for (const auto& together : *keys) {
    // One connection a key: others have their turn.
    auto monitor = Monitor::connect(session->entry().folder(), after(kScreenWait));
    if (!monitor || !monitor->press_keys(together, after(kScreenWait))) {
      return fail("vm.communication", std::string(texts::kCommunication));
    }
    pause_for(kBetweenKeys);
  }
  return Answer{};
}

}  // namespace standin
