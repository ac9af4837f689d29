// A word for each device, page-locked so that the host reads it without a call, made once and never freed: captured
// graphs keep its address.
#include "device/fallback_counter.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <mutex>

#include "device/capture_mode.h"
#include "device/cuda_status.h"
#include "device/max_devices.h"

namespace xgemm::device {
namespace {

std::atomic<unsigned*> counters[kMaxDevices];

}  // namespace

unsigned* fallback_counter() {
  static std::once_flag once[kMaxDevices];
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) forget_last_error(), device = kMaxDevices;
  if (device >= kMaxDevices) return nullptr;
  std::call_once(once[device], [&] {
    const RelaxedCaptureGuard relaxed;  // the first call may well be one that is captured
    void* word = nullptr;
    if (cudaHostAlloc(&word, sizeof(unsigned), cudaHostAllocMapped | cudaHostAllocPortable) == cudaSuccess) {
      *static_cast<unsigned*>(word) = 0;
      counters[device] = static_cast<unsigned*>(word);
    } else {
      forget_last_error();
    }
  });
  return counters[device];
}

std::int64_t fallbacks() {
  std::int64_t sum = 0;
  for (const std::atomic<unsigned*>& counter : counters)
    if (const volatile unsigned* const word = counter; word != nullptr) sum += *word;
  return sum;
}

}  // namespace xgemm::device
