// Workspaces: lent or from a pool per device.
#include "runtime/workspace.h"

#include <array>
#include <mutex>

#include "device/capture_mode.h"
#include "device/cuda_status.h"
#include "device/max_devices.h"
#include "device/memory_pool.h"
#include "plan/packing.h"

namespace xgemm::runtime {
namespace {

// What the pool keeps between calls at most, of what they used: copies of operands, or the parts that they are split
// into. The device's default pool keeps nothing beyond a synchronisation, and would map memory anew for the call after
// it; its settings are the program's own.
constexpr std::size_t kKeptBytes = plan::kMostPackedBytes + (std::size_t{16} << 20);

// Null where the device has none. Pools are made once and live as long as the process.
cudaMemPool_t pool_of(int device) {
  static std::array<std::once_flag, device::kMaxDevices> once;
  static std::array<cudaMemPool_t, device::kMaxDevices> pools{};
  if (device < 0 || device >= device::kMaxDevices) return nullptr;
  std::call_once(once[device], [&] {
    const device::RelaxedCaptureGuard relaxed;  // the first call may well be one that is captured
    pools[device] = device::make_pool(device, kKeptBytes);
  });
  return pools[device];
}

}  // namespace

Workspace::Workspace(int device, const LaunchSettings& settings, std::size_t bytes, std::size_t least)
    : stream_(static_cast<cudaStream_t>(settings.stream)) {
  const cudaMemPool_t pool = pool_of(device);
  const auto allocate = [&](std::size_t size) -> void* {
    void* data = nullptr;
    if (pool != nullptr && cudaMallocFromPoolAsync(&data, size, pool, stream_) == cudaSuccess) return data;
    device::forget_last_error();
    return nullptr;
  };
  const auto trim = [&] {
    if (pool != nullptr && cudaMemPoolTrimTo(pool, 0) != cudaSuccess) device::forget_last_error();
  };
  scratch_ = find_scratch(bytes, least, settings.workspace, settings.workspace_bytes, allocate, trim);
}

Workspace::~Workspace() {
  if (scratch_.allocated && cudaFreeAsync(scratch_.data, stream_) != cudaSuccess) device::forget_last_error();
}

}  // namespace xgemm::runtime
