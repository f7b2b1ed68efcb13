#include "tests/enforcers/scratch_posix.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace enforcers {

namespace fs = std::filesystem;

Scratch::Scratch() {
  std::string pattern = (fs::temp_directory_path() / "sallyport-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) std::abort();
  top_ = pattern;
  folder("root");
  folder("out");
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(top_, ignored);
}

void Scratch::write(const std::string& relative, const std::string& content, unsigned mode) const {
  fs::create_directories(fs::path(path(relative)).parent_path());
  std::ofstream(path(relative), std::ios::binary) << content;
  ASSERT_EQ(::chmod(path(relative).c_str(), mode), 0);
}

void Scratch::folder(const std::string& relative) const {
  fs::create_directories(path(relative));
  ASSERT_EQ(::chmod(path(relative).c_str(), 0755), 0);
}

void Scratch::link(const std::string& relative, const std::string& target) const {
  fs::create_directories(fs::path(path(relative)).parent_path());
  fs::create_symlink(target, path(relative));
}

void Scratch::hard_link(const std::string& relative, const std::string& existing) const {
  fs::create_hard_link(path(existing), path(relative));
}

void Scratch::fifo(const std::string& relative) const {
  ASSERT_EQ(::mkfifo(path(relative).c_str(), 0644), 0);
}

void Scratch::socket(const std::string& relative) const {
  const int file = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path(relative).size(), sizeof address.sun_path);
  std::strcpy(address.sun_path, path(relative).c_str());
  // SAFETY: the sockets interface takes every address as a sockaddr.
  ASSERT_EQ(::bind(file, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(file);
}

void Scratch::exchange(const std::string& a, const std::string& b) const {
  (void)::renameat2(AT_FDCWD, path(a).c_str(), AT_FDCWD, path(b).c_str(), RENAME_EXCHANGE);
}

std::string Scratch::read(const std::string& relative) const {
  std::ifstream in(path(relative), std::ios::binary);
  if (!in) return "(none)";
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

unsigned Scratch::mode(const std::string& relative) const {
  struct stat facts{};
  EXPECT_EQ(::lstat(path(relative).c_str(), &facts), 0) << relative;
  return facts.st_mode & 07777U;
}

std::vector<std::string> Scratch::listing(const std::string& relative) const {
  std::vector<std::string> lines;
  for (const auto& entry : fs::recursive_directory_iterator(path(relative))) {
    const std::string name = entry.path().lexically_relative(path(relative)).string();
    struct stat facts{};
    ::lstat(entry.path().c_str(), &facts);
    std::string line = name + " " + std::to_string(facts.st_mode) + " " + std::to_string(facts.st_ino) + " ";
    if (entry.is_symlink()) {
      line += "-> " + fs::read_symlink(entry.path()).string();
    } else if (entry.is_regular_file()) {
      line += read(relative + "/" + name);
    }
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

int empty_file() {
  std::string pattern = (fs::temp_directory_path() / "sallyport-test-XXXXXX").string();
  const int file = ::mkstemp(pattern.data());
  if (file < 0) std::abort();
  ::unlink(pattern.c_str());
  return file;
}

int file_with(const std::string& bytes) {
  const int file = empty_file();
  EXPECT_EQ(::pwrite(file, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  return file;
}

std::string content_of(int file) {
  struct stat facts{};
  EXPECT_EQ(::fstat(file, &facts), 0);
  std::string bytes(static_cast<std::size_t>(facts.st_size), '\0');
  EXPECT_EQ(::pread(file, bytes.data(), bytes.size(), 0), facts.st_size);
  return bytes;
}

void close_file(int file) { ::close(file); }

}  // namespace enforcers
