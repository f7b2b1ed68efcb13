#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "enforcers/archive/byte_stream.h"
#include "policy/result.h"

namespace enforcers {

// Writes a tar that GNU tar, bsdtar and busybox read alike: GNU's format, with a long-name entry for a path
// of more than 100 bytes. Owners are 0, modes 0644 or 0755. Names are the caller's to judge; calling in
// another order than written below, or with another number of bytes than announced, aborts.
class TarWriter final {
 public:
  explicit TarWriter(ByteSink& sink) : sink_(sink) {}

  policy::Result<void> folder(std::string_view path, std::int64_t modified);
  // Followed by content() until `size` bytes are written.
  policy::Result<void> file(std::string_view path, std::uint64_t size, std::int64_t modified,
                            bool executable);
  policy::Result<void> content(std::string_view bytes);
  // The end of the archive.
  policy::Result<void> finish();

 private:
  policy::Result<void> header(std::string_view path, char type, std::uint64_t size, std::int64_t modified,
                              std::uint32_t mode);

  ByteSink& sink_;
  std::uint64_t left_ = 0;     // bytes of content still to come
  std::uint64_t padding_ = 0;  // after them
};

}  // namespace enforcers
