#pragma once

#include <string>
#include <vector>

namespace enforcers {

// A temporary folder with `root` and `out` in it, removed at the end. Paths are relative to it.
class Scratch final {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string path(const std::string& relative) const { return top_ + "/" + relative; }
  std::string root() const { return path("root"); }

  void write(const std::string& relative, const std::string& content, unsigned mode = 0644) const;
  void folder(const std::string& relative) const;
  void link(const std::string& relative, const std::string& target) const;
  void hard_link(const std::string& relative, const std::string& existing) const;
  void fifo(const std::string& relative) const;
  void socket(const std::string& relative) const;
  void exchange(const std::string& a, const std::string& b) const;  // in one step
  std::string read(const std::string& relative) const;              // "(none)" when there is no such file
  unsigned mode(const std::string& relative) const;

  // One line for each thing below `relative`: path, type, mode, content or target.
  std::vector<std::string> listing(const std::string& relative) const;

 private:
  std::string top_;
};

// An open file for a test's archive: written, rewound.
int file_with(const std::string& bytes);
int empty_file();
std::string content_of(int file);
void close_file(int file);

}  // namespace enforcers
