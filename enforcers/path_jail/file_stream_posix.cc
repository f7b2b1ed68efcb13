#include "enforcers/path_jail/file_stream.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace enforcers {
namespace {

using policy::Error;
using policy::fail;
using policy::Result;
using Deadline = std::chrono::steady_clock::time_point;

constexpr std::size_t kBufferBytes = 256 * 1024;
constexpr std::string_view kStream = "the copy's data";
constexpr std::chrono::milliseconds kGlance{100};  // how often a waiting copy looks for a stop request

tl::unexpected<Error> changed(std::string_view subject) {
  return fail("copy.changed", std::string(subject) +
                                  " changed while it was copied; try again when nothing "
                                  "writes to it");
}

Result<void> check(const std::stop_token& stop, Deadline deadline) {
  if (stop.stop_requested()) return fail("cancelled", "the copy was cancelled");
  if (std::chrono::steady_clock::now() >= deadline) {
    return fail("timeout", "the copy took too long; copy less at a time");
  }
  return {};
}

// Waits until the descriptor is ready, or for a glance.
void wait(int number, short events) {
  pollfd entry{number, events, 0};
  (void)::poll(&entry, 1, static_cast<int>(kGlance.count()));
}

}  // namespace

DescriptorSource::DescriptorSource(int number, Deadline deadline, std::stop_token stop)
    : number_(number), deadline_(deadline), stop_(std::move(stop)), buffer_(kBufferBytes, '\0') {}

Result<void> DescriptorSource::fill() {
  while (true) {
    if (auto fine = check(stop_, deadline_); !fine) return fine;
    pollfd entry{number_, POLLIN, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(kGlance.count()));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    if (ready < 0) return tl::unexpected(open_error(errno, kStream));
    const ssize_t got = ::read(number_, buffer_.data(), buffer_.size());
    if (got >= 0) {
      rest_ = std::string_view(buffer_).substr(0, static_cast<std::size_t>(got));
      return {};
    }
    if (errno != EINTR && errno != EAGAIN) return tl::unexpected(open_error(errno, kStream));
  }
}

Result<std::string_view> DescriptorSource::read(std::size_t most) {
  if (rest_.empty()) {
    if (auto filled = fill(); !filled) return tl::unexpected(filled.error());
  }
  const std::string_view piece = rest_.substr(0, most);
  rest_.remove_prefix(piece.size());
  return piece;
}

DescriptorSink::DescriptorSink(int number, Deadline deadline, std::stop_token stop)
    : number_(number), deadline_(deadline), stop_(std::move(stop)) {
  buffer_.reserve(kBufferBytes);
}

Result<void> DescriptorSink::put(std::string_view bytes) {
  while (!bytes.empty()) {
    if (auto fine = check(stop_, deadline_); !fine) return fine;
    const ssize_t written = ::write(number_, bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      wait(number_, POLLOUT);
    } else if (errno != EINTR) {
      return tl::unexpected(open_error(errno, kStream));
    }
  }
  return {};
}

Result<void> DescriptorSink::write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) {
    if (auto done = flush(); !done) return done;
    if (bytes.size() >= kBufferBytes) return put(bytes);
  }
  buffer_ += bytes;
  return {};
}

Result<void> DescriptorSink::flush() {
  auto done = put(buffer_);
  buffer_.clear();
  return done;
}

Result<policy::Sha256> read_file(const Descriptor& file, const FileFacts& facts, std::string_view subject,
                                 const std::stop_token& stop,
                                 const std::function<Result<void>(std::string_view)>& piece) {
  policy::Sha256Stream digest;
  std::string buffer(static_cast<std::size_t>(std::clamp<std::uint64_t>(facts.size, 1, kBufferBytes)), '\0');
  std::uint64_t at = 0;
  while (at < facts.size) {
    if (stop.stop_requested()) return fail("cancelled", "the copy was cancelled");
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(facts.size - at, buffer.size()));
    const ssize_t got = ::pread(file.number(), buffer.data(), most, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::unexpected(open_error(errno, subject));
    if (got == 0) return changed(subject);
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    digest.update(bytes);
    if (piece) {
      if (auto taken = piece(bytes); !taken) return tl::unexpected(taken.error());
    }
    at += bytes.size();
  }
  const auto now = facts_of(file, subject);
  if (!now) return tl::unexpected(now.error());
  if (*now != facts) return changed(subject);
  return digest.finish();
}

Result<policy::Sha256> hash_file(const Descriptor& file, const FileFacts& facts, std::string_view subject,
                                 const std::stop_token& stop) {
  return read_file(file, facts, subject, stop, nullptr);
}

}  // namespace enforcers
