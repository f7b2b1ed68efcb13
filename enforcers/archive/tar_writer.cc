#include "enforcers/archive/tar_writer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "enforcers/archive/tar_header.h"

namespace enforcers {
namespace {

using policy::Result;

constexpr std::size_t kNameBytes = 100;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "tar writer: %s\n", what);
  std::abort();
}

std::size_t padding_of(std::uint64_t size) {
  return static_cast<std::size_t>((kTarBlock - size % kTarBlock) % kTarBlock);
}

// `digits` octal digits and a NUL; GNU's binary form where they do not suffice.
void put_number(std::string& block, std::size_t at, std::size_t digits, std::uint64_t value) {
  if (digits * 3 < 64 && value >> (digits * 3) != 0) {
    for (std::size_t i = 0; i <= digits; ++i) {
      const std::size_t shift = (digits - i) * 8;
      block[at + i] = static_cast<char>(shift < 64 ? (value >> shift) & 0xFFU : 0);
    }
    block[at] = static_cast<char>(0x80);
    return;
  }
  for (std::size_t i = digits; i-- > 0; value >>= 3U) block[at + i] = static_cast<char>('0' + (value & 7U));
}

}  // namespace

Result<void> TarWriter::header(std::string_view path, char type, std::uint64_t size, std::int64_t modified,
                               std::uint32_t mode) {
  require(left_ == 0 && padding_ == 0, "a header in the middle of a file's content");
  if (path.size() > kNameBytes) {
    if (auto written = header("././@LongLink", 'L', path.size() + 1, 0, 0644); !written) return written;
    std::string name(path);
    name.append(1 + padding_of(path.size() + 1), '\0');
    if (auto written = sink_.write(name); !written) return written;
  }
  std::string block(kTarBlock, '\0');
  path = path.substr(0, kNameBytes);
  block.replace(0, path.size(), path);
  put_number(block, 100, 7, mode);
  put_number(block, 108, 7, 0);
  put_number(block, 116, 7, 0);
  put_number(block, 124, 11, size);
  put_number(block, 136, 11, static_cast<std::uint64_t>(std::max<std::int64_t>(modified, 0)));
  block.replace(148, 8, "        ");
  block[156] = type;
  block.replace(257, 7, "ustar  ");
  std::uint64_t sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  put_number(block, 148, 6, sum);
  block[154] = '\0';
  return sink_.write(block);
}

Result<void> TarWriter::folder(std::string_view path, std::int64_t modified) {
  return header(std::string(path) + "/", '5', 0, modified, 0755);
}

Result<void> TarWriter::file(std::string_view path, std::uint64_t size, std::int64_t modified,
                             bool executable) {
  if (auto written = header(path, '0', size, modified, executable ? 0755 : 0644); !written) return written;
  left_ = size;
  padding_ = padding_of(size);
  return {};
}

Result<void> TarWriter::content(std::string_view bytes) {
  require(bytes.size() <= left_, "more content than announced");
  left_ -= bytes.size();
  if (auto written = sink_.write(bytes); !written || left_ > 0) return written;
  const std::string padding(std::exchange(padding_, 0), '\0');
  return padding.empty() ? Result<void>() : sink_.write(padding);
}

Result<void> TarWriter::finish() {
  require(left_ == 0 && padding_ == 0, "an end in the middle of a file's content");
  return sink_.write(std::string(2 * kTarBlock, '\0'));
}

}  // namespace enforcers
