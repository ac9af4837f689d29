// Fibers on Boost.Context. Stacks are kept and used again: a launch starts as many fibers as it has threads.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/fiber.h"

#include <boost/context/protected_fixedsize_stack.hpp>
#include <memory>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define XGEMM_SIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define XGEMM_SIM_ASAN 1
#endif
#endif
#if defined(XGEMM_SIM_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace xgemm::sim {
namespace {

#if defined(XGEMM_SIM_ASAN)
constexpr std::size_t kStackBytes = 512 * 1024;  // red zones around every variable
#else
constexpr std::size_t kStackBytes = 128 * 1024;
#endif

// Fibers take turns at the same depth of their stacks. Stacks are as far apart as the pages they are made of, so these
// depths would share a few sets of the cache: each stack starts lower than the last by some lines of it.
constexpr std::size_t kStaggerBytes = 64;
constexpr std::size_t kStaggerSteps = 64;

// Stacks end on a guard page, so an overflow is a fault at its place.
class StackPool {
 public:
  ~StackPool() {
    for (boost::context::stack_context& stack : free_) allocator_.deallocate(stack);
  }
  boost::context::stack_context take() {
    if (free_.empty()) return allocator_.allocate();
    boost::context::stack_context stack = free_.back();
    free_.pop_back();
    return stack;
  }
  void give(const boost::context::stack_context& stack) {
#if defined(XGEMM_SIM_ASAN)
    // Frames that return clear their red zones. The outermost ones of a fiber never return: they are at the top.
    constexpr std::size_t kNeverReturns = kStaggerBytes * kStaggerSteps + 8 * 1024;
    __asan_unpoison_memory_region(static_cast<char*>(stack.sp) - kNeverReturns, kNeverReturns);
#endif
    free_.push_back(stack);
  }

 private:
  boost::context::protected_fixedsize_stack allocator_{kStackBytes};
  std::vector<boost::context::stack_context> free_;
};

StackPool& pool() {
  thread_local StackPool instance;
  return instance;
}

struct PooledStack {
  boost::context::stack_context allocate() { return pool().take(); }
  void deallocate(boost::context::stack_context& stack) { pool().give(stack); }
};

void before_switch([[maybe_unused]] void** save, [[maybe_unused]] const void* bottom,
                   [[maybe_unused]] std::size_t size) {
#if defined(XGEMM_SIM_ASAN)
  __sanitizer_start_switch_fiber(save, bottom, size);
#endif
}
void after_switch([[maybe_unused]] void* saved, [[maybe_unused]] const void** bottom,
                  [[maybe_unused]] std::size_t* size) {
#if defined(XGEMM_SIM_ASAN)
  __sanitizer_finish_switch_fiber(saved, bottom, size);
#endif
}

}  // namespace

Fiber::Fiber(void (*body)(void*), void* argument) {
  start(body, argument);
}

Fiber::~Fiber() = default;

void Fiber::start(void (*body)(void*), void* argument) {
  PooledStack allocator;
  boost::context::stack_context stack = allocator.allocate();
  static thread_local std::size_t started = 0;
  const std::size_t stagger = kStaggerBytes * (started++ % kStaggerSteps);
  stack_bottom_ = static_cast<char*>(stack.sp) - stack.size;
  stack_size_ = stack.size;
  done_ = false;
  fiber_fake_stack_ = nullptr;
  fiber_ = boost::context::fiber(
      std::allocator_arg,
      boost::context::preallocated(static_cast<char*>(stack.sp) - stagger, stack.size - stagger, stack), allocator,
      [this, body, argument](boost::context::fiber&& caller) {
        after_switch(nullptr, &caller_bottom_, &caller_size_);
        caller_ = std::move(caller);
        body(argument);
        done_ = true;
        before_switch(nullptr, caller_bottom_, caller_size_);
        return std::move(caller_);
      });
}

void Fiber::resume() {
  before_switch(&caller_fake_stack_, stack_bottom_, stack_size_);
  fiber_ = std::move(fiber_).resume();
  after_switch(caller_fake_stack_, nullptr, nullptr);
}

void Fiber::suspend() {
  before_switch(&fiber_fake_stack_, caller_bottom_, caller_size_);
  caller_ = std::move(caller_).resume();
  after_switch(fiber_fake_stack_, &caller_bottom_, &caller_size_);
}

}  // namespace xgemm::sim
