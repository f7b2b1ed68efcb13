// Stands in an emulator's place after it was taken over: started with an emulator's words, it tries what an
// intruder would, and says on standard error, a line each, `NAME done` or `NAME refused ERRNO`.
//
//   compromised_machine QEMU-WORDS… --tries NAME[=ARGUMENT]…
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

using std::string;

// The descriptors and names that an emulator's words give it.
struct Machine {
  std::vector<int> layers;  // the writable one first
  int qmp = -1;
  string kernel;
};

Machine read_words(const std::vector<string>& words) {
  Machine machine;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    int fd = -1;
    unsigned set = 0;
    const char* text = words[i + 1].c_str();
    if (words[i] == "-add-fd" && std::sscanf(text, "fd=%d,set=%u", &fd, &set) == 2 && set < 64) {
      if (machine.layers.size() <= set) machine.layers.resize(set + 1, -1);
      machine.layers[set] = fd;
    }
    if (words[i] == "-chardev" && std::sscanf(text, "socket,id=qmp,fd=%d", &fd) == 1) machine.qmp = fd;
    if (words[i] == "-kernel") machine.kernel = words[i + 1];
  }
  return machine;
}

bool opens(const string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  char byte = 0;
  const bool good = (flags & O_ACCMODE) != O_RDONLY || read(fd, &byte, 1) >= 0;
  close(fd);
  return good;
}

bool creates(const string& path) {
  if (!opens(path, O_WRONLY | O_CREAT | O_EXCL)) return false;
  return unlink(path.c_str()) == 0;
}

bool lists(const string& path) {
  DIR* const folder = opendir(path.c_str());
  if (folder == nullptr) return false;
  closedir(folder);
  return true;
}

bool connects_to(int family, const sockaddr* address, socklen_t size) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool good = connect(fd, address, size) == 0;
  const int error = errno;
  close(fd);
  errno = error;
  return good;
}

bool connects_tcp(const string& port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port.c_str())));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connects_to(AF_INET, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

// A name that begins with `@` is an abstract one.
bool connects_unix(const string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  return connects_to(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), size);
}

bool makes_socket(int family, int type) {
  const int fd = socket(family, type | SOCK_CLOEXEC, 0);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

// In a child where one can be had, so that what succeeds does not change this process; the child's errno is
// taken over.
bool apart(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child < 0) return body();
  if (child == 0) _exit(body() ? 0 : (errno == 0 ? 255 : errno));
  int status = 0;
  waitpid(child, &status, 0);
  errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
  return errno == 0;
}

bool traces(pid_t pid) {
  if (ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) != 0) return false;
  ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr);
  waitpid(pid, nullptr, __WALL);
  return ptrace(PTRACE_DETACH, pid, nullptr, nullptr) == 0;
}

bool limits(pid_t pid) {
  rlimit now{};
  return prlimit(pid, RLIMIT_NOFILE, nullptr, &now) == 0 && prlimit(pid, RLIMIT_NOFILE, &now, nullptr) == 0;
}

bool runs_shell(const string& name) {
  const string text = "echo " + name + " done >&2";
  const char* const words[] = {"sh", "-c", text.c_str(), nullptr};
  execv("/bin/sh", const_cast<char* const*>(words));
  return false;
}

bool starts_thread() {
  pthread_t thread{};
  const int error = pthread_create(&thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr);
  errno = error;
  return error == 0 && pthread_join(thread, nullptr) == 0;
}

bool serves(int listening) {
  pollfd waiting{listening, POLLIN, 0};
  if (poll(&waiting, 1, 10000) != 1) return false;
  const int fd = accept(listening, nullptr, nullptr);
  if (fd < 0) return false;
  const bool good = write(fd, "hello\n", 6) == 6;
  close(fd);
  return good;
}

bool uses_disk(int fd) {
  char byte = 0;
  return pwrite(fd, "Z", 1, 8192) == 1 && pread(fd, &byte, 1, 8192) == 1 && byte == 'Z' &&
         pwrite(fd, "", 1, 8192) == 1;
}

bool same_mode(const string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && chmod(path.c_str(), info.st_mode & 07777) == 0;
}

bool same_size(const string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && truncate(path.c_str(), info.st_size) == 0;
}

bool renames(const string& path) {
  const string other = path + ".moved";
  return rename(path.c_str(), other.c_str()) == 0 && rename(other.c_str(), path.c_str()) == 0;
}

bool links(const string& path) {
  const string other = path + ".linked";
  return link(path.c_str(), other.c_str()) == 0 && unlink(other.c_str()) == 0;
}

bool mounts(const string& folder) {
  return unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", folder.c_str(), "tmpfs", 0, nullptr) == 0;
}

bool asks_io_uring() {
  char parameters[120] = {};
  const long fd = syscall(SYS_io_uring_setup, 1, parameters);
  if (fd >= 0) close(static_cast<int>(fd));
  return fd >= 0;
}

bool unlocks_everything() {
  for (int fd = 3; fd < 64; ++fd) flock(fd, LOCK_UN);
  return true;
}

bool says_who_it_is() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct caps[2] = {};
  if (syscall(SYS_capget, &header, caps) != 0) return false;
  uid_t real = 0, effective = 0, saved = 0;
  gid_t group = 0, effective_group = 0, saved_group = 0;
  getresuid(&real, &effective, &saved);
  getresgid(&group, &effective_group, &saved_group);
  std::fprintf(stderr, "uid %u %u %u gid %u %u %u groups %d caps %x core %d\n", real, effective, saved, group,
               effective_group, saved_group, getgroups(0, nullptr),
               caps[0].permitted | caps[0].effective | caps[1].permitted | caps[1].effective, [] {
                 rlimit core{};
                 getrlimit(RLIMIT_CORE, &core);
                 return core.rlim_max == 0 ? 0 : 1;
               }());
  return true;
}

pid_t pid_of(const string& text) { return static_cast<pid_t>(std::atoi(text.c_str())); }

string descriptor_path(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

}  // namespace

int main(int argc, char** argv) {
  std::vector<string> words(argv + 1, argv + argc);
  std::size_t at = 0;
  while (at < words.size() && words[at] != "--tries") ++at;
  const Machine machine = read_words(words);
  const auto layer = [&machine](std::size_t i) { return i < machine.layers.size() ? machine.layers[i] : -1; };

  const std::map<string, std::function<bool(const string&)>> tries{
      {"read", [](const string& path) { return opens(path, O_RDONLY); }},
      {"list", lists},
      {"write", [](const string& path) { return opens(path, O_WRONLY); }},
      {"create", creates},
      {"truncate", same_size},
      {"chmod", same_mode},
      {"rename", renames},
      {"link", links},
      {"reopen-layer", [&](const string&) { return opens(descriptor_path(layer(1)), O_RDWR); }},
      {"reopen-kernel", [&](const string&) { return opens(machine.kernel, O_RDWR); }},
      {"fchmod-layer", [&](const string&) { return fchmod(layer(1), 0444) == 0; }},
      {"write-layer", [&](const string&) { return pwrite(layer(1), "x", 1, 0) == 1; }},
      {"tcp", connects_tcp},
      {"udp", [](const string&) { return makes_socket(AF_INET, SOCK_DGRAM); }},
      {"unix", connects_unix},
      {"netlink", [](const string&) { return makes_socket(AF_NETLINK, SOCK_RAW); }},
      {"signal", [](const string& pid) { return kill(pid_of(pid), 0) == 0; }},
      {"ptrace", [](const string& pid) { return traces(pid_of(pid)); }},
      {"limit", [](const string& pid) { return limits(pid_of(pid)); }},
      {"fork", [](const string&) { return apart([] { return true; }) && errno == 0; }},
      {"setuid", [](const string&) { return setuid(0) == 0; }},
      {"setgroups", [](const string&) { return setgroups(0, nullptr) == 0; }},
      {"chroot", [](const string& path) { return apart([&] { return chroot(path.c_str()) == 0; }); }},
      {"mount", [](const string& path) { return apart([&] { return mounts(path); }); }},
      {"user-namespace", [](const string&) { return apart([] { return unshare(CLONE_NEWUSER) == 0; }); }},
      {"io_uring", [](const string&) { return asks_io_uring(); }},
      {"unlock", [](const string&) { return unlocks_everything(); }},
      {"disk", [&](const string&) { return uses_disk(layer(0)); }},
      {"layer",
       [&](const string&) {
         char byte = 0;
         return pread(layer(1), &byte, 1, 0) == 1;
       }},
      {"kernel", [&](const string&) { return opens(machine.kernel, O_RDONLY); }},
      {"serve", [&](const string&) { return serves(machine.qmp); }},
      {"thread", [](const string&) { return starts_thread(); }},
      {"own-signal", [](const string&) { return kill(getpid(), 0) == 0; }},
      {"who", [](const string&) { return says_who_it_is(); }},
      {"sleep",
       [](const string& seconds) {
         sleep(static_cast<unsigned>(std::atoi(seconds.c_str())));
         return true;
       }},
  };

  const pid_t self = getpid();
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    const string& word = words[i];
    const std::size_t equal = word.find('=');
    const string name = word.substr(0, equal);
    const string argument = equal == string::npos ? "" : word.substr(equal + 1);
    errno = 0;
    bool done = false;
    if (name == "shell") {
      // It says so by itself; in a child where there can be one.
      const pid_t child = fork();
      if (child > 0) {
        waitpid(child, nullptr, 0);
        continue;
      }
      done = runs_shell(word);
    } else {
      const auto found = tries.find(name);
      if (found == tries.end()) return 2;
      done = found->second(argument);
    }
    const int error = errno;
    if (done) {
      std::fprintf(stderr, "%s done\n", word.c_str());
    } else {
      std::fprintf(stderr, "%s refused %d\n", word.c_str(), error);
    }
    if (name == "shell" && getpid() != self) _exit(0);
  }
  std::fputs("end done\n", stderr);
  return 0;
}
