#include "vmware/link/guest_link.h"

#include <optional>
#include <utility>

#include "vmware/host_files.h"
#include "vmware/link/launcher.h"
#include "vmware/scratch.h"

namespace vmware {
namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr seconds kSmallCopy{15};
constexpr seconds kQuick{30};  // for the launcher itself, on a busy host under software emulation
// A caller who waits is answered by then, whatever the guest does: clients give up at 60 s.
constexpr seconds kAfterWait{5};
constexpr seconds kReportInTime{8};
constexpr seconds kPacking{240};  // below the time after which vmrun is said to give up on a guest program
constexpr std::uint64_t kSlowestCopy = 1'000'000;  // bytes a second
constexpr int kNoSuchScript = 127;

milliseconds copy_time(std::uint64_t bytes) {
  return kSmallCopy + seconds(static_cast<std::int64_t>(bytes / kSlowestCopy));
}

policy::Error launcher_error(int exit) {
  switch (static_cast<LauncherExit>(exit)) {
    case LauncherExit::unknown_token:
      return {"job.lost", "the guest does not know this command any more; it was restarted or cleaned up"};
    case LauncherExit::cut_off:
      return {"guest.cut_off",
              "the command was cut off on its way into the guest and was not run; try again"};
    case LauncherExit::no_room:
      return {"guest.no_room", "the guest has no memory or disk left to note down a command; free some"};
    case LauncherExit::done:
    case LauncherExit::still_running:
    case LauncherExit::ended_by_us:
    case LauncherExit::first_result:
      break;
  }
  return {"guest.broken", "the program that runs commands in the guest ended with code " +
                              std::to_string(exit) + "; destroy the sandbox and create another"};
}

Result<void> copy_result(int exit) {
  const int first = static_cast<int>(LauncherExit::first_result);
  if (exit == static_cast<int>(LauncherExit::still_running) ||
      exit == static_cast<int>(LauncherExit::ended_by_us)) {
    return policy::fail("copy.timeout", "the guest did not pack or unpack the files in time; copy fewer");
  }
  if (exit < first) return tl::unexpected(launcher_error(exit));
  switch (static_cast<CopyExit>(exit - first)) {
    case CopyExit::done:
      return {};
    case CopyExit::no_parent:
      return policy::fail("copy.no_parent", "the folder the file is to go to does not exist in the guest");
    case CopyExit::is_folder:
      return policy::fail("copy.is_folder", "the path in the guest is a folder; name the file itself");
    case CopyExit::not_permitted:
      return policy::fail("copy.not_permitted",
                          "the guest user may not write there; copy to a folder of its own and move it with "
                          "sudo");
    case CopyExit::no_room:
      return policy::fail("guest.no_room", "the guest's disk is full; free some of it");
    case CopyExit::missing:
      return policy::fail("copy.missing", "there is no such file or folder in the guest");
    case CopyExit::too_large:
      return policy::fail("copy.too_large", "what is to be copied is larger than the limit of one copy");
    case CopyExit::unreadable:
      return policy::fail("copy.unreadable",
                          "the guest user may not read all of it; change the permissions with sudo first");
    case CopyExit::cut_off:
      return policy::fail(
          "guest.cut_off",
          "the files were cut off on their way into the guest and were not unpacked; try again");
    case CopyExit::no_tar:
    case CopyExit::failed:
      break;
  }
  return policy::fail("copy.failed", "the guest could not pack or unpack the files");
}

}  // namespace

GuestLink::GuestLink(const MachineSettings& settings, Driver& driver)
    : settings_(settings), driver_(driver) {}

std::string GuestLink::staging() const { return settings_.state + "/staging"; }

asio::awaitable<Result<void>> GuestLink::send(policy::Caller cause, GuestAt at, std::string guest_path,
                                              std::string bytes, std::stop_token stop) {
  const Scratch file(staging());
  if (auto written = write_file(file.path(), bytes); !written) co_return written;
  auto command = copy_in_command(at, file.path(), guest_path, copy_time(bytes.size()));
  auto reply = co_await driver_.call(std::move(cause), std::move(command), std::move(stop));
  if (!reply) co_return tl::unexpected(reply.error());
  co_return Result<void>();
}

asio::awaitable<Result<std::string>> GuestLink::receive(policy::Caller cause, GuestAt at,
                                                        std::string guest_path, std::size_t max_bytes,
                                                        std::optional<milliseconds> deadline,
                                                        std::stop_token stop) {
  const Scratch file(staging());
  auto command = copy_out_command(at, guest_path, file.path(), max_bytes, copy_time(max_bytes));
  if (deadline) command.terms.deadline = *deadline;
  auto reply = co_await driver_.call(std::move(cause), std::move(command), std::move(stop));
  if (!reply && reply.error().code == "vmrun.overgrown") {
    co_return policy::fail("guest.report", "the guest's report is larger than any report can be");
  }
  if (!reply) co_return tl::unexpected(reply.error());
  auto bytes = read_file(file.path(), max_bytes);
  if (!bytes) co_return policy::fail("guest.report", "the guest's report did not arrive as a plain file");
  co_return bytes;
}

asio::awaitable<Result<int>> GuestLink::launch(policy::Caller cause, GuestAt at, std::string token,
                                               milliseconds wait, std::stop_token stop) {
  const auto lane = wait.count() > 0 ? VmrunTerms::Lane::waiting : VmrunTerms::Lane::work;
  for (bool again = false;; again = true) {
    auto command = run_command(at, launcher_words(token), wait + kQuick, lane);
    if (wait.count() > 0) command.terms.deadline = wait + kAfterWait;
    auto reply = co_await driver_.call(cause, std::move(command), stop);
    if (!reply) co_return tl::unexpected(reply.error());
    const bool exited = reply->answer.kind == VmrunAnswer::Kind::guest_exit;
    const int exit = exited ? reply->answer.guest_exit : 0;
    if (exit != kNoSuchScript || again) co_return exit;
    auto sent = co_await send(cause, at, std::string(kLauncherPath), std::string(launcher_script()), stop);
    if (!sent) co_return tl::unexpected(sent.error());
  }
}

asio::awaitable<Result<void>> GuestLink::install(policy::Caller cause, GuestAt at, std::stop_token stop) {
  auto sent = co_await send(cause, at, std::string(kLauncherPath), std::string(launcher_script()), stop);
  if (!sent) co_return sent;
  auto exit = co_await launch(std::move(cause), std::move(at), policy::random_hex32(), milliseconds(0), stop);
  if (!exit) co_return tl::unexpected(exit.error());
  if (*exit != static_cast<int>(LauncherExit::unknown_token)) co_return tl::unexpected(launcher_error(*exit));
  co_return Result<void>();
}

asio::awaitable<Result<GuestReport>> GuestLink::begin(policy::Caller cause, GuestAt at, std::string token,
                                                      GuestRequest request, std::stop_token stop) {
  const auto wait = request.wait;
  const auto asked = std::chrono::steady_clock::now();
  auto sent = co_await send(cause, at, request_path(token), write_request(request), stop);
  if (!sent) co_return tl::unexpected(sent.error());
  auto left = wait;
  if (wait.count() > 0) {
    const auto spent = std::chrono::steady_clock::now() - asked;
    left = std::max<milliseconds>(wait - std::chrono::duration_cast<milliseconds>(spent), seconds(1));
  }
  auto exit = co_await launch(cause, at, token, left, stop);
  // Too slow to say how it stands is not too slow to go on: the job is asked again by its token.
  const bool slow = !exit && exit.error().code == "vmrun.timeout";
  if (slow && wait.count() > 0) co_return GuestReport();
  if (!exit) co_return tl::unexpected(exit.error());
  if (*exit != 0) co_return tl::unexpected(launcher_error(*exit));
  if (wait.count() == 0) co_return GuestReport();
  auto bytes =
      co_await receive(std::move(cause), std::move(at), report_path(token), kMaxReport, kReportInTime, stop);
  if (!bytes && bytes.error().code == "vmrun.timeout") co_return GuestReport();
  if (!bytes) co_return tl::unexpected(bytes.error());
  co_return parse_report(*bytes, token);
}

asio::awaitable<Result<GuestReport>> GuestLink::report(policy::Caller cause, GuestAt at, std::string token,
                                                       std::stop_token stop) {
  auto exit = co_await launch(cause, at, token, milliseconds(0), stop);
  if (!exit) co_return tl::unexpected(exit.error());
  if (*exit != 0) co_return tl::unexpected(launcher_error(*exit));
  auto bytes = co_await receive(std::move(cause), std::move(at), report_path(token), kMaxReport, {}, stop);
  if (!bytes) co_return tl::unexpected(bytes.error());
  co_return parse_report(*bytes, token);
}

asio::awaitable<Result<GuestReport>> GuestLink::end(policy::Caller cause, GuestAt at, std::string token,
                                                    Afterwards afterwards, std::stop_token stop) {
  auto sent = co_await send(cause, at, stop_path(token), "stop\n", stop);
  if (!sent) co_return tl::unexpected(sent.error());
  if (afterwards == Afterwards::report) {
    co_return co_await report(std::move(cause), std::move(at), std::move(token), std::move(stop));
  }
  auto exit = co_await launch(cause, at, token, milliseconds(0), stop);
  if (!exit) co_return tl::unexpected(exit.error());
  if (*exit != 0) co_return tl::unexpected(launcher_error(*exit));
  GuestReport stopped;
  stopped.status = JobStatus::stopped;
  co_return stopped;
}

asio::awaitable<Result<std::vector<std::string>>> GuestLink::census(policy::Caller cause, GuestAt at,
                                                                    std::stop_token stop) {
  const auto token = policy::random_hex32();
  auto sent = co_await send(cause, at, request_path(token), write_census_request(), stop);
  if (!sent) co_return tl::unexpected(sent.error());
  auto exit = co_await launch(cause, at, token, milliseconds(0), stop);
  if (!exit) co_return tl::unexpected(exit.error());
  if (*exit != 0) co_return tl::unexpected(launcher_error(*exit));
  auto bytes = co_await receive(std::move(cause), std::move(at), report_path(token), kMaxReport, {}, stop);
  if (!bytes) co_return tl::unexpected(bytes.error());
  co_return parse_census(*bytes, token);
}

asio::awaitable<Result<int>> GuestLink::perform(policy::Caller cause, GuestAt at, std::string token,
                                                std::string command, std::stop_token stop) {
  GuestRequest request;
  request.command = std::move(command);
  request.wait = kPacking;
  request.timeout = kPacking - seconds(10);
  request.answer = GuestRequest::Answer::exit_code;
  auto sent = co_await send(cause, at, request_path(token), write_request(request), stop);
  if (!sent) co_return tl::unexpected(sent.error());
  co_return co_await launch(std::move(cause), std::move(at), std::move(token), request.wait, std::move(stop));
}

asio::awaitable<Result<void>> GuestLink::put_tar(policy::Caller cause, GuestAt at, std::string token,
                                                 std::string host_tar, std::uint64_t size,
                                                 std::string command, std::stop_token stop) {
  auto copy = copy_in_command(at, host_tar, tar_path(token), copy_time(size));
  auto copied = co_await driver_.call(cause, std::move(copy), stop);
  if (!copied) co_return tl::unexpected(copied.error());
  auto whole = if_whole(tar_path(token), size, command);
  auto exit = co_await perform(std::move(cause), std::move(at), token, std::move(whole), stop);
  if (!exit) co_return tl::unexpected(exit.error());
  co_return copy_result(*exit);
}

asio::awaitable<Result<std::uint64_t>> GuestLink::fetch_tar(policy::Caller cause, GuestAt at,
                                                            std::string token, std::string command,
                                                            std::string host_tar, std::uint64_t max_bytes,
                                                            std::stop_token stop) {
  auto exit = co_await perform(cause, at, token, std::move(command), stop);
  if (!exit) co_return tl::unexpected(exit.error());
  if (auto packed = copy_result(*exit); !packed) co_return tl::unexpected(packed.error());
  auto copy = copy_out_command(at, tar_path(token), host_tar, max_bytes, copy_time(max_bytes));
  auto copied = co_await driver_.call(std::move(cause), std::move(copy), std::move(stop));
  if (!copied && copied.error().code == "vmrun.overgrown") {
    co_return policy::fail("copy.too_large",
                           "what arrives from the guest is larger than the limit of a copy");
  }
  if (!copied) co_return tl::unexpected(copied.error());
  auto size = file_size(host_tar);
  if (!size) co_return policy::fail("copy.failed", "what arrived from the guest is not a plain file");
  if (*size > max_bytes) {
    co_return policy::fail("copy.too_large",
                           "what arrives from the guest is larger than the limit of a copy");
  }
  co_return *size;
}

}  // namespace vmware
