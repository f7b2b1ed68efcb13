#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace standin {

enum class Accelerator { kvm, tcg };
enum class Nic { none, nat };

// A further virtio-serial port: what the guest sees as /dev/virtio-ports/NAME is the socket NAME on the host.
struct GuestPort {
  std::string name;
  std::string socket;  // absolute path
};

// Everything QEMU is told about a machine.
struct QemuPlan {
  std::string name;
  std::string qemu_folder;          // for sockets
  std::vector<std::string> layers;  // the disk, writable layer first
  std::string kernel, initrd, append;
  unsigned cpus = 2;
  unsigned memory_mib = 1024;
  Nic nic = Nic::none;
  std::string mac;  // empty: QEMU's own
  Accelerator accelerator = Accelerator::tcg;
  std::vector<GuestPort> ports;
};

// The words after `qemu-system-x86_64`. Each layer of the disk is named with its format and its place in the
// chain, so that QEMU never opens a file because an image's header says so.
std::vector<std::string> qemu_words(const QemuPlan& plan);

}  // namespace standin
