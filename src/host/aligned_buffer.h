// Scratch memory of the CPU engine: floats, aligned to cache lines, not initialised.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace xgemm::host {

class AlignedBuffer {
 public:
  static constexpr std::int64_t kAlignment = 64;  // bytes

  explicit AlignedBuffer(std::int64_t floats)
      : data_(static_cast<float*>(::operator new[](static_cast<std::size_t>(floats) * sizeof(float),
                                                   std::align_val_t{kAlignment}, std::nothrow))) {}
  ~AlignedBuffer() { ::operator delete[](data_, std::align_val_t{kAlignment}, std::nothrow); }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;

  bool ok() const { return data_ != nullptr; }
  float* data() const { return data_; }

  // A count of floats rounded up so that what follows is aligned too.
  static constexpr std::int64_t rounded(std::int64_t floats) {
    constexpr std::int64_t line = kAlignment / static_cast<std::int64_t>(sizeof(float));
    return (floats + line - 1) / line * line;
  }

 private:
  float* data_;
};

}  // namespace xgemm::host
