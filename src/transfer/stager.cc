// Taking and giving back what a Stager keeps.
#include "transfer/stager.h"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "device/capture_mode.h"
#include "device/cuda_status.h"
#include "device/memory_pool.h"

namespace xgemm::transfer {

using device::cuda_status;
using device::DeviceInfo;

namespace {

// Device memory that may stay allocated between calls: what 8192 x 8192 needs, less on a small GPU.
std::int64_t kept_device_bytes(const DeviceInfo& device) {
  return std::min<std::int64_t>(std::int64_t{1} << 30, static_cast<std::int64_t>(device.memory_bytes / 32));
}

}  // namespace

Stager::Stager() : process_(getpid()) {}

bool Stager::belongs_to_this_process() const {
  return process_ == getpid();
}

Status Stager::prepare(const DeviceInfo& device) {
  if (ordinal_ == device.ordinal) return kOk;
  release();
  ordinal_ = device.ordinal;
  for (cudaStream_t* stream : {&in, &compute, &out})
    XGEMM_RETURN_IF_CUDA_FAILED(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), "cudaStreamCreate");
  cudaError_t error = cudaSuccess;
  for_each_event([&](cudaEvent_t* event) {
    if (error == cudaSuccess) error = cudaEventCreateWithFlags(event, cudaEventDisableTiming);
  });
  XGEMM_RETURN_IF_CUDA_FAILED(error, "cudaEventCreate");
  pool_ = device::make_pool(device.ordinal, 0);  // without one, cudaFree would wait for the whole device
  return kOk;
}

Status Stager::reserve_device(std::int64_t bytes) {
  if (bytes <= device_bytes_) return kOk;
  free_device_memory();
  void* memory = nullptr;
  const auto size = static_cast<std::size_t>(bytes);
  const cudaError_t error =
      pool_ != nullptr ? cudaMallocFromPoolAsync(&memory, size, pool_, in) : cudaMalloc(&memory, size);
  XGEMM_RETURN_IF_CUDA_FAILED(error, "device memory for staged operands");
  device_memory = static_cast<std::byte*>(memory);
  device_bytes_ = bytes;
  // Usable on the other streams too.
  return cuda_status(cudaStreamSynchronize(in), "device memory for staged operands");
}

Status Stager::reserve_ring(Ring* ring, std::int64_t chunk_bytes, std::int64_t chunks) {
  std::int64_t count = std::min(chunks, kMaxRingChunks);
  while (ring->bytes < count * chunk_bytes) {
    free_ring(ring);
    // In powers of two, so that calls of growing size do not allocate each time.
    std::int64_t bytes = std::int64_t{1} << 20;
    while (bytes < count * chunk_bytes) bytes *= 2;
    void* memory = nullptr;
    const cudaError_t error = cudaHostAlloc(&memory, static_cast<std::size_t>(bytes), cudaHostAllocDefault);
    if (error == cudaSuccess) {
      ring->memory = static_cast<std::byte*>(memory);
      ring->bytes = bytes;
      break;
    }
    device::forget_last_error();
    if (error != cudaErrorMemoryAllocation) return cuda_status(error, "page-locked memory for staging");
    if (count == 1)
      return fail(XGEMM_OUT_OF_HOST_MEMORY,
                  format("no %lld KiB of page-locked memory for staging", static_cast<long long>(bytes >> 10)));
    count = (count + 1) / 2;
  }
  ring->count = static_cast<int>(count);
  for (int i = 0; i < ring->count; ++i) {
    ring->slots[static_cast<std::size_t>(i)].memory = ring->memory + i * chunk_bytes;
    ring->slots[static_cast<std::size_t>(i)].state = Ring::State::free;
  }
  return kOk;
}

void Stager::start_threads() {
  if (threads != nullptr) return;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  threads = std::make_unique<CopyPool>(std::clamp(cores - 1, 0, kMaxCopyThreads), 2 * kMaxRingChunks);
}

void Stager::free_device_memory() noexcept {
  if (device_memory != nullptr) {
    if (pool_ != nullptr) {
      cudaFreeAsync(device_memory, in);
      cudaStreamSynchronize(in);
      cudaMemPoolTrimTo(pool_, 0);
    } else {
      cudaFree(device_memory);
    }
  }
  device_memory = nullptr;
  device_bytes_ = 0;
}

void Stager::free_ring(Ring* ring) noexcept {
  if (ring->memory != nullptr) cudaFreeHost(ring->memory);
  ring->memory = nullptr;
  ring->bytes = 0;
}

void Stager::trim(const DeviceInfo& device) noexcept {
  if (device_bytes_ > kept_device_bytes(device)) free_device_memory();
}

void Stager::release() noexcept {
  if (!belongs_to_this_process()) {
    // Joining threads that do not exist here would wait for ever.
    static_cast<void>(threads.release());
    return;
  }
  threads.reset();
  if (ordinal_ < 0) return;
  const device::DeviceGuard guard(ordinal_);
  const device::RelaxedCaptureGuard relaxed;
  free_device_memory();
  for (Ring* ring : {&in_ring, &out_ring}) free_ring(ring);
  for_each_event([](cudaEvent_t* event) {
    if (*event != nullptr) cudaEventDestroy(*event);
    *event = nullptr;
  });
  for (cudaStream_t* stream : {&in, &compute, &out}) {
    if (*stream != nullptr) cudaStreamDestroy(*stream);
    *stream = nullptr;
  }
  if (pool_ != nullptr) cudaMemPoolDestroy(pool_);
  pool_ = nullptr;
  ordinal_ = -1;
  device::forget_last_error();
}

void StagerDeleter::operator()(Stager* stager) const noexcept {
  delete stager;
}

}  // namespace xgemm::transfer
