#pragma once

#include <string>

#include "vmware/standin/files.h"
#include "vmware/standin/qemu_words.h"
#include "vmware/standin/runtime.h"

namespace standin {

// What a machine was doing, on disk: this description (`.vmss`, or `.vmsn` for a snapshot) and QEMU's stream
// (`.vmem`), both as secret as the guest's memory.
struct SavedState {
  std::string memory;    // plain name of the stream, beside the description
  std::string hardware;  // `hardware_of` the machine; another cannot take the stream
  std::string address;   // the guest's, as it was; empty: none known

  bool operator==(const SavedState&) const = default;
  // Codes: `state` for anything damaged.
  static Result<SavedState> parse(std::string_view bytes);
  // Fails when a name in it cannot be written so that it reads back.
  Result<std::string> write() const;
};

// All that must be the same when a stream is loaded.
std::string hardware_of(const QemuPlan& plan);

// Writes memory and devices of a machine that is on to `path`, whose name appears when all of it is on disk.
// The processors stand still from then on.
Result<> save_memory(const RuntimeEntry& entry, const std::string& path, unsigned memory_mib);
// Loads them into a machine that was started to wait for them; its processors stand still.
Result<> load_memory(const RuntimeEntry& entry, const std::string& path, unsigned memory_mib);

}  // namespace standin
