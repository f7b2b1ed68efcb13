#include "gateway/net/unix_socket.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace gateway {
namespace {

using Clock = std::chrono::steady_clock;

tl::unexpected<policy::Error> system_error(const char* code, const std::string& what) {
  return policy::fail(code, what + ": " + std::strerror(errno));
}

Result<sockaddr_un> address_of(const std::string& path) {
  if (path.size() > kMaxSocketPath) {
    return policy::fail("socket.path", "the socket path is longer than " + std::to_string(kMaxSocketPath) +
                                           " bytes; set `state_dir` to a shorter folder");
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

// SAFETY: the sockets API takes every address family through sockaddr (unix(7)).
const sockaddr* generic(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

Result<void> wait_for(int fd, short events, Clock::time_point until) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return policy::fail("socket.timeout", "the other side did not answer in time");
    pollfd watched{fd, events, 0};
    const int ready = ::poll(&watched, 1, static_cast<int>(left));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return system_error("socket.poll", "waiting failed");
  }
}

}  // namespace

void Descriptor::reset() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<Descriptor> listen_unix(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return tl::unexpected(address.error());
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return system_error("socket.listen", "cannot make a socket");
  ::unlink(path.c_str());
  // The folder is 0700 already; the mask keeps the socket private from its first moment too.
  const mode_t before = ::umask(0177);
  const int bound = ::bind(socket.get(), generic(*address), sizeof *address);
  ::umask(before);
  if (bound != 0 || ::listen(socket.get(), 64) != 0) {
    return system_error("socket.listen", "cannot listen on the owner's socket");
  }
  return socket;
}

Result<Descriptor> listen_unix(const std::string& path, std::uint32_t group) {
  auto socket = listen_unix(path);
  // Only we may write to the socket's folder, so the name still leads to what was just made.
  if (socket &&
      (::chown(path.c_str(), static_cast<uid_t>(-1), group) != 0 || ::chmod(path.c_str(), 0660) != 0)) {
    return system_error("socket.listen", "cannot open the service's socket to its group");
  }
  return socket;
}

Result<Descriptor> connect_unix(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return tl::unexpected(address.error());
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return system_error("socket.connect", "cannot make a socket");
  if (::connect(socket.get(), generic(*address), sizeof *address) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED) return policy::fail("socket.absent", "no owner is running");
    if (errno == EACCES || errno == EPERM) return system_error("socket.denied", "cannot reach the owner");
    return system_error("socket.connect", "cannot reach the owner");
  }
  return socket;
}

Result<Peer> peer_of(int socket) {
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) {
    return system_error("socket.peer", "the kernel does not say who connects");
  }
  return Peer{who.uid, who.pid};
}

Result<void> send_greeting(int socket, std::string_view line, std::span<const int> descriptors,
                           std::chrono::milliseconds within) {
  std::string bytes(line);
  bytes.push_back('\n');
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxGreetingDescriptors)]{};
  if (!descriptors.empty()) {
    const std::size_t size = sizeof(int) * descriptors.size();
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(header), descriptors.data(), size);
  }
  const auto until = Clock::now() + within;
  ssize_t sent = -1;
  while (sent < 0) {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) break;
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return system_error("socket.send", "cannot greet the owner");
    if (auto ready = wait_for(socket, POLLOUT, until); !ready) return ready;
  }
  return write_all(socket, std::string_view(bytes).substr(static_cast<std::size_t>(sent)), within);
}

Result<std::optional<Greeting>> receive_greeting(int socket, Greeting& so_far, std::string& rest) {
  while (true) {
    char bytes[1024];
    iovec part{bytes, sizeof bytes};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 8)]{};
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::optional<Greeting>();
    if (got < 0) return system_error("socket.receive", "the connection broke");
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
        so_far.descriptors.emplace_back(fd);
      }
    }
    if (got == 0) return policy::fail("socket.closed", "the connection ended before it said what it wants");
    if (so_far.descriptors.size() > kMaxGreetingDescriptors || (message.msg_flags & MSG_CTRUNC) != 0) {
      return policy::fail("socket.greeting", "more descriptors than a greeting may carry");
    }
    const std::string_view piece(bytes, static_cast<std::size_t>(got));
    const auto newline = piece.find('\n');
    so_far.line.append(piece.substr(0, newline));
    if (so_far.line.size() > kMaxGreeting) return policy::fail("socket.greeting", "the greeting is too long");
    if (newline != std::string_view::npos) {
      rest.assign(piece.substr(newline + 1));
      return std::optional<Greeting>(std::move(so_far));
    }
  }
}

Result<std::string> read_line(int fd, std::string& buffered, std::size_t max,
                              std::chrono::milliseconds within) {
  const auto until = Clock::now() + within;
  std::size_t searched = 0;
  while (true) {
    if (const auto newline = buffered.find('\n', searched); newline != std::string::npos) {
      std::string line = buffered.substr(0, newline);
      buffered.erase(0, newline + 1);
      return line;
    }
    searched = buffered.size();
    if (buffered.size() > max) return policy::fail("socket.line", "the answer is longer than it may be");
    if (auto ready = wait_for(fd, POLLIN, until); !ready) return tl::unexpected(ready.error());
    char bytes[65536];
    const ssize_t got = ::read(fd, bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return system_error("socket.receive", "the connection broke");
    if (got == 0) return policy::fail("socket.closed", "the owner ended the connection");
    buffered.append(bytes, static_cast<std::size_t>(got));
  }
}

Result<void> write_all(int fd, std::string_view bytes, std::chrono::milliseconds within) {
  const auto until = Clock::now() + within;
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return system_error("socket.send", "the connection broke");
    if (auto ready = wait_for(fd, POLLOUT, until); !ready) return ready;
  }
  return {};
}

}  // namespace gateway
