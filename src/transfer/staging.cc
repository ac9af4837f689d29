// Host operands on the GPU: the pipeline. How a product is cut is in staging_plan.h, the copying threads are in
// staging_copy.h.
//
//     pageable host ── threads gather ──▶ page-locked ring ──▶ ┌───────────────┐
//     page-locked host ──────────────────────────────────────▶ │ slots, kernel │   streams: in, compute, out
//     pageable host ◀── threads scatter ── page-locked ring ◀─ └───────────────┘
//
// One thread, the caller's, makes all CUDA calls. It never waits for one thing alone: each turn of Pipeline::run() does
// what can be done (hand chunks to the threads, enqueue packed chunks, launch the next piece, fetch results), so that
// reading, computing and writing back overlap. Order on the device is kept by events. An operand that a kernel can
// reach is used in place.
//
// What stays between calls: the page-locked rings (16 MiB each way), device memory up to kept_device_bytes(),
// three streams, their events and the threads. All of it goes with the context.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/staging.h"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "device/cuda_status.h"
#include "runtime/device_gemm.h"
#include "transfer/staging_copy.h"
#include "transfer/staging_plan.h"

namespace xgemm::transfer {

using device::cuda_status;
using device::DeviceGuard;
using device::DeviceInfo;
using runtime::Location;
using runtime::Placement;
using runtime::PointerLocation;

namespace {

#define XGEMM_RETURN_IF_CUDA_FAILED(call, what) XGEMM_RETURN_IF_FAILED(cuda_status((call), (what)))

// Of a ring, each way: every thread can pack one chunk while as many are under way. Chunks are at most 1 MiB.
constexpr std::int64_t kMaxRingChunks = 16;

// One thread copies 11 GB/s where the link moves 55: five keep it busy one way, eight serve both.
constexpr int kMaxCopyThreads = 8;

// Page-locked matrices with narrower columns are packed by threads like pageable ones: the copy engine handles a column
// at a time and is slow on short ones.
constexpr std::int64_t kMinDirectWidth = 512;

// CUDA's limit on the pitches of 2D copies.
constexpr std::int64_t kMaxCopyPitch = 0x7fffffff;

// Chunks up to this size are also packed by the caller's thread when it has nothing to enqueue: they take it no longer
// than the link takes for what is already under way.
constexpr std::int64_t kSmallChunkBytes = std::int64_t{256} << 10;

// Below this much device memory there is no point in trying again with smaller pieces.
constexpr std::int64_t kMinDeviceBytes = std::int64_t{1} << 20;

// Device memory that may stay allocated between calls: what 8192 x 8192 needs, less on a small GPU.
std::int64_t kept_device_bytes(const DeviceInfo& device) {
  return std::min<std::int64_t>(std::int64_t{1} << 30, static_cast<std::int64_t>(device.memory_bytes / 32));
}

// How an operand gets to the kernel.
enum class Path {
  unused,
  in_place,
  direct,  // the copy engine reads or writes it: page-locked, or on another GPU
  packed,  // through the page-locked ring
};

struct Paths {
  Path a = Path::unused, b = Path::unused, c = Path::unused;
};

bool is_staged(Path path) {
  return path == Path::direct || path == Path::packed;
}
StagedOperands staged_operands(const Paths& p) {
  return {is_staged(p.a), is_staged(p.b), is_staged(p.c)};
}

// Page-locked from its first byte to its last, at neighbouring addresses on the device too: one allocation or
// registration.
bool is_page_locked(const std::byte* first, std::int64_t bytes) {
  cudaPointerAttributes begin{}, end{};
  if (cudaPointerGetAttributes(&begin, first) != cudaSuccess || begin.type != cudaMemoryTypeHost ||
      cudaPointerGetAttributes(&end, first + (bytes - 1)) != cudaSuccess || end.type != cudaMemoryTypeHost) {
    cudaGetLastError();
    return false;
  }
  return static_cast<std::byte*>(end.devicePointer) - static_cast<std::byte*>(begin.devicePointer) == bytes - 1;
}

// Bytes from the first element to behind the last one.
std::int64_t span_bytes(const ColumnBlock& block) {
  return (block.matrices - 1) * block.matrix_pitch + (block.columns - 1) * block.pitch + block.width;
}

Path path_of(const PointerLocation& location, const void* data, const ColumnBlock& block, const DeviceInfo& device) {
  switch (location.location) {
    case Location::unused:
      return Path::unused;
    case Location::managed:
      return Path::in_place;
    case Location::device:
      return location.device == device.ordinal || location.device < 0 ? Path::in_place : Path::direct;
    case Location::host:
      break;
  }
  if (block.width < kMinDirectWidth) return Path::packed;
  return is_page_locked(static_cast<const std::byte*>(data), span_bytes(block)) ? Path::direct : Path::packed;
}

Paths paths_of(const Problem& p, const Placement& placement, const DeviceInfo& device) {
  const Piece whole{0, p.batch_count, 0, p.m, 0, p.n, 0, 0};
  Paths paths;
  if (p.reads_inputs()) {
    paths.a = path_of(placement.a, p.a.data, part_of_a(p, whole).block, device);
    paths.b = path_of(placement.b, p.b.data, part_of_b(p, whole).block, device);
  }
  paths.c = path_of(placement.c, p.c.data, part_of_c(p, whole).block, device);
  return paths;
}

// A capture of another stream must not be broken by the allocations of this call, nor forbid them.
class RelaxedCaptureGuard {
 public:
  RelaxedCaptureGuard() { changed_ = cudaThreadExchangeStreamCaptureMode(&mode_) == cudaSuccess; }
  ~RelaxedCaptureGuard() {
    if (changed_) cudaThreadExchangeStreamCaptureMode(&mode_);
  }
  RelaxedCaptureGuard(const RelaxedCaptureGuard&) = delete;
  RelaxedCaptureGuard& operator=(const RelaxedCaptureGuard&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
  bool changed_ = false;
};

// Waits for what the user enqueued before: host operands are read by the CPU, so that order on the device is not
// enough.
Status wait_for_user(cudaStream_t stream, const Placement& placement) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  const cudaError_t error = cudaStreamIsCapturing(stream, &capture);
  if (error == cudaErrorStreamCaptureImplicit) {
    cudaGetLastError();
    // The legacy default stream cannot be used while another stream is captured. Nothing that this call needs can be in
    // it when all of its operands are the host's.
    if (!placement.any(Location::device) && !placement.any(Location::managed)) return kOk;
    return fail(
        XGEMM_UNSUPPORTED,
        "the default stream cannot be used while a stream is captured, and a product of host and device operands "
        "has to wait for it; set the context's stream");
  }
  XGEMM_RETURN_IF_CUDA_FAILED(error, "cudaStreamIsCapturing");
  if (capture != cudaStreamCaptureStatusNone)
    return fail(
        XGEMM_UNSUPPORTED,
        format("the context's stream is being captured in a CUDA graph, and operands (A, B, C: %s) are host memory: "
               "a capture takes products of device and managed memory alone",
               to_string(placement).c_str()));
  return cuda_status(cudaStreamSynchronize(stream), "the work on the context's stream before this call");
}

bool ready(cudaEvent_t event, cudaError_t* error) {
  *error = cudaEventQuery(event);
  if (*error == cudaSuccess) return true;
  cudaGetLastError();  // "not ready" would be taken for the failure of the next launch
  if (*error == cudaErrorNotReady) *error = cudaSuccess;
  return false;
}

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
};

constexpr int kMaxSlots = 4;

// Buffers of one operand on the device.
struct DeviceSlots {
  std::byte* memory = nullptr;
  std::int64_t slot_bytes = 0;
  int count = 0;
  std::byte* slot(std::int64_t load) const { return memory + load % count * slot_bytes; }
};

}  // namespace

class Stager {
 public:
  Stager() : process_(getpid()) {}
  ~Stager() { release(); }
  Stager(const Stager&) = delete;
  Stager& operator=(const Stager&) = delete;

  // Streams, events, memory and threads for a plan; what is there is used again.
  Status prepare(const DeviceInfo& device);
  Status reserve_device(std::int64_t bytes);
  Status reserve_ring(Ring* ring, std::int64_t chunk_bytes, std::int64_t chunks);
  void start_threads();

  // Gives back what is too large to keep.
  void trim(const DeviceInfo& device) noexcept;

  // Frees everything; after a failure nothing is trusted any more.
  void release() noexcept;

  // A child process has neither the threads nor the CUDA context of its parent; nothing can be freed there.
  bool belongs_to_this_process() const { return process_ == getpid(); }

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
  int has_pools = 0;
  if (cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, device.ordinal) == cudaSuccess && has_pools) {
    // A pool of its own: cudaFree would wait for the whole device, the default pool would keep or drop memory by the
    // rules that the program has set for it.
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, device.ordinal};
    if (cudaMemPoolCreate(&pool_, &properties) != cudaSuccess) pool_ = nullptr;
  }
  cudaGetLastError();
  return kOk;
}

Status Stager::reserve_device(std::int64_t bytes) {
  if (bytes <= device_bytes_) return kOk;
  free_device_memory();
  void* memory = nullptr;
  const auto size = static_cast<std::size_t>(bytes);
  const cudaError_t error =
      pool_ != nullptr ? cudaMallocFromPoolAsync(&memory, size, pool_, in) : cudaMalloc(&memory, size);
  if (error != cudaSuccess) {
    cudaGetLastError();
    return cuda_status(error, "device memory for staged operands");
  }
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
    cudaGetLastError();
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
  const DeviceGuard guard(ordinal_);
  const RelaxedCaptureGuard relaxed;
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
  cudaGetLastError();
}

void StagerDeleter::operator()(Stager* stager) const noexcept {
  delete stager;
}

namespace {

// One call on its way through.
class Pipeline {
 public:
  Pipeline(Stager& stager, const Problem& problem, const Paths& paths, const StagingPlan& plan,
           const DeviceInfo& device)
      : s_(stager), problem_(problem), paths_(paths), plan_(plan), device_(device) {
    std::byte* memory = s_.device_memory;
    for (auto [slots, planned] : {std::pair{&a_, &plan_.a}, std::pair{&b_, &plan_.b}, std::pair{&c_, &plan_.c}}) {
      *slots = {memory, planned->bytes, planned->count};
      memory += planned->bytes * planned->count;
    }
    gather_ = Cursor(*this);
    enqueue_ = Cursor(*this);
    fetch_.stage(*this);
    scatter_.stage(*this);
  }

  // Nothing of the user's may be touched after the return, whatever happened.
  ~Pipeline() {
    if (s_.threads != nullptr) s_.threads->drain();
    if (!finished_)
      for (cudaStream_t stream : {s_.in, s_.compute, s_.out}) cudaStreamSynchronize(stream);
  }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  Status run();

 private:
  // A part of an operand on its way to a slot.
  struct Load {
    enum class Operand { a, b, c } operand = Operand::a;
    Path path = Path::unused;
    StagedPart part;
    ColumnBlock block;  // merged
    const std::byte* host = nullptr;
    std::byte* slot = nullptr;
    std::int64_t number = 0;  // of this operand's loads
  };

  // Walks over the pieces and their loads, in the order in which they are enqueued. Gathering runs ahead of enqueueing,
  // so each has its own.
  class Cursor {
   public:
    Cursor() = default;
    explicit Cursor(const Pipeline& pipeline) { stage(pipeline); }

    bool at_end(const Pipeline& p) const { return index_ == p.plan_.piece_count(); }
    std::int64_t piece_index() const { return index_; }
    const Piece& piece() const { return piece_; }
    std::int64_t a_load() const { return a_loads_ - 1; }
    std::int64_t b_load() const { return b_loads_ - 1; }

    // The load to do next of this piece; null after the last.
    const Load* load() const { return load_ < load_count_ ? &loads_[static_cast<std::size_t>(load_)] : nullptr; }
    void next_load() { ++load_; }
    void next_piece(const Pipeline& p) {
      ++index_;
      stage(p);
    }

   private:
    void stage(const Pipeline& p) {
      load_ = load_count_ = 0;
      if (at_end(p)) return;
      piece_ = p.plan_.piece(p.problem_, index_);
      if (p.plan_.staged.a && (a_loads_ == 0 || piece_.a_part != a_part_))
        add(p.load(Load::Operand::a, piece_, a_loads_++));
      if (p.plan_.staged.b && (b_loads_ == 0 || piece_.b_part != b_part_))
        add(p.load(Load::Operand::b, piece_, b_loads_++));
      if (p.plan_.staged.c && p.problem_.reads_c()) add(p.load(Load::Operand::c, piece_, index_));
      a_part_ = piece_.a_part;
      b_part_ = piece_.b_part;
    }
    void add(const Load& load) { loads_[static_cast<std::size_t>(load_count_++)] = load; }

    std::int64_t index_ = 0;
    Piece piece_;
    std::int64_t a_part_ = 0, b_part_ = 0, a_loads_ = 0, b_loads_ = 0;
    std::array<Load, 3> loads_;
    int load_ = 0, load_count_ = 0;
  };

  // Walks over the pieces of C that come back. Fetching runs ahead of scattering.
  struct OutCursor {
    std::int64_t index = 0;
    ColumnBlock block;
    Chunking chunking;
    std::int64_t chunk = 0;
    std::byte* host = nullptr;
    std::byte* slot = nullptr;

    void stage(const Pipeline& p) {
      chunk = 0;
      if (!p.plan_.staged.c || index == p.plan_.piece_count()) return;
      const StagedPart part = part_of_c(p.problem_, p.plan_.piece(p.problem_, index));
      block = merged(part.block);
      chunking = Chunking(block, p.plan_.chunk_bytes);
      host = static_cast<std::byte*>(p.problem_.c.data) + part.host_offset;
      slot = p.c_.slot(index);
    }
  };

  Load load(Load::Operand operand, const Piece& piece, std::int64_t number) const {
    Load l;
    l.operand = operand;
    l.number = number;
    switch (operand) {
      case Load::Operand::a:
        l.path = paths_.a;
        l.part = part_of_a(problem_, piece);
        l.host = static_cast<const std::byte*>(problem_.a.data);
        l.slot = a_.slot(number);
        break;
      case Load::Operand::b:
        l.path = paths_.b;
        l.part = part_of_b(problem_, piece);
        l.host = static_cast<const std::byte*>(problem_.b.data);
        l.slot = b_.slot(number);
        break;
      case Load::Operand::c:
        l.path = paths_.c;
        l.part = part_of_c(problem_, piece);
        l.host = static_cast<const std::byte*>(problem_.c.data);
        l.slot = c_.slot(number);
        break;
    }
    l.host += l.part.host_offset;
    l.block = merged(l.part.block);
    return l;
  }

  // The turns of run(). Each sets *progress when it could do something.
  Status retire_inputs(bool* progress);
  Status gather_inputs(bool* progress);
  Status enqueue_inputs(bool* progress);
  Status launch_piece();
  Status fetch_outputs(bool* progress);
  Status scatter_outputs(bool* progress);
  Status retire_outputs(bool* progress);

  Status begin_load(const Load& load);

  bool finished() const {
    const std::int64_t pieces = plan_.piece_count();
    if (enqueue_.piece_index() < pieces) return false;
    if (!plan_.staged.c) return true;
    return fetch_.index == pieces && out_under_way_ == 0;
  }

  Stager& s_;
  const Problem& problem_;
  const Paths& paths_;
  const StagingPlan& plan_;
  const DeviceInfo& device_;
  DeviceSlots a_, b_, c_;
  bool finished_ = false;

  Cursor gather_;  // chunks given to the threads
  Chunking gather_chunking_;
  std::int64_t gather_chunk_ = 0;
  bool gather_begun_ = false;
  Cursor enqueue_;  // chunks on the link, launches
  std::int64_t enqueue_chunk_ = 0, enqueue_chunks_ = 0;
  bool enqueue_begun_ = false;
  // Chunks in the in-ring, by sequence number: [retired, enqueued) on the link, [enqueued, gathered) at or past the
  // threads.
  std::int64_t in_retired_ = 0, in_enqueued_ = 0, in_gathered_ = 0;

  OutCursor fetch_;  // chunks on the link
  bool fetch_begun_ = false;
  OutCursor scatter_;  // chunks given to the threads
  // Chunks in the out-ring: [scattered, fetched) on the link. They come back in that order, but slots become free in
  // any.
  std::int64_t out_scattered_ = 0, out_fetched_ = 0;
  int out_under_way_ = 0;
};

Status Pipeline::run() {
  // Chunks that the caller packs itself: small ones, or all of them when there are few threads.
  const bool helps = s_.threads != nullptr && (s_.threads->threads() < 4 || plan_.chunk_bytes <= kSmallChunkBytes);
  int idle_turns = 0;
  while (!finished()) {
    bool progress = false;
    XGEMM_RETURN_IF_FAILED(retire_inputs(&progress));
    XGEMM_RETURN_IF_FAILED(gather_inputs(&progress));
    XGEMM_RETURN_IF_FAILED(enqueue_inputs(&progress));
    XGEMM_RETURN_IF_FAILED(scatter_outputs(&progress));
    XGEMM_RETURN_IF_FAILED(retire_outputs(&progress));
    XGEMM_RETURN_IF_FAILED(fetch_outputs(&progress));
    if (progress) {
      idle_turns = 0;
      continue;
    }
    ++idle_turns;
    // Threads that never started, or are all descheduled, must not stop the call.
    if (s_.threads != nullptr && (helps || idle_turns > 100) && s_.threads->help()) continue;
    // A kernel of seconds does not need a core that looks at it.
    if (idle_turns > 2000) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    } else if (idle_turns > 20) {
      std::this_thread::yield();
    }
  }
  for (cudaStream_t stream : {s_.in, s_.compute, s_.out})
    XGEMM_RETURN_IF_CUDA_FAILED(cudaStreamSynchronize(stream), "the kernels and copies of a staged product");
  finished_ = true;
  return kOk;
}

// ---- Host to device ----------------------------------------------------------------------------------------------

Status Pipeline::retire_inputs(bool* progress) {
  while (in_retired_ < in_enqueued_) {
    Ring::Slot& slot = s_.in_ring.slots[static_cast<std::size_t>(in_retired_ % s_.in_ring.count)];
    cudaError_t error = cudaSuccess;
    if (!ready(slot.event, &error)) return cuda_status(error, "copying operands to the device");
    ++in_retired_;
    *progress = true;
  }
  return kOk;
}

Status Pipeline::gather_inputs(bool* progress) {
  while (!gather_.at_end(*this)) {
    const Load* load = gather_.load();
    if (load == nullptr) {
      gather_.next_piece(*this);
      continue;
    }
    if (load->path != Path::packed) {
      gather_.next_load();
      continue;
    }
    if (!gather_begun_) {
      gather_chunking_ = Chunking(load->block, plan_.chunk_bytes);
      gather_chunk_ = 0;
      gather_begun_ = true;
    }
    if (gather_chunk_ == gather_chunking_.count()) {
      gather_begun_ = false;
      gather_.next_load();
      continue;
    }
    if (in_gathered_ - in_retired_ == s_.in_ring.count) return kOk;
    Ring::Slot& slot = s_.in_ring.slots[static_cast<std::size_t>(in_gathered_ % s_.in_ring.count)];
    slot.chunk = gather_chunking_[gather_chunk_];
    slot.done.store(false, std::memory_order_relaxed);
    s_.threads->submit({load->block, slot.chunk, load->host, slot.memory, true, &slot.done});
    ++in_gathered_;
    ++gather_chunk_;
    *progress = true;
  }
  return kOk;
}

// Before a slot on the device is overwritten, the kernels that read it must be through.
Status Pipeline::begin_load(const Load& load) {
  cudaEvent_t event = nullptr;
  switch (load.operand) {
    case Load::Operand::a:
      if (load.number >= a_.count) event = s_.a_used[static_cast<std::size_t>(load.number % a_.count)];
      break;
    case Load::Operand::b:
      if (load.number >= b_.count) event = s_.b_used[static_cast<std::size_t>(load.number % b_.count)];
      break;
    case Load::Operand::c:
      if (load.number >= c_.count) event = s_.c_fetched[static_cast<std::size_t>(load.number % c_.count)];
      break;
  }
  return event == nullptr ? kOk : cuda_status(cudaStreamWaitEvent(s_.in, event, 0), "cudaStreamWaitEvent");
}

// Columns between memory that the copy engine reaches: in one go where CUDA's limits on pitches allow it.
cudaError_t copy_columns(const ColumnBlock& block, std::byte* to, const std::byte* from, bool to_device,
                         cudaStream_t stream) {
  const auto width = static_cast<std::size_t>(block.width);
  const auto one_matrix = [&](std::byte* t, const std::byte* f) -> cudaError_t {
    const std::int64_t to_pitch = to_device ? block.packed_pitch : block.pitch;
    const std::int64_t from_pitch = to_device ? block.pitch : block.packed_pitch;
    if (block.columns == 1) return cudaMemcpyAsync(t, f, width, cudaMemcpyDefault, stream);
    if (to_pitch <= kMaxCopyPitch && from_pitch <= kMaxCopyPitch)
      return cudaMemcpy2DAsync(t, static_cast<std::size_t>(to_pitch), f, static_cast<std::size_t>(from_pitch), width,
                               static_cast<std::size_t>(block.columns), cudaMemcpyDefault, stream);
    cudaError_t error = cudaSuccess;
    for (std::int64_t j = 0; j < block.columns && error == cudaSuccess; ++j)
      error = cudaMemcpyAsync(t + j * to_pitch, f + j * from_pitch, width, cudaMemcpyDefault, stream);
    return error;
  };
  const std::int64_t packed_step = block.columns * block.packed_pitch, host_step = block.matrix_pitch;
  cudaError_t error = cudaSuccess;
  for (std::int64_t i = 0; i < block.matrices && error == cudaSuccess; ++i)
    error =
        one_matrix(to + i * (to_device ? packed_step : host_step), from + i * (to_device ? host_step : packed_step));
  return error;
}

Status Pipeline::enqueue_inputs(bool* progress) {
  while (!enqueue_.at_end(*this)) {
    // The slot of C is given back by the fetch of an earlier piece, which must have been enqueued to be waited for.
    const std::int64_t index = enqueue_.piece_index();
    if (plan_.staged.c && fetch_.index <= index - c_.count) return kOk;
    const Load* load = enqueue_.load();
    if (load == nullptr) {
      XGEMM_RETURN_IF_FAILED(launch_piece());
      enqueue_.next_piece(*this);
      *progress = true;
      continue;
    }
    if (!enqueue_begun_) {
      XGEMM_RETURN_IF_FAILED(begin_load(*load));
      enqueue_chunk_ = 0;
      enqueue_chunks_ = load->path == Path::packed ? Chunking(load->block, plan_.chunk_bytes).count() : 0;
      if (load->path == Path::direct)
        XGEMM_RETURN_IF_CUDA_FAILED(copy_columns(load->block, load->slot, load->host, true, s_.in),
                                    "copying operands to the device");
      enqueue_begun_ = true;
      *progress = true;
    }
    for (; enqueue_chunk_ < enqueue_chunks_; ++enqueue_chunk_) {
      if (in_enqueued_ == in_gathered_) return kOk;
      Ring::Slot& slot = s_.in_ring.slots[static_cast<std::size_t>(in_enqueued_ % s_.in_ring.count)];
      if (!slot.done.load(std::memory_order_acquire)) return kOk;
      XGEMM_RETURN_IF_CUDA_FAILED(
          cudaMemcpyAsync(load->slot + slot.chunk.packed_offset, slot.memory,
                          static_cast<std::size_t>(slot.chunk.packed_bytes), cudaMemcpyHostToDevice, s_.in),
          "copying operands to the device");
      XGEMM_RETURN_IF_CUDA_FAILED(cudaEventRecord(slot.event, s_.in), "cudaEventRecord");
      ++in_enqueued_;
      *progress = true;
    }
    enqueue_begun_ = false;
    enqueue_.next_load();
  }
  return kOk;
}

Status Pipeline::launch_piece() {
  const Piece& piece = enqueue_.piece();
  const std::int64_t index = enqueue_.piece_index();
  const auto in_slot = [](std::int64_t number, const DeviceSlots& slots) {
    return static_cast<std::size_t>(number % slots.count);
  };
  Problem part = problem_of(problem_, piece);
  if (plan_.staged.a) {
    const StagedPart a = part_of_a(problem_, piece);
    part.a = {problem_.a.type, a_.slot(enqueue_.a_load()), problem_.a.op, a.ld, a.batch_stride};
  }
  if (plan_.staged.b) {
    const StagedPart b = part_of_b(problem_, piece);
    part.b = {problem_.b.type, b_.slot(enqueue_.b_load()), problem_.b.op, b.ld, b.batch_stride};
  }
  if (plan_.staged.c) {
    const StagedPart c = part_of_c(problem_, piece);
    part.c = {problem_.c.type, c_.slot(index), c.ld, c.batch_stride};
    if (index >= c_.count)
      XGEMM_RETURN_IF_CUDA_FAILED(cudaStreamWaitEvent(s_.compute, s_.c_fetched[in_slot(index, c_)], 0),
                                  "cudaStreamWaitEvent");
  }
  XGEMM_RETURN_IF_CUDA_FAILED(cudaEventRecord(s_.loaded, s_.in), "cudaEventRecord");
  XGEMM_RETURN_IF_CUDA_FAILED(cudaStreamWaitEvent(s_.compute, s_.loaded, 0), "cudaStreamWaitEvent");
  XGEMM_RETURN_IF_FAILED(runtime::device_gemm(part, device_, {s_.compute, nullptr, 0}));
  if (plan_.staged.a)
    XGEMM_RETURN_IF_CUDA_FAILED(cudaEventRecord(s_.a_used[in_slot(enqueue_.a_load(), a_)], s_.compute),
                                "cudaEventRecord");
  if (plan_.staged.b)
    XGEMM_RETURN_IF_CUDA_FAILED(cudaEventRecord(s_.b_used[in_slot(enqueue_.b_load(), b_)], s_.compute),
                                "cudaEventRecord");
  if (plan_.staged.c)
    XGEMM_RETURN_IF_CUDA_FAILED(cudaEventRecord(s_.computed[in_slot(index, c_)], s_.compute), "cudaEventRecord");
  return kOk;
}

// ---- Device to host ----------------------------------------------------------------------------------------------

Status Pipeline::fetch_outputs(bool* progress) {
  if (!plan_.staged.c) return kOk;
  while (fetch_.index < enqueue_.piece_index()) {
    const auto c_slot = static_cast<std::size_t>(fetch_.index % c_.count);
    if (!fetch_begun_)
      XGEMM_RETURN_IF_CUDA_FAILED(cudaStreamWaitEvent(s_.out, s_.computed[c_slot], 0), "cudaStreamWaitEvent");
    fetch_begun_ = true;
    if (paths_.c == Path::direct) {
      XGEMM_RETURN_IF_CUDA_FAILED(copy_columns(fetch_.block, fetch_.host, fetch_.slot, false, s_.out),
                                  "copying C back");
      fetch_.chunk = fetch_.chunking.count();
    }
    for (; fetch_.chunk < fetch_.chunking.count(); ++fetch_.chunk) {
      Ring::Slot& slot = s_.out_ring.slots[static_cast<std::size_t>(out_fetched_ % s_.out_ring.count)];
      if (slot.state != Ring::State::free) return kOk;
      slot.chunk = fetch_.chunking[fetch_.chunk];
      XGEMM_RETURN_IF_CUDA_FAILED(
          cudaMemcpyAsync(slot.memory, fetch_.slot + slot.chunk.packed_offset,
                          static_cast<std::size_t>(slot.chunk.packed_bytes), cudaMemcpyDeviceToHost, s_.out),
          "copying C back");
      XGEMM_RETURN_IF_CUDA_FAILED(cudaEventRecord(slot.event, s_.out), "cudaEventRecord");
      slot.state = Ring::State::on_the_link;
      ++out_fetched_;
      ++out_under_way_;
      *progress = true;
    }
    XGEMM_RETURN_IF_CUDA_FAILED(cudaEventRecord(s_.c_fetched[c_slot], s_.out), "cudaEventRecord");
    fetch_begun_ = false;
    ++fetch_.index;
    fetch_.stage(*this);
    *progress = true;
  }
  return kOk;
}

Status Pipeline::scatter_outputs(bool* progress) {
  while (out_scattered_ < out_fetched_) {
    if (scatter_.chunk == scatter_.chunking.count()) {
      ++scatter_.index;
      scatter_.stage(*this);
    }
    Ring::Slot& slot = s_.out_ring.slots[static_cast<std::size_t>(out_scattered_ % s_.out_ring.count)];
    cudaError_t error = cudaSuccess;
    if (!ready(slot.event, &error)) return cuda_status(error, "computing C and copying it back");
    slot.state = Ring::State::at_threads;
    slot.done.store(false, std::memory_order_relaxed);
    s_.threads->submit({scatter_.block, slot.chunk, slot.memory, scatter_.host, false, &slot.done});
    ++out_scattered_;
    ++scatter_.chunk;
    *progress = true;
  }
  return kOk;
}

Status Pipeline::retire_outputs(bool* progress) {
  for (int i = 0; i < s_.out_ring.count; ++i) {
    Ring::Slot& slot = s_.out_ring.slots[static_cast<std::size_t>(i)];
    if (slot.state != Ring::State::at_threads || !slot.done.load(std::memory_order_acquire)) continue;
    slot.state = Ring::State::free;
    --out_under_way_;
    *progress = true;
  }
  return kOk;
}

// Device memory for the largest pieces that there is room for.
Status plan_and_reserve(Stager& stager, const Problem& problem, StagedOperands staged, const DeviceInfo& device,
                        StagingPlan* plan) {
  const auto all = static_cast<std::int64_t>(device.memory_bytes);
  std::int64_t budget = staging_budget(all);
  *plan = plan_staging(problem, staged, budget);
  // A product of very long rows and columns: whatever the device has.
  if (!plan->fits) *plan = plan_staging(problem, staged, all);
  for (;;) {
    if (!plan->fits)
      return fail(XGEMM_OUT_OF_DEVICE_MEMORY,
                  format("the smallest pieces of this product (m=%lld n=%lld k=%lld) need %lld bytes of device memory",
                         static_cast<long long>(problem.m), static_cast<long long>(problem.n),
                         static_cast<long long>(problem.k), static_cast<long long>(plan->device_bytes)));
    const Status status = stager.reserve_device(plan->device_bytes);
    if (status.ok() || status.code != XGEMM_OUT_OF_DEVICE_MEMORY) return status;
    budget = std::min(budget, plan->device_bytes) / 2;
    if (budget < kMinDeviceBytes)
      return fail(XGEMM_OUT_OF_DEVICE_MEMORY, format("no %lld bytes of device memory to stage host operands in",
                                                     static_cast<long long>(plan->device_bytes)));
    *plan = plan_staging(problem, staged, budget);
  }
}

Status run_staged(Stager& stager, const Problem& problem, const Placement& placement, const DeviceInfo& device,
                  cudaStream_t stream) {
  XGEMM_RETURN_IF_FAILED(wait_for_user(stream, placement));
  XGEMM_RETURN_IF_FAILED(stager.prepare(device));
  const Paths paths = paths_of(problem, placement, device);
  StagingPlan plan;
  XGEMM_RETURN_IF_FAILED(plan_and_reserve(stager, problem, staged_operands(paths), device, &plan));

  const bool packs_in =
      paths.a == Path::packed || paths.b == Path::packed || (paths.c == Path::packed && problem.reads_c());
  const bool packs_out = paths.c == Path::packed;
  stager.in_ring.count = stager.out_ring.count = 0;
  if (packs_in || packs_out) {
    // A chunk holds whole columns and may be half full.
    const auto chunks = [&](std::int64_t bytes) { return 2 * (bytes / plan.chunk_bytes) + 3; };
    if (packs_in) XGEMM_RETURN_IF_FAILED(stager.reserve_ring(&stager.in_ring, plan.chunk_bytes, chunks(plan.bytes_in)));
    if (packs_out)
      XGEMM_RETURN_IF_FAILED(stager.reserve_ring(&stager.out_ring, plan.chunk_bytes, chunks(plan.bytes_out)));
    stager.start_threads();
  }
  return Pipeline(stager, problem, paths, plan, device).run();
}

}  // namespace

Status staged_gemm(StagerHandle& stager, const Problem& problem, const Placement& placement, const DeviceInfo& device,
                   void* stream) {
  if (problem.does_nothing()) return kOk;
  const DeviceGuard guard(device.ordinal);
  XGEMM_RETURN_IF_CUDA_FAILED(guard.status(), "cudaSetDevice");
  const RelaxedCaptureGuard relaxed;
  if (stager == nullptr || !stager->belongs_to_this_process()) stager.reset(new Stager);
  const Status status = run_staged(*stager, problem, placement, device, static_cast<cudaStream_t>(stream));
  if (status.ok()) {
    stager->trim(device);
  } else if (status.code != XGEMM_UNSUPPORTED) {
    stager->release();
  }
  return status;
}

std::string explain_staging(const Problem& problem, const Placement& placement, const DeviceInfo& device) {
  const DeviceGuard guard(device.ordinal);
  const Paths paths = paths_of(problem, placement, device);
  StagingPlan plan =
      plan_staging(problem, staged_operands(paths), staging_budget(static_cast<std::int64_t>(device.memory_bytes)));
  if (!plan.fits) plan = plan_staging(problem, staged_operands(paths), static_cast<std::int64_t>(device.memory_bytes));
  const auto name = [](Path path) {
    switch (path) {
      case Path::unused:
        return "unused";
      case Path::in_place:
        return "in place";
      case Path::direct:
        return "copied by the copy engine";
      case Path::packed:
        return "packed by threads";
    }
    return "?";
  };
  std::string text =
      to_string(plan) + format("staging: A is %s, B is %s, C is %s\n", name(paths.a), name(paths.b), name(paths.c));
  // The kernel of the first piece. Slots are aligned; any aligned address shows the planner the same facts.
  const Piece piece = plan.piece(problem, 0);
  Problem part = problem_of(problem, piece);
  const auto slot = reinterpret_cast<void*>(std::uintptr_t{1} << 30);
  if (plan.staged.a) {
    const StagedPart a = part_of_a(problem, piece);
    part.a = {problem.a.type, slot, problem.a.op, a.ld, a.batch_stride};
  }
  if (plan.staged.b) {
    const StagedPart b = part_of_b(problem, piece);
    part.b = {problem.b.type, slot, problem.b.op, b.ld, b.batch_stride};
  }
  if (plan.staged.c) {
    const StagedPart c = part_of_c(problem, piece);
    part.c = {problem.c.type, slot, c.ld, c.batch_stride};
  }
  static_cast<void>(runtime::explain_plan(part, device, &text));
  return text;
}

}  // namespace xgemm::transfer
