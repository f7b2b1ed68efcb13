#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/net/descriptor.h"
#include "policy/result.h"

namespace gateway {

using policy::Result;

// The longest socket path we make; the kernel's limit is 107 bytes (unix(7)).
inline constexpr std::size_t kMaxSocketPath = 100;

// A listening Unix socket, mode 0600, in place of whatever socket stood at `path`. The caller holds the lock
// that makes it the only one who may do that. Code: socket.path when the path is too long, socket.listen
// otherwise.
Result<Descriptor> listen_unix(const std::string& path);
// The same, open to the members of a group too (0660). We must be one of them.
Result<Descriptor> listen_unix(const std::string& path, std::uint32_t group);

// Connects. Codes: socket.absent when nobody listens there, socket.denied when this user may not connect.
Result<Descriptor> connect_unix(const std::string& path);

// Who is at the other end, as the kernel says (SO_PEERCRED). The pid may be gone by now.
struct Peer {
  std::uint32_t uid = 0;
  std::int32_t pid = 0;
};
Result<Peer> peer_of(int socket);

// The first line on a connection, with the descriptors that travel with it (SCM_RIGHTS).
struct Greeting {
  std::string line;  // without its newline
  std::vector<Descriptor> descriptors;
};
inline constexpr std::size_t kMaxGreeting = 4096;
inline constexpr std::size_t kMaxGreetingDescriptors = 2;

// Blocks for `within` at most.
Result<void> send_greeting(int socket, std::string_view line, std::span<const int> descriptors,
                           std::chrono::milliseconds within);

// Takes what has arrived without blocking. Nothing yet: an empty optional, and `so_far` keeps the part. Bytes
// behind the newline stay in `rest`.
Result<std::optional<Greeting>> receive_greeting(int socket, Greeting& so_far, std::string& rest);

// Reads one line of at most `max` bytes, blocking for `within` at most; used by the command line and the
// stub.
Result<std::string> read_line(int fd, std::string& buffered, std::size_t max,
                              std::chrono::milliseconds within);
Result<void> write_all(int fd, std::string_view bytes, std::chrono::milliseconds within);

}  // namespace gateway
