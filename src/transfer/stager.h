// What a context keeps between staged calls: page-locked rings (16 MiB each way), device memory up to a limit, three
// streams, their events and the copying threads. CUDA builds only.
#pragma once

#include <cuda_runtime_api.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/status.h"
#include "device/device_info.h"
#include "transfer/staging.h"
#include "transfer/staging_copy.h"

namespace xgemm::transfer {

// Of a ring, each way: every thread can pack one chunk while as many are under way. Chunks are at most 1 MiB.
inline constexpr std::int64_t kMaxRingChunks = 16;

// Page-locked memory cut into chunks, and an event per chunk. Chunks enter in order. On the way in they leave in order
// too, and Pipeline counts them; on the way out threads finish in any order, and each slot says where its chunk is.
struct Ring {
  enum class State { free, on_the_link, at_threads };
  struct Slot {
    std::byte* memory = nullptr;
    cudaEvent_t event = nullptr;
    State state = State::free;
    std::atomic<bool> done{false};
    Chunk chunk;
  };
  std::byte* memory = nullptr;
  std::int64_t bytes = 0;
  std::array<Slot, kMaxRingChunks> slots;
  int count = 0;  // slots in use in this call

  Slot& slot(std::int64_t chunk_number) { return slots[static_cast<std::size_t>(chunk_number % count)]; }
};

class Stager {
 public:
  Stager();
  ~Stager() { release(); }
  Stager(const Stager&) = delete;
  Stager& operator=(const Stager&) = delete;

  // Streams and events, device memory, page-locked memory, threads; what is there is used again.
  Status prepare(const device::DeviceInfo& device);
  Status reserve_device(std::int64_t bytes);
  Status reserve_ring(Ring* ring, std::int64_t chunk_bytes, std::int64_t chunks);
  void start_threads();

  // Gives back what is too large to keep.
  void trim(const device::DeviceInfo& device) noexcept;

  // Frees everything; after a failure nothing is trusted any more.
  void release() noexcept;

  // A child process has neither the threads nor the CUDA context of its parent; nothing can be freed there.
  bool belongs_to_this_process() const;

  static constexpr int kMaxSlots = 4;  // of an operand on the device

  cudaStream_t in = nullptr, compute = nullptr, out = nullptr;
  cudaEvent_t loaded = nullptr;                           // all parts of the current piece are on the device
  std::array<cudaEvent_t, kMaxSlots> a_used{}, b_used{};  // the last kernel that reads the slot
  std::array<cudaEvent_t, kMaxSlots> computed{};          // the kernel that writes the slot of C
  std::array<cudaEvent_t, kMaxSlots> c_fetched{};         // the slot of C may be written again
  std::byte* device_memory = nullptr;
  Ring in_ring, out_ring;
  std::unique_ptr<CopyPool> threads;

 private:
  void free_device_memory() noexcept;
  void free_ring(Ring* ring) noexcept;

  template <class F>
  void for_each_event(F&& f) {
    f(&loaded);
    for (auto* events : {&a_used, &b_used, &computed, &c_fetched})
      for (cudaEvent_t& event : *events) f(&event);
    for (Ring* ring : {&in_ring, &out_ring})
      for (Ring::Slot& slot : ring->slots) f(&slot.event);
  }

  pid_t process_;
  int ordinal_ = -1;
  cudaMemPool_t pool_ = nullptr;  // null where the device has none: then cudaMalloc
  std::int64_t device_bytes_ = 0;
};

}  // namespace xgemm::transfer
