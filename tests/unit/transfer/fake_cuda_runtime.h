// The part of the CUDA runtime that staging uses, on the CPU and adversarial: work lies in its stream until something
// asks for progress, and then streams advance in an order drawn from a seed. A wait that is missing in the code under
// test reads NaN or old data here. Device memory comes from malloc, so that AddressSanitizer watches it.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace fake_cuda {

struct Settings {
  std::uint64_t seed = 1;
  std::size_t device_bytes = std::size_t{1} << 40;  // allocations beyond fail
  std::size_t page_locked_bytes = std::size_t{1} << 40;
  bool has_pools = true;
  int fail_at = -1;     // the call of this number fails, for calls that return an error that may be acted on
  bool breaks = false;  // and all calls after it, while no more work is done on the device
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  cudaError_t capture_query = cudaSuccess;
};

// Starts over: nothing registered, nothing counted. Everything must have been freed.
void reset(const Settings& settings);
Settings& settings();

// Work on a stream, as a kernel launch would be.
void enqueue(cudaStream_t stream, std::function<void()> work);

// Makes host memory page-locked.
void register_host(const void* data, std::size_t bytes);

// Makes memory that of another GPU, of which 2D copies do not know.
void place_on_peer(const void* data, std::size_t bytes, int device);

struct Counts {
  int calls = 0;    // that could have failed
  int objects = 0;  // streams, events, allocations and pools that live
  std::size_t device_bytes = 0;
  std::size_t peak_device_bytes = 0;
  int allocations = 0;  // ever made
  int copies = 0;
  int waits = 0;              // of the host for the device
  bool wrong_thread = false;  // a call came from another thread than reset()
  bool stuck = false;         // a synchronisation could never end
};
Counts& counts();

}  // namespace fake_cuda
