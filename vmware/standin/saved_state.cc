#include "vmware/standin/saved_state.h"

#include <utility>

#include "vmware/standin/monitor.h"
#include "vmware/standin/snapshots.h"
#include "vmware/standin/texts.h"
#include "vmware/vmx.h"

namespace standin {
namespace {

using policy::fail;

constexpr Millis kMonitorWait{10000};
constexpr Millis kPollEvery{30};
constexpr std::size_t kMaxField = 4096;

// Slow disks write 10 MiB a second, and a busy host needs a while to begin.
Deadline deadline_for(unsigned memory_mib) { return after(Millis{60000 + 100 * std::int64_t{memory_mib}}); }

policy::Error stuck(const char* what) { return {"state", std::string(texts::kUnknownError) + ": " + what}; }

// VMware's sentence for what went wrong between us and QEMU, or with a file.
policy::Error in_vmwares_words(policy::Error error) {
  if (error.code.starts_with("channel") || error.code == "monitor") {
    return {"vm.communication", std::string(texts::kCommunication)};
  }
  if (error.code.starts_with("file")) return stuck(error.message.c_str());
  return error;
}

// Connected anew each time: others want to know meanwhile whether the machine runs.
Result<std::string> migration_of(const RuntimeEntry& entry) {
  auto monitor = Monitor::connect(entry.folder(), after(kMonitorWait));
  if (!monitor) return tl::unexpected(monitor.error());
  return monitor->migration(after(kMonitorWait));
}

}  // namespace

Result<SavedState> SavedState::parse(std::string_view bytes) {
  const auto file = vmware::Vmx::parse_lenient(bytes);
  if (!file) return fail("state", "not the description of a saved state");
  SavedState state;
  state.memory = file->get_or("qemu.state.memory", "");
  state.hardware = file->get_or("qemu.state.hardware", "");
  state.address = file->get_or("qemu.state.address", "");
  if (!is_plain_name(state.memory) || state.hardware.empty() || state.hardware.size() > kMaxField ||
      state.address.find_first_not_of("0123456789.") != std::string::npos) {
    return fail("state", "not the description of a saved state");
  }
  if (const auto written = state.write(); !written) return tl::unexpected(written.error());
  return state;
}

Result<std::string> SavedState::write() const {
  vmware::Vmx file;
  if (!file.set("qemu.state.memory", memory) || !file.set("qemu.state.hardware", hardware) ||
      (!address.empty() && !file.set("qemu.state.address", address))) {
    return tl::unexpected(stuck("the name of the machine or of a port is not text"));
  }
  return file.write();
}

std::string hardware_of(const QemuPlan& plan) {
  std::string text = "cpus=" + std::to_string(plan.cpus) + " memory=" + std::to_string(plan.memory_mib);
  text += plan.accelerator == Accelerator::kvm ? " kvm" : " tcg";
  text += plan.nic == Nic::nat ? " nat=" + plan.mac : "";
  for (const GuestPort& port : plan.ports) text += " port=" + port.name;
  return text;
}

Result<> save_memory(const RuntimeEntry& entry, const std::string& path, unsigned memory_mib) {
  const std::string part = path + ".part";
  (void)remove_file(part);  // of an earlier attempt
  const auto file = make_file(part);
  if (!file) return tl::unexpected(in_vmwares_words(file.error()));
  const auto save = [&]() -> Result<> {
    {
      auto monitor = Monitor::connect(entry.folder(), after(kMonitorWait));
      if (!monitor) return tl::unexpected(monitor.error());
      if (auto paused = monitor->pause(after(kMonitorWait)); !paused) return paused;
      if (auto begun = monitor->save_to(*file, after(kMonitorWait)); !begun) return begun;
    }
    const Deadline deadline = deadline_for(memory_mib);
    for (;;) {
      const auto state = migration_of(entry);
      if (!state) return tl::unexpected(state.error());
      if (*state == "completed") return place_file(*file, part, path);
      if (*state == "failed" || *state == "cancelled" || *state == "none") {
        return tl::unexpected(stuck("QEMU could not write the machine's memory"));
      }
      if (left_ms(deadline) == 0) return tl::unexpected(stuck("writing the machine's memory takes too long"));
      pause_for(kPollEvery);
    }
  };
  auto saved = save();
  if (saved) return saved;
  (void)remove_file(part);
  return tl::unexpected(in_vmwares_words(saved.error()));
}

Result<> load_memory(const RuntimeEntry& entry, const std::string& path, unsigned memory_mib) {
  const auto file = open_file(path);
  if (!file) return tl::unexpected(in_vmwares_words(file.error()));
  {
    auto monitor = Monitor::connect(entry.folder(), after(kMonitorWait));
    if (!monitor) return tl::unexpected(in_vmwares_words(monitor.error()));
    if (auto begun = monitor->load_from(*file, after(kMonitorWait)); !begun) {
      return tl::unexpected(in_vmwares_words(begun.error()));
    }
  }
  const Deadline deadline = deadline_for(memory_mib);
  while (left_ms(deadline) > 0) {
    if (!entry.is_alive())
      return fail("state", std::string(texts::kCanceled) + ": QEMU does not take the saved state");
    if (auto monitor = Monitor::connect(entry.folder(), after(kMonitorWait))) {
      const auto status = monitor->status(after(kMonitorWait));
      if (status && *status != "inmigrate") return {};
    }
    pause_for(kPollEvery);
  }
  return tl::unexpected(stuck("reading the machine's memory takes too long"));
}

}  // namespace standin
