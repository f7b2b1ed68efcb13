#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gateway::mcp {

// Cuts a byte stream into lines. A line longer than the limit is dropped to its end and reported once, so
// memory stays bounded and the stream goes on.
class LineReader final {
 public:
  explicit LineReader(std::size_t limit = std::size_t{10} << 20) : limit_(limit) {}

  enum class Kind { line, too_long };
  struct Line {
    Kind kind = Kind::line;
    std::string text;  // without its end; empty when too long
  };

  // Bytes that arrived; then call next() until it gives nothing.
  void push(std::string_view bytes);
  std::optional<Line> next();
  // The last line when the stream ended without a line end.
  std::optional<Line> finish();

 private:
  std::size_t limit_;
  std::string buffer_;
  std::size_t consumed_ = 0;  // bytes of buffer_ already given out
  std::size_t scanned_ = 0;   // bytes of buffer_ known to hold no line end after consumed_
  bool dropping_ = false;
};

}  // namespace gateway::mcp
