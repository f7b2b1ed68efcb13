#pragma once

#include <string>

#include "vmware/standin/launch.h"
#include "vmware/standin/qemu_words.h"

namespace standin {

// From a machine's plan to its process: opens every file and socket of the plan as the caller, gives them to
// `program` (QEMU) as descriptors, and confines it to these. As root the process gets a user id of its own,
// so that neither the caller's files nor other machines are within its reach even where Landlock is missing.
// `runtime_root` is where copies of boot files are kept that such an id can read. Lock and pid file of the
// plan are the caller's to add.
Result<LaunchPlan> confined_machine(const QemuPlan& plan, const std::string& program,
                                    const std::string& runtime_root);

// A program that boots `kernel` and `initrd` without a disk, confined in the same way; the words of `argv`
// are followed by those that name the two.
Result<LaunchPlan> confined_probe(std::vector<std::string> argv, const std::string& kernel,
                                  const std::string& initrd, const std::string& runtime_root);

}  // namespace standin
