// Scratch space of a launch on the device. CUDA builds only.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "runtime/device_gemm.h"

namespace xgemm::runtime {

// Device memory for work that is enqueued on a stream while this object lives: the memory lent to the context where
// that is large enough, otherwise from a pool of the library, in stream order, so that nothing waits and capture works.
class Workspace {
 public:
  Workspace(int device, const LaunchSettings& settings, std::size_t bytes);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void* data() const { return data_; }  // null where there is no memory

 private:
  void* data_ = nullptr;
  cudaStream_t stream_ = nullptr;
  bool owned_ = false;
};

}  // namespace xgemm::runtime
