#pragma once

#include <cstddef>

// What a thread takes from the heap by operator new, counted in the file that replaces it. What another gives
// back is taken off that one.
namespace bench {

struct Heap {
  std::size_t allocations = 0;  // since the thread began
  std::size_t bytes = 0;        // taken and not given back
  std::size_t peak = 0;         // the most that ever was, since forget_peak()
};
Heap heap();
void forget_peak();

}  // namespace bench
