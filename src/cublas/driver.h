// What is asked of the CUDA driver, if the process has it loaded: the GPU, and for watched calls their time and copies
// of what they write. The runtime is not for a library that is loaded into every process.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace xgemm::cublas {

struct Gpu {
  int compute_capability = 0;  // 90 for 9.0; 0 where none can be asked

  bool operator==(const Gpu&) const = default;
};

// Of the calling thread; where it has not used one yet, the process's first.
Gpu current_gpu();

// Where memory is. Here: the calling thread's GPU, or managed memory. Page-locked memory is the host's.
enum class Place { here, host, other_gpu };
Place place_of(const void* pointer);

// Waits for the stream's work. False where there is nothing to wait by: no driver, or a capture that must not be
// broken.
bool wait_for(void* stream) noexcept;

// Device memory for as long as the object lives, filled from other device memory in the order of the stream, which must
// be through with it at the end.
class DeviceCopy {
 public:
  DeviceCopy(const void* from, std::size_t bytes, void* stream) noexcept;
  ~DeviceCopy();
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;

  void* get() const { return memory_; }  // null where there is no room

 private:
  void* memory_ = nullptr;
};

bool copy_to_host(void* to, const void* from, std::size_t bytes) noexcept;

}  // namespace xgemm::cublas
