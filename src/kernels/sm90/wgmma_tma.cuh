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
// CTAs are persistent: cluster c computes units c, c + clusters, c + 2 clusters... A unit is a tile, in the order of
// the rasterization. Where the last tiles would leave most of the GPU idle, they are split along K, so that a unit is
// one part of a tile: it leaves its sums, in fragment order, in the workspace, and a second kernel (split_sum.cuh) adds
// them in the order of K.
//
// Epilogue, by chunks of 64 rows x kChunk columns: registers -> stmatrix -> swizzled buffer -> TMA store, which runs
// under the next chunk and the next tile's mainloop. Old C, where beta is not 0, arrives through the slots of the same
// ring, after the last slice of K, and is read with ldmatrix into the layout of the accumulators.
//
// Edges: TMA fills zeros outside of X and Y (outside k in both, so that zeros never meet an Inf) and stores nothing
// outside of C.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/dtype.cuh"
#include "kernels/common/params.h"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/sm90/tma.cuh"
#include "kernels/common/sm90/warpgroup.cuh"
#include "kernels/common/sm90/wgmma.cuh"
#include "kernels/common/target.cuh"
#include "kernels/sm90/linear_combination.cuh"
#include "kernels/sm90/wgmma_tma_config.h"
#include "kernels/sm90/wgmma_tma_params.h"

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
  static constexpr int kBuffers = kConfig.epilogue_buffers;
  static constexpr int kSlotElements = Shape::kXElements + Shape::kYElements;
  static constexpr int kChunksPerSlot = kSlotElements / kChunkElements / Shape::kTileGroups;
  static constexpr int kCSlots = (kSlabs * kChunks + kChunksPerSlot - 1) / kChunksPerSlot;
  static constexpr bool kTransposed = kConfig.transposed;  // D is C^T: C is contiguous along columns of D
  static constexpr gpu::Major kMajorX = Shape::kMajorX;
  static constexpr gpu::Major kMajorY = Shape::kMajorY;

  static constexpr int kPartialVectors = kSplits > 1 ? kSlabs* kSplitColumns / 8 : 1;  // of a thread, from one CTA

  static_assert(Shape::kTileRows % (64 * kConfig.groups_rows) == 0, "a wgmma has 64 rows");
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
  static_assert(sizeof(SharedStorage) <= 227 * 1024, "more shared memory than an SM has");

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
  struct Schedule {
    const WgmmaTmaWork& work;
    unsigned unit, step;

    XGEMM_DEVICE static Schedule make(const Params& p) {
      return {p.work, static_cast<unsigned>(gpu::block_x()) / kClusterSize,
              static_cast<unsigned>(gpu::grid_x()) / kClusterSize};
    }
    XGEMM_DEVICE bool more() const { return unit < work.units; }
    XGEMM_DEVICE void next() { unit += step; }
    XGEMM_DEVICE bool partial() const { return unit >= work.whole_tiles; }

    XGEMM_DEVICE Tile at(const Place& place) const {
      const WgmmaTmaWork::Position t = work.position(work.tile_of(unit));
      return {(t.row * kClusterRows + place.row) * Shape::kTileRows,
              (t.column * kClusterColumns + place.column) * Shape::kTileColumns, t.batch};
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

    XGEMM_DEVICE static Slices make(const Params& p, const Epilogue& epilogue, const Schedule& schedule, int split) {
      const int all = epilogue.has_product ? (p.k + kTileK - 1) / kTileK : 0;
      if constexpr (kSplits > 1) {
        return part(all, split, kSplits);
      } else {
        if (!schedule.partial()) return {0, all};
        return part(all, static_cast<int>(schedule.work.part_of(schedule.unit)), static_cast<int>(schedule.work.parts));
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
        gpu::mbarrier_init(smem.partial_full, (kSplits - 1) * kWarps);
        gpu::mbarrier_init(smem.partial_empty, (kSplits - 1) * kWarps);
      }
      gpu::mbarrier_init_fence();
    }
    sync_cluster();
    gpu::grid_launch_dependents();
    gpu::grid_wait_dependencies();
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

  // This CTA's part of a tile of one operand, to the kPeers CTAs of `mask`. mn and k are elements.
  template <gpu::Major kMajor, int kExtent, int kChunkMn, int kPeers>
  XGEMM_DEVICE static void load_operand(Element* tile, const TensorMap& map, gpu::Mbarrier& full, unsigned mask,
                                        int peer, int mn, int k, int batch) {
    const auto load = [&](Element* destination, int x, int y) {
      if constexpr (kPeers > 1) {
        gpu::tma_load_multicast(destination, map, full, mask, x, y, batch);
      } else {
        gpu::tma_load(destination, map, full, x, y, batch);
      }
    };
    if constexpr (kMajor == gpu::Major::k) {
      constexpr int kRows = kExtent / kPeers;
      load(tile + peer * kRows * kTileK, k, mn + peer * kRows);
    } else {
      // kChunkMn wide columns of k; split by columns where that divides, otherwise along k
      constexpr int kPieces = kExtent / kChunkMn;
      if constexpr (kPieces % kPeers == 0) {
        XGEMM_UNROLL
        for (int i = 0; i < kPieces / kPeers; ++i) {
          const int piece = peer * (kPieces / kPeers) + i;
          load(tile + piece * kChunkMn * kTileK, mn + piece * kChunkMn, k);
        }
      } else {
        constexpr int kDepth = kTileK / kPeers;
        XGEMM_UNROLL
        for (int piece = 0; piece < kPieces; ++piece) {
          load(tile + piece * kChunkMn * kTileK + peer * kDepth * kChunkMn, mn + piece * kChunkMn, k + peer * kDepth);
        }
      }
    }
  }

  XGEMM_DEVICE static void produce(const Params& p, SharedStorage& smem, const Place& place) {
    const Epilogue epilogue = Epilogue::make(p);
    unsigned row_mask = 0;     // the CTAs of this cluster row: they share X
    unsigned column_mask = 0;  // the CTAs of this cluster column: they share Y
    for (int c = 0; c < kClusterColumns; ++c) row_mask |= 1u << Place::rank(place.row, c, place.split);
    for (int r = 0; r < kClusterRows; ++r) column_mask |= 1u << Place::rank(r, place.column, place.split);

    Ring ring;
    XGEMM_NO_UNROLL
    for (Schedule schedule = Schedule::make(p); schedule.more(); schedule.next()) {
      const Tile tile = schedule.at(place);
      const Slices slices = Slices::make(p, epilogue, schedule, place.split);
      const int x_batch = tile.batch * p.x_batch_step;
      const int y_batch = tile.batch * p.y_batch_step;
      XGEMM_NO_UNROLL
      for (int slice = slices.begin; slice < slices.end; ++slice) {
        typename SharedStorage::Slot& slot = smem.slots[ring.slot];
        gpu::Mbarrier& full = smem.full[ring.slot];
        gpu::mbarrier_wait(smem.empty[ring.slot], ring.phase ^ 1);
        gpu::mbarrier_arrive_expect(full, kSlotElements * static_cast<int>(sizeof(Element)));
        const auto load_x = [&] {
          load_operand<kMajorX, Shape::kTileRows, 64, kClusterColumns>(slot.x, p.x, full, row_mask, place.column,
                                                                       tile.row, slice * kTileK, x_batch);
        };
        const auto load_y = [&] {
          load_operand<kMajorY, Shape::kYColumns, Shape::kPieceY, kClusterRows>(
              slot.y, p.y, full, column_mask, place.row, tile.column, slice * kTileK, y_batch);
        };
        // First what goes to more CTAs.
        if constexpr (kClusterRows > kClusterColumns) {
          load_y();
          load_x();
        } else {
          load_x();
          load_y();
        }
        ring.next();
      }
      if (epilogue.reads_c() && !schedule.partial()) {
        const int column = tile.column + place.split * kSplitColumns;
        XGEMM_NO_UNROLL
        for (int s = 0; s < kCSlots; ++s) {
          const int first = s * kChunksPerSlot;
          const int left = kSlabs * kChunks - first;
          const int chunks = left < kChunksPerSlot ? left : kChunksPerSlot;
          gpu::Mbarrier& full = smem.full[ring.slot];
          gpu::mbarrier_wait(smem.empty[ring.slot], ring.phase ^ 1);
          gpu::mbarrier_arrive_expect(full,
                                      Shape::kTileGroups * chunks * kChunkElements * static_cast<int>(sizeof(Element)));
          XGEMM_NO_UNROLL
          for (int g = 0; g < Shape::kTileGroups; ++g) {
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
    const Epilogue epilogue = Epilogue::make(p);
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
    XGEMM_NO_UNROLL
    for (Schedule schedule = Schedule::make(p); schedule.more(); schedule.next()) {
      const int slices = Slices::make(p, epilogue, schedule, place.split).count();
      const int c_slots = epilogue.reads_c() && !schedule.partial() ? kCSlots : 0;
      if constexpr (kConfig.ping_pong) {
        if (tiles_to_skip != 0) {
          tiles_to_skip = 0;
          ring.skip(slices + c_slots);
          continue;
        }
        tiles_to_skip = 1;
        // A barrier knows only two phases: a consumer may wait for its slots when the other has seen all of its own.
        gpu::mbarrier_wait(smem.turn[group], turn_phase);
        turn_phase ^= 1;
      }
      float acc[kSlabs][kSlabRegisters];
      mainloop(smem, place, ring, slices, x0, y0, acc, c_slots == 0, group);
      if constexpr (kSplits == 1) {
        if (schedule.partial()) {
          store_partial(p, schedule, tile_group, acc);
          continue;
        }
      }
      const Tile tile = schedule.at(place);
      const int row = tile.row + group_row(tile_group);
      const int column = tile.column + group_column(tile_group) + place.split * kSplitColumns;
      const auto store = [&](const auto& sums) {
        if (epilogue.reads_c()) {
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
    if constexpr (kSplits > 1) gpu::mbarrier_wait(smem.partial_empty, partial_phase ^ 1);  // as the producer does
  }

  // group_row * 128 bytes is the way to a consumer's rows in either layout: K-major rows are 128 bytes, and MN-major
  // pieces of 64 rows are 64 * kTileK * 2 bytes.
  static_assert(kTileK * sizeof(Element) == 128);

  XGEMM_DEVICE static void mainloop(SharedStorage& smem, const Place& place, Ring& ring, int slices, std::uint64_t x0,
                                    std::uint64_t y0, float (&acc)[kSlabs][kSlabRegisters], bool last, int group) {
    // Cleared here rather than by the first wgmma: registers that it ignores would count as live through the loop over
    // tiles, and be saved.
    XGEMM_UNROLL
    for (int i = 0; i < kSlabs; ++i) {
      XGEMM_UNROLL
      for (int j = 0; j < kSlabRegisters; ++j) acc[i][j] = 0.0f;
    }
    keep(acc);
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
  // again.
  XGEMM_DEVICE static void exchange(SharedStorage& smem, const Place& place, unsigned& phase, int group,
                                    const float (&acc)[kSlabs][kSlabRegisters],
                                    float (&sums)[kSlabs][kSplitColumns / 2]) {
    constexpr int kRegisters = kSplitColumns / 2;
    constexpr int kVectors = kRegisters / 4;
    const int thread = gpu::thread_index() % gpu::kGroupThreads;
    const int lane = gpu::lane_index();
    const int mine = place.split;
    const bool others_lane = lane < kSplits && lane != mine;  // a lane for each of the other CTAs
    const int lane_rank = Place::rank(place.row, place.column, lane);
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
    }
    gpu::sync_warp();
    if (others_lane) gpu::mbarrier_arrive_remote_release(smem.partial_full, lane_rank);
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
    gpu::sync_warp();
    if (others_lane) gpu::mbarrier_arrive_remote(smem.partial_empty, lane_rank);
    phase ^= 1;
  }

  // The sums of a part of a tile, in fragment order: the second kernel's threads meet them again.
  XGEMM_DEVICE static void store_partial(const Params& p, const Schedule& schedule, int tile_group,
                                         const float (&acc)[kSlabs][kSlabRegisters]) {
    constexpr int kVectors = kSlabs * kSlabRegisters / 4;
    const auto cta = static_cast<std::int64_t>(schedule.unit - schedule.work.whole_tiles) * kClusterSize +
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
      constexpr int kRowBytes = kChunk * 2;
      const int offset = (row + lane % 8) * kRowBytes + column8 * 2;
      return kRowBytes == 16 ? offset : offset ^ (offset >> 3 & (kRowBytes - 16));
    } else {  // buffer: kChunk columns of 64 rows
      const int offset = (column8 + lane % 8) * 128 + row * 2;
      return offset ^ (offset >> 3 & 0x70);
    }
  }

  // The last m % 8 rows of C, where they lie in this chunk, one element at a time.
  XGEMM_DEVICE static void store_last_rows(const Params& p, const char* buffer, int c_row, int c_column, int batch) {
    constexpr int kRows = kTransposed ? kChunk : 64;  // of C
    constexpr int kColumns = kTransposed ? 64 : kChunk;
    const int rows = p.m - p.c_whole_m;
    const int first = p.c_whole_m - c_row;
    if (rows == 0 || first < 0 || first >= kRows) return;
    Element* c = static_cast<Element*>(p.c_data) + batch * p.c_batch + p.c_whole_m;
    XGEMM_NO_UNROLL
    for (int i = gpu::thread_index() % gpu::kGroupThreads; i < rows * kColumns; i += gpu::kGroupThreads) {
      const int column = i / rows;
      const int row = i - column * rows;
      if (c_column + column >= p.n) return;
      constexpr int kRowBytes = kRows * 2;  // of the buffer
      int offset = column * kRowBytes + (first + row) * 2;
      if constexpr (kRowBytes > 16) offset ^= offset >> 3 & (kRowBytes - 16);
      const Element value = gpu::read<gpu::Space::shared>(reinterpret_cast<const Element*>(buffer + offset));
      gpu::write<gpu::Space::global>(c + row + (c_column + column) * p.c_ld, value);
    }
  }

  // Stores the kColumns = 2 * kRegisters columns from (row, column) on.
  template <bool kReadsC, int kRegisters>
  XGEMM_DEVICE static void store_tile(const Params& p, SharedStorage& smem, const Place& place,
                                      const Epilogue& epilogue, Ring& ring, int group, int warp, int row, int column,
                                      int batch, const float (&acc)[kSlabs][kRegisters]) {
    constexpr int kWide = kChunk == 8 ? 8 : 16;  // columns of one stmatrix
    const int tile_group = kConfig.ping_pong ? 0 : group;
    XGEMM_UNROLL
    for (int i = 0; i < kSlabs; ++i) {
      XGEMM_UNROLL
      for (int j = 0; j < kChunks; ++j) {
        constexpr int kAll = kSlabs * kChunks;
        const int index = i * kChunks + j;
        char* buffer = reinterpret_cast<char*>(smem.c[group][index % kBuffers]);
        if (kReadsC && index % kChunksPerSlot == 0) gpu::mbarrier_wait(smem.full[ring.slot], ring.phase);
        const char* old =
            reinterpret_cast<const char*>(c_chunk(smem.slots[ring.slot], tile_group, index % kChunksPerSlot));
        // The store that last used this buffer has read it.
        if (is_storer(warp)) {
          if (index == 0) {
            gpu::tma_store_wait_read<0>();
          } else {
            gpu::tma_store_wait_read<kBuffers - 1>();
          }
        }
        gpu::named_barrier_sync(1 + group, gpu::kGroupThreads);
        XGEMM_UNROLL
        for (int c = 0; c < kChunk; c += kWide) {
          const float* f = &acc[i][(j * kChunk + c) / 2];
          const int offset = lane_offset(warp, c);
          std::uint32_t pairs[kWide / 4];
          if constexpr (kReadsC) {
            gpu::load_matrices<!kTransposed>(pairs, old + offset);
            XGEMM_UNROLL
            for (int e = 0; e < kWide / 4; ++e) {
              pairs[e] = gpu::pack_pair<Element>(epilogue.with_c(f[2 * e], gpu::unpack_low<Element>(pairs[e])),
                                                 epilogue.with_c(f[2 * e + 1], gpu::unpack_high<Element>(pairs[e])));
            }
          } else {
            XGEMM_UNROLL
            for (int e = 0; e < kWide / 4; ++e) {
              pairs[e] = gpu::pack_pair<Element>(epilogue.without_c(f[2 * e]), epilogue.without_c(f[2 * e + 1]));
            }
          }
          gpu::store_matrices<!kTransposed>(buffer + offset, pairs);
        }
        if (kReadsC && (index % kChunksPerSlot == kChunksPerSlot - 1 || index == kAll - 1)) {
          gpu::sync_warp();
          release(smem, ring.slot, place);
          ring.next();
          if (index == kAll - 1) pass_turn(smem, group);
        }
        gpu::fence_async_shared();
        gpu::named_barrier_sync(1 + group, gpu::kGroupThreads);
        const int d_row = row + i * 64;
        const int d_column = column + j * kChunk;
        const int c_row = kTransposed ? d_column : d_row;
        const int c_column = kTransposed ? d_row : d_column;
        if (is_storer(warp)) {
          if (c_row < p.c_whole_m && c_column < p.n) gpu::tma_store(p.c, buffer, c_row, c_column, batch);
          gpu::tma_store_commit();
        }
        store_last_rows(p, buffer, c_row, c_column, batch);
      }
    }
  }
};

}  // namespace xgemm::kernels
