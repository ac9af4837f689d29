// A word for each device, in a page of the host's that every GPU can write, so that the host reads it without a call.
// It is never freed: captured graphs keep its address.
#include "device/fallback_counter.h"

#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <atomic>
#include <mutex>

#include "core/once.h"
#include "device/capture_mode.h"
#include "device/cuda_status.h"
#include "device/max_devices.h"

namespace xgemm::device {
namespace {

constexpr std::size_t kBytes = kMaxDevices * sizeof(unsigned);
std::atomic<unsigned*> counters{nullptr};
std::atomic<std::uint32_t> made_in{0};  // forks(): a child may not see the page

// The address of a word for the current device; null while GPUs cannot write there, as after a reset of the device.
unsigned* on_device(unsigned* word) {
  void* address = nullptr;
  if (word != nullptr && cudaHostGetDevicePointer(&address, word, 0) == cudaSuccess)
    return static_cast<unsigned*>(address);
  forget_last_error();
  return nullptr;
}

}  // namespace

unsigned* fallback_counter() {
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) forget_last_error(), device = kMaxDevices;
  if (device >= kMaxDevices) return nullptr;
  const auto word = [&] {
    unsigned* const all = counters.load(std::memory_order_acquire);
    return all == nullptr ? nullptr : all + device;
  };
  if (unsigned* const known = on_device(word())) return known;
  static std::mutex making;
  const std::lock_guard lock(making);
  const RelaxedCaptureGuard relaxed;  // the first call may well be one that is captured
  if (counters.load(std::memory_order_relaxed) == nullptr) {
    void* const page = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return nullptr;
    made_in.store(forks(), std::memory_order_relaxed);
    counters.store(static_cast<unsigned*>(page), std::memory_order_release);
  }
  if (unsigned* const by_others = on_device(word())) return by_others;
  if (cudaHostRegister(counters.load(std::memory_order_relaxed), kBytes,
                       cudaHostRegisterMapped | cudaHostRegisterPortable) != cudaSuccess)
    forget_last_error();
  return on_device(word());
}

std::int64_t fallbacks() {
  const volatile unsigned* const all = counters.load(std::memory_order_acquire);
  if (all == nullptr || made_in.load(std::memory_order_relaxed) != forks()) return 0;
  std::int64_t sum = 0;
  for (int device = 0; device < kMaxDevices; ++device) sum += all[device];
  return sum;
}

}  // namespace xgemm::device
