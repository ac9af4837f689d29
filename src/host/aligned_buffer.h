// Scratch memory of the CPU engine: numbers, aligned to cache lines, not initialised.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace xgemm::host {

template <class T>
class AlignedBuffer {
 public:
  static constexpr std::int64_t kAlignment = 64;  // bytes
  static constexpr std::size_t kMostBytes = std::size_t{1} << 47;

  // More than a process can address is not asked for: the product could overflow, and allocators of sanitizers abort.
  explicit AlignedBuffer(std::int64_t count)
      : data_(static_cast<std::size_t>(count) > kMostBytes / sizeof(T)
                  ? nullptr
                  : static_cast<T*>(::operator new[](static_cast<std::size_t>(count) * sizeof(T),
                                                     std::align_val_t{kAlignment}, std::nothrow))) {}
  ~AlignedBuffer() { ::operator delete[](data_, std::align_val_t{kAlignment}, std::nothrow); }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;

  bool ok() const { return data_ != nullptr; }
  T* data() const { return data_; }

  // A count rounded up so that what follows is aligned too.
  static constexpr std::int64_t rounded(std::int64_t count) {
    constexpr std::int64_t line = kAlignment / static_cast<std::int64_t>(sizeof(T));
    return (count + line - 1) / line * line;
  }

 private:
  T* data_;
};

}  // namespace xgemm::host
