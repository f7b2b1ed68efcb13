#include "gateway/tools/output_window.h"

#include <algorithm>

#include "policy/utf8.h"

namespace gateway::tools {
namespace {

constexpr std::size_t kMaxSequence = 4;  // bytes of a character

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Takes one character, or one byte that is none.
void take(std::string_view& rest) {
  if (!policy::take_code_point(rest)) rest.remove_prefix(1);
}

std::size_t count(std::string_view bytes) {
  std::size_t chars = 0;
  for (; !bytes.empty(); ++chars) take(bytes);
  return chars;
}

// Length of a character at the end of `bytes` that has begun and is not complete; 0 when there is none.
std::size_t incomplete_tail(std::string_view bytes) {
  const std::size_t reach = std::min(kMaxSequence - 1, bytes.size());
  for (std::size_t length = 1; length <= reach; ++length) {
    const auto lead = static_cast<unsigned char>(bytes[bytes.size() - length]);
    if ((lead & 0xC0) == 0x80) continue;
    const std::size_t whole = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;
    return lead <= 0xF4 && whole > length ? length : 0;
  }
  return 0;
}

// The front of `bytes` with at most `budget` characters.
std::string_view front(std::string_view bytes, std::size_t budget) {
  std::string_view rest = bytes;
  for (std::size_t chars = 0; chars < budget && !rest.empty(); ++chars) take(rest);
  std::string_view part = bytes.substr(0, bytes.size() - rest.size());
  if (rest.empty()) return part;
  const std::size_t line = part.rfind('\n');
  return line != std::string_view::npos && line + 1 > part.size() / 2 ? part.substr(0, line + 1) : part;
}

// The end of `bytes` with at most `budget` characters.
std::string_view back(std::string_view bytes, std::size_t budget) {
  std::string_view part = bytes;
  if (part.size() > budget * kMaxSequence) {
    part.remove_prefix(part.size() - budget * kMaxSequence);
    for (std::size_t i = 1; i < kMaxSequence && !part.empty() && continues(part.front()); ++i)
      part.remove_prefix(1);
  }
  for (std::size_t chars = count(part); chars > budget; --chars) take(part);
  if (part.size() == bytes.size()) return part;
  // A part that begins right behind a line end needs no further cut.
  if (bytes[bytes.size() - part.size() - 1] == '\n') return part;
  const std::size_t line = part.find('\n');
  return line != std::string_view::npos && line < part.size() / 2 ? part.substr(line + 1) : part;
}

}  // namespace

Window window(const vmware::StreamView& stream, std::optional<std::uint64_t> from, std::size_t budget,
              Growth growth) {
  const std::string_view kept = stream.bytes;
  const std::uint64_t end = stream.offset + kept.size();
  Window shown;
  shown.total = std::max(stream.total, end);
  const std::uint64_t begin = std::clamp(from.value_or(stream.offset), stream.offset, end);
  std::string_view bytes = kept.substr(static_cast<std::size_t>(begin - stream.offset));
  const std::size_t pending = growth == Growth::growing ? incomplete_tail(bytes) : 0;
  bytes.remove_suffix(pending);
  shown.bytes = from ? front(bytes, budget) : back(bytes, budget);
  shown.offset = from ? begin : begin + bytes.size() - shown.bytes.size();
  shown.next = shown.offset + shown.bytes.size();
  shown.chars = count(shown.bytes);
  const std::uint64_t asked = std::min(from.value_or(0), shown.total);
  shown.truncated = shown.offset > asked || shown.next + pending < shown.total;
  return shown;
}

Windows windows(const vmware::StreamView& out, const vmware::StreamView& err,
                std::optional<std::uint64_t> from_out, std::optional<std::uint64_t> from_err,
                std::size_t budget, Growth growth) {
  const std::size_t half = budget / 2;
  Windows both{window(out, from_out, half, growth), window(err, from_err, half, growth)};
  const std::size_t for_out = budget - both.err.chars;
  both.out = window(out, from_out, std::max(half, for_out), growth);
  both.err = window(err, from_err, std::max(half, budget - both.out.chars), growth);
  return both;
}

}  // namespace gateway::tools
