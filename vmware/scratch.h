#pragma once

#include <string>

namespace vmware {

// Room for one file of ours that vmrun reads or writes. A vmrun that is killed leaves what it had begun
// beside it; all of that is gone when this is. Where the room cannot be made, using the path says why.
class Scratch final {
 public:
  explicit Scratch(const std::string& folder, const std::string& name = "file");
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string folder_, room_, path_;
};

}  // namespace vmware
