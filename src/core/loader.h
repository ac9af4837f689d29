// Asking the loader: dlopen() and its like, and whatever calls them.
//
// The loader has a lock of the process, which it holds while the constructors of a library run. Whoever asked it with a
// lock of ours held would wait for such a constructor, and the constructor, if it multiplies, for that lock. So none of
// ours excludes those who ask. A fork waits for them, like for Making (core/once.h): the loader's lock, held by a
// thread that a fork leaves behind, would stop the child for good.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <memory>

#include "core/once.h"

namespace xgemm {

// Held while the loader is asked. A Making may begin meanwhile; where one has begun before, this is nothing more.
class AskingLoader {
 public:
  AskingLoader() noexcept;
  ~AskingLoader();
  AskingLoader(const AskingLoader&) = delete;
  AskingLoader& operator=(const AskingLoader&) = delete;

 private:
  const bool counts_;
};

// Sets a function to that of a name in a library; false, and null, where the library has none.
template <class F>
bool find_function(void* library, const char* name, F** function) {
  *function = reinterpret_cast<F*>(dlsym(library, name));
  return *function != nullptr;
}

// Once<T> (core/once.h) for what is made with the loader's help: several threads may make it at the same time, and one
// of the values stays.
template <class T>
class Loaded {
 public:
  constexpr Loaded() = default;

  // The value; make() -> T makes it where it is not there, settle(const T&) is called for the one that stays, before it
  // is found.
  template <class Make, class Settle>
  const T& get(const Make& make, const Settle& settle) {
    if (const T* made = made_.load(std::memory_order_acquire)) [[likely]]
      return *made;
    const AskingLoader asking;
    auto mine = std::make_unique<const T>(make());
    const Making making;
    if (const T* made = made_.load(std::memory_order_relaxed)) return *made;
    settle(*mine);
    made_.store(mine.get(), std::memory_order_release);
    return *mine.release();
  }
  template <class Make>
  const T& get(const Make& make) {
    return get(make, [](const T&) {});
  }

 private:
  std::atomic<const T*> made_{nullptr};
};

}  // namespace xgemm
