#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "policy/result.h"
#include "vmware/standin/files.h"

namespace standin {

// A connection to a Unix socket, not blocking. `channel` when nothing listens there.
Result<Fd> connect_to_socket(const std::string& path, Deadline deadline);
// Waits until the descriptor can be read or written (`channel` at the deadline), and does so once or to the
// end.
Result<> send_all(const Fd& fd, std::string_view bytes, Deadline deadline);
// What is there, 1 to `limit` bytes; `channel.late` when nothing came in time, `channel` when the other end
// is gone.
Result<std::string> receive_some(const Fd& fd, std::size_t limit, Deadline deadline);

// One client connection to a Unix socket that carries JSON texts, one a line. Everything read is bounded: a
// line longer than `kMaxLine` or a deadline passed fails with `channel`, after which the connection is of no
// more use.
class JsonChannel final {
 public:
  // An 2 MiB chunk in base64 and its envelope fit; a guest that sends more gets no memory of ours.
  static constexpr std::size_t kMaxLine = 4 << 20;

  static Result<JsonChannel> open(const std::string& socket_path, Deadline deadline);

  Result<> send(std::string_view bytes, Deadline deadline);
  // With a copy of a descriptor for the other end.
  Result<> send_with(std::string_view bytes, const Fd& passed, Deadline deadline);
  // The next line without its end.
  Result<std::string> receive(Deadline deadline);

 private:
  explicit JsonChannel(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
  std::string buffer_;
  std::size_t scanned_ = 0;
};

}  // namespace standin
