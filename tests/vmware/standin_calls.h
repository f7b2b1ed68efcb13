#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vmware/standin/commands.h"

namespace standin {

using Words = std::vector<std::string>;

// One call of the stand-in, in this process and without faults.
inline Result<Answer> vmrun(const Words& words) {
  auto line = parse_command_line(words);
  if (!line) return tl::unexpected(line.error());
  return run_command({std::move(*line), *Faults::parse("")});
}

}  // namespace standin
