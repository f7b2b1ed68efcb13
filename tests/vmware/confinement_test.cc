// What an emulator that a guest has taken over can still do: a program of ours is started in its place, with
// the words, descriptors and confinement of a machine, and tries. Each try is made without the confinement
// first, where it has to succeed, so that nothing is counted as refused that was never possible.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "vmware/standin/confine.h"
#include "vmware/standin/qemu_process.h"
#include "vmware/standin/runtime.h"

namespace {

namespace fs = std::filesystem;
using standin::Fd;
using standin::Millis;

constexpr unsigned kOrdinaryUser = 1900020001;  // nobody's, and none that machines get
constexpr Millis kRunWait{30000};

// How a try has to end under the confinement, and who can do it without.
enum class Without { anyone, root, some_hosts };
struct Try {
  std::string words;
  Without without = Without::anyone;
};

// A host in small: a caller's files, two machines of one base, services that listen, and a victim process.
class Host {
 public:
  Host() {
    fs::permissions(folder, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
    for (const char* program : {"compromised_machine", "sallyport-vmrun"}) {
      fs::copy_file(fs::path(SALLYPORT_BIN_DIR) / program, folder / program);
    }
  }
  ~Host() {
    if (victim > 0) {
      kill(victim, SIGKILL);
      waitpid(victim, nullptr, 0);
    }
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // As the user that calls this, whose files these then are.
  void furnish() {
    for (const char* name : {"home/.ssh/key", "state/audit/log.jsonl", "state/keys/log.pem",
                             "base/guest.cred", "base/other.qcow2", "base/vmlinuz", "base/initrd",
                             "clones/other/other.vmx", "clones/other/other.qcow2", "clones/mine/mine.vmx"}) {
      put(name, 0600);
    }
    put("base/base.qcow2", 0444);
    put("clones/mine/mine.qcow2", 0600);
    fs::create_directories(home / "rt/other/q");
    fs::create_directories(home / "rt/mine/q");
    fs::create_directories(home / "mountpoint");
    for (const char* name : {"rt", "rt/other", "rt/mine", "rt/mine/q"}) {
      fs::permissions(home / name, fs::perms::owner_all);
    }
    listen_unix((home / "state/owner.sock").string());
    listen_unix((home / "rt/other/q/qmp.sock").string());
    listen_unix("@sallyport-test-" + std::to_string(getpid()));
    listen_tcp();
    victim = fork();
    if (victim == 0) {
      for (;;) pause();
    }
  }

  standin::QemuPlan plan() const {
    standin::QemuPlan plan;
    plan.name = "mine";
    plan.qemu_folder = (home / "rt/mine/q").string();
    plan.layers = {path("clones/mine/mine.qcow2"), path("base/base.qcow2")};
    plan.kernel = path("base/vmlinuz");
    plan.initrd = path("base/initrd");
    return plan;
  }

  std::vector<Try> tries() const {
    const std::string pid = std::to_string(victim);
    std::vector<Try> all;
    for (const char* name :
         {"home/.ssh/key", "state/audit/log.jsonl", "state/keys/log.pem", "base/guest.cred",
          "base/other.qcow2", "base/base.qcow2", "base/vmlinuz", "clones/other/other.vmx",
          "clones/other/other.qcow2", "clones/mine/mine.vmx", "clones/mine/mine.qcow2"}) {
      // A machine may read its own kernel.
      if (std::string(name) != "base/vmlinuz") all.push_back({"read=" + path(name)});
      all.push_back({"truncate=" + path(name),
                     std::string(name) == "base/base.qcow2" ? Without::root : Without::anyone});
      all.push_back({"chmod=" + path(name)});
      all.push_back({"rename=" + path(name)});
      all.push_back({"link=" + path(name)});
    }
    for (const char* name : {"state/audit/log.jsonl", "base/vmlinuz", "base/initrd",
                             "clones/other/other.qcow2", "clones/mine/mine.vmx"}) {
      all.push_back({"write=" + path(name)});
    }
    for (const char* name : {"base", "clones", "clones/other", "state", "rt", "rt/mine/q", "home"}) {
      all.push_back({"list=" + path(name)});
      all.push_back({"create=" + path(name) + "/new"});
    }
    for (const char* file : {"/etc/passwd", "/etc/hostname", "/proc/self/status"})
      all.push_back({std::string("read=") + file});
    all.push_back({"read=/etc/shadow", Without::root});
    all.push_back({"read=/proc/" + pid + "/environ", Without::some_hosts});
    all.push_back({"list=/root", Without::root});
    all.push_back({"list=/"});
    all.push_back({"create=/tmp/sallyport-test-" + pid});
    all.push_back({"reopen-layer", Without::root});
    all.push_back({"reopen-kernel"});
    all.push_back({"fchmod-layer"});
    all.push_back({"tcp=" + std::to_string(port)});
    all.push_back({"udp"});
    all.push_back({"unix=" + path("state/owner.sock")});
    all.push_back({"unix=" + path("rt/other/q/qmp.sock")});
    all.push_back({"unix=@sallyport-test-" + std::to_string(getpid())});
    all.push_back({"netlink"});
    all.push_back({"signal=" + pid});
    all.push_back({"ptrace=" + pid, Without::some_hosts});
    all.push_back({"limit=" + pid});
    all.push_back({"fork"});
    all.push_back({"shell"});
    all.push_back({"setgroups", Without::root});
    all.push_back({"setuid", Without::root});
    all.push_back({"chroot=" + path("home"), Without::root});
    all.push_back({"mount=" + path("mountpoint"), Without::some_hosts});
    all.push_back({"user-namespace", Without::some_hosts});
    all.push_back({"io_uring", Without::some_hosts});
    return all;
  }

  std::string path(const std::string& name) const { return (home / name).string(); }
  std::string launcher() const { return (folder / "sallyport-vmrun").string(); }
  std::string program() const { return (folder / "compromised_machine").string(); }

  fs::path folder = make();
  fs::path home = folder / "caller";
  pid_t victim = -1;

 private:
  static fs::path make() {
    std::string name = "/tmp/sp-confine.XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    return name;
  }
  void put(const std::string& name, mode_t mode) const {
    fs::create_directories((home / name).parent_path());
    std::ofstream(home / name) << std::string(16384, 'A');
    if (chmod(path(name).c_str(), mode) != 0) throw std::runtime_error("no file " + name);
  }
  void listen_unix(const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address),
             static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())) != 0 ||
        listen(fd.get(), 16) != 0) {
      throw std::runtime_error("cannot listen at " + name);
    }
    listeners_.push_back(std::move(fd));
  }
  void listen_tcp() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 || listen(fd.get(), 16) != 0 ||
        getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      throw std::runtime_error("cannot listen on loopback");
    }
    port = ntohs(address.sin_port);
    listeners_.push_back(std::move(fd));
  }
  int port = 0;
  std::vector<Fd> listeners_;
};

standin::LaunchPlan launch_of(const Host& host, const standin::QemuPlan& plan,
                              const std::vector<std::string>& words) {
  auto launch = standin::confined_machine(plan, host.program(), host.path("rt"));
  if (!launch) throw std::runtime_error(launch.error().message);
  launch->launcher = host.launcher();
  launch->argv.emplace_back("--tries");
  launch->argv.insert(launch->argv.end(), words.begin(), words.end());
  return std::move(*launch);
}

std::string client_of(const standin::QemuPlan& plan, Fd& client) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (plan.qemu_folder + "/qmp.sock").c_str(), sizeof address.sun_path - 1);
  client = Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0
             ? ""
             : "cannot connect\n";
}

// Under the confinement of a machine; what it said, and what its monitor's client heard.
std::string confined(const Host& host, const standin::QemuPlan& plan, const std::vector<std::string>& words) {
  auto launch = launch_of(host, plan, words);
  Fd client;
  std::string text = client_of(plan, client);
  const auto errors = standin::launch_detached(std::move(launch));
  if (!errors) return errors.error().message;
  text += standin::read_available(*errors, 1 << 20, kRunWait);
  return text + "client " + standin::read_available(client, 100, Millis{0});
}

// The same program with the same descriptors and words, as the caller himself.
std::string unconfined(const Host& host, const standin::QemuPlan& plan,
                       const std::vector<std::string>& words) {
  auto launch = launch_of(host, plan, words);
  Fd client;
  std::string text = client_of(plan, client);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  Fd reading(ends[0]), writing(ends[1]);
  std::vector<char*> argv;
  for (std::string& word : launch.argv) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    std::vector<int> copies;
    for (const Fd& fd : launch.given) copies.push_back(fcntl(fd.get(), F_DUPFD, 100));
    const int errors = fcntl(writing.get(), F_DUPFD, 100);
    for (std::size_t i = 0; i < copies.size(); ++i)
      dup2(copies[i], standin::kFirstGiven + static_cast<int>(i));
    dup2(errors, 2);
    execv(argv[0], argv.data());
    _exit(127);
  }
  writing.reset();
  text += standin::read_available(reading, 1 << 20, kRunWait);
  waitpid(child, nullptr, 0);
  return text + "client " + standin::read_available(client, 100, Millis{0});
}

// `WORDS done` and `WORDS refused N` by their words.
std::map<std::string, std::string> results_of(const std::string& text) {
  std::map<std::string, std::string> results;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.find(' ');
    if (space != std::string::npos) results[line.substr(0, space)] = line.substr(space + 1);
  }
  return results;
}

const std::vector<std::string> kNeeds{
    "who", "disk", "layer", "kernel", "serve", "thread", "own-signal", "read=/dev/urandom", "list=/usr/lib"};

struct Report {
  std::string free, bound;
  std::vector<Try> tries;
};

std::vector<std::string> words_of(const std::vector<Try>& tries) {
  std::vector<std::string> words = kNeeds;
  for (const Try& one : tries) words.push_back(one.words);
  return words;
}

void judge(const Report& report, bool root) {
  const auto free = results_of(report.free);
  const auto bound = results_of(report.bound);
  const auto at = [](const std::map<std::string, std::string>& all, const std::string& words) {
    const auto found = all.find(words);
    return found == all.end() ? std::string("missing") : found->second;
  };
  for (const std::string& need : kNeeds) {
    if (need == "who") continue;
    EXPECT_EQ(at(bound, need), "done") << need << " is what a machine needs";
  }
  EXPECT_EQ(at(bound, "client"), "hello");
  EXPECT_EQ(at(bound, "end"), "done");
  EXPECT_EQ(at(free, "end"), "done");
  std::size_t judged = 0;
  for (const Try& one : report.tries) {
    EXPECT_TRUE(at(bound, one.words).starts_with("refused ")) << one.words << ": " << at(bound, one.words);
    const bool possible = one.without == Without::anyone || (one.without == Without::root && root);
    if (possible) {
      EXPECT_EQ(at(free, one.words), "done") << one.words << " has to be possible without the confinement";
      ++judged;
    }
  }
  EXPECT_GT(judged, 60U);
  if (testing::Test::HasNonfatalFailure())
    std::cerr << "without:\n" << report.free << "under it:\n" << report.bound;
}

Report attack(Host& host) {
  host.furnish();
  Report report;
  report.tries = host.tries();
  const auto words = words_of(report.tries);
  report.free = unconfined(host, host.plan(), words);
  report.bound = confined(host, host.plan(), words);
  return report;
}

// Runs `body` in a process of the ordinary user and gives what it returns.
std::string as_ordinary_user(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  Fd reading(ends[0]), writing(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    std::string text = "cannot become an ordinary user";
    try {
      if (setgroups(0, nullptr) == 0 && setresgid(kOrdinaryUser, kOrdinaryUser, kOrdinaryUser) == 0 &&
          setresuid(kOrdinaryUser, kOrdinaryUser, kOrdinaryUser) == 0 &&
          prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0) {
        text = body();
      }
    } catch (const std::exception& error) {
      text = error.what();
    }
    (void)!write(writing.get(), text.data(), text.size());
    _exit(0);
  }
  writing.reset();
  std::string text = standin::read_available(reading, 1 << 20, kRunWait + kRunWait);
  waitpid(child, nullptr, 0);
  return text;
}

TEST(Confinement, OfTheCallersMachineRefusesWhatATakenOverEmulatorTries) {
  if (geteuid() != 0 && standin::FileRules::landlock_version() == 0) GTEST_SKIP() << "no Landlock here";
  Host host;
  fs::create_directories(host.home);
  judge(attack(host), geteuid() == 0);
}

TEST(Confinement, OfAnOrdinaryUsersMachineRefusesWhatATakenOverEmulatorTries) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user; the test before this one did it";
  if (standin::FileRules::landlock_version() == 0) GTEST_SKIP() << "no Landlock here";
  Host host;
  fs::create_directories(host.home);
  ASSERT_EQ(chown(host.home.c_str(), kOrdinaryUser, kOrdinaryUser), 0);
  const std::string text = as_ordinary_user([&host] {
    const Report report = attack(host);
    std::string all;
    for (const Try& one : report.tries) {
      all += "try " + std::to_string(static_cast<int>(one.without)) + " " + one.words + "\n";
    }
    kill(host.victim, SIGKILL);
    return all + "==free\n" + report.free + "\n==bound\n" + report.bound;
  });
  const std::size_t free = text.find("==free\n"), bound = text.find("\n==bound\n");
  ASSERT_NE(bound, std::string::npos) << text;
  Report report{text.substr(free + 7, bound - free - 7), text.substr(bound + 9), {}};
  std::istringstream lines(text.substr(0, free));
  std::string word, words;
  for (int without = 0; lines >> word >> without >> words;) {
    report.tries.push_back({words, static_cast<Without>(without)});
  }
  judge(report, false);
}

TEST(Confinement, GivesRootsMachineAnIdOfItsOwnAndNoCapabilities) {
  if (geteuid() != 0 || !standin::account_range())
    GTEST_SKIP() << "only root's machines have ids of their own";
  Host host;
  host.furnish();
  const std::string text = confined(host, host.plan(), {"who"});
  unsigned uid[3] = {}, gid[3] = {}, caps = 1;
  int groups = -1, core = 1;
  ASSERT_EQ(std::sscanf(text.c_str(), "uid %u %u %u gid %u %u %u groups %d caps %x core %d", &uid[0], &uid[1],
                        &uid[2], &gid[0], &gid[1], &gid[2], &groups, &caps, &core),
            9)
      << text;
  const auto range = *standin::account_range();
  for (const unsigned id : {uid[0], uid[1], uid[2], gid[0], gid[1], gid[2]}) {
    EXPECT_GE(id, range.first);
    EXPECT_LE(id, range.last);
    EXPECT_EQ(id, uid[0]);
  }
  EXPECT_EQ(groups, 0);
  EXPECT_EQ(caps, 0U);
  EXPECT_EQ(core, 0);
}

TEST(Confinement, NoTwoMachinesShareAnIdEvenIfOneGivesUpItsLocks) {
  if (geteuid() != 0 || !standin::account_range())
    GTEST_SKIP() << "only root's machines have ids of their own";
  Host host;
  host.furnish();
  const standin::RuntimeEntry entry(host.path("rt/mine"));
  std::set<unsigned> ids;
  std::vector<Fd> running;
  std::vector<int> pids;
  for (int i = 0; i < 4; ++i) {
    auto launch = launch_of(host, host.plan(), {"unlock", "sleep=600"});
    ids.insert(launch.account->id);
    launch.pid_file = entry.file("pid");
    auto alive = standin::lock_path(entry.file("alive"), standin::after(Millis{0}));
    ASSERT_TRUE(alive) << "the last one gave up this lock";
    launch.held = std::move(*alive);
    auto errors = standin::launch_detached(std::move(launch));
    ASSERT_TRUE(errors);
    EXPECT_EQ(standin::read_available(*errors, 12, Millis{10000}), "unlock done\n");
    EXPECT_FALSE(standin::is_locked(entry.file("alive")));
    EXPECT_TRUE(entry.is_alive()) << "a machine that gives up its lock is not off";
    running.push_back(std::move(*errors));
    const auto pid = entry.process();
    ASSERT_TRUE(pid);
    pids.push_back(*pid);
  }
  for (const int pid : pids) kill(pid, SIGKILL);
  EXPECT_EQ(ids.size(), 4U);
}

TEST(Confinement, OfAMachineWithANetworkGivesInternetSocketsAndNoOthers) {
  Host host;
  host.furnish();
  auto plan = host.plan();
  plan.nic = standin::Nic::nat;
  std::vector<std::string> words;
  for (const Try& one : host.tries()) {
    if (one.words.starts_with("tcp") || one.words.starts_with("udp") || one.words.starts_with("unix") ||
        one.words.starts_with("netlink") || one.words.starts_with("signal")) {
      words.push_back(one.words);
    }
  }
  ASSERT_EQ(words.size(), 7U);
  const std::string text = confined(host, plan, words);
  for (const auto& [name, result] : results_of(text)) {
    if (name.starts_with("tcp") || name.starts_with("udp")) {
      EXPECT_EQ(result, "done") << name;
    } else if (name != "end" && name != "client") {
      EXPECT_TRUE(result.starts_with("refused ")) << name << ": " << result;
    }
  }
  EXPECT_NE(text.find("end done"), std::string::npos) << text;
}

}  // namespace
