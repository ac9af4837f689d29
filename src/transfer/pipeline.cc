// The turns of a Pipeline.
#include "transfer/pipeline.h"

#include <chrono>
#include <thread>

#include "core/triangle.h"
#include "device/cuda_status.h"
#include "runtime/device_gemm.h"
#include "transfer/device_copy.h"

namespace xgemm::transfer {

using device::cuda_status;

namespace {

// Chunks up to this size are also packed by the caller's thread when it has nothing to enqueue: they take it no longer
// than the link takes for what is already under way.
constexpr std::int64_t kSmallChunkBytes = std::int64_t{256} << 10;

bool ready(cudaEvent_t event, cudaError_t* error) {
  *error = cudaEventQuery(event);
  if (*error == cudaSuccess) return true;
  device::forget_last_error();
  if (*error == cudaErrorNotReady) *error = cudaSuccess;
  return false;
}

// The event of the slot that a load uses.
template <std::size_t kCount>
cudaEvent_t event_of(const std::array<cudaEvent_t, kCount>& events, std::int64_t load, const DeviceSlots& slots) {
  return events[static_cast<std::size_t>(load % slots.count)];
}

}  // namespace

Pipeline::Pipeline(Stager& stager, const StagedProduct& product, const device::DeviceInfo& device)
    : s_(stager),
      product_(product),
      plan_(product.plan),
      device_(device),
      gather_(product),
      enqueue_(product),
      fetch_(product),
      scatter_(product) {}

Pipeline::~Pipeline() {
  drain();
}

bool Pipeline::drain() {
  if (s_.threads != nullptr) s_.threads->drain();
  if (drained_) return true;
  drained_ = true;
  for (cudaStream_t stream : {s_.in, s_.compute, s_.out}) drained_ &= cudaStreamSynchronize(stream) == cudaSuccess;
  return drained_;
}

Unfinished Pipeline::stop() {
  const bool drained = drain();
  if (!plan_.staged.c) return {{}, true};
  // Chunks are written by the threads, which are through.
  if (product_.paths.c == Path::packed) return {scatter_.rest(), false};
  const bool begun = fetch_.piece_index() > 0 || fetch_begun_;
  if (!begun || !product_.problem.reads_c()) return {{whole_of(product_.problem)}, false};
  if (drained && !fetch_begun_) return {fetch_.rest(), false};
  return {{}, true};
}

bool Pipeline::finished() const {
  if (!enqueue_.at_end()) return false;
  if (!plan_.staged.c) return true;
  return fetch_.piece_index() == plan_.pieces && out_under_way_ == 0;
}

Status Pipeline::run() {
  // Turns without progress, a few questions about events each, after which the caller does more than ask again. Chosen
  // by hand.
  constexpr int kTurnsBeforeYielding = 20, kTurnsBeforeHelping = 100, kTurnsBeforeSleeping = 2000;
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
    if (s_.threads != nullptr && (helps || idle_turns > kTurnsBeforeHelping) && s_.threads->help()) continue;
    // A kernel of seconds does not need a core that looks at it.
    if (idle_turns > kTurnsBeforeSleeping) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    } else if (idle_turns > kTurnsBeforeYielding) {
      std::this_thread::yield();
    }
  }
  for (cudaStream_t stream : {s_.in, s_.compute, s_.out})
    XGEMM_RETURN_IF_CUDA_FAILED(cudaStreamSynchronize(stream), "the kernels and copies of a staged product");
  drained_ = true;
  return kOk;
}

// ---- Host to device ----------------------------------------------------------------------------------------------

Status Pipeline::retire_inputs(bool* progress) {
  while (in_retired_ < in_enqueued_) {
    Ring::Slot& slot = s_.in_ring.slot(in_retired_);
    cudaError_t error = cudaSuccess;
    if (!ready(slot.event, &error)) return cuda_status(error, "copying operands to the device");
    ++in_retired_;
    *progress = true;
  }
  return kOk;
}

Status Pipeline::gather_inputs(bool* progress) {
  while (!gather_.at_end()) {
    const Load* load = gather_.load();
    if (load == nullptr) {
      gather_.next_piece();
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
    Ring::Slot& slot = s_.in_ring.slot(in_gathered_);
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
  const auto reused = [&](const auto& events, const DeviceSlots& slots) -> cudaEvent_t {
    return load.number >= slots.count ? event_of(events, load.number, slots) : nullptr;
  };
  cudaEvent_t event = nullptr;
  switch (load.operand) {
    case Load::Operand::a:
      event = reused(s_.a_used, product_.a);
      break;
    case Load::Operand::b:
      event = reused(s_.b_used, product_.b);
      break;
    case Load::Operand::c:
      event = reused(s_.c_fetched, product_.c);
      break;
  }
  return event == nullptr ? kOk : cuda_status(cudaStreamWaitEvent(s_.in, event, 0), "cudaStreamWaitEvent");
}

Status Pipeline::enqueue_inputs(bool* progress) {
  while (!enqueue_.at_end()) {
    // The slot of C is given back by the fetch of an earlier piece, which must have been enqueued to be waited for.
    const std::int64_t index = enqueue_.piece_index();
    if (plan_.staged.c && fetch_.piece_index() <= index - product_.c.count) return kOk;
    const Load* load = enqueue_.load();
    if (load == nullptr) {
      XGEMM_RETURN_IF_FAILED(launch_piece());
      enqueue_.next_piece();
      *progress = true;
      continue;
    }
    if (!enqueue_begun_) {
      XGEMM_RETURN_IF_FAILED(begin_load(*load));
      enqueue_chunk_ = 0;
      enqueue_chunks_ = load->path == Path::packed ? Chunking(load->block, plan_.chunk_bytes).count() : 0;
      if (load->path == Path::direct)
        XGEMM_RETURN_IF_CUDA_FAILED(copy_block(load->block, load->slot, load->host, Direction::pack, s_.in),
                                    "copying operands to the device");
      if (load->path == Path::peer)
        XGEMM_RETURN_IF_CUDA_FAILED(
            pack_from_peer(load->block, load->slot, device_.ordinal, load->host, load->device, s_.in),
            "copying operands between GPUs");
      enqueue_begun_ = true;
      *progress = true;
    }
    for (; enqueue_chunk_ < enqueue_chunks_; ++enqueue_chunk_) {
      if (in_enqueued_ == in_gathered_) return kOk;
      Ring::Slot& slot = s_.in_ring.slot(in_enqueued_);
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
  const StagedProduct& p = product_;
  const std::int64_t index = enqueue_.piece_index(), a_load = enqueue_.a_load(), b_load = enqueue_.b_load();
  SlotAddresses slots;
  if (plan_.staged.a) slots.a = p.a.slot(a_load);
  if (plan_.staged.b) slots.b = p.b.slot(b_load);
  if (plan_.staged.c) {
    slots.c = p.c.slot(index);
    if (index >= p.c.count)
      XGEMM_RETURN_IF_CUDA_FAILED(cudaStreamWaitEvent(s_.compute, event_of(s_.c_fetched, index, p.c), 0),
                                  "cudaStreamWaitEvent");
  }
  XGEMM_RETURN_IF_CUDA_FAILED(cudaEventRecord(s_.loaded, s_.in), "cudaEventRecord");
  XGEMM_RETURN_IF_CUDA_FAILED(cudaStreamWaitEvent(s_.compute, s_.loaded, 0), "cudaStreamWaitEvent");
  const Piece& piece = enqueue_.piece();
  bool c_is_written = !plan_.staged.c && index > 0;
  XGEMM_RETURN_IF_FAILED(for_each_part(
      problem_in_slots(p.problem, piece, plan_.staged, slots), piece.i, piece.j, [&](const Problem& part) {
        const Status status = of_part(runtime::device_gemm(part, device_, {s_.compute, nullptr, 0}), c_is_written);
        c_is_written = !plan_.staged.c;
        return status;
      }));
  const auto record = [&](cudaEvent_t event) {
    return cuda_status(cudaEventRecord(event, s_.compute), "cudaEventRecord");
  };
  if (plan_.staged.a) XGEMM_RETURN_IF_FAILED(record(event_of(s_.a_used, a_load, p.a)));
  if (plan_.staged.b) XGEMM_RETURN_IF_FAILED(record(event_of(s_.b_used, b_load, p.b)));
  if (plan_.staged.c) XGEMM_RETURN_IF_FAILED(record(event_of(s_.computed, index, p.c)));
  return kOk;
}

// ---- Device to host ----------------------------------------------------------------------------------------------

Status Pipeline::fetch_outputs(bool* progress) {
  if (!plan_.staged.c) return kOk;
  while (fetch_.piece_index() < enqueue_.piece_index()) {
    const std::int64_t index = fetch_.piece_index();
    if (!fetch_begun_)
      XGEMM_RETURN_IF_CUDA_FAILED(cudaStreamWaitEvent(s_.out, event_of(s_.computed, index, product_.c), 0),
                                  "cudaStreamWaitEvent");
    fetch_begun_ = true;
    if (product_.paths.c == Path::direct)
      XGEMM_RETURN_IF_CUDA_FAILED(copy_block(fetch_.block(), fetch_.host(), fetch_.slot(), Direction::unpack, s_.out),
                                  "copying C back");
    for (; product_.paths.c == Path::packed && fetch_.has_chunk(); fetch_.next_chunk()) {
      Ring::Slot& slot = s_.out_ring.slot(out_fetched_);
      if (slot.state != Ring::State::free) return kOk;
      slot.chunk = fetch_.chunk();
      XGEMM_RETURN_IF_CUDA_FAILED(
          cudaMemcpyAsync(slot.memory, fetch_.slot() + slot.chunk.packed_offset,
                          static_cast<std::size_t>(slot.chunk.packed_bytes), cudaMemcpyDeviceToHost, s_.out),
          "copying C back");
      XGEMM_RETURN_IF_CUDA_FAILED(cudaEventRecord(slot.event, s_.out), "cudaEventRecord");
      slot.state = Ring::State::on_the_link;
      ++out_fetched_;
      ++out_under_way_;
      *progress = true;
    }
    XGEMM_RETURN_IF_CUDA_FAILED(cudaEventRecord(event_of(s_.c_fetched, index, product_.c), s_.out), "cudaEventRecord");
    fetch_begun_ = false;
    fetch_.next_piece();
    *progress = true;
  }
  return kOk;
}

Status Pipeline::scatter_outputs(bool* progress) {
  while (out_scattered_ < out_fetched_) {
    if (!scatter_.has_chunk()) scatter_.next_piece();
    Ring::Slot& slot = s_.out_ring.slot(out_scattered_);
    cudaError_t error = cudaSuccess;
    if (!ready(slot.event, &error)) return cuda_status(error, "computing C and copying it back");
    slot.state = Ring::State::at_threads;
    slot.done.store(false, std::memory_order_relaxed);
    s_.threads->submit({scatter_.block(), slot.chunk, slot.memory, scatter_.host(), false, &slot.done});
    ++out_scattered_;
    scatter_.next_chunk();
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

}  // namespace xgemm::transfer
