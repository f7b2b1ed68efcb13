#include <algorithm>
#include <charconv>
#include <utility>

#include "vmware/standin/accelerator.h"
#include "vmware/standin/commands.h"
#include "vmware/standin/disk_images.h"
#include "vmware/standin/guest_agent.h"
#include "vmware/standin/held_machine.h"
#include "vmware/standin/launch.h"
#include "vmware/standin/lock_file.h"
#include "vmware/standin/machine_entry.h"
#include "vmware/standin/monitor.h"
#include "vmware/standin/qemu_process.h"
#include "vmware/standin/runtime_sweep.h"
#include "vmware/standin/saved_state.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

constexpr Millis kStartWait{30000};   // until QEMU answers
constexpr Millis kMonitorWait{5000};  // one exchange with QEMU
constexpr Millis kSoftStopWait{60000};
constexpr Millis kQuitWait{5000};
constexpr std::size_t kMaxLog = 64 << 10;
constexpr std::size_t kMaxState = 64 << 10;
constexpr int kMaxPorts = 8;
constexpr unsigned kMaxDiskGib = 2048;

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
  plan.memory_mib = memory_mib_of(vmx);
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

enum class Start { fresh, restored };

Result<> prepare_entry(const RuntimeEntry& entry, const Machine& machine, Start start) {
  if (auto made = make_private_folder(entry.folder()); !made) return made;
  if (auto made = make_private_folder(entry.qemu_folder()); !made) return made;
  for (const std::string& name : names_in(entry.qemu_folder(), 100)) {
    (void)remove_file(entry.qemu_folder() + "/" + name);
  }
  (void)remove_file(entry.file("tools-asked"));
  if (start == Start::fresh) {
    for (const char* name : {"variables", "address"}) (void)remove_file(entry.file(name));
  }
  // An entry may have been another machine's whose file had this identity.
  if (entry.vmx_path() != machine.path()) (void)remove_file(entry.file("tools-seen"));
  return write_file_atomically(entry.file("vmx"), machine.path() + "\n");
}

// QEMU said something on its standard error while it started; the machine's own log keeps it.
void keep_log(const Machine& machine, const std::string& text) {
  if (!text.empty()) (void)write_file_atomically(machine.folder() + "/vmware.log", text);
}

// Until QEMU says how the machine is; it says `inmigrate` or `paused` of one that waits for its memory.
Result<> wait_until_answering(const RuntimeEntry& entry, Deadline deadline) {
  for (;;) {
    auto monitor = Monitor::connect(entry.folder(), deadline);
    if (monitor && monitor->status(after(kMonitorWait))) return {};
    // The lock is ours until QEMU's launcher has it, and then its until it dies.
    if (!entry.is_alive())
      return fail("vm.start", std::string(texts::kUnknownError) + ": QEMU ended at once");
    if (left_ms(deadline) == 0)
      return fail("vm.start", std::string(texts::kCanceled) + ": QEMU does not answer");
    pause_for(Millis{10});
  }
}

Result<> resume_processors(const RuntimeEntry& entry) {
  auto monitor = Monitor::connect(entry.folder(), after(kMonitorWait));
  if (!monitor || !monitor->resume(after(kMonitorWait))) {
    return fail("vm.communication", std::string(texts::kCommunication));
  }
  return {};
}

bool wait_until_gone(const RuntimeEntry& entry, Deadline deadline) {
  while (entry.is_alive()) {
    if (left_ms(deadline) == 0) return false;
    pause_for(Millis{20});
  }
  return true;
}

// The saved state of a machine about to be started, if it is one that this hardware can take.
Result<std::optional<SavedState>> state_to_restore(const Machine& machine, const QemuPlan& plan) {
  const std::string name = machine.saved_state();
  if (name.empty()) return std::optional<SavedState>();
  const auto text = read_small_file(machine.folder() + "/" + name, kMaxState);
  auto state = text ? SavedState::parse(*text) : Result<SavedState>(tl::unexpected(text.error()));
  // What VMware says of a state that does not fit its machine.
  if (!state || !is_plain_file(machine.folder() + "/" + state->memory)) {
    return fail("vm.state", std::string(texts::kCanceled) + ": the saved state is missing or damaged");
  }
  if (state->hardware != hardware_of(plan)) {
    return fail("vm.state", std::string(texts::kCanceled) + ": the saved state is of other hardware");
  }
  return std::optional<SavedState>(std::move(*state));
}

Result<> restore(HeldMachine& held, const SavedState& state, unsigned memory_mib) {
  const std::string path = held.machine.folder() + "/" + state.memory;
  if (auto loaded = load_memory(held.entry, path, memory_mib); !loaded) return loaded;
  // From here on the state is of the past: the disk is about to go on without it.
  return held.machine.forget_saved_state();
}

// A suspended machine's files have done their duty when it runs; a snapshot's are kept.
void drop_suspended_files(const Machine& machine, const std::string& description, const SavedState& state) {
  for (const Snapshot& snapshot : machine.snapshots().snapshots) {
    if (snapshot.memory == description) return;
  }
  (void)remove_file(machine.folder() + "/" + description);
  (void)remove_file(machine.folder() + "/" + state.memory);
}

}  // namespace

unsigned memory_mib_of(const vmware::Vmx& vmx) { return bounded(vmx, "memsize", 1024, 128, 65536); }

policy::Error off_error(const Machine& machine) {
  return {"vm.off", std::string(texts::kNotPoweredOn) + ": " + machine.path()};
}

Result<> power_on(HeldMachine& held, const Call& call, Processors after_start) {
  if (auto settled = held.settle(); !settled) return settled;
  const auto qemu = find_qemu();
  if (!qemu) return tl::unexpected(qemu.error());
  auto plan = plan_machine(held.machine, held.entry, *qemu);
  if (!plan) return tl::unexpected(plan.error());
  const std::string description = held.machine.saved_state();
  const auto state = state_to_restore(held.machine, *plan);
  if (!state) return tl::unexpected(state.error());
  if (*state) {
    if (auto deferred = held.machine.defer_saved_state(); !deferred) return deferred;
    held.find_entry();
    // The folder of its sockets has a name of the .vmx that was just written.
    plan = plan_machine(held.machine, held.entry, *qemu);
    if (!plan) return tl::unexpected(plan.error());
  }
  const Machine& machine = held.machine;
  const RuntimeEntry& entry = held.entry;
  sweep_entries();
  const Start start = *state ? Start::restored : Start::fresh;
  if (auto prepared = prepare_entry(entry, machine, start); !prepared) return prepared;
  if (auto kept = write_file_atomically(entry.file("hardware"), hardware_of(*plan)); !kept) return kept;
  auto alive = lock_path(entry.file("alive"), after(Millis{0}));
  if (!alive) return fail("vm.running", std::string(texts::kAlreadyRunning));
  const auto stale = call.faults.find(Faults::Kind::stale_lock, call.line.command)
                         ? LockFile::Leftover::counts
                         : LockFile::Leftover::goes;
  if (auto locked = LockFile::take(machine, entry, stale); !locked) return locked;
  if (*state) {
    if (auto marked = mark_unsettled(held); !marked) return marked;
  }

  const std::uint64_t gib = bounded(machine.vmx(), "qemu.disk.gib", 0, 0, kMaxDiskGib);
  if (gib != 0 && !*state) {
    if (auto grown = grow(plan->layers, gib << 30); !grown) {
      LockFile::drop(machine);
      return grown;
    }
  }
  auto confined = confined_machine(*plan, *qemu, folder_of(entry.folder()));
  if (!confined) {
    LockFile::drop(machine);
    unmark(held);
    return tl::unexpected(confined.error());
  }
  LaunchPlan launch = std::move(*confined);
  launch.pid_file = entry.file("pid");
  if (*state) launch.argv.insert(launch.argv.end(), {"-S", "-incoming", "defer"});
  launch.held = std::move(*alive);
  if (call.faults.find(Faults::Kind::hold_stdout, call.line.command)) {
    launch.streams = LaunchPlan::Streams::caller_stdout;
  }
  auto errors = launch_detached(std::move(launch));
  if (!errors) {
    LockFile::drop(machine);
    unmark(held);
    return tl::unexpected(errors.error());
  }
  auto running = wait_until_answering(entry, after(kStartWait));
  if (running && *state) running = restore(held, **state, plan->memory_mib);
  if (running && *state && after_start == Processors::running) running = resume_processors(entry);
  const std::string said = read_available(*errors, kMaxLog, running ? Millis{0} : Millis{500});
  keep_log(machine, said);
  if (!running) {
    kill_process(entry);
    (void)wait_until_gone(entry, after(kQuitWait));
    LockFile::drop(machine);
    unmark(held);
    // A state that was not taken stays, and stands in the .vmx, where it can be given up.
    (void)held.settle();
    return tl::unexpected(running.error());
  }
  if (*state) {
    (void)write_file_atomically(entry.file("address"), (*state)->address);
    drop_suspended_files(machine, description, **state);
    unmark(held);
  }
  return LockFile::record(machine, entry);
}

Result<> power_off(const HeldMachine& held) {
  auto monitor = Monitor::connect(held.entry.folder(), after(kMonitorWait));
  if (monitor) (void)monitor->quit(after(kMonitorWait));
  if (!monitor || !wait_until_gone(held.entry, after(kQuitWait))) kill_process(held.entry);
  if (!wait_until_gone(held.entry, after(kQuitWait))) {
    return fail("vm.stop", std::string(texts::kCanceled));
  }
  return {};
}

Result<Answer> list_machines(const Call& call) {
  const long lag_ms = call.faults.find(Faults::Kind::list_lags, Command::list).value_or(0) * 1000;
  std::string paths;
  int count = 0;
  const auto running = running_machines();
  if (!running) return tl::unexpected(running.error());
  for (const RuntimeEntry& entry : *running) {
    if (entry.age_ms() < lag_ms) continue;
    paths += call.faults.disguised(entry.vmx_path()) + "\n";
    ++count;
  }
  return Answer{"Total running VMs: " + std::to_string(count) + "\n" + paths};
}

Result<Answer> start_machine(const Call& call) {
  auto held = hold_machine(call.line.vmx);
  if (!held) return tl::unexpected(held.error());
  if (held->is_on()) {
    const auto recovered = recover(*held);
    if (!recovered) return tl::unexpected(recovered.error());
    if (held->is_on()) {
      if (*recovered) return Answer{};
      return fail("vm.running", std::string(texts::kAlreadyRunning));
    }
  }
  if (auto started = power_on(*held, call, Processors::running); !started) {
    return tl::unexpected(started.error());
  }
  return Answer{};
}

namespace {

// The guest shuts itself down.
Result<> shut_down(const HeldMachine& held) {
  const RuntimeEntry& entry = held.entry;
  if (auto checked = check_guest_can_obey(held); !checked) return checked;
  auto agent = GuestAgent::connect(entry.folder(), after(kMonitorWait));
  if (!agent || !agent->shut_down(after(kMonitorWait))) {
    auto monitor = Monitor::connect(entry.folder(), after(kMonitorWait));
    if (!monitor || !monitor->press_power_button(after(kMonitorWait))) {
      return fail("vm.communication", std::string(texts::kCommunication));
    }
  }
  if (!wait_until_gone(entry, after(kSoftStopWait))) return fail("vm.stop", std::string(texts::kCanceled));
  return {};
}

}  // namespace

Result<Answer> stop_machine(const Call& call) {
  auto held = hold_machine(call.line.vmx);
  if (!held) return tl::unexpected(held.error());
  if (!held->is_on()) return tl::unexpected(off_error(held->machine));

  if (call.line.hard) {
    if (auto stopped = power_off(*held); !stopped) return tl::unexpected(stopped.error());
  } else if (auto stopped = shut_down(*held); !stopped) {
    return tl::unexpected(stopped.error());
  }
  unmark(*held);
  if (call.faults.find(Faults::Kind::stale_lock, Command::stop)) return Answer{};
  LockFile::drop(held->machine);
  return Answer{};
}

}  // namespace standin
