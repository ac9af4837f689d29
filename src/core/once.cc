// The lock under which values are made, and the handlers that take it around a fork.
#include "core/once.h"

#include <pthread.h>
#include <time.h>

namespace xgemm {
namespace {

// Longer than loading libraries and starting CUDA take.
constexpr int kPatienceSeconds = 10;

constinit pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
constinit thread_local int depth = 0;  // of values that this thread is making
constinit std::atomic<std::uint32_t> fork_count{0};
constinit std::atomic<bool> loading_was_cut_off{false};
constinit thread_local bool fork_has_lock = false;

void take() noexcept {
  if (depth++ == 0) pthread_mutex_lock(&lock);
}

void release() noexcept {
  if (--depth == 0) pthread_mutex_unlock(&lock);
}

// Forks by threads that make a value themselves (CUDA starts a program of its own to load the kernel module) find it
// held.
void prepare() {
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += kPatienceSeconds;
  fork_has_lock = depth > 0 || pthread_mutex_timedlock(&lock, &until) == 0;
  if (fork_has_lock) ++depth;
}

void in_parent() {
  if (fork_has_lock) release();
}

void in_child() {
  fork_count.fetch_add(1, std::memory_order_relaxed);
  if (fork_has_lock) return release();
  lock = PTHREAD_MUTEX_INITIALIZER;
  loading_was_cut_off.store(true, std::memory_order_relaxed);
}

// With the library, before any thread can make a value.
[[gnu::constructor]] void watch_forks() {
  pthread_atfork(prepare, in_parent, in_child);
}

}  // namespace

std::uint32_t forks() noexcept {
  return fork_count.load(std::memory_order_relaxed);
}

bool forked_while_loading() noexcept {
  return loading_was_cut_off.load(std::memory_order_relaxed);
}

Making::Making() noexcept {
  take();
}

Making::~Making() {
  release();
}

}  // namespace xgemm
