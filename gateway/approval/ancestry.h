#pragma once

#include <cstdint>
#include <vector>

namespace gateway {

// The process that started `pid`; 0 when it is not known, 1 when that one is gone.
std::int32_t parent_of(std::int32_t pid);
// `pid` and the processes that started it, one after the other. A process whose parent is gone belongs to the
// first process of the system and leads no further.
std::vector<std::int32_t> ancestors_of(std::int32_t pid);

}  // namespace gateway
