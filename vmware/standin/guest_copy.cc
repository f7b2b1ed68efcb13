#include <algorithm>
#include <charconv>
#include <cstddef>
#include <random>
#include <utility>

#include "vmware/standin/commands.h"
#include "vmware/standin/copy_greeting.h"
#include "vmware/standin/guest_session.h"
#include "vmware/standin/guest_status.h"
#include "vmware/standin/guest_text.h"
#include "vmware/standin/json_channel.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

constexpr std::size_t kChunk = 2 << 20;
constexpr std::size_t kPiece = 256 << 10;
constexpr std::uint64_t kMaxCopy = std::uint64_t{64} << 30;
constexpr Millis kTurnWait{600000};  // another copy with the same machine
constexpr Millis kStallWait{60000};  // not one byte moved
constexpr Millis kPollEvery{100};
constexpr int kMostBeginnings = 3;
constexpr int kKilled = 128 + 9;

// Shell texts of the guest, run as its user. Only regular files are opened: a FIFO would keep its opener for
// ever, a device has no end. The guest may put another file there between the look and the opening; then its
// process stays, but not we.

// Over the port: a line with our token, so that nothing left from an earlier copy is taken for ours, then the
// bytes, as many as were announced.
constexpr char kReceive[] = R"sh(
[ ! -d "$1" ] || exit 85
[ ! -e "$1" ] || [ -f "$1" ] || exit 82
case $1 in */*) folder=${1%/*} ;; *) folder=. ;; esac
[ -d "${folder:-/}" ] || exit 81
command exec 4> "$1" || exit 82
[ -f /proc/self/fd/4 ] || exit 82
printf '\n%s\n' "$2" >&3
exec head -c "$3" <&3 >&4
)sh";
constexpr char kSend[] = R"sh(
[ -f "$1" ] || exit 81
command exec 4< "$1" || exit 82
[ -f /proc/self/fd/4 ] || exit 81
set -- "$1" "$2" $(stat -L -c '%s %b' /proc/self/fd/0 <&4)
size=${3:-0} blocks=${4:-0}
# Files that the kernel makes up as they are read (proc, sysfs) tell no true size.
[ "$size" -gt 0 ] || exit 83
[ "$blocks" -gt 0 ] || [ "$size" -gt 1048576 ] || exit 83
printf '\n%s %s\n' "$2" "$size" >&3
exec head -c "$size" <&4 >&3
)sh";

// Over the agent, for guests that do not know the port and for files without a size; slow, because each byte
// passes the agent's JSON reader.
constexpr char kWrite[] = R"sh(
[ ! -d "$1" ] || exit 85
[ ! -e "$1" ] || [ -f "$1" ] || exit 82
[ -d "$(dirname -- "$1")" ] || exit 81
cat > "$1" || exit 82
)sh";
constexpr char kAppend[] = R"sh(cat >> "$1" || exit 82)sh";
constexpr char kRead[] = R"sh(
[ -f "$1" ] || exit 81
[ -r "$1" ] || exit 82
exec dd if="$1" bs=2097152 skip="$2" count=1 iflag=fullblock status=none
)sh";

Result<> check_status(int code) {
  if (code == GuestSession::kNoPort) return fail("port", "the guest has no copy port");
  return check_guest_status(code);
}

// `truncated-copy`: how much of that many bytes is copied.
std::uint64_t copied_of(const Call& call, std::uint64_t size) {
  const auto fault = call.faults.find(Faults::Kind::truncated_copy, call.line.command);
  if (!fault) return size;
  return *fault == 0 ? size / 2 : std::min(size, static_cast<std::uint64_t>(*fault));
}

// One copy over the port: the turn, the connection, and the process at the guest's end.
class PortCopy final {
 public:
  // Starts the shell text and reads up to the line with our token; `rest` is what stands behind the token
  // there.
  static Result<PortCopy> begin(GuestSession& session, const char* shell_text, const std::string& guest_path,
                                const std::string& extra, std::string& rest) {
    auto turn = lock_path(session.entry().file("copy.lock"), after(kTurnWait));
    if (!turn) return fail("vm.in_use", std::string(texts::kFileInUse));
    auto socket = connect_to_socket(session.entry().qemu_folder() + "/copy.sock", after(kStallWait));
    if (!socket) return fail("port", "the machine has no copy port");
    PortCopy copy(session, std::move(*turn), std::move(*socket));
    std::vector<std::string> words{guest_path, ""};
    if (!extra.empty()) words.push_back(extra);
    for (int tried = 1;; ++tried) {
      auto greeted = copy.start_guest_end(shell_text, words, rest);
      // An aborted copy whose end came up only after ours ends ours as the one before it; but only once.
      if (!greeted && greeted.error().code == "copy.killed" && tried < kMostBeginnings) continue;
      if (!greeted) return tl::unexpected(greeted.error());
      session.let_go();
      return copy;
    }
  }

  Result<> send(std::string_view bytes) {
    if (auto sent = send_all(socket_, bytes, after(kStallWait)); !sent) return tl::unexpected(broken());
    return {};
  }

  Result<std::string> receive(std::size_t limit) {
    if (!buffer_.empty()) {
      std::string piece = buffer_.substr(0, limit);
      buffer_.erase(0, piece.size());
      return piece;
    }
    auto piece = receive_some(socket_, limit, after(kStallWait));
    if (!piece) return tl::unexpected(broken());
    return piece;
  }

  // Waits for the guest's end to finish, and tells how.
  Result<> end() {
    const auto ended = session_.wait(pid_);
    if (!ended) return tl::unexpected(ended.error());
    return check_status(ended->code);
  }

 private:
  PortCopy(GuestSession& session, Fd turn, Fd socket)
      : session_(session), turn_(std::move(turn)), socket_(std::move(socket)) {}

  static policy::Error broken() { return {"vm.communication", std::string(texts::kCommunication)}; }

  Result<> start_guest_end(const char* shell_text, std::vector<std::string> words, std::string& rest) {
    std::random_device random;
    words[1] = "copy-" + std::to_string(random()) + "-" + std::to_string(random());
    const auto pid = session_.start(shell_text, words, {}, GuestSession::Port::copy);
    if (!pid) return tl::unexpected(pid.error());
    pid_ = *pid;
    return read_greeting(words[1], rest);
  }

  // The bytes of an earlier copy may come first: an aborted one's end in the guest sends until ours ends it.
  Result<> read_greeting(const std::string& token, std::string& rest) {
    CopyGreeting greeting(token);
    const Deadline deadline = after(kStallWait);
    bool ended_well = false;
    while (left_ms(deadline) > 0) {
      const auto piece = receive_some(socket_, kPiece, after(kPollEvery));
      if (piece) {
        auto found = greeting.feed(*piece);
        if (!found) continue;
        rest = std::move(found->words);
        buffer_ = std::move(found->behind);
        return {};
      }
      if (piece.error().code != "channel.late") return tl::unexpected(broken());
      // It says its line just before it ends; the line is on its way.
      if (ended_well) continue;
      const auto ended = session_.poll(pid_);
      if (!ended) return tl::unexpected(ended.error());
      if (!*ended) continue;
      if ((*ended)->code == kKilled) return fail("copy.killed", std::string(texts::kCommunication));
      if (auto status = check_status((*ended)->code); !status) return status;
      ended_well = true;
    }
    return tl::unexpected(broken());
  }

  GuestSession& session_;
  Fd turn_, socket_;
  std::int64_t pid_ = 0;
  std::string buffer_;
};

Result<> send_over_port(const Call& call, GuestSession& session, HostSource& source) {
  std::string rest;
  std::uint64_t left = copied_of(call, source.size());
  auto copy = PortCopy::begin(session, kReceive, call.line.words[1], std::to_string(left), rest);
  if (!copy) return tl::unexpected(copy.error());
  while (left > 0) {
    const auto piece = source.next(static_cast<std::size_t>(std::min<std::uint64_t>(left, kPiece)));
    if (!piece) return tl::unexpected(host_error(piece.error()));
    if (piece->empty())
      return fail("host.changed", std::string(texts::kUnknownError) + ": the file became shorter");
    if (auto sent = copy->send(*piece); !sent) return sent;
    left -= piece->size();
  }
  return copy->end();
}

Result<> send_over_agent(GuestSession& session, HostSource& source, const std::string& guest_path) {
  for (std::uint64_t copied = 0; copied <= kMaxCopy;) {
    const auto chunk = source.next(kChunk);
    if (!chunk) return tl::unexpected(host_error(chunk.error()));
    if (chunk->empty() && copied > 0) break;
    const auto ended = session.run(copied == 0 ? kWrite : kAppend, {guest_path}, *chunk);
    if (!ended) return tl::unexpected(ended.error());
    if (auto checked = check_status(ended->code); !checked) return checked;
    copied += chunk->size();
    if (chunk->size() < kChunk) break;
  }
  return {};
}

Result<> receive_over_port(const Call& call, GuestSession& session, HostFile& target) {
  std::string rest;
  auto copy = PortCopy::begin(session, kSend, call.line.words[0], "", rest);
  if (!copy) return tl::unexpected(copy.error());
  std::uint64_t left = 0;
  const char* const first = rest.data() + (rest.starts_with(" ") ? 1 : 0);
  const auto [end, error] = std::from_chars(first, rest.data() + rest.size(), left);
  if (error != std::errc() || end != rest.data() + rest.size() || left > kMaxCopy) {
    return fail("vm.communication", std::string(texts::kCommunication));
  }
  std::uint64_t kept = copied_of(call, left);
  while (left > 0) {
    auto piece = copy->receive(static_cast<std::size_t>(std::min<std::uint64_t>(left, kPiece)));
    if (!piece) return tl::unexpected(piece.error());
    left -= piece->size();
    piece->resize(static_cast<std::size_t>(std::min<std::uint64_t>(piece->size(), kept)));
    kept -= piece->size();
    if (auto written = target.append(*piece); !written) return tl::unexpected(host_error(written.error()));
  }
  return copy->end();
}

Result<> receive_over_agent(GuestSession& session, const std::string& guest_path, HostFile& target) {
  for (std::uint64_t block = 0; block <= kMaxCopy / kChunk; ++block) {
    const auto ended = session.run(kRead, {guest_path, std::to_string(block)}, {});
    if (!ended) return tl::unexpected(ended.error());
    if (auto checked = check_status(ended->code); !checked) return checked;
    if (ended->cut || ended->out.size() > kChunk)
      return fail("vm.communication", std::string(texts::kCommunication));
    if (auto written = target.append(ended->out); !written)
      return tl::unexpected(host_error(written.error()));
    if (ended->out.size() < kChunk) break;
  }
  return {};
}

}  // namespace

policy::Error host_error(const policy::Error& error) {
  if (error.code == "file.absent" || error.code == "file.kind")
    return {"host.absent", std::string(texts::kFileNotFound)};
  if (error.code == "file.exists") return {"host.exists", std::string(texts::kFileExists)};
  if (error.code == "file.denied") return {"host.denied", std::string(texts::kHostPermission)};
  if (error.code == "file.name") return {"parameter", std::string(texts::kInvalidParameter)};
  if (error.code == "file.special")
    return {"host.special", std::string(texts::kNotSupported) + ": " + error.message};
  return {"host.io", std::string(texts::kUnknownError) + ": " + error.message};
}

Result<Answer> copy_to_guest(const Call& call) {
  HostSource source;
  if (auto opened = source.open(call.line.words[0]); !opened)
    return tl::unexpected(host_error(opened.error()));
  auto session = GuestSession::open_as_user(call);
  if (!session) return tl::unexpected(session.error());
  if (auto checked = check_guest_path(call.line.words[1]); !checked) return tl::unexpected(checked.error());
  auto copied = send_over_port(call, *session, source);
  if (!copied && copied.error().code == "port")
    copied = send_over_agent(*session, source, call.line.words[1]);
  if (!copied) return tl::unexpected(copied.error());
  return Answer{};
}

Result<Answer> copy_from_guest(const Call& call) {
  auto session = GuestSession::open_as_user(call);
  if (!session) return tl::unexpected(session.error());
  if (auto checked = check_guest_path(call.line.words[0]); !checked) return tl::unexpected(checked.error());
  HostFile target;
  if (auto made = target.create(call.line.words[1]); !made) return tl::unexpected(host_error(made.error()));
  auto copied = receive_over_port(call, *session, target);
  if (!copied && copied.error().code == "port")
    copied = receive_over_agent(*session, call.line.words[0], target);
  if (!copied) return tl::unexpected(copied.error());
  if (auto finished = target.finish(); !finished) return tl::unexpected(host_error(finished.error()));
  return Answer{};
}

}  // namespace standin
