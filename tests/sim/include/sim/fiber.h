// One thread of a kernel: a fiber on a pooled stack. Switching tells AddressSanitizer, where it is on.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>

namespace xgemm::sim {

class Fiber {
 public:
  Fiber() = default;
  // body runs at the first resume(), on the fiber's own stack; it must not throw.
  explicit Fiber(void (*body)(void*), void* argument);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  void start(void (*body)(void*), void* argument);
  // Runs the fiber until it suspends itself or ends.
  void resume();
  // Called on the fiber: back to where resume() was called.
  void suspend();
  bool done() const { return done_; }

 private:
  boost::context::fiber fiber_;
  boost::context::fiber caller_;
  bool done_ = true;

  // AddressSanitizer's view of the two stacks.
  const void* stack_bottom_ = nullptr;
  std::size_t stack_size_ = 0;
  const void* caller_bottom_ = nullptr;
  std::size_t caller_size_ = 0;
  void* caller_fake_stack_ = nullptr;
  void* fiber_fake_stack_ = nullptr;
};

}  // namespace xgemm::sim
