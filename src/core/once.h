// Values that are made at their first use, once in a process, and what a fork means to them.
//
// A static variable of a function would hang for good in a child that was forked while another thread made it: the
// child gets the guard, which says that somebody is at it, but not the thread. So these values are made under one lock,
// which a fork takes first: a child finds a value either made or not begun.
#pragma once

#include <atomic>
#include <cstdint>

namespace xgemm {

// How often this process's memory has been forked since the library was loaded: more than when something was made means
// that it was made by a parent, whose threads and whose CUDA are not here.
std::uint32_t forks() noexcept;

// Whether a value was being made when this process was forked. A fork waits for it, but not for ever, for what is being
// loaded may itself wait for the thread that forks. Libraries that were being loaded are not to be touched then.
bool forked_while_loading() noexcept;

// Held while a value is made; the same thread may make one value for another. Who asks the loader takes AskingLoader
// (core/loader.h).
class Making {
 public:
  Making() noexcept;
  ~Making();
  Making(const Making&) = delete;
  Making& operator=(const Making&) = delete;
};

// A static Once<T> needs no guard of its own. The value is never destroyed: products may be asked for while the process
// ends.
template <class T>
class Once {
 public:
  constexpr Once() = default;

  // The value; make() -> T makes it where it is not there.
  template <class Make>
  const T& get(Make&& make) {
    if (const T* made = made_.load(std::memory_order_acquire)) [[likely]]
      return *made;
    const Making making;
    const T* made = made_.load(std::memory_order_relaxed);
    if (made == nullptr) {
      made = new T(make());
      made_.store(made, std::memory_order_release);
    }
    return *made;
  }

 private:
  std::atomic<const T*> made_{nullptr};
};

}  // namespace xgemm
