#include "vmware/standin/qemu_words.h"

#include <cstddef>
#include <nlohmann/json.hpp>

namespace standin {
namespace {

using nlohmann::json;

// In QEMU's `key=value,…` options a comma in a value is written twice.
std::string value(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == ',') out += c;
  }
  return out;
}

void add_disk(std::vector<std::string>& words, const std::vector<int>& layers) {
  // From the bottom: a node can only name one that exists.
  for (std::size_t i = layers.size(); i-- > 0;) {
    const bool read_only = i != 0;
    const std::string number = std::to_string(i);
    words.insert(words.end(), {"-add-fd", "fd=" + std::to_string(layers[i]) + ",set=" + number});
    const json file{{"driver", "file"},
                    {"node-name", "file" + number},
                    {"filename", "/dev/fdset/" + number},
                    {"read-only", read_only},
                    {"discard", "unmap"}};
    json image{{"driver", "qcow2"},      {"node-name", "disk" + number}, {"file", "file" + number},
               {"read-only", read_only}, {"discard", "unmap"},           {"backing", nullptr}};
    if (i + 1 < layers.size()) image["backing"] = "disk" + std::to_string(i + 1);
    words.insert(words.end(), {"-blockdev", file.dump(), "-blockdev", image.dump()});
  }
  words.insert(words.end(), {"-device", "virtio-blk-pci,drive=disk0"});
}

std::string listening(const std::string& id, int fd) {
  return "socket,id=" + id + ",fd=" + std::to_string(fd) + ",server=on,wait=off";
}

void add_port(std::vector<std::string>& words, const std::string& id, int fd, const std::string& name) {
  words.insert(words.end(), {"-chardev", listening(id, fd), "-device",
                             "virtserialport,chardev=" + id + ",name=" + value(name)});
}

// QEMU reads kernels by plain opening only; this name leads to the descriptor's file.
std::string path_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

}  // namespace

// The machine type is a version, not an alias: a saved state loads into the machine it was saved from.
std::vector<std::string> qemu_words(const QemuPlan& plan, const QemuDescriptors& descriptors) {
  const bool kvm = plan.accelerator == Accelerator::kvm;
  std::vector<std::string> words{
      "-name",       value(plan.name),
      "-nodefaults", "-no-user-config",
      "-display",    "none",
      "-sandbox",    "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
      "-machine",    "pc-q35-7.2",
      "-accel",      kvm ? "kvm" : "tcg,thread=multi,tb-size=192",
      "-cpu",        kvm ? "host" : "max",
      "-smp",        std::to_string(plan.cpus),
      "-m",          std::to_string(plan.memory_mib),
      "-rtc",        "base=utc",
      "-chardev",    listening("qmp", descriptors.qmp),
      "-mon",        "chardev=qmp,mode=control",
      "-device",     "VGA",
      "-object",     "rng-random,id=entropy,filename=/dev/urandom",
      "-device",     "virtio-rng-pci,rng=entropy",
      "-device",     "virtio-serial-pci"};
  add_port(words, "qga", descriptors.qga, "org.qemu.guest_agent.0");
  add_port(words, "copy", descriptors.copy, "org.sallyport-vmrun.copy.0");
  for (std::size_t i = 0; i < plan.ports.size(); ++i) {
    add_port(words, "port" + std::to_string(i), descriptors.ports.at(i), plan.ports[i].name);
  }
  add_disk(words, descriptors.layers);
  if (plan.nic == Nic::nat) {
    const std::string mac = plan.mac.empty() ? "" : ",mac=" + plan.mac;
    words.insert(words.end(), {"-netdev", "user,id=net0,ipv6=off", "-device",
                               "virtio-net-pci,netdev=net0,romfile=" + mac});
  } else {
    words.insert(words.end(), {"-nic", "none"});
  }
  if (descriptors.kernel >= 0) {
    words.insert(words.end(), {"-kernel", path_of(descriptors.kernel)});
    if (descriptors.initrd >= 0) words.insert(words.end(), {"-initrd", path_of(descriptors.initrd)});
    if (!plan.append.empty()) words.insert(words.end(), {"-append", plan.append});
  }
  return words;
}

}  // namespace standin
