#include <algorithm>
#include <charconv>
#include <utility>

#include "vmware/standin/accelerator.h"
#include "vmware/standin/commands.h"
#include "vmware/standin/guest_agent.h"
#include "vmware/standin/launch.h"
#include "vmware/standin/lock_file.h"
#include "vmware/standin/monitor.h"
#include "vmware/standin/qemu_process.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

constexpr Millis kBusyWait{60000};    // another vmrun starts or stops the same machine
constexpr Millis kStartWait{30000};   // until QEMU answers
constexpr Millis kMonitorWait{5000};  // one exchange with QEMU
constexpr Millis kSoftStopWait{60000};
constexpr Millis kQuitWait{5000};
constexpr std::size_t kMaxLog = 64 << 10;
constexpr int kMaxPorts = 8;

unsigned bounded(const vmware::Vmx& vmx, std::string_view key, unsigned otherwise, unsigned least,
                 unsigned most) {
  const std::string text = vmx.get_or(key, "");
  unsigned number = otherwise;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) number = otherwise;
  return std::clamp(number, least, most);
}

// A MAC address as .vmx files have it, or nothing: it becomes part of a QEMU option.
std::string mac_of(const vmware::Vmx& vmx) {
  const std::string mac = vmx.get_or("ethernet0.address", "");
  return mac.size() == 17 && mac.find_first_not_of("0123456789abcdefABCDEF:") == std::string::npos ? mac : "";
}

// Which QEMU ports the .vmx asks for: `qemu.portN.name` and `qemu.portN.socket`, a plain name in the runtime
// folder of the machine.
Result<std::vector<GuestPort>> ports_of(const vmware::Vmx& vmx, const RuntimeEntry& entry) {
  std::vector<GuestPort> ports;
  for (int i = 0; i < kMaxPorts; ++i) {
    const std::string prefix = "qemu.port" + std::to_string(i);
    const std::string name = vmx.get_or(prefix + ".name", "");
    const std::string socket = vmx.get_or(prefix + ".socket", "");
    if (name.empty() && socket.empty()) break;
    if (!is_plain_name(name) || !is_plain_name(socket) || socket.size() > 20) {
      return fail("vm.invalid", "`" + prefix + "` needs a name and a plain socket name of at most 20 bytes");
    }
    ports.push_back({name, entry.qemu_folder() + "/" + socket});
  }
  return ports;
}

Result<QemuPlan> plan_machine(const Machine& machine, const RuntimeEntry& entry, const std::string& qemu) {
  const vmware::Vmx& vmx = machine.vmx();
  QemuPlan plan;
  plan.name = machine.name();
  plan.qemu_folder = entry.qemu_folder();
  auto layers = machine.disk_layers();
  if (!layers) return tl::unexpected(layers.error());
  plan.layers = std::move(*layers);
  for (const auto& [key, into] : {std::pair{"qemu.kernel", &plan.kernel}, {"qemu.initrd", &plan.initrd}}) {
    auto file = machine.base_file(key);
    if (!file) return tl::unexpected(file.error());
    *into = std::move(*file);
  }
  plan.append = vmx.get_or("qemu.append", "");
  plan.cpus = bounded(vmx, "numvcpus", 2, 1, 32);
  plan.memory_mib = bounded(vmx, "memsize", 1024, 128, 65536);
  if (vmx.is_true("ethernet0.present")) {
    if (vmx.get_or("ethernet0.connectionType", "nat") != "nat") {
      return fail("vm.network", std::string(texts::kNotSupported) + ": only `nat` networks exist here");
    }
    plan.nic = Nic::nat;
    plan.mac = mac_of(vmx);
  }
  auto ports = ports_of(vmx, entry);
  if (!ports) return tl::unexpected(ports.error());
  plan.ports = std::move(*ports);
  const std::string from_environment = environment("SALLYPORT_VMRUN_ACCEL");
  const auto accelerator =
      choose_accelerator(from_environment.empty() ? vmx.get_or("qemu.accel", "auto") : from_environment, qemu,
                         plan.kernel, plan.initrd, folder_of(entry.folder()));
  if (!accelerator) return tl::unexpected(accelerator.error());
  plan.accelerator = *accelerator;
  return plan;
}

Result<> prepare_entry(const RuntimeEntry& entry, const Machine& machine) {
  if (auto made = make_private_folder(entry.folder()); !made) return made;
  if (auto made = make_private_folder(entry.qemu_folder()); !made) return made;
  for (const std::string& name : names_in(entry.qemu_folder(), 100)) {
    (void)remove_file(entry.qemu_folder() + "/" + name);
  }
  (void)remove_file(entry.file("tools-asked"));
  return write_file_atomically(entry.file("vmx"), machine.path() + "\n");
}

// QEMU said something on its standard error while it started; the machine's own log keeps it.
void keep_log(const Machine& machine, const std::string& text) {
  if (!text.empty()) (void)write_file_atomically(machine.folder() + "/vmware.log", text);
}

Result<> wait_until_running(const RuntimeEntry& entry, Deadline deadline) {
  for (;;) {
    auto monitor = Monitor::connect(entry.folder(), deadline);
    if (monitor) {
      const auto status = monitor->status(after(kMonitorWait));
      if (status && *status == "running") return {};
    }
    // The lock is ours until QEMU's launcher has it, and then its until it dies.
    if (!entry.is_alive())
      return fail("vm.start", std::string(texts::kUnknownError) + ": QEMU ended at once");
    if (left_ms(deadline) == 0)
      return fail("vm.start", std::string(texts::kCanceled) + ": QEMU does not answer");
    pause_for(Millis{10});
  }
}

bool wait_until_gone(const RuntimeEntry& entry, Deadline deadline) {
  while (entry.is_alive()) {
    if (left_ms(deadline) == 0) return false;
    pause_for(Millis{20});
  }
  return true;
}

Result<Machine> open_with_lock(const Call& call, std::optional<RuntimeEntry>& entry, Fd& lock) {
  auto machine = Machine::open(call.line.vmx);
  if (!machine) return machine;
  auto found = entry_of(machine->identity());
  if (!found) return tl::unexpected(found.error());
  entry.emplace(std::move(*found));
  if (auto made = make_private_folder(entry->folder()); !made) return tl::unexpected(made.error());
  auto locked = lock_path(entry->file("start"), after(kBusyWait));
  if (!locked) return fail("vm.in_use", std::string(texts::kFileInUse));
  lock = std::move(*locked);
  return machine;
}

}  // namespace

Result<Answer> list_machines(const Call& call) {
  const long lag_ms = call.faults.find(Faults::Kind::list_lags, Command::list).value_or(0) * 1000;
  std::string paths;
  int count = 0;
  for (const RuntimeEntry& entry : running_machines()) {
    if (entry.age_ms() < lag_ms) continue;
    paths += entry.vmx_path() + "\n";
    ++count;
  }
  return Answer{"Total running VMs: " + std::to_string(count) + "\n" + paths};
}

Result<Answer> start_machine(const Call& call) {
  std::optional<RuntimeEntry> entry;
  Fd lock;
  const auto machine = open_with_lock(call, entry, lock);
  if (!machine) return tl::unexpected(machine.error());
  if (entry->is_alive()) return fail("vm.running", std::string(texts::kAlreadyRunning));
  const auto qemu = find_qemu();
  if (!qemu) return tl::unexpected(qemu.error());
  if (auto prepared = prepare_entry(*entry, *machine); !prepared) return tl::unexpected(prepared.error());
  const auto plan = plan_machine(*machine, *entry, *qemu);
  if (!plan) return tl::unexpected(plan.error());
  auto alive = lock_path(entry->file("alive"), after(Millis{0}));
  if (!alive) return fail("vm.running", std::string(texts::kAlreadyRunning));
  if (auto locked = LockFile::take(*machine); !locked) return tl::unexpected(locked.error());

  auto confined = confined_machine(*plan, *qemu, folder_of(entry->folder()));
  if (!confined) {
    LockFile::drop(*machine);
    return tl::unexpected(confined.error());
  }
  LaunchPlan launch = std::move(*confined);
  launch.pid_file = entry->file("pid");
  launch.held = std::move(*alive);
  if (call.faults.find(Faults::Kind::hold_stdout, Command::start)) {
    launch.streams = LaunchPlan::Streams::caller_stdout;
  }
  auto errors = launch_detached(std::move(launch));
  if (!errors) {
    LockFile::drop(*machine);
    return tl::unexpected(errors.error());
  }
  auto running = wait_until_running(*entry, after(kStartWait));
  const std::string said = read_available(*errors, kMaxLog, running ? Millis{0} : Millis{500});
  keep_log(*machine, said);
  if (!running) {
    kill_process(*entry);
    (void)wait_until_gone(*entry, after(kQuitWait));
    LockFile::drop(*machine);
    return tl::unexpected(running.error());
  }
  if (auto recorded = LockFile::record(*machine, entry->process().value_or(0)); !recorded) {
    return tl::unexpected(recorded.error());
  }
  return Answer{};
}

Result<Answer> stop_machine(const Call& call) {
  std::optional<RuntimeEntry> entry;
  Fd lock;
  const auto machine = open_with_lock(call, entry, lock);
  if (!machine) return tl::unexpected(machine.error());
  if (!entry->is_alive()) return fail("vm.off", std::string(texts::kNotPoweredOn) + ": " + machine->path());

  if (call.line.hard) {
    if (auto monitor = Monitor::connect(entry->folder(), after(kMonitorWait))) {
      (void)monitor->quit(after(kMonitorWait));
    }
    if (!wait_until_gone(*entry, after(kQuitWait))) kill_process(*entry);
  } else {
    auto agent = GuestAgent::connect(entry->folder(), after(kMonitorWait));
    if (!agent || !agent->shut_down(after(kMonitorWait))) {
      auto monitor = Monitor::connect(entry->folder(), after(kMonitorWait));
      if (!monitor || !monitor->press_power_button(after(kMonitorWait))) {
        return fail("vm.communication", std::string(texts::kCommunication));
      }
    }
  }
  if (!wait_until_gone(*entry, after(call.line.hard ? kQuitWait : kSoftStopWait))) {
    return fail("vm.stop", std::string(texts::kCanceled));
  }
  LockFile::drop(*machine);
  return Answer{};
}

}  // namespace standin
