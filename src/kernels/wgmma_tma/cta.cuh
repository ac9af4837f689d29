// What the roles of a wgmma_tma CTA share: the ring of slots in shared memory and its barriers, the place in the
// cluster, and who computes which part of a tile.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/dtype.cuh"
#include "kernels/common/epilogue.cuh"
#include "kernels/common/matrix_view.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/sm90/warpgroup.cuh"
#include "kernels/common/target.cuh"
#include "kernels/wgmma_tma/config.h"
#include "kernels/wgmma_tma/line_stages.cuh"
#include "kernels/wgmma_tma/params.h"

namespace xgemm::kernels {

// A position in a ring of so many slots. `phase` is the parity that consumers wait for.
template <int kSlots>
struct RingOf {
  int slot = 0;
  unsigned phase = 0;

  XGEMM_DEVICE void next(int /*first*/ = 0) {
    if (++slot == kSlots) {
      slot = 0;
      phase ^= 1;
    }
  }
  XGEMM_DEVICE void skip(int slots) {
    const int end = slot + slots;
    phase ^= static_cast<unsigned>(end / kSlots) & 1;
    slot = end % kSlots;
  }
};

// The same in the slots from `first` to kEnd.
template <int kEnd>
struct RingFrom {
  int first;
  int slot = first;
  unsigned phase = 0;

  XGEMM_DEVICE void next() { next(first); }
  XGEMM_DEVICE void next(int from) {
    if (++slot == kEnd) {
      slot = from;
      phase ^= 1;
    }
  }
  XGEMM_DEVICE void skip(int passed) {
    for (slot += passed; slot >= kEnd; slot -= kEnd - first) phase ^= 1;
  }
};

template <WgmmaTmaConfig kConfig, bool kByLines = kConfig.by_lines()>
struct WgmmaTmaLineBuffers {};
template <WgmmaTmaConfig kConfig>
struct WgmmaTmaLineBuffers<kConfig, true> {
  typename WgmmaTmaLines<kConfig>::Stage lines[kConfig.line_stages];
  gpu::Mbarrier lines_full[kConfig.line_stages];
  gpu::Mbarrier lines_empty[kConfig.line_stages];
};

template <WgmmaTmaConfig kConfig>
struct WgmmaTmaCta : WgmmaTmaShape<kConfig> {
  using Shape = WgmmaTmaShape<kConfig>;
  using Element = gpu::ElementOf<kConfig.element>;
  using ElementC = gpu::ElementOf<kConfig.type_c>;

  static constexpr int kStages = kConfig.stages;
  static constexpr int kPlanes = kConfig.planes;
  static constexpr int kGroups = kConfig.consumers();
  static constexpr int kWarps = Shape::kTileGroups * gpu::kWarpsPerGroup;  // consumer warps that work on one tile
  static constexpr int kSlabs = Shape::kGroupRows / 64;            // wgmma instructions of a consumer for its rows
  static constexpr int kSlabRegisters = Shape::kGroupColumns / 2;  // accumulators of a thread per 64 rows
  static constexpr bool kSharesK = kConfig.most_along_k() > 1;     // in some clusters
  static constexpr int kChunkElements = 64 * Shape::kChunk;
  static constexpr int kBuffers = kConfig.buffers();
  static constexpr bool kTransposed = kConfig.transposed;  // D is C^T: C is contiguous along columns of D

  static_assert(Shape::kTileRows % (64 * kConfig.groups_rows) == 0, "a wgmma has 64 rows");
  static_assert(kConfig.accumulators() <= 208, "the accumulators must fit the registers");

  using Sums = float[kSlabs][kSlabRegisters];

  struct NoBuffers {};
  struct Buffers {
    alignas(1024) ElementC chunks[kGroups][kBuffers > 0 ? kBuffers : 1][kChunkElements];
  };
  struct SharedStorage : WgmmaTmaLineBuffers<kConfig> {
    struct alignas(1024) Slot {
      Element x[kPlanes][Shape::kXElements];
      Element y[kPlanes][Shape::kYElements];
    };
    Slot slots[kStages];
    [[no_unique_address]] std::conditional_t<kBuffers != 0, Buffers, NoBuffers> c;
    gpu::Mbarrier full[kStages];
    gpu::Mbarrier empty[kStages];
    gpu::Mbarrier turn[2];     // ping-pong
    gpu::Mbarrier rings_free;  // exchange.cuh
    gpu::Mbarrier sums_arrived;
    gpu::Mbarrier sums_read;
    gpu::Mbarrier filled;  // following_producer.cuh
  };
  static_assert(sizeof(typename SharedStorage::Slot) == static_cast<std::size_t>(kConfig.slot_bytes()));
  static_assert(sizeof(SharedStorage) <= kConfig.shared_bytes() && kConfig.shared_bytes() <= 227 * 1024);

  static constexpr bool kMayShareSm = kConfig.most_ctas_per_sm() > 1;
  // A CTA that shares its SM has no memory for the first slots: it begins where they end.
  XGEMM_DEVICE static SharedStorage& storage(const WgmmaTmaScalars& p, unsigned char* shared) {
    if constexpr (kMayShareSm) shared -= p.absent_slots * kConfig.slot_bytes();
    return *reinterpret_cast<SharedStorage*>(shared);
  }

  // By one thread, before the CTAs of the cluster meet.
  XGEMM_DEVICE static void init_barriers(const WgmmaTmaScalars& p, SharedStorage& smem) {
    const int releases = kWarps * p.sharers;
    for (int s = 0; s < kStages; ++s) {
      gpu::mbarrier_init(smem.full[s], kConfig.fillers());
      gpu::mbarrier_init(smem.empty[s], releases);
    }
    if constexpr (kConfig.ping_pong) {
      gpu::mbarrier_init(smem.turn[0], gpu::kWarpsPerGroup);
      gpu::mbarrier_init(smem.turn[1], gpu::kWarpsPerGroup);
    }
    if constexpr (kSharesK) {
      const int others = (1 << p.split_bits) - 1;
      if (others != 0) {
        gpu::mbarrier_init(smem.rings_free, others * kWarps + kConfig.all_fillers());
        gpu::mbarrier_init(smem.sums_arrived, others * kWarps);
        gpu::mbarrier_init(smem.sums_read, releases);
      }
    }
    if constexpr (kConfig.by_lines()) {
      for (int s = 0; s < kConfig.line_stages; ++s) {
        gpu::mbarrier_init(smem.lines_full[s], 1);
        gpu::mbarrier_init(smem.lines_empty[s], WgmmaTmaLines<kConfig>::kThreads / gpu::kWarpSize);
      }
    }
    gpu::mbarrier_init_fence();
  }

  XGEMM_DEVICE static void sync_cluster(const WgmmaTmaScalars& p) {
    if (p.split_bits != 0 || p.sharers > 1) {
      gpu::sync_warp();  // after what single lanes did
      gpu::cluster_arrive();
      gpu::cluster_wait();
    } else {
      gpu::sync_threads();
    }
  }

  // The number of a consumer's chunk among all of the tile.
  XGEMM_DEVICE static int chunk_of_tile(int chunk, int tile_group) { return chunk * Shape::kTileGroups + tile_group; }

  // Where a CTA stands in its cluster.
  struct Place {
    int row, column;
    int row_bits;
    int split;    // along K,
    int splits;   // of so many
    int sharers;  // CTAs of the same split: they share operands

    XGEMM_DEVICE static Place make(const WgmmaTmaScalars& p) {
      // By the number of the block, which is known to be the same for all threads, as the rank in the cluster is not.
      const int cta = gpu::block_x();
      return {cta & ((1 << p.row_bits) - 1),
              cta >> p.row_bits & ((1 << p.column_bits) - 1),
              p.row_bits,
              cta >> (p.row_bits + p.column_bits) & ((1 << p.split_bits) - 1),
              1 << p.split_bits,
              p.sharers};
    }
    // The rank in the cluster of a CTA of some split, counted along rows, then columns.
    XGEMM_DEVICE int rank(int sharer, int of_split) const { return sharer + of_split * sharers; }
    XGEMM_DEVICE int sharer() const { return row + (column << row_bits); }
    XGEMM_DEVICE bool shares_k() const { return kSharesK && splits > 1; }
    // The split whose CTA stores a chunk of a consumer's sums, and whether this CTA does.
    XGEMM_DEVICE int storer(int chunk, int tile_group) const { return chunk_of_tile(chunk, tile_group) & (splits - 1); }
    XGEMM_DEVICE bool stores(int chunk, int tile_group) const {
      return !kSharesK || storer(chunk, tile_group) == split;
    }
  };

  using Ring = std::conditional_t<kMayShareSm, RingFrom<kStages>, RingOf<kStages>>;
  XGEMM_DEVICE static Ring make_ring(const WgmmaTmaScalars& p) {
    if constexpr (kMayShareSm) return {p.absent_slots};
    return {};
  }
  XGEMM_DEVICE static int slots_of(const Ring& ring) {
    if constexpr (kMayShareSm) return kStages - ring.first;
    return kStages;
  }

  // For a producer that has TMA fill the ring: waits for the next slot, and says whether to ask. The producer is a
  // thread; or, where matrices are found by pointers, a warp, of which one lane asks.
  template <class Epilogue>
  XGEMM_DEVICE static bool wait_to_ask(SharedStorage& smem, const Ring& ring) {
    gpu::mbarrier_wait(smem.empty[ring.slot], ring.phase ^ 1);
    if constexpr (!kFollows<Epilogue>) return true;
    gpu::sync_warp();  // all lanes have seen this phase
    return gpu::lane_index() == 0;
  }

  struct Tile {
    int row, column, batch;  // the first element of D
  };

  // The first row and column of a consumer in the CTA tile.
  XGEMM_DEVICE static int group_row(int group) {
    return kConfig.ping_pong ? 0 : group / kConfig.groups_columns * Shape::kGroupRows;
  }
  XGEMM_DEVICE static int group_column(int group) {
    return kConfig.ping_pong ? 0 : group % kConfig.groups_columns * Shape::kGroupColumns;
  }
  // Extents of D.
  XGEMM_DEVICE static int rows_of(const WgmmaTmaScalars& p) { return kTransposed ? p.n : p.m; }
  XGEMM_DEVICE static int columns_of(const WgmmaTmaScalars& p) { return kTransposed ? p.m : p.n; }
  // Whether the matrices of the batch are found by pointers: of kernels that load by TMA, twins do that.
  template <class Epilogue>
  XGEMM_DEVICE static bool follows(const WgmmaTmaScalars& p) {
    return kConfig.copy == Copy::bulk ? kFollows<Epilogue> : p.follows();
  }
  // Which C of the batch: its number, or where it begins.
  template <class Epilogue>
  struct MatrixC {
    static constexpr bool kMayFollow = kConfig.copy != Copy::bulk || kFollows<Epilogue>;
    int number;
    ElementC* found;  // by a pointer, when it has come

    XGEMM_DEVICE static MatrixC make(const WgmmaTmaScalars& p, int batch) {
      MatrixC matrix = {batch, nullptr};
      if constexpr (kMayFollow) {
        if (follows<Epilogue>(p))
          matrix.found = gpu::read<gpu::Space::global>(static_cast<ElementC* const*>(p.c_data) + batch);
      }
      return matrix;
    }
    // The same, and the compiler knows that all lanes of a warp have it.
    XGEMM_DEVICE MatrixC settled(const WgmmaTmaScalars& p) const {
      MatrixC matrix = *this;
      if constexpr (kMayFollow) {
        if (follows<Epilogue>(p)) matrix.found = uniform(found);
      }
      return matrix;
    }
    XGEMM_DEVICE ElementC* data(const WgmmaTmaScalars& p) const {
      if constexpr (kMayFollow) {
        if (follows<Epilogue>(p)) return found;
      }
      return static_cast<ElementC*>(p.c_data) + number * p.c_batch;
    }
  };
  // Whether anything of a consumer's part of a tile is inside of C.
  XGEMM_DEVICE static bool reaches_c(const WgmmaTmaScalars& p, const Tile& tile, int tile_group) {
    return tile.row + group_row(tile_group) < rows_of(p) && tile.column + group_column(tile_group) < columns_of(p);
  }

  // Frees a slot in this CTA and in those that send to it. One lane for each. written: by the consumer itself.
  XGEMM_DEVICE static void release(SharedStorage& smem, int slot, const Place& place, bool written = false) {
    const int lane = gpu::lane_index();
    if (place.sharers == 1) {
      if (lane == 0) gpu::mbarrier_arrive(smem.empty[slot]);
    } else if (lane < place.sharers) {
      if (written) {
        gpu::mbarrier_arrive_remote_release(smem.empty[slot], place.rank(lane, place.split));
      } else {
        gpu::mbarrier_arrive_remote(smem.empty[slot], place.rank(lane, place.split));
      }
    }
  }

  // For a producer, when CTAs have shared a tile's K: they exchange their sums in the ring, and it waits until these
  // have been read. arrives: it, or of a warp one lane.
  XGEMM_DEVICE static void lend_ring(SharedStorage& smem, unsigned& phase, bool arrives = true) {
    if (arrives) gpu::mbarrier_arrive(smem.rings_free);
    gpu::mbarrier_wait_cluster(smem.sums_read, phase);
    phase ^= 1;
  }

  // For a producer whose slots other CTAs release, at its end: an arrival at a CTA that has exited is a fault.
  XGEMM_DEVICE static void wait_for_releases(SharedStorage& smem, Ring& ring) {
    XGEMM_NO_UNROLL
    for (int s = slots_of(ring); s > 0; --s) {
      gpu::mbarrier_wait(smem.empty[ring.slot], ring.phase ^ 1);
      ring.next();
    }
  }

  // For a consumer outside of C: what other CTAs need of the slots still comes and goes.
  XGEMM_DEVICE static void pass_slots(SharedStorage& smem, const Place& place, Ring& ring, int slots) {
    XGEMM_NO_UNROLL
    for (int i = 0; i < slots; ++i) {
      gpu::mbarrier_wait(smem.full[ring.slot], ring.phase);
      gpu::sync_warp();  // all lanes have seen this phase
      release(smem, ring.slot, place);
      ring.next();
    }
  }

  // To the other of two ping-pong consumers.
  XGEMM_DEVICE static void pass_turn(SharedStorage& smem, int group) {
    if constexpr (kConfig.ping_pong) {
      gpu::sync_warp();
      if (gpu::lane_index() == 0) gpu::mbarrier_arrive(smem.turn[1 - group]);
    }
  }
};

}  // namespace xgemm::kernels
