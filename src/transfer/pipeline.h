// One staged product on its way through a Stager. CUDA builds only.
//
//     pageable host ── threads gather ──▶ page-locked ring ──▶ ┌───────────────┐
//     page-locked host ──────────────────────────────────────▶ │ slots, kernel │   streams: in, compute, out
//     pageable host ◀── threads scatter ── page-locked ring ◀─ └───────────────┘
//
// One thread, the caller's, makes all CUDA calls. It never waits for one thing alone: each turn of run() does what can
// be done (hand chunks to the threads, enqueue packed chunks, launch the next piece, fetch results), so that reading,
// computing and writing back overlap. Order on the device is kept by events. An operand that a kernel can reach is used
// in place.
#pragma once

#include <cstdint>

#include "core/status.h"
#include "device/device_info.h"
#include "transfer/stager.h"
#include "transfer/staging.h"
#include "transfer/staging_walk.h"

namespace xgemm::transfer {

class Pipeline {
 public:
  // The stager has what the product's plan needs.
  Pipeline(Stager& stager, const StagedProduct& product, const device::DeviceInfo& device);

  // Nothing of the user's may be touched after the return, whatever happened.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  Status run();

  // After a failure: waits for what is under way, then tells which part of C still has to be computed.
  Unfinished stop();

 private:
  // The turns of run(). Each sets *progress when it could do something.
  Status retire_inputs(bool* progress);
  Status gather_inputs(bool* progress);
  Status enqueue_inputs(bool* progress);
  Status scatter_outputs(bool* progress);
  Status retire_outputs(bool* progress);
  Status fetch_outputs(bool* progress);

  Status begin_load(const Load& load);
  Status launch_piece();
  bool finished() const;
  bool drain();  // whether everything that was enqueued has been done

  Stager& s_;
  const StagedProduct& product_;
  const StagingPlan& plan_;
  const device::DeviceInfo& device_;
  bool drained_ = false;

  InputWalk gather_;  // chunks given to the threads; runs ahead of enqueueing
  Chunking gather_chunking_;
  std::int64_t gather_chunk_ = 0;
  bool gather_begun_ = false;
  InputWalk enqueue_;  // chunks on the link, launches
  std::int64_t enqueue_chunk_ = 0, enqueue_chunks_ = 0;
  bool enqueue_begun_ = false;
  // Chunks in the in-ring, by sequence number: [retired, enqueued) on the link, [enqueued, gathered) at or past the
  // threads.
  std::int64_t in_retired_ = 0, in_enqueued_ = 0, in_gathered_ = 0;

  OutputWalk fetch_;  // chunks on the link; runs ahead of scattering
  bool fetch_begun_ = false;
  OutputWalk scatter_;  // chunks given to the threads
  // Chunks in the out-ring: [scattered, fetched) on the link. They come back in that order, but slots become free in
  // any.
  std::int64_t out_scattered_ = 0, out_fetched_ = 0;
  int out_under_way_ = 0;
};

}  // namespace xgemm::transfer
