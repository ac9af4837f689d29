// The driver's functions, from its ABI.
#include "cublas/driver.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdint>

#include "core/loader.h"
#include "device/max_devices.h"

namespace xgemm::cublas {
namespace {

using Result = int;
using DevicePointer = unsigned long long;

constexpr Result kDone = 0;
constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76;   // CUdevice_attribute
constexpr int kMemoryType = 2, kIsManaged = 8, kOrdinal = 9;  // CUpointer_attribute
constexpr unsigned kDeviceMemory = 2;                         // CUmemorytype
constexpr int kNotCapturing = 0;
constexpr int kRelaxedCapture = 2;

struct Driver {
  Result (*ctx_get_device)(int*) = nullptr;
  Result (*device_get_attribute)(int*, int attribute, int device) = nullptr;
  Result (*pointer_get_attributes)(unsigned count, const int* attributes, void** values, DevicePointer) = nullptr;
  Result (*stream_synchronize)(void*) = nullptr;
  Result (*stream_is_capturing)(void*, int*) = nullptr;
  Result (*exchange_capture_mode)(int*) = nullptr;
  Result (*mem_alloc)(DevicePointer*, std::size_t) = nullptr;
  Result (*mem_free)(DevicePointer) = nullptr;
  Result (*copy_device_to_device)(DevicePointer, DevicePointer, std::size_t, void* stream) = nullptr;
  Result (*copy_device_to_host)(void*, DevicePointer, std::size_t) = nullptr;
};

constinit Driver functions;
constinit std::atomic<bool> found{false};

bool find_driver() {
  const AskingLoader asking;
  void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  Driver all_of_them;
  bool all = true;
  const auto find = [&](auto& function, const char* name) { all = find_function(library, name, &function) && all; };
  find(all_of_them.ctx_get_device, "cuCtxGetDevice");
  find(all_of_them.device_get_attribute, "cuDeviceGetAttribute");
  find(all_of_them.pointer_get_attributes, "cuPointerGetAttributes");
  find(all_of_them.stream_synchronize, "cuStreamSynchronize");
  find(all_of_them.stream_is_capturing, "cuStreamIsCapturing");
  find(all_of_them.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
  find(all_of_them.mem_alloc, "cuMemAlloc_v2");
  find(all_of_them.mem_free, "cuMemFree_v2");
  find(all_of_them.copy_device_to_device, "cuMemcpyDtoDAsync_v2");
  find(all_of_them.copy_device_to_host, "cuMemcpyDtoH_v2");
  const Making making;
  if (!all || found.load(std::memory_order_relaxed)) return all;  // another thread's, which are in use
  functions = all_of_them;
  found.store(true, std::memory_order_release);
  return true;
}

// Null while it is not loaded, which may change: a program that has a cuBLAS handle has loaded it.
const Driver* driver() {
  return found.load(std::memory_order_acquire) || find_driver() ? &functions : nullptr;
}

// Another thread's capture does not forbid what happens here.
class Relaxed {
 public:
  Relaxed() { driver()->exchange_capture_mode(&mode_); }
  ~Relaxed() { driver()->exchange_capture_mode(&mode_); }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;

 private:
  int mode_ = kRelaxedCapture;
};

DevicePointer address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

Gpu ask(int ordinal) {
  int major = 0, minor = 0;
  if (driver()->device_get_attribute(&major, kCapabilityMajor, ordinal) != kDone ||
      driver()->device_get_attribute(&minor, kCapabilityMinor, ordinal) != kDone)
    return {};
  return {10 * major + minor};
}

// Where the thread has not used a GPU yet, the process's first.
int current_ordinal() {
  int ordinal = 0;
  return driver()->ctx_get_device(&ordinal) == kDone ? ordinal : 0;
}

}  // namespace

Gpu current_gpu() {
  if (driver() == nullptr) return {};
  const int ordinal = current_ordinal();
  static constinit std::atomic<Gpu> known[device::kMaxDevices];
  if (ordinal < 0 || ordinal >= device::kMaxDevices) return ask(ordinal);
  Gpu gpu = known[ordinal].load(std::memory_order_relaxed);
  if (gpu.compute_capability == 0) known[ordinal].store(gpu = ask(ordinal), std::memory_order_relaxed);
  return gpu;
}

Place place_of(const void* pointer) {
  if (driver() == nullptr) return Place::here;  // and no call of cuBLAS computes anything
  unsigned type = 0, managed = 0;
  int ordinal = 0;
  const int attributes[] = {kMemoryType, kIsManaged, kOrdinal};
  void* values[] = {&type, &managed, &ordinal};
  if (driver()->pointer_get_attributes(3, attributes, values, address(pointer)) != kDone) return Place::host;
  if (managed != 0) return Place::here;
  if (type != kDeviceMemory) return Place::host;
  return ordinal == current_ordinal() ? Place::here : Place::other_gpu;
}

bool wait_for(void* stream) noexcept try {
  if (driver() == nullptr) return false;
  const Relaxed relaxed;
  int capturing = kNotCapturing;
  return driver()->stream_is_capturing(stream, &capturing) == kDone && capturing == kNotCapturing &&
         driver()->stream_synchronize(stream) == kDone;
} catch (...) {
  return false;
}

DeviceCopy::DeviceCopy(const void* from, std::size_t bytes, void* stream) noexcept {
  const Relaxed relaxed;
  DevicePointer allocated = 0;
  if (driver()->mem_alloc(&allocated, bytes) != kDone) return;
  memory_ = reinterpret_cast<void*>(static_cast<std::uintptr_t>(allocated));
  if (driver()->copy_device_to_device(allocated, address(from), bytes, stream) == kDone) return;
  driver()->mem_free(allocated);
  memory_ = nullptr;
}

DeviceCopy::~DeviceCopy() {
  if (memory_ == nullptr) return;
  const Relaxed relaxed;
  driver()->mem_free(address(memory_));
}

bool copy_to_host(void* to, const void* from, std::size_t bytes) noexcept {
  const Relaxed relaxed;
  return driver()->copy_device_to_host(to, address(from), bytes) == kDone;
}

}  // namespace xgemm::cublas
