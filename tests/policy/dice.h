#pragma once

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

// Chance for property tests: the same one in every run.
namespace policy {

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return engine_() % n; }
  bool chance(int percent) { return below(100) < static_cast<std::size_t>(percent); }
  template <class T>
  const T& one(const std::vector<T>& of) {
    return of[below(of.size())];
  }
  // One to `most` of them, perhaps some twice.
  template <class T>
  std::vector<T> some(const std::vector<T>& of, std::size_t most) {
    std::vector<T> taken;
    for (auto n = 1 + below(most); n > 0; --n) taken.push_back(one(of));
    return taken;
  }
  template <class T>
  void shuffle(std::vector<T>& values) {
    std::shuffle(values.begin(), values.end(), engine_);
  }

 private:
  std::mt19937 engine_;
};

}  // namespace policy
