// Scratch space of a launch on the device. CUDA builds only.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "core/status.h"
#include "runtime/device_gemm.h"
#include "runtime/scratch.h"

namespace xgemm::runtime {

// Device memory for work that is enqueued on a stream while this object lives: the memory lent to the context where
// that is large enough, otherwise from a pool of the library, in stream order, so that nothing waits and capture works.
class Workspace {
 public:
  // least: of use where `bytes` cannot be had.
  Workspace(int device, const LaunchSettings& settings, std::size_t bytes, std::size_t least);
  Workspace(int device, const LaunchSettings& settings, std::size_t bytes)
      : Workspace(device, settings, bytes, bytes) {}
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void* data() const { return scratch_.data; }  // null where there is no memory
  std::size_t bytes() const { return scratch_.bytes; }

  // Where there is none: that so many bytes for a purpose are missing, or what CUDA says where memory is not the
  // reason.
  Status failure(std::size_t bytes, const std::string& purpose) const;

 private:
  Scratch scratch_;
  cudaStream_t stream_ = nullptr;
  cudaError_t error_ = cudaSuccess;  // the first one that is not about memory
};

}  // namespace xgemm::runtime
