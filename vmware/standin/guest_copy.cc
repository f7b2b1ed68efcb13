#include <algorithm>
#include <charconv>
#include <cstddef>
#include <random>
#include <utility>

#include "vmware/standin/commands.h"
#include "vmware/standin/guest_session.h"
#include "vmware/standin/guest_status.h"
#include "vmware/standin/json_channel.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

constexpr std::size_t kChunk = 2 << 20;
constexpr std::size_t kPiece = 256 << 10;
constexpr std::size_t kMaxGreeting = 64 << 10;
constexpr std::uint64_t kMaxCopy = std::uint64_t{64} << 30;
constexpr Millis kTurnWait{600000};  // another copy with the same machine
constexpr Millis kStallWait{60000};  // not one byte moved
constexpr Millis kPollEvery{100};

// Shell texts of the guest, run as its user. Only regular files are opened: a FIFO would keep its opener for
// ever, a device has no end. The guest may put another file there between the look and the opening; then its
// process stays, but not we.

// Over the port: a line with our token, so that nothing left from an earlier copy is taken for ours, then the
// bytes, as many as were announced.
constexpr char kReceive[] = R"sh(
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
size=$(stat -L -c %s /proc/self/fd/0 <&4) || exit 84
printf '\n%s %s\n' "$2" "$size" >&3
exec head -c "$size" <&4 >&3
)sh";

// Over the agent, for guests that do not know the port; slow, because each byte passes the agent's JSON
// reader.
constexpr char kWrite[] = R"sh(
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
    std::random_device random;
    const std::string token = "copy-" + std::to_string(random()) + "-" + std::to_string(random());
    std::vector<std::string> words{guest_path, token};
    if (!extra.empty()) words.push_back(extra);
    const auto pid = session.start(shell_text, words, {}, GuestSession::Port::copy);
    if (!pid) return tl::unexpected(pid.error());
    PortCopy copy(session, std::move(*turn), std::move(*socket), *pid);
    if (auto greeted = copy.read_greeting(token, rest); !greeted) return tl::unexpected(greeted.error());
    session.let_go();
    return copy;
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
  PortCopy(GuestSession& session, Fd turn, Fd socket, std::int64_t pid)
      : session_(session), turn_(std::move(turn)), socket_(std::move(socket)), pid_(pid) {}

  static policy::Error broken() { return {"vm.communication", std::string(texts::kCommunication)}; }

  Result<> read_greeting(const std::string& token, std::string& rest) {
    const Deadline deadline = after(kStallWait);
    const std::string mark = "\n" + token;
    while (left_ms(deadline) > 0 && buffer_.size() < kMaxGreeting) {
      const auto piece = receive_some(socket_, 4096, after(kPollEvery));
      if (piece) {
        buffer_ += *piece;
        const std::size_t at = buffer_.find(mark);
        const std::size_t end = at == std::string::npos ? at : buffer_.find('\n', at + mark.size());
        if (end == std::string::npos) continue;
        rest = buffer_.substr(at + mark.size(), end - at - mark.size());
        buffer_.erase(0, end + 1);
        return {};
      }
      if (piece.error().code != "channel.late") return tl::unexpected(broken());
      const auto ended = session_.poll(pid_);
      if (!ended) return tl::unexpected(ended.error());
      if (*ended) {
        auto status = check_status((*ended)->code);
        // It said its line just before it ended; the line is on its way.
        if (!status) return status;
      }
    }
    return tl::unexpected(broken());
  }

  GuestSession& session_;
  Fd turn_, socket_;
  std::int64_t pid_;
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
  auto copied = send_over_port(call, *session, source);
  if (!copied && copied.error().code == "port")
    copied = send_over_agent(*session, source, call.line.words[1]);
  if (!copied) return tl::unexpected(copied.error());
  return Answer{};
}

Result<Answer> copy_from_guest(const Call& call) {
  auto session = GuestSession::open_as_user(call);
  if (!session) return tl::unexpected(session.error());
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
