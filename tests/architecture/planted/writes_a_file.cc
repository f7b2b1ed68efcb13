// FINDS: system open
// FINDS: system fopen
// FINDS: system rename
// FINDS: system unlinkat
// FINDS: system std::filesystem::remove_all
// FINDS: system std::filesystem::create_directories
// FINDS: system std::basic_ofstream
#include <fcntl.h>
#include <unistd.h>
#include <cstdio>
#include <filesystem>
#include <fstream>

bool write_something(const std::filesystem::path& path) {
  std::ofstream(path) << "text";
  std::filesystem::create_directories(path.parent_path());
  if (std::fopen(path.c_str(), "w") == nullptr && open(path.c_str(), O_WRONLY) < 0) return false;
  return std::rename(path.c_str(), "b") == 0 && unlinkat(AT_FDCWD, "b", 0) == 0 &&
         std::filesystem::remove_all(path) > 0;
}
