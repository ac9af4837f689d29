// A GPU without free memory.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

namespace xgemm::gpu_test {

// Takes all but a little of the device's memory.
class Hog {
 public:
  Hog() {
    for (std::size_t bytes = std::size_t{64} << 30; bytes >= (std::size_t{1} << 20); bytes /= 2) {
      void* memory = nullptr;
      while (cudaMalloc(&memory, bytes) == cudaSuccess) held_.push_back(memory);
      cudaGetLastError();
    }
  }
  ~Hog() {
    for (void* memory : held_) cudaFree(memory);
  }

 private:
  std::vector<void*> held_;
};

}  // namespace xgemm::gpu_test
