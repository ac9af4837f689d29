// What a process counts for its summary. Everything happens under the lock that forks wait for (core/once.h); a child
// counts from nothing.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/once.h"

namespace xgemm {

inline constexpr std::size_t kMostShapes = 10000;  // remembered; what comes after them is counted together
inline constexpr std::size_t kMostRows = 15;       // printed: with them all fits into what a pipe takes at once

// Tables of this process. A static one is never destroyed while threads may still multiply.
template <class Tables>
class Counted {
 public:
  struct OfProcess : Tables {
    std::uint32_t process = forks();
  };

  constexpr Counted() = default;

  // Whether this process or one that it was forked from has counted. Without the lock, so that an exiting process never
  // waits for another thread's dlopen().
  bool any() const { return known_.load(std::memory_order_relaxed) != nullptr; }

  // While there is a Making.
  Tables& get() {
    OfProcess* known = known_.load(std::memory_order_relaxed);
    if (known == nullptr || known->process != forks()) {
      // Its parent's is whole: the fork waited for whoever counted.
      delete known_.exchange(nullptr, std::memory_order_relaxed);
      known_.store(known = new OfProcess, std::memory_order_relaxed);
    }
    return *known;
  }

  // Null where this process has not counted. While there is a Making.
  std::unique_ptr<const OfProcess> take() {
    std::unique_ptr<const OfProcess> all(known_.exchange(nullptr, std::memory_order_relaxed));
    if (all != nullptr && all->process != forks()) all.reset();
    return all;
  }

 private:
  std::atomic<OfProcess*> known_{nullptr};
};

}  // namespace xgemm
