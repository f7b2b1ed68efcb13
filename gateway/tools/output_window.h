#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "vmware/machines.h"

// Which part of a command's output one answer shows.
namespace gateway::tools {

struct Window {
  std::string_view bytes;    // part of the stream's; may hold bytes that are not UTF-8
  std::uint64_t offset = 0;  // of the first one in the whole stream
  std::uint64_t next = 0;    // of the first one after it
  std::uint64_t total = 0;
  std::size_t chars = 0;   // what the part counts against a budget
  bool truncated = false;  // something from the place asked for up to the total is missing
};

enum class Growth { growing, ended };

// Without `from` the newest part, with it the part that begins there (or where what is kept begins), of at
// most `budget` characters; a byte that is not UTF-8 counts as one. A part that had to be cut begins or ends
// at a line end when there is one in its outer half, never inside a character. While the stream grows, a last
// character that is not complete is left for later.
Window window(const vmware::StreamView&, std::optional<std::uint64_t> from, std::size_t budget, Growth);

struct Windows {
  Window out;
  Window err;
};

// Both streams within one budget: what one does not need, the other may use.
Windows windows(const vmware::StreamView& out, const vmware::StreamView& err,
                std::optional<std::uint64_t> from_out, std::optional<std::uint64_t> from_err,
                std::size_t budget, Growth);

}  // namespace gateway::tools
