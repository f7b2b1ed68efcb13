#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "vmware/standin/syscall_filter.h"

namespace standin {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the system calls of this processor are not listed"
#endif

// Newer than the kernel headers this is built with; the numbers are the same on all processors.
constexpr long kFchmodat2 = 452;
constexpr long kSetxattrat = 463;
constexpr long kRemovexattrat = 466;

constexpr long kForbidden[] = {
    // other processes
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_process_madvise, SYS_kcmp, SYS_pidfd_open,
    SYS_pidfd_getfd, SYS_pidfd_send_signal, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
    SYS_setpriority, SYS_ioprio_set, SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr,
    SYS_migrate_pages, SYS_move_pages,
    // identities and rights
    SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid, SYS_setgroups,
    SYS_setfsuid, SYS_setfsgid, SYS_capset, SYS_personality, SYS_add_key, SYS_request_key, SYS_keyctl,
    // namespaces and mounts
    SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_fsopen, SYS_fsconfig,
    SYS_fsmount, SYS_fspick, SYS_move_mount, SYS_open_tree, SYS_mount_setattr, SYS_swapon, SYS_swapoff,
    SYS_quotactl, SYS_quotactl_fd, SYS_acct,
    // the kernel
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_reboot, SYS_bpf,
    SYS_perf_event_open, SYS_userfaultfd, SYS_syslog, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex,
    SYS_clock_adjtime, SYS_sethostname, SYS_setdomainname, SYS_vhangup,
    // io_uring does what this filter would refuse
    SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
    // files other than through what is open
    SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_fanotify_init, SYS_truncate, SYS_fchmod, SYS_fchmodat,
    kFchmodat2, SYS_fchown, SYS_fchownat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr,
    SYS_lremovexattr, SYS_fremovexattr, kSetxattrat, kRemovexattrat, SYS_utimensat, SYS_linkat, SYS_symlinkat,
    SYS_mkdirat, SYS_mknodat, SYS_renameat2, SYS_memfd_secret,
    // sockets are given, none is made
    SYS_socketpair,
#ifdef SYS_fork
    SYS_fork, SYS_vfork, SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat, SYS_link,
    SYS_symlink, SYS_mkdir, SYS_mknod, SYS_rename, SYS_iopl, SYS_ioperm, SYS_kexec_file_load,
#endif
    SYS_renameat};

constexpr std::uint32_t kEveryNamespace =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// A program for the kernel's classic filter machine.
class Program final {
 public:
  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)); }
  void load_number() { load(offsetof(seccomp_data, nr)); }
  // The low half; the high half of the arguments looked at here is no part of their type.
  void load_argument(unsigned index) { load(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t)); }
  void answer(std::uint32_t value) { add(BPF_RET | BPF_K, value); }
  void refuse(int error = EPERM) { answer(SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)); }
  void refuse_if(std::uint32_t value, int error = EPERM) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    refuse(error);
  }
  void allow() { answer(SECCOMP_RET_ALLOW); }
  void allow_if(std::uint32_t value) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    allow();
  }
  void refuse_if_any_bit(std::uint32_t bits) {
    add(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
    refuse();
  }
  void refuse_without_bit(std::uint32_t bit) {
    add(BPF_JMP | BPF_JSET | BPF_K, bit, 1, 0);
    refuse();
  }
  // What `body` adds is for one system call only. It ends with an answer.
  template <class Body>
  void on(long number, Body body) {
    const std::size_t at = code_.size();
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 0);
    body();
    code_[at].jf = static_cast<std::uint8_t>(code_.size() - at - 1);
  }
  Result<> install() {
    sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) {
      return policy::fail("launch", "the kernel refused the filter of system calls");
    }
    return {};
  }
  void add(int code, std::uint32_t value, std::uint8_t yes = 0, std::uint8_t no = 0) {
    code_.push_back({static_cast<std::uint16_t>(code), yes, no, value});
  }

 private:
  std::vector<sock_filter> code_;
};

void only_for(Program& program, long number, unsigned argument, std::initializer_list<std::uint32_t> values) {
  program.on(number, [&] {
    program.load_argument(argument);
    for (const std::uint32_t value : values) program.allow_if(value);
    program.refuse();
  });
}

void never_with(Program& program, long number, unsigned argument,
                std::initializer_list<std::uint32_t> values) {
  program.on(number, [&] {
    program.load_argument(argument);
    for (const std::uint32_t value : values) program.refuse_if(value);
    program.allow();
  });
}

}  // namespace

Result<> forbid_system_calls(Sockets sockets) {
  const auto self = static_cast<std::uint32_t>(getpid());
  Program program;
  program.load(offsetof(seccomp_data, arch));
  program.add(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0);
  program.answer(SECCOMP_RET_KILL_PROCESS);
  program.load_number();
#if defined(__x86_64__)
  constexpr std::uint32_t kX32 = 0x40000000;
  program.refuse_if_any_bit(kX32);
#endif
  // Its flags stand in memory, where a filter cannot look; the C library then takes clone.
  program.refuse_if(SYS_clone3, ENOSYS);
  for (const long number : kForbidden) program.refuse_if(static_cast<std::uint32_t>(number));
  program.on(SYS_clone, [&] {
    program.load_argument(0);
    program.refuse_if_any_bit(kEveryNamespace);
    program.refuse_without_bit(CLONE_THREAD);
    program.allow();
  });
  only_for(program, SYS_kill, 0, {self});
  only_for(program, SYS_tgkill, 0, {self});
  only_for(program, SYS_prlimit64, 0, {0, self});
  // Ways to have a signal sent to, or typed at, somebody else.
  never_with(program, SYS_fcntl, 1, {F_SETOWN, F_SETOWN_EX, F_SETSIG});
  never_with(program, SYS_ioctl, 1, {TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP});
  if (sockets == Sockets::none) {
    for (const long number : {SYS_socket, SYS_connect, SYS_bind})
      program.refuse_if(static_cast<std::uint32_t>(number));
  } else {
    program.on(SYS_socket, [&] {
      program.load_argument(1);
      // Raw and packet sockets need rights; what else the low bits can mean has no use here.
      program.add(BPF_ALU | BPF_AND | BPF_K, 0xf);
      program.add(BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 2, 0);
      program.add(BPF_JMP | BPF_JEQ | BPF_K, SOCK_DGRAM, 1, 0);
      program.refuse();
      program.load_argument(0);
      program.allow_if(AF_INET);
      program.allow_if(AF_INET6);
      program.refuse();
    });
  }
  program.allow();
  return program.install();
}

}  // namespace standin
