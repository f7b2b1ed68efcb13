// FINDS: system posix_spawn
// FINDS: system fork
// FINDS: system execve
// FINDS: system system
// FINDS: system popen
// FINDS: system dlopen
// FINDS: system syscall
#include <dlfcn.h>
#include <spawn.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>

int start_something(char* const argv[]) {
  pid_t pid = 0;
  if (posix_spawn(&pid, argv[0], nullptr, nullptr, argv, nullptr) != 0 && fork() == 0) {
    return execve(argv[0], argv, nullptr);
  }
  if (popen("true", "r") == nullptr || dlopen("libm.so.6", RTLD_NOW) == nullptr) return system("true");
  return static_cast<int>(syscall(39));
}
