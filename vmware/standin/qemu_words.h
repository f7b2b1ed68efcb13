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

// Everything QEMU is told about a machine. Paths are the host's; QEMU never sees one.
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

// The descriptors of the QEMU process that stand for the plan's files and sockets.
struct QemuDescriptors {
  std::vector<int> layers;  // as in the plan
  int kernel = -1, initrd = -1;
  int qmp = -1, qga = -1, copy = -1;  // listening
  std::vector<int> ports;             // listening, as in the plan
};

// The words after `qemu-system-x86_64`. Each layer of the disk is a descriptor with its format and its place
// in the chain, so that QEMU never opens a file because an image's header says so.
std::vector<std::string> qemu_words(const QemuPlan& plan, const QemuDescriptors& descriptors);

}  // namespace standin
