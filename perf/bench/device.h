// What a candidate computes on, behind one small interface: memory, ordering and clocks of a GPU or of the host.
//
// device_cuda.cc is the only file that knows CUDA; device_host.cc serves machines without a GPU, where all memory is
// host memory and a call has finished when it returns. Tests put a device with a scripted clock here.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace xgemm::perf {

struct DeviceFacts {
  bool is_gpu = false;
  std::string name;                // "NVIDIA H200", or the processor's name
  std::string compute_capability;  // "9.0"
  std::string pci_bus_id;          // to find the same device in NVML
  int units = 0;                   // SMs, or hardware threads
  std::int64_t cache_bytes = 0;    // L2 of the GPU, last-level cache of the host
  std::int64_t host_cache_bytes = 0;
  std::string runtime_version;      // CUDA runtime
  std::string driver_cuda_version;  // the CUDA version that the driver serves
};

/// A sequence of calls recorded once and replayed with one launch.
class RecordedCalls {
 public:
  virtual ~RecordedCalls() = default;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceFacts& facts() const = 0;

  /// kind: d device, h host (pageable), m managed. Null when there is not enough. 256-byte aligned.
  virtual void* allocate(char kind, std::size_t bytes) = 0;
  virtual void release(char kind, void* memory) = 0;
  /// Bytes of that kind that can be had now.
  virtual std::size_t available(char kind) const = 0;

  /// Any direction; done on return.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  /// Every byte set to `value`; done on return.
  virtual void fill(void* memory, int value, std::size_t bytes) = 0;

  /// The stream that candidates enqueue on (a cudaStream_t); null on the host.
  virtual void* stream() const = 0;
  /// Waits for the stream. An empty text, or what has gone wrong.
  virtual std::string synchronize() = 0;

  /// Microseconds on the device from before to after what `calls` enqueues. On the host: on the wall clock.
  virtual double time(const std::function<void()>& calls) = 0;
  /// Null when this device records nothing or the calls cannot be recorded; `why` says which.
  virtual std::unique_ptr<RecordedCalls> record(const std::function<void()>& calls, std::string& why) = 0;
  virtual double time(RecordedCalls& calls) = 0;

  /// Seconds on a steady clock. Tests replace it.
  virtual double now() const;
};

std::unique_ptr<Device> make_host_device();

/// Null when the program was built without CUDA or when device `index` cannot be used; `why` says which.
std::unique_ptr<Device> make_cuda_device(int index, std::string& why);

/// Size of the host's last-level cache; 32 MiB where the system does not say.
std::int64_t host_cache_bytes();
/// Bytes of host memory that can be taken without swapping.
std::size_t host_memory_available();
std::string host_processor_name();
int host_thread_count();

}  // namespace xgemm::perf
