#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "vmware/standin/json_channel.h"

namespace standin {
namespace {

using policy::fail;

Result<> wait_for(int fd, short events, Deadline deadline) {
  for (;;) {
    pollfd waiting{fd, events, 0};
    const int ready = poll(&waiting, 1, left_ms(deadline));
    if (ready > 0) return {};
    if (ready == 0) return fail("channel.late", "no answer in time");
    if (errno != EINTR) return fail("channel", "waiting failed");
  }
}

}  // namespace

Result<Fd> connect_to_socket(const std::string& path, Deadline deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return fail("channel", "socket path too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail("channel", "no socket");
  // SAFETY: the sockets interface takes every address family as sockaddr.
  while (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    // EAGAIN: the one place in the queue of a server that takes one client is taken.
    if (errno != EAGAIN && errno != EINTR) return fail("channel", "nothing listens");
    if (left_ms(deadline) == 0) return fail("channel", "no answer in time");
    pause_for(Millis{5});
  }
  return fd;
}

Result<> send_all(const Fd& fd, std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (auto ready = wait_for(fd.get(), POLLOUT, deadline); !ready) return ready;
    } else if (sent == 0 || errno != EINTR) {
      return fail("channel", "the connection is closed");
    }
  }
  return {};
}

Result<std::string> receive_some(const Fd& fd, std::size_t limit, Deadline deadline) {
  std::string piece(limit, '\0');
  for (;;) {
    if (auto ready = wait_for(fd.get(), POLLIN, deadline); !ready) return tl::unexpected(ready.error());
    const ssize_t got = recv(fd.get(), piece.data(), piece.size(), 0);
    if (got > 0) {
      piece.resize(static_cast<std::size_t>(got));
      return piece;
    }
    if (got == 0 || (errno != EINTR && errno != EAGAIN)) return fail("channel", "the connection is closed");
  }
}

Result<JsonChannel> JsonChannel::open(const std::string& socket_path, Deadline deadline) {
  auto fd = connect_to_socket(socket_path, deadline);
  if (!fd) return tl::unexpected(fd.error());
  return JsonChannel(std::move(*fd));
}

Result<> JsonChannel::send(std::string_view bytes, Deadline deadline) {
  return send_all(fd_, bytes, deadline);
}

Result<> JsonChannel::send_with(std::string_view bytes, const Fd& passed, Deadline deadline) {
  if (auto ready = wait_for(fd_.get(), POLLOUT, deadline); !ready) return ready;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  // The descriptor travels with the first byte.
  char first = bytes.at(0);
  iovec piece{&first, 1};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int number = passed.get();
  std::memcpy(CMSG_DATA(header), &number, sizeof number);
  if (sendmsg(fd_.get(), &message, MSG_NOSIGNAL) != 1) return fail("channel", "the connection is closed");
  return send_all(fd_, bytes.substr(1), deadline);
}

Result<std::string> JsonChannel::receive(Deadline deadline) {
  for (;;) {
    const std::size_t end = buffer_.find('\n', scanned_);
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      scanned_ = 0;
      return line;
    }
    scanned_ = buffer_.size();
    if (buffer_.size() > kMaxLine) return fail("channel", "a line is too long");
    const auto piece = receive_some(fd_, 65536, deadline);
    if (!piece) return tl::unexpected(piece.error());
    buffer_ += *piece;
  }
}

}  // namespace standin
