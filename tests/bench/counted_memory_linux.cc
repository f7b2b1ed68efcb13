#include "tests/bench/counted_memory.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

thread_local bench::Heap counted;

void* take(std::size_t size) {
  void* at = std::malloc(size);
  if (at == nullptr) throw std::bad_alloc();
  ++counted.allocations;
  counted.bytes += malloc_usable_size(at);
  counted.peak = std::max(counted.peak, counted.bytes);
  return at;
}

void give_back(void* at) noexcept {
  if (at != nullptr) counted.bytes -= malloc_usable_size(at);
  std::free(at);
}

}  // namespace

namespace bench {
Heap heap() { return counted; }
void forget_peak() { counted.peak = counted.bytes; }
}  // namespace bench

void* operator new(std::size_t size) { return take(size); }
void* operator new[](std::size_t size) { return take(size); }
void operator delete(void* at) noexcept { give_back(at); }
void operator delete[](void* at) noexcept { give_back(at); }
void operator delete(void* at, std::size_t) noexcept { give_back(at); }
void operator delete[](void* at, std::size_t) noexcept { give_back(at); }
