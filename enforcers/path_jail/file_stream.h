#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "enforcers/archive/byte_stream.h"
#include "enforcers/path_jail/jail.h"
#include "policy/digest.h"
#include "policy/result.h"

namespace enforcers {

// Reads an open file or pipe from where it stands. Errors: `timeout` when the deadline passes while waiting,
// `cancelled`, and those of open_error(). Does not own the descriptor.
class DescriptorSource final : public ByteSource {
 public:
  DescriptorSource(int number, std::chrono::steady_clock::time_point deadline, std::stop_token stop);
  policy::Result<std::string_view> read(std::size_t most) override;

 private:
  policy::Result<void> fill();
  int number_;
  std::chrono::steady_clock::time_point deadline_;
  std::stop_token stop_;
  std::string buffer_;
  std::string_view rest_;
};

// Writes an open file, or a pipe that does not block. Call flush() at the end: what was not flushed is lost.
// The deadline and the errors are those of DescriptorSource.
class DescriptorSink final : public ByteSink {
 public:
  DescriptorSink(int number, std::chrono::steady_clock::time_point deadline, std::stop_token stop);
  policy::Result<void> write(std::string_view bytes) override;
  policy::Result<void> flush();

 private:
  policy::Result<void> put(std::string_view bytes);
  int number_;
  std::chrono::steady_clock::time_point deadline_;
  std::stop_token stop_;
  std::string buffer_;
};

// Reads exactly the size that `facts` says from the file's beginning, in pieces, and gives its digest.
// `copy.changed` when the file is not, or no longer, what `facts` says.
policy::Result<policy::Sha256> read_file(const Descriptor&, const FileFacts& facts, std::string_view subject,
                                         const std::stop_token&,
                                         const std::function<policy::Result<void>(std::string_view)>& piece);
policy::Result<policy::Sha256> hash_file(const Descriptor&, const FileFacts& facts, std::string_view subject,
                                         const std::stop_token&);

}  // namespace enforcers
