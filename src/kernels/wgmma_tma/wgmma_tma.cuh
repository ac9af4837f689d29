// wgmma_tma: Hopper's tensor cores fed by the copy engine. 16-bit elements, fp32 sums.
//
// The kernel computes D = X Y with X (rows x k) and Y (k x columns). Rows of D lie along M of the wgmma instruction,
// columns along N. Either X = op(A), Y = op(B), D = C, or, transposed, X = op(B)^T, Y = op(A)^T, D = C^T; the choice
// (WgmmaTmaConfig::transposed) only says which way round a CTA tile lies on C. Both operands may be contiguous along K
// or along their other axis: wgmma and TMA take either, so no flag pair needs a transposing pass.
//
//   warpgroup 0      one thread issues TMA loads              ring of kStages slots in shared memory
//   warpgroups 1..   wgmma on the slots, then the epilogue     slot: [ X tile | Y tile ], swizzled
//
//            empty[s]                full[s]
//   producer --wait--> TMA --bytes--> --wait--> wgmma ---arrive---> empty[s]
//
//   CTA tile, 2 cooperative consumers     with ping_pong each consumer has whole tiles of its own, in turn,
//        kColumns                          so that one's epilogue runs under the other's mainloop
//      +-----------------+
//      | consumer 0      | 64 * i rows
//      +-----------------+
//      | consumer 1      |
//      +-----------------+
//
// Cluster: cluster_rows x cluster_columns CTAs on neighbouring tiles. The CTAs of a cluster row share X tiles: each
// loads its part and multicasts it to the row; Y likewise along cluster columns. A slot is free when the consumers of
// all these CTAs have released it, also of those that get nothing from this producer: in between, a slot may hold old
// C, which ties no CTA to another, and one that lags must not be overtaken by a phase. cluster_k CTAs split K: they
// write their partial sums to each other's shared memory, each sums one part of the tile's columns, in the order of K,
// and stores it.
//
// CTAs are persistent, and walk units of the schedule (common/schedule.h). Of a part of a tile they leave the sums, in
// fragment order, in the workspace, and a second kernel (split_sum.cuh) adds them in the order of K.
//
// Epilogue, by chunks of 64 rows x kChunk columns: registers -> stmatrix -> buffer -> TMA store, which runs
// under the next chunk and the next tile's mainloop. Old C, where beta is not 0, arrives through the slots of the same
// ring, after the last slice of K, and is read with ldmatrix into the layout of the accumulators.
//
// Edges: TMA fills zeros outside of k in both X and Y, so that zeros never meet an Inf, and stores nothing outside of
// C. Boxes of X and Y end at the edge of the operand: what would lie beyond is not loaded; the sums are of what was
// left in the slot, and end at the edge of C.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/dtype.cuh"
#include "kernels/common/epilogue.cuh"
#include "kernels/common/params.h"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/sm90/tma.cuh"
#include "kernels/common/sm90/warpgroup.cuh"
#include "kernels/common/sm90/wgmma.cuh"
#include "kernels/common/target.cuh"
#include "kernels/wgmma_tma/config.h"
#include "kernels/wgmma_tma/params.h"

namespace xgemm::kernels {

template <class Element, WgmmaTmaConfig kConfig, class Epilogue = LinearCombination>
struct WgmmaTma {
  static constexpr int kThreads = kConfig.threads();
  static constexpr int kMinBlocksPerSm = 1;
  static constexpr int kMinArch = 900;

  using Shape = WgmmaTmaShape<kConfig>;
  using Params = WgmmaTmaParams;

  static constexpr int kStages = kConfig.stages;
  static constexpr int kGroups = kConfig.consumers();
  static constexpr int kProducerRegisters = kConfig.producer_registers();
  static constexpr int kConsumerRegisters = kConfig.consumer_registers();
  static constexpr int kWarps = Shape::kTileGroups * gpu::kWarpsPerGroup;  // consumer warps that work on one tile
  static constexpr int kTileK = Shape::kTileK;
  static constexpr int kMmaK = 16;
  static constexpr int kMmaN = Shape::kGroupColumns;
  static constexpr int kSlabs = Shape::kGroupRows / 64;  // wgmma instructions of a consumer for 16 of K
  static constexpr int kSlabRegisters = kMmaN / 2;       // accumulators of a thread per 64 rows
  static constexpr int kClusterRows = Shape::kClusterRows;
  static constexpr int kClusterColumns = Shape::kClusterColumns;
  static constexpr int kSplits = kConfig.cluster_k;
  static constexpr int kClusterSize = kClusterRows * kClusterColumns * kSplits;
  static constexpr int kEmptyArrivals = kWarps * kClusterRows * kClusterColumns;
  static constexpr int kChunk = Shape::kChunk;
  static constexpr int kSplitColumns = Shape::kSplitColumns;  // columns that a consumer stores
  static constexpr int kChunks = kSplitColumns / kChunk;      // of one slab
  static constexpr int kChunkElements = 64 * kChunk;
  static constexpr int kTileChunks = kSlabs * kChunks;
  static constexpr int kBuffers = kConfig.buffers();
  // Chunks that are converted, then handed to the copy engine, together: while it reads those, the next ones go to the
  // other buffers.
  static constexpr int kChunkBatch = kBuffers >= kTileChunks ? kTileChunks : kBuffers > 1 ? kBuffers / 2 : 1;
  static constexpr int kSlotElements = Shape::kXElements + Shape::kYElements;
  static constexpr int kChunksPerSlot = kSlotElements / kChunkElements / Shape::kTileGroups;
  static constexpr int kCSlots = (kTileChunks + kChunksPerSlot - 1) / kChunksPerSlot;
  static constexpr bool kTransposed = kConfig.transposed;  // D is C^T: C is contiguous along columns of D
  static constexpr gpu::Major kMajorX = Shape::kMajorX;
  static constexpr gpu::Major kMajorY = Shape::kMajorY;

  static constexpr int kPartialVectors = kSplits > 1 ? kSlabs* kSplitColumns / 8 : 1;  // of a thread, from one CTA

  static_assert(Shape::kTileRows % (64 * kConfig.groups_rows) == 0, "a wgmma has 64 rows");
  static_assert(kBuffers >= 1, "the ring leaves no room for a chunk of C");
  static_assert(kChunksPerSlot >= 1, "a slot of the ring must hold a chunk of C for each consumer");
  static_assert(kSplits == 1 || !kConfig.ping_pong, "split K shares the tile among the consumers of all CTAs");
  static_assert(kSlabs * kSlabRegisters <= 208, "the accumulators must fit the registers");

  struct SharedStorage {
    struct alignas(1024) Slot {
      Element x[Shape::kXElements];
      Element y[Shape::kYElements];
    };
    Slot slots[kStages];
    alignas(1024) Element c[kGroups][kBuffers][kChunkElements];
    alignas(16) float partial[kSplits > 1 ? kSplits - 1 : 1][kGroups][kPartialVectors]
                             [kSplits > 1 ? gpu::kGroupThreads : 1][4];
    gpu::Mbarrier full[kStages];
    gpu::Mbarrier empty[kStages];
    gpu::Mbarrier turn[2];  // ping-pong
    gpu::Mbarrier partial_full;
    gpu::Mbarrier partial_empty;
  };
  static_assert(sizeof(SharedStorage) <= kConfig.shared_bytes() && kConfig.shared_bytes() <= 227 * 1024);

  // Where a CTA stands in its cluster.
  struct Place {
    int row, column, split;

    XGEMM_DEVICE static Place make() {
      if constexpr (kClusterSize == 1) {
        return {0, 0, 0};
      } else {
        const int rank = gpu::cluster_rank();
        return {rank % kClusterRows, rank / kClusterRows % kClusterColumns, rank / (kClusterRows * kClusterColumns)};
      }
    }
    XGEMM_DEVICE static int rank(int row, int column, int split) {
      return row + kClusterRows * (column + kClusterColumns * split);
    }
  };

  struct Tile {
    int row, column, batch;  // the first element of D
  };

  // The units of a cluster.
  struct Units {
    const BasicSchedule<unsigned>& schedule;
    unsigned unit, step;

    XGEMM_DEVICE static Units make(const Params& p) {
      return {p.schedule, static_cast<unsigned>(gpu::block_x()) / kClusterSize,
              static_cast<unsigned>(gpu::grid_x()) / kClusterSize};
    }
    XGEMM_DEVICE bool more() const { return unit < schedule.units; }
    XGEMM_DEVICE void next() { unit += step; }
    XGEMM_DEVICE bool partial() const { return schedule.is_partial(unit); }

    XGEMM_DEVICE Tile at(const Place& place) const {
      const auto t = schedule.position(schedule.tile_of(unit));
      const auto row = static_cast<int>(kTransposed ? t.n : t.m), column = static_cast<int>(kTransposed ? t.m : t.n);
      return {(row * kClusterRows + place.row) * Shape::kTileRows,
              (column * kClusterColumns + place.column) * Shape::kTileColumns, static_cast<int>(t.batch)};
    }
  };

  // A position in the ring of slots. `phase` is the parity that consumers wait for.
  struct Ring {
    int slot = 0;
    unsigned phase = 0;

    XGEMM_DEVICE void next() {
      if (++slot == kStages) {
        slot = 0;
        phase ^= 1;
      }
    }
    XGEMM_DEVICE void skip(int slots) {
      const int end = slot + slots;
      phase ^= static_cast<unsigned>(end / kStages) & 1;
      slot = end % kStages;
    }
  };

  // Slices of K: [begin, end) is this CTA's share of a unit.
  struct Slices {
    int begin, end;

    XGEMM_DEVICE static Slices make(const Params& p, const Epilogue& epilogue, const Units& units, int split) {
      const int all = epilogue.has_product ? (p.k + kTileK - 1) / kTileK : 0;
      if constexpr (kSplits > 1) {
        return part(all, split, kSplits);
      } else {
        if (!units.partial()) return {0, all};
        return part(all, static_cast<int>(units.schedule.part_of(units.unit)), static_cast<int>(units.schedule.parts));
      }
    }
    XGEMM_DEVICE int count() const { return end - begin; }

   private:
    XGEMM_DEVICE static Slices part(int all, int index, int parts) {
      return {static_cast<int>(static_cast<std::int64_t>(all) * index / parts),
              static_cast<int>(static_cast<std::int64_t>(all) * (index + 1) / parts)};
    }
  };

  XGEMM_DEVICE static void run(const Params& p, SharedStorage& smem) {
    const int warp = gpu::shuffle(gpu::warp_index(), 0);  // uniform, and the compiler knows it
    const int group = warp / gpu::kWarpsPerGroup;
    if (gpu::thread_index() == 0) {
      gpu::tma_prefetch_map(p.x);
      gpu::tma_prefetch_map(p.y);
      gpu::tma_prefetch_map(p.x_tail);
      gpu::tma_prefetch_map(p.y_tail);
      gpu::tma_prefetch_map(p.c);
      for (int s = 0; s < kStages; ++s) {
        gpu::mbarrier_init(smem.full[s], 1);
        gpu::mbarrier_init(smem.empty[s], kEmptyArrivals);
      }
      if constexpr (kConfig.ping_pong) {
        gpu::mbarrier_init(smem.turn[0], gpu::kWarpsPerGroup);
        gpu::mbarrier_init(smem.turn[1], gpu::kWarpsPerGroup);
      }
      if constexpr (kSplits > 1) {
        gpu::mbarrier_init(smem.partial_full, (kSplits - 1) * kWarps * gpu::kWarpSize);
        gpu::mbarrier_init(smem.partial_empty, (kSplits - 1) * kWarps * gpu::kWarpSize);
      }
      gpu::mbarrier_init_fence();
    }
    sync_cluster();
    gpu::grid_launch_dependents();
    // Only produce() and consume() touch global memory, and wait for the kernel before.
    const Place place = Place::make();
    if (group == 0) {
      if constexpr (kProducerRegisters != 0) gpu::release_registers<kProducerRegisters>();
      if (warp == 0 && gpu::lane_index() == 0) produce(p, smem, place);
    } else {
      if constexpr (kConsumerRegisters != 0) gpu::acquire_registers<kConsumerRegisters>();
      consume(p, smem, place, group - 1, warp % gpu::kWarpsPerGroup);
    }
  }

 private:
  XGEMM_DEVICE static void sync_cluster() {
    if constexpr (kClusterSize > 1) {
      gpu::cluster_arrive();
      gpu::cluster_wait();
    } else {
      gpu::sync_threads();
    }
  }

  // ---- Producer: one thread ----

  // A tile of one operand, as the kPeers CTAs that share it load it: each its part, multicast to all. Only the rows
  // (K-major) and pieces (MN-major) with something inside of the operand: TMA would fill the others with zeros, but at
  // a price. Where many CTAs ask for rows beyond the end of a matrix, their loads take up to twice as long as those of
  // rows that exist.
  template <gpu::Major kMajor, int kExtent, int kChunkMn, int kPeers>
  struct OperandTile {
    static constexpr int kRows = kExtent / kPeers;               // K-major: a part
    static constexpr int kPieces = kExtent / kChunkMn;           // MN-major: kChunkMn wide columns of k
    static constexpr bool kSplitPieces = kPieces % kPeers == 0;  // by columns; otherwise along k
    static constexpr int kPieceElements = kChunkMn * kTileK;

    const TensorMap& map;
    int mn;        // of the tile, in elements
    int existing;  // rows or pieces of the tile
    int peer;

    XGEMM_DEVICE static OperandTile make(const TensorMap& whole, const TensorMap& tail, int mn, int extent, int peer) {
      const int left = extent - mn < 0 ? 0 : extent - mn < kExtent ? extent - mn : kExtent;
      if constexpr (kMajor == gpu::Major::k) return {left < (peer + 1) * kRows ? tail : whole, mn, left, peer};
      return {whole, mn, (left + kChunkMn - 1) / kChunkMn, peer};
    }

    // What arrives in a CTA, from all peers.
    XGEMM_DEVICE int bytes() const {
      return existing * (kMajor == gpu::Major::k ? kTileK : kPieceElements) * static_cast<int>(sizeof(Element));
    }

    XGEMM_DEVICE void load(Element* tile, gpu::Mbarrier& full, unsigned mask, int k, int batch) const {
      if constexpr (kMajor == gpu::Major::k) {
        if (peer * kRows < existing) copy(tile + peer * kRows * kTileK, full, mask, k, mn + peer * kRows, batch);
      } else if constexpr (kSplitPieces) {
        XGEMM_UNROLL
        for (int i = 0; i < kPieces / kPeers; ++i) {
          const int piece = peer * (kPieces / kPeers) + i;
          if (piece < existing) copy(tile + piece * kPieceElements, full, mask, mn + piece * kChunkMn, k, batch);
        }
      } else {
        constexpr int kDepth = kTileK / kPeers;
        XGEMM_UNROLL
        for (int piece = 0; piece < kPieces; ++piece) {
          if (piece < existing) {
            copy(tile + piece * kPieceElements + peer * kDepth * kChunkMn, full, mask, mn + piece * kChunkMn,
                 k + peer * kDepth, batch);
          }
        }
      }
    }

   private:
    XGEMM_DEVICE void copy(Element* destination, gpu::Mbarrier& full, unsigned mask, int x, int y, int batch) const {
      if constexpr (kPeers > 1) {
        gpu::tma_load_multicast(destination, map, full, mask, x, y, batch);
      } else {
        gpu::tma_load(destination, map, full, x, y, batch);
      }
    }
  };
  using TileX = OperandTile<kMajorX, Shape::kTileRows, 64, kClusterColumns>;
  using TileY = OperandTile<kMajorY, Shape::kYColumns, Shape::kPieceY, kClusterRows>;

  XGEMM_DEVICE static void produce(const Params& p, SharedStorage& smem, const Place& place) {
    unsigned row_mask = 0;     // the CTAs of this cluster row: they share X
    unsigned column_mask = 0;  // the CTAs of this cluster column: they share Y
    for (int c = 0; c < kClusterColumns; ++c) row_mask |= 1u << Place::rank(place.row, c, place.split);
    for (int r = 0; r < kClusterRows; ++r) column_mask |= 1u << Place::rank(r, place.column, place.split);

    Ring ring;
    Units units = Units::make(p);
    Tile tile = units.at(place);  // takes a while: under the end of the kernel before
    gpu::grid_wait_dependencies();
    const Epilogue epilogue = Epilogue::make(p);
    XGEMM_NO_UNROLL
    while (true) {
      const Slices slices = Slices::make(p, epilogue, units, place.split);
      const TileX x = TileX::make(p.x, p.x_tail, tile.row, kTransposed ? p.n : p.m, place.column);
      const TileY y = TileY::make(p.y, p.y_tail, tile.column, kTransposed ? p.m : p.n, place.row);
      const int bytes = x.bytes() + y.bytes();
      const int x_batch = tile.batch * p.x_batch_step;
      const int y_batch = tile.batch * p.y_batch_step;
      XGEMM_NO_UNROLL
      for (int slice = slices.begin; slice < slices.end; ++slice) {
        typename SharedStorage::Slot& slot = smem.slots[ring.slot];
        gpu::Mbarrier& full = smem.full[ring.slot];
        gpu::mbarrier_wait(smem.empty[ring.slot], ring.phase ^ 1);
        gpu::mbarrier_arrive_expect(full, bytes);
        // First what goes to more CTAs.
        if constexpr (kClusterRows > kClusterColumns) {
          y.load(slot.y, full, column_mask, slice * kTileK, y_batch);
          x.load(slot.x, full, row_mask, slice * kTileK, x_batch);
        } else {
          x.load(slot.x, full, row_mask, slice * kTileK, x_batch);
          y.load(slot.y, full, column_mask, slice * kTileK, y_batch);
        }
        ring.next();
      }
      if (epilogue.reads_c() && !units.partial()) {
        const int column = tile.column + place.split * kSplitColumns;
        int groups = 0;
        for (int g = 0; g < Shape::kTileGroups; ++g) groups += reaches_c(p, tile, g) ? 1 : 0;
        XGEMM_NO_UNROLL
        for (int s = 0; s < kCSlots; ++s) {
          const int first = s * kChunksPerSlot;
          const int left = kTileChunks - first;
          const int chunks = left < kChunksPerSlot ? left : kChunksPerSlot;
          gpu::Mbarrier& full = smem.full[ring.slot];
          gpu::mbarrier_wait(smem.empty[ring.slot], ring.phase ^ 1);
          gpu::mbarrier_arrive_expect(full, groups * chunks * kChunkElements * static_cast<int>(sizeof(Element)));
          XGEMM_NO_UNROLL
          for (int g = 0; g < Shape::kTileGroups; ++g) {
            if (!reaches_c(p, tile, g)) continue;
            XGEMM_NO_UNROLL
            for (int i = 0; i < chunks; ++i) {
              const int d_row = tile.row + group_row(g) + (first + i) / kChunks * 64;
              const int d_column = column + group_column(g) + (first + i) % kChunks * kChunk;
              gpu::tma_load(c_chunk(smem.slots[ring.slot], g, i), p.c_old, full, kTransposed ? d_column : d_row,
                            kTransposed ? d_row : d_column, tile.batch);
            }
          }
          ring.next();
        }
      }
      units.next();
      if (!units.more()) break;
      tile = units.at(place);
    }
    // A CTA stays until the consumers of the other CTAs have released all slots here: an arrival at a CTA that has
    // exited is a fault.
    if constexpr (kClusterRows * kClusterColumns > 1) {
      XGEMM_NO_UNROLL
      for (int s = 0; s < kStages; ++s) {
        gpu::mbarrier_wait(smem.empty[ring.slot], ring.phase ^ 1);
        ring.next();
      }
    }
  }

  // ---- Consumers: whole warpgroups ----

  // The first row and column of a consumer in the CTA tile.
  XGEMM_DEVICE static int group_row(int group) {
    return kConfig.ping_pong ? 0 : group / kConfig.groups_columns * Shape::kGroupRows;
  }
  XGEMM_DEVICE static int group_column(int group) {
    return kConfig.ping_pong ? 0 : group % kConfig.groups_columns * Shape::kGroupColumns;
  }
  // Whether anything of a consumer's part of a tile is inside of C.
  XGEMM_DEVICE static bool reaches_c(const Params& p, const Tile& tile, int tile_group) {
    return tile.row + group_row(tile_group) < (kTransposed ? p.n : p.m) &&
           tile.column + group_column(tile_group) < (kTransposed ? p.m : p.n);
  }
  XGEMM_DEVICE static Element* c_chunk(typename SharedStorage::Slot& slot, int tile_group, int chunk) {
    return slot.x + (tile_group * kChunksPerSlot + chunk) * kChunkElements;
  }

  // Frees a slot in this CTA and in those that send to it. One lane for each.
  XGEMM_DEVICE static void release(SharedStorage& smem, int slot, const Place& place) {
    const int lane = gpu::lane_index();
    if constexpr (kClusterRows * kClusterColumns == 1) {
      if (lane == 0) gpu::mbarrier_arrive(smem.empty[slot]);
    } else if (lane < kClusterRows * kClusterColumns) {
      gpu::mbarrier_arrive_remote(smem.empty[slot], Place::rank(lane % kClusterRows, lane / kClusterRows, place.split));
    }
  }

  XGEMM_DEVICE static void consume(const Params& p, SharedStorage& smem, const Place& place, int group, int warp) {
    const int tile_group = kConfig.ping_pong ? 0 : group;
    // One descriptor for each operand; slots, slabs and steps of K are offsets from it.
    const std::uint64_t x0 = gpu::wgmma_advance(
        gpu::wgmma_descriptor(smem.slots[0].x, 128, Shape::kLeadingX, Shape::kStrideX), group_row(tile_group) * 128);
    const std::uint64_t y0 =
        gpu::wgmma_advance(gpu::wgmma_descriptor(smem.slots[0].y, Shape::kSwizzleY, Shape::kLeadingY, Shape::kStrideY),
                           group_column(tile_group) * 128);
    Ring ring;
    unsigned partial_phase = 0;
    int tiles_to_skip = group;              // ping-pong
    unsigned turn_phase = 1 - (group & 1);  // the first turn of consumer 0 is open
    gpu::grid_wait_dependencies();
    const Epilogue epilogue = Epilogue::make(p);
    XGEMM_NO_UNROLL
    for (Units units = Units::make(p); units.more(); units.next()) {
      const int slices = Slices::make(p, epilogue, units, place.split).count();
      const int c_slots = epilogue.reads_c() && !units.partial() ? kCSlots : 0;
      if constexpr (kConfig.ping_pong) {
        if (tiles_to_skip != 0) {
          tiles_to_skip = 0;
          ring.skip(slices + c_slots);
          continue;
        }
        tiles_to_skip = 1;
      }
      // Takes a while: before the turn comes, and not between the products and the epilogue.
      const Tile tile = units.at(place);
      const bool inside = reaches_c(p, tile, tile_group);
      if constexpr (kConfig.ping_pong) {
        // A barrier knows only two phases: a consumer may wait for its slots when the other has seen all of its own.
        gpu::mbarrier_wait(smem.turn[group], turn_phase);
        turn_phase ^= 1;
      }
      float acc[kSlabs][kSlabRegisters];
      mainloop(smem, place, ring, slices, x0, y0, acc, inside, c_slots == 0, group);
      if constexpr (kSplits == 1) {
        if (units.partial()) {
          store_partial(p, units, tile_group, acc);
          continue;
        }
      }
      const int row = tile.row + group_row(tile_group);
      const int column = tile.column + group_column(tile_group) + place.split * kSplitColumns;
      const auto store = [&](const auto& sums) {
        if (!inside) {
          pass_slots(smem, place, ring, c_slots);
          if (c_slots != 0) pass_turn(smem, group);
        } else if (epilogue.reads_c()) {
          store_tile<true>(p, smem, place, epilogue, ring, group, warp, row, column, tile.batch, sums);
        } else {
          store_tile<false>(p, smem, place, epilogue, ring, group, warp, row, column, tile.batch, sums);
        }
      };
      if constexpr (kSplits == 1) {
        store(acc);
      } else {
        float sums[kSlabs][kSplitColumns / 2];
        exchange(smem, place, partial_phase, group, acc, sums);
        store(sums);
      }
    }
    if (is_storer(warp)) gpu::tma_store_wait_read<0>();
    if constexpr (kSplits > 1) gpu::cluster_sync();  // a CTA stays while others write to its memory
  }

  // group_row * 128 bytes is the way to a consumer's rows in either layout: K-major rows are 128 bytes, and MN-major
  // pieces of 64 rows are 64 * kTileK * 2 bytes.
  static_assert(kTileK * sizeof(Element) == 128);

  XGEMM_DEVICE static void mainloop(SharedStorage& smem, const Place& place, Ring& ring, int slices, std::uint64_t x0,
                                    std::uint64_t y0, float (&acc)[kSlabs][kSlabRegisters], bool inside, bool last,
                                    int group) {
    // Cleared here rather than by the first wgmma: registers that it ignores would count as live through the loop over
    // tiles, and be saved.
    XGEMM_UNROLL
    for (int i = 0; i < kSlabs; ++i) {
      XGEMM_UNROLL
      for (int j = 0; j < kSlabRegisters; ++j) acc[i][j] = 0.0f;
    }
    keep(acc);
    if (!inside) {
      pass_slots(smem, place, ring, slices);
      if (last) pass_turn(smem, group);
      return;
    }
    int previous = 0;
    XGEMM_NO_UNROLL
    for (int slice = 0; slice < slices; ++slice) {
      gpu::mbarrier_wait(smem.full[ring.slot], ring.phase);
      const std::uint64_t x = gpu::wgmma_advance(x0, ring.slot * static_cast<int>(sizeof(smem.slots[0])));
      const std::uint64_t y = gpu::wgmma_advance(y0, ring.slot * static_cast<int>(sizeof(smem.slots[0])));
      gpu::wgmma_fence();
      XGEMM_UNROLL
      for (int step = 0; step < kTileK / kMmaK; ++step) {
        XGEMM_UNROLL
        for (int i = 0; i < kSlabs; ++i) {
          gpu::wgmma<Element, kMmaN, kMajorX, kMajorY>(acc[i],
                                                       gpu::wgmma_advance(x, step * Shape::kStepX + i * 64 * 128),
                                                       gpu::wgmma_advance(y, step * Shape::kStepY));
        }
      }
      gpu::wgmma_commit();
      gpu::wgmma_wait<1>();
      if (slice > 0) release(smem, previous, place);
      previous = ring.slot;
      ring.next();
    }
    if (last) pass_turn(smem, group);
    gpu::wgmma_wait<0>();
    keep(acc);
    if (slices > 0) release(smem, previous, place);
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

  XGEMM_DEVICE static void keep(float (&acc)[kSlabs][kSlabRegisters]) {
    XGEMM_UNROLL
    for (int i = 0; i < kSlabs; ++i) {
      XGEMM_UNROLL
      for (int j = 0; j < kSlabRegisters; ++j) gpu::keep_register(acc[i][j]);
    }
  }

  // Split K: every CTA sends each other CTA of the same tile its partial sums of that CTA's columns; then each adds
  // what it got to its own, in the order of K. Sums travel in fragment order, so threads meet their own positions
  // again. Every thread arrives for its own sums: one lane for a warp, after sync_warp(), would do, but racecheck of
  // compute-sanitizer does not follow that.
  XGEMM_DEVICE static void exchange(SharedStorage& smem, const Place& place, unsigned& phase, int group,
                                    const float (&acc)[kSlabs][kSlabRegisters],
                                    float (&sums)[kSlabs][kSplitColumns / 2]) {
    constexpr int kRegisters = kSplitColumns / 2;
    constexpr int kVectors = kRegisters / 4;
    const int thread = gpu::thread_index() % gpu::kGroupThreads;
    const int mine = place.split;
    gpu::mbarrier_wait(smem.partial_empty, phase ^ 1);
    XGEMM_UNROLL
    for (int to = 0; to < kSplits; ++to) {
      if (to == mine) continue;
      float(*part)[gpu::kGroupThreads][4] = smem.partial[mine < to ? mine : mine - 1][group];
      const int rank = Place::rank(place.row, place.column, to);
      XGEMM_UNROLL
      for (int i = 0; i < kSlabs; ++i) {
        XGEMM_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          const float* f = &acc[i][to * kRegisters + 4 * v];
          gpu::write_remote(part[i * kVectors + v][thread], rank, f[0], f[1], f[2], f[3]);
        }
      }
      gpu::mbarrier_arrive_remote_release(smem.partial_full, rank);
    }
    gpu::mbarrier_wait_cluster(smem.partial_full, phase);
    XGEMM_UNROLL
    for (int own = 0; own < kSplits; ++own) {  // registers are chosen at compile time
      if (own != mine) continue;
      XGEMM_UNROLL
      for (int i = 0; i < kSlabs; ++i) {
        XGEMM_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          XGEMM_UNROLL
          for (int from = 0; from < kSplits; ++from) {
            gpu::Vector<float, 4> part;
            if (from == own) {
              XGEMM_UNROLL
              for (int e = 0; e < 4; ++e) part[e] = acc[i][own * kRegisters + 4 * v + e];
            } else {
              part = gpu::read<gpu::Space::shared>(reinterpret_cast<const gpu::Vector<float, 4>*>(
                  smem.partial[from < own ? from : from - 1][group][i * kVectors + v][thread]));
            }
            XGEMM_UNROLL
            for (int e = 0; e < 4; ++e) sums[i][4 * v + e] = from == 0 ? part[e] : sums[i][4 * v + e] + part[e];
          }
        }
      }
    }
    XGEMM_UNROLL
    for (int from = 0; from < kSplits; ++from) {
      if (from != mine) gpu::mbarrier_arrive_remote(smem.partial_empty, Place::rank(place.row, place.column, from));
    }
    phase ^= 1;
  }

  // The sums of a part of a tile, in fragment order: the second kernel's threads meet them again.
  XGEMM_DEVICE static void store_partial(const Params& p, const Units& units, int tile_group,
                                         const float (&acc)[kSlabs][kSlabRegisters]) {
    constexpr int kVectors = kSlabs * kSlabRegisters / 4;
    const auto cta = static_cast<std::int64_t>(units.schedule.partial_index(units.unit)) * kClusterSize +
                     static_cast<unsigned>(gpu::block_x()) % kClusterSize;
    auto* out = reinterpret_cast<gpu::Vector<float, 4>*>(p.partials) +
                (cta * Shape::kTileGroups + tile_group) * (kVectors * gpu::kGroupThreads) +
                gpu::thread_index() % gpu::kGroupThreads;
    XGEMM_UNROLL
    for (int i = 0; i < kSlabs; ++i) {
      XGEMM_UNROLL
      for (int v = 0; v < kSlabRegisters / 4; ++v) {
        const float* f = &acc[i][4 * v];
        const gpu::Vector<float, 4> sums = {{f[0], f[1], f[2], f[3]}};
        gpu::write<gpu::Space::global>(out + (i * (kSlabRegisters / 4) + v) * gpu::kGroupThreads, sums);
      }
    }
  }

  // ---- Epilogue ----

  XGEMM_DEVICE static bool is_storer(int warp) { return warp == 0 && gpu::lane_index() == 0; }

  // The byte offset in a chunk's buffer of this lane's row for stmatrix and ldmatrix, for the kWide columns from
  // `column` on (8 or 16): matrices 0 and 1 are rows 0..7 and 8..15 of the warp, 2 and 3 the same of the next 8
  // columns.
  XGEMM_DEVICE static int lane_offset(int warp, int column) {
    const int lane = gpu::lane_index();
    const int row = 16 * warp + 8 * (lane / 8 % 2);
    const int column8 = column + 8 * (lane / 16);
    if constexpr (kTransposed) {  // buffer: 64 rows of kChunk columns
      return swizzle_c((row + lane % 8) * Shape::kChunkRowBytes + column8 * 2);
    } else {  // buffer: kChunk columns of 64 rows
      return swizzle_c((column8 + lane % 8) * Shape::kChunkRowBytes + row * 2);
    }
  }
  XGEMM_DEVICE static int swizzle_c(int offset) {
    return Shape::kSwizzleC == 0 ? offset : offset ^ (offset >> 3 & (Shape::kSwizzleC - 16));
  }

  // The last m % 8 rows of C, where they lie in this chunk, one element at a time.
  XGEMM_DEVICE static void store_last_rows(const Params& p, const char* buffer, int c_row, int c_column, int batch) {
    constexpr int kRows = kTransposed ? kChunk : 64;  // of C
    constexpr int kColumns = kTransposed ? 64 : kChunk;
    const int rows = p.m - p.c_whole_m;
    const int first = p.c_whole_m - c_row;
    if (first < 0 || first >= kRows) return;
    Element* c = static_cast<Element*>(p.c_data) + batch * p.c_batch + p.c_whole_m;
    XGEMM_NO_UNROLL
    for (int i = gpu::thread_index() % gpu::kGroupThreads; i < rows * kColumns; i += gpu::kGroupThreads) {
      const int column = i / rows;
      const int row = i - column * rows;
      if (c_column + column >= p.n) return;
      const int offset = swizzle_c(column * Shape::kChunkRowBytes + (first + row) * 2);
      const Element value = gpu::read<gpu::Space::shared>(reinterpret_cast<const Element*>(buffer + offset));
      gpu::write<gpu::Space::global>(c + row + (c_column + column) * p.c_ld, value);
    }
  }

  // What becomes of the sum that a thread holds in register r of the fragment at (row, column) of D.
  template <bool kReadsC>
  XGEMM_DEVICE static float finish(const Params& p, const Epilogue& epilogue, float sum, float old, int row, int column,
                                   int r) {
    const int lane = gpu::lane_index();
    const int d_row = row + gpu::wgmma_row(lane, r);
    const int d_column = column + gpu::wgmma_column(lane, r);
    return epilogue.template apply<kReadsC>(sum, old, kTransposed ? d_column : d_row, kTransposed ? d_row : d_column,
                                            p);
  }

  // The kWide (8 or 16) columns of a warp at `offset` of a chunk, (row, column) of D: registers, and old C where it
  // counts, to the buffer.
  template <bool kReadsC, int kWide>
  XGEMM_DEVICE static void convert(const Params& p, const Epilogue& epilogue, const float* sums, const char* old,
                                   char* buffer, int offset, int row, int column) {
    std::uint32_t pairs[kWide / 4];
    if constexpr (kReadsC) gpu::load_matrices<!kTransposed>(pairs, old + offset);
    XGEMM_UNROLL
    for (int e = 0; e < kWide / 4; ++e) {
      const float low = kReadsC ? gpu::unpack_low<Element>(pairs[e]) : 0.0f;
      const float high = kReadsC ? gpu::unpack_high<Element>(pairs[e]) : 0.0f;
      pairs[e] = gpu::pack_pair<Element>(finish<kReadsC>(p, epilogue, sums[2 * e], low, row, column, 2 * e),
                                         finish<kReadsC>(p, epilogue, sums[2 * e + 1], high, row, column, 2 * e + 1));
    }
    gpu::store_matrices<!kTransposed>(buffer + offset, pairs);
  }

  // Stores the 2 * kRegisters columns from (row, column) on.
  template <bool kReadsC, int kRegisters>
  XGEMM_DEVICE static void store_tile(const Params& p, SharedStorage& smem, const Place& place,
                                      const Epilogue& epilogue, Ring& ring, int group, int warp, int row, int column,
                                      int batch, const float (&acc)[kSlabs][kRegisters]) {
    const int tile_group = kConfig.ping_pong ? 0 : group;
    // Calls f(chunk, its buffer) for the chunks of a batch.
    const auto for_batch = [&](int first, const auto& f) {
      XGEMM_UNROLL
      for (int chunk = first; chunk < first + kChunkBatch; ++chunk) {
        if (chunk < kTileChunks) f(chunk, reinterpret_cast<char*>(smem.c[group][chunk % kBuffers]));
      }
    };
    XGEMM_UNROLL
    for (int first = 0; first < kTileChunks; first += kChunkBatch) {
      // The stores that last used these buffers have read them.
      if (is_storer(warp)) {
        if (first == 0) {
          gpu::tma_store_wait_read<0>();
        } else {
          gpu::tma_store_wait_read<kBuffers / kChunkBatch - 1>();
        }
      }
      gpu::named_barrier_sync(1 + group, gpu::kGroupThreads);
      for_batch(first, [&](int chunk, char* buffer) {
        if (kReadsC && chunk % kChunksPerSlot == 0) gpu::mbarrier_wait(smem.full[ring.slot], ring.phase);
        const char* old =
            reinterpret_cast<const char*>(c_chunk(smem.slots[ring.slot], tile_group, chunk % kChunksPerSlot));
        const float* sums = &acc[chunk / kChunks][chunk % kChunks * kChunk / 2];
        const int warp_row = row + chunk / kChunks * 64 + 16 * warp;
        const int first_column = column + chunk % kChunks * kChunk;
        XGEMM_UNROLL
        for (int c = 0; c < kChunk / 16 * 16; c += 16) {
          convert<kReadsC, 16>(p, epilogue, sums + c / 2, old, buffer, lane_offset(warp, c), warp_row,
                               first_column + c);
        }
        if constexpr (kChunk % 16 != 0) {
          constexpr int kLast = kChunk - 8;
          convert<kReadsC, 8>(p, epilogue, sums + kLast / 2, old, buffer, lane_offset(warp, kLast), warp_row,
                              first_column + kLast);
        }
        if (kReadsC && (chunk % kChunksPerSlot == kChunksPerSlot - 1 || chunk == kTileChunks - 1)) {
          gpu::sync_warp();
          release(smem, ring.slot, place);
          ring.next();
          if (chunk == kTileChunks - 1) pass_turn(smem, group);
        }
      });
      gpu::fence_async_shared();
      gpu::named_barrier_sync(1 + group, gpu::kGroupThreads);
      const auto at = [&](int chunk, const auto& f) {  // f(row, column) of C
        const int d_row = row + chunk / kChunks * 64;
        const int d_column = column + chunk % kChunks * kChunk;
        f(kTransposed ? d_column : d_row, kTransposed ? d_row : d_column);
      };
      if (is_storer(warp)) {
        for_batch(first, [&](int chunk, const char* buffer) {
          at(chunk, [&](int c_row, int c_column) {
            if (c_row < p.c_whole_m && c_column < p.n) gpu::tma_store(p.c, buffer, c_row, c_column, batch);
          });
        });
        gpu::tma_store_commit();
      }
      if (p.c_whole_m != p.m) {
        for_batch(first, [&](int chunk, const char* buffer) {
          at(chunk, [&](int c_row, int c_column) { store_last_rows(p, buffer, c_row, c_column, batch); });
        });
      }
    }
  }
};

}  // namespace xgemm::kernels
