#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "audit/disk.h"

namespace fakes {

// A disk in memory that knows what was flushed, can be told to fail, and can lose its power. Thread-safe.
// What lies on the platter outlives the disks opened on it.
class Platter final {
 public:
  struct Content {
    std::string bytes;
    std::size_t flushed = 0;
  };
  // Every write from the `after`-th on (0: the next) fails after `part` bytes.
  void fail_writes(int after, std::size_t part = 0) { set(write_fault_, Fault{after, part}); }
  void fail_syncs(int after) { set(sync_fault_, Fault{after, 0}); }
  void fail_truncates() { set(truncate_fault_, Fault{0, 0}); }
  // Flushes block until released; in_sync() waits until one does.
  void hold_syncs() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  void release_syncs() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }
  bool in_sync() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [&] { return waiting_ > 0; });
  }
  void repair() {
    const std::lock_guard lock(mutex_);
    write_fault_ = sync_fault_ = truncate_fault_ = std::nullopt;
  }
  // Everything that was not flushed is gone, except the first `kept` bytes of it in each file.
  void lose_power(std::size_t kept = 0) {
    const std::lock_guard lock(mutex_);
    for (auto& [name, content] : files_) {
      content.bytes.resize(std::min(content.bytes.size(), content.flushed + kept));
      content.flushed = content.bytes.size();
    }
  }
  std::string bytes(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto at = files_.find(name);
    return at == files_.end() ? std::string() : at->second.bytes;
  }
  void put(const std::string& name, std::string bytes) {
    const std::lock_guard lock(mutex_);
    const auto size = bytes.size();
    files_[name] = {std::move(bytes), size};
  }
  void remove(const std::string& name) {
    const std::lock_guard lock(mutex_);
    files_.erase(name);
  }
  std::vector<std::string> names() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (const auto& [name, content] : files_) out.push_back(name);
    return out;
  }
  int syncs() const {
    const std::lock_guard lock(mutex_);
    return syncs_;
  }

 private:
  friend class FaultyDisk;
  friend class FaultyFile;
  struct Fault {
    int after;
    std::size_t part;
  };
  void set(std::optional<Fault>& which, Fault fault) {
    const std::lock_guard lock(mutex_);
    which = fault;
  }
  static bool due(std::optional<Fault>& fault) { return fault && fault->after-- <= 0; }

  mutable std::mutex mutex_;
  std::map<std::string, Content> files_;
  std::optional<Fault> write_fault_, sync_fault_, truncate_fault_;
  int syncs_ = 0;
  bool held_ = false;
  int waiting_ = 0;
  std::condition_variable changed_;
};

class FaultyFile final : public audit::File {
 public:
  FaultyFile(std::shared_ptr<Platter> platter, std::string name)
      : platter_(std::move(platter)), name_(std::move(name)) {}

  policy::Result<std::size_t> append(std::string_view bytes) override {
    const std::lock_guard lock(platter_->mutex_);
    auto& content = platter_->files_[name_];
    if (Platter::due(platter_->write_fault_)) {
      const auto part = std::exchange(platter_->write_fault_->part, 0);
      if (part == 0 || part >= bytes.size()) return policy::fail("audit.write", "no space left on device");
      content.bytes.append(bytes.substr(0, part));
      return part;
    }
    content.bytes.append(bytes);
    return bytes.size();
  }
  policy::Result<void> truncate(std::uint64_t size) override {
    const std::lock_guard lock(platter_->mutex_);
    if (Platter::due(platter_->truncate_fault_)) return policy::fail("audit.disk", "input/output error");
    auto& content = platter_->files_[name_];
    content.bytes.resize(size);
    content.flushed = std::min(content.flushed, content.bytes.size());
    return {};
  }
  // As Linux does: after a failed flush the data counts as clean, and the next flush of it says yes.
  policy::Result<void> sync() override {
    std::unique_lock lock(platter_->mutex_);
    ++platter_->syncs_;
    ++platter_->waiting_;
    platter_->changed_.notify_all();
    platter_->changed_.wait(lock, [&] { return !platter_->held_; });
    --platter_->waiting_;
    if (Platter::due(platter_->sync_fault_)) {
      platter_->sync_fault_.reset();
      return policy::fail("audit.disk", "input/output error");
    }
    auto& content = platter_->files_[name_];
    content.flushed = content.bytes.size();
    return {};
  }
  policy::Result<std::uint64_t> size() override {
    const std::lock_guard lock(platter_->mutex_);
    return platter_->files_[name_].bytes.size();
  }
  policy::Result<std::size_t> read(std::uint64_t offset, std::span<char> into) override {
    const std::lock_guard lock(platter_->mutex_);
    const auto& bytes = platter_->files_[name_].bytes;
    if (offset >= bytes.size()) return std::size_t{0};
    const auto n = std::min<std::size_t>(into.size(), bytes.size() - offset);
    std::memcpy(into.data(), bytes.data() + offset, n);
    return n;
  }

 private:
  std::shared_ptr<Platter> platter_;
  std::string name_;
};

class FaultyDisk final : public audit::Disk {
 public:
  explicit FaultyDisk(std::shared_ptr<Platter> platter) : platter_(std::move(platter)) {}

  policy::Result<std::vector<std::string>> list() override {
    std::vector<std::string> out;
    for (auto& name : platter_->names()) {
      if (name.find('/') == std::string::npos) out.push_back(std::move(name));
    }
    return out;
  }
  policy::Result<std::unique_ptr<audit::File>> open(const std::string& name, Open how) override {
    const std::lock_guard lock(platter_->mutex_);
    const auto at = platter_->files_.find(name);
    if (how == Open::create) {
      if (at != platter_->files_.end() && !at->second.bytes.empty())
        return policy::fail("audit.disk", "`" + name + "` exists and is not empty");
      platter_->files_[name];
    } else if (at == platter_->files_.end()) {
      return policy::fail("audit.disk", "there is no `" + name + "`");
    }
    return std::make_unique<FaultyFile>(platter_, name);
  }
  policy::Result<std::unique_ptr<audit::File>> set_aside(const std::string& name) override {
    return open("torn/" + name, Open::create);
  }
  policy::Result<void> sync_names() override { return {}; }
  bool owned_elsewhere() override { return false; }

 private:
  std::shared_ptr<Platter> platter_;
};

}  // namespace fakes
