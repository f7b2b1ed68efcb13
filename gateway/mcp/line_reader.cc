#include "gateway/mcp/line_reader.h"

#include <utility>

namespace gateway::mcp {

void LineReader::push(std::string_view bytes) {
  if (consumed_ > 0) {
    buffer_.erase(0, consumed_);
    scanned_ -= consumed_;
    consumed_ = 0;
  }
  buffer_.append(bytes);
}

std::optional<LineReader::Line> LineReader::next() {
  const std::size_t end = buffer_.find('\n', scanned_);
  if (end == std::string::npos) {
    scanned_ = buffer_.size();
    const bool over = buffer_.size() - consumed_ > limit_;
    if (dropping_ || over) {
      // Kept: only that the rest of this line is to be dropped.
      buffer_.clear();
      buffer_.shrink_to_fit();
      consumed_ = scanned_ = 0;
      if (!std::exchange(dropping_, true)) return Line{Kind::too_long, {}};
    }
    return std::nullopt;
  }
  const std::size_t begin = std::exchange(consumed_, end + 1);
  scanned_ = consumed_;
  if (std::exchange(dropping_, false)) return next();
  if (end - begin > limit_) return Line{Kind::too_long, {}};
  return Line{Kind::line, buffer_.substr(begin, end - begin)};
}

std::optional<LineReader::Line> LineReader::finish() {
  const std::string rest = buffer_.substr(consumed_);
  buffer_.clear();
  consumed_ = scanned_ = 0;
  if (std::exchange(dropping_, false) || rest.empty()) return std::nullopt;
  if (rest.size() > limit_) return Line{Kind::too_long, {}};
  return Line{Kind::line, rest};
}

}  // namespace gateway::mcp
