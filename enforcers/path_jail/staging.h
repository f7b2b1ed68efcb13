#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "enforcers/path_jail/jail.h"
#include "policy/result.h"

namespace enforcers {

// A private folder (0700) inside a jail's root, so that what was accepted in it can be renamed into place.
// Removed with everything in it when this goes. No host path can name it.
class Staging final {
 public:
  static policy::Result<std::unique_ptr<Staging>> make(std::shared_ptr<const Jail>);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  const Jail& jail() const { return *jail_; }
  const Descriptor& handle() const { return handle_; }

 private:
  Staging(std::shared_ptr<const Jail> jail, std::string name, Descriptor handle)
      : jail_(std::move(jail)), name_(std::move(name)), handle_(std::move(handle)) {}
  std::shared_ptr<const Jail> jail_;
  std::string name_;
  Descriptor handle_;  // locked, which tells other processes that it is in use
};

// Removes the staging folders that processes left behind when they died; says how many. For the start.
policy::Result<std::size_t> sweep_staging(const Jail&);

}  // namespace enforcers
