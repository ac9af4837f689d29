// The lock under which values are made, that of the loader, and the handlers that take both around a fork.
#include "core/once.h"

#include <pthread.h>
#include <time.h>

#include "core/loader.h"

namespace xgemm {
namespace {

// Longer than loading libraries and starting CUDA take.
constexpr int kPatienceSeconds = 10;

constinit pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
constinit thread_local int depth = 0;  // of values that this thread is making
constinit std::atomic<std::uint32_t> fork_count{0};
constinit std::atomic<bool> loading_was_cut_off{false};
constinit thread_local bool fork_has_lock = false;

// Shared by those who ask the loader, a fork's alone. glibc's locks prefer readers: while a fork waits for it, a
// constructor that others wait for can still take it, and finish.
constinit pthread_rwlock_t loader_lock = PTHREAD_RWLOCK_INITIALIZER;
constinit thread_local int asking = 0;  // this thread, so many times
constinit thread_local bool fork_has_loader = false;

void take() noexcept {
  if (depth++ == 0) pthread_mutex_lock(&lock);
}

void release() noexcept {
  if (--depth == 0) pthread_mutex_unlock(&lock);
}

// Forks by threads that make a value or ask the loader themselves (CUDA starts a program of its own to load the kernel
// module) find the lock held. Who asks may begin to make, so that the loader's lock is the first.
void prepare() {
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += kPatienceSeconds;
  fork_has_loader = asking == 0 && (depth > 0 ? pthread_rwlock_trywrlock(&loader_lock)
                                              : pthread_rwlock_timedwrlock(&loader_lock, &until)) == 0;
  fork_has_lock = depth > 0 || pthread_mutex_timedlock(&lock, &until) == 0;
  if (fork_has_lock) ++depth;
}

void in_parent() {
  if (fork_has_lock) release();
  if (fork_has_loader) pthread_rwlock_unlock(&loader_lock);
}

void in_child() {
  fork_count.fetch_add(1, std::memory_order_relaxed);
  // Whoever else had it is not here, and the lock knows this thread by its parent's number.
  loader_lock = PTHREAD_RWLOCK_INITIALIZER;
  if (asking > 0) pthread_rwlock_rdlock(&loader_lock);
  if (fork_has_lock) {
    release();
  } else {
    lock = PTHREAD_MUTEX_INITIALIZER;
  }
  if (!fork_has_lock || (!fork_has_loader && asking == 0)) loading_was_cut_off.store(true, std::memory_order_relaxed);
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

AskingLoader::AskingLoader() noexcept : counts_(depth == 0 || asking > 0) {
  if (counts_ && asking++ == 0) pthread_rwlock_rdlock(&loader_lock);
}

AskingLoader::~AskingLoader() {
  if (counts_ && --asking == 0) pthread_rwlock_unlock(&loader_lock);
}

}  // namespace xgemm
