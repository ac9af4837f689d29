// Workspaces: lent or from a pool per device.
#include "runtime/workspace.h"

#include <array>
#include <atomic>
#include <mutex>

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

// Null where the device has none, or cannot make one now. Pools are made once and live as long as the process.
cudaMemPool_t pool_of(int device) {
  static std::array<std::atomic<cudaMemPool_t>, device::kMaxDevices> pools{};
  static std::mutex making;
  if (device < 0 || device >= device::kMaxDevices) return nullptr;
  std::atomic<cudaMemPool_t>& pool = pools[static_cast<std::size_t>(device)];
  if (cudaMemPool_t made = pool.load(std::memory_order_acquire)) return made;
  const std::lock_guard lock(making);
  if (pool.load(std::memory_order_relaxed) == nullptr)
    pool.store(device::make_pool(device, kKeptBytes), std::memory_order_release);
  return pool.load(std::memory_order_relaxed);
}

}  // namespace

Workspace::Workspace(int device, const LaunchSettings& settings, std::size_t bytes, std::size_t least)
    : stream_(static_cast<cudaStream_t>(settings.stream)) {
  const cudaMemPool_t pool = pool_of(device);
  const auto allocate = [&](std::size_t size) -> void* {
    void* data = nullptr;
    if (pool == nullptr || error_ != cudaSuccess) return nullptr;
    const cudaError_t error = cudaMallocFromPoolAsync(&data, size, pool, stream_);
    if (error == cudaSuccess) return data;
    device::forget_last_error();
    if (error != cudaErrorMemoryAllocation) error_ = error;
    return nullptr;
  };
  const auto trim = [&] {
    if (pool != nullptr && cudaMemPoolTrimTo(pool, 0) != cudaSuccess) device::forget_last_error();
  };
  scratch_ = find_scratch(bytes, least, settings.workspace, settings.workspace_bytes, allocate, trim);
}

Status Workspace::failure(std::size_t bytes, const std::string& purpose) const {
  if (error_ != cudaSuccess) return device::cuda_status(error_, "cudaMallocFromPoolAsync");
  return fail(XGEMM_OUT_OF_DEVICE_MEMORY, format("no %zu bytes of device memory for %s", bytes, purpose.c_str()));
}

Workspace::~Workspace() {
  if (scratch_.allocated && cudaFreeAsync(scratch_.data, stream_) != cudaSuccess) device::forget_last_error();
}

}  // namespace xgemm::runtime
