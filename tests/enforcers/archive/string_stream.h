#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "enforcers/archive/byte_stream.h"

namespace enforcers {

// An archive in memory, handed out in pieces of at most `step` bytes.
class StringSource final : public ByteSource {
 public:
  explicit StringSource(std::string_view bytes, std::size_t step = 4096) : rest_(bytes), step_(step) {}
  policy::Result<std::string_view> read(std::size_t most) override {
    const auto piece = rest_.substr(0, std::min({most, step_, rest_.size()}));
    rest_.remove_prefix(piece.size());
    return piece;
  }

 private:
  std::string_view rest_;
  std::size_t step_;
};

class StringSink final : public ByteSink {
 public:
  policy::Result<void> write(std::string_view more) override {
    bytes += more;
    return {};
  }
  std::string bytes;
};

}  // namespace enforcers
