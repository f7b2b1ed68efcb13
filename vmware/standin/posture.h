#pragma once

#include <string>

namespace standin {

// What confines machines that this user starts on this host, a line each: `NAME: yes` or `NAME: no`, and
// after a semicolon what it means or how to get it. `no_new_privs`, `seccomp` and the loss of capabilities
// are always there, or no machine starts; the rest depends on the host:
//   own-uid, own-network, landlock, kvm, memory-limit
std::string posture();

}  // namespace standin
