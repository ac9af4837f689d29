// The producers of an ffma_tma CTA: one warpgroup that keeps the ring full. Whatever way an operand comes, a slot ends
// up with the same panels (cta.cuh), and the consumers do not know of it.
//
//   along m (or n), aligned    TMA, by a thread of each warp
//   along k, aligned           vectors through registers, 4 k of 4 columns in a lane, which turns them
//   along m (or n)             words of cp.async, a warp on 32 columns of a row
//   along k                    words of cp.async, a warp on 8 k of 4 columns: whole sectors in global memory, and all
//                              banks of shared memory
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/epilogue.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/sm90/tma.cuh"
#include "kernels/common/target.cuh"
#include "kernels/common/units.cuh"
#include "kernels/ffma_tma/cta.cuh"

namespace xgemm::kernels {

// One operand's slices of a unit. kExtent: of the CTA tile along mn, the axis that the operand shares with C. kWarp: of
// a consumer warp. Panels that no warp with something inside of C reads are not loaded.
template <int kExtent, int kTileK, int kWarp, int kWarps>
struct PanelLoader {
  static constexpr int kPanel = FfmaTmaConfig::kPanel;
  static constexpr int kPanels = kExtent / kPanel;
  static constexpr int kPanelFloats = kTileK * kPanel;
  static_assert(kTileK % 8 == 0);
  using Vector = gpu::Vector<float, 4>;

  PanelLoad kind;
  int mn, batch;  // the first column, the entry of the batch that TMA is told
  int left;       // columns from there on
  const float* data;
  std::int64_t mn_stride, k_stride;

  XGEMM_DEVICE static PanelLoader make(PanelLoad kind, const ConstMatrixArg& x, std::int64_t mn_stride,
                                       std::int64_t k_stride, const Unit& unit, std::int64_t mn, std::int64_t extent) {
    const std::int64_t left = extent - mn;
    return {kind,
            static_cast<int>(mn),
            static_cast<int>(x.batch_stride != 0 ? unit.batch : 0),
            static_cast<int>(left < kExtent ? left : kExtent),
            static_cast<const float*>(x.data) + unit.batch * x.batch_stride + mn * mn_stride,
            mn_stride,
            k_stride};
  }

  XGEMM_DEVICE int panels() const { return (left + kWarp - 1) / kWarp * (kWarp / kPanel); }

  // Of the panels that TMA brings, a warp asks for every kWarps-th. What comes for it, in bytes.
  XGEMM_DEVICE int bytes(int warp) const {
    return kind == PanelLoad::bulk ? (panels() - warp + kWarps - 1) / kWarps * (kPanelFloats * 4) : 0;
  }

  XGEMM_DEVICE void copy_bulk(const gpu::TensorMap& map, float* slice, gpu::Mbarrier& full, std::int64_t k,
                              int warp) const {
    const int count = panels();
    XGEMM_UNROLL
    for (int i = 0; i < kPanels; i += kWarps) {
      const int panel = i + warp;
      if (panel < count)
        gpu::tma_load(slice + panel * kPanelFloats, map, full, mn + panel * kPanel, static_cast<int>(k), batch);
    }
  }

  // Vectors along k, a block for each warp: from global memory,
  XGEMM_DEVICE void fetch(Vector (&vectors)[4], std::int64_t k, std::int64_t depth, int warp, int lane) const {
    const Block block = Block::make(warp, lane);
    const float* from = data + block.column * mn_stride + (k + block.row);
    XGEMM_UNROLL
    for (int e = 0; e < 4; ++e) {
      const bool inside = warp < Block::kNumber && block.column + e < left && block.row < depth;
      vectors[e] = inside ? gpu::read<gpu::Space::global>(reinterpret_cast<const Vector*>(from)) : Vector{};
      from += mn_stride;
    }
  }
  // and to a slot.
  XGEMM_DEVICE static void deposit(const Vector (&vectors)[4], float* slice, int warp, int lane) {
    if (warp >= Block::kNumber) return;
    const Block block = Block::make(warp, lane);
    XGEMM_UNROLL
    for (int r = 0; r < 4; ++r) {
      const Vector row = {{vectors[0][r], vectors[1][r], vectors[2][r], vectors[3][r]}};
      gpu::write<gpu::Space::shared>(reinterpret_cast<Vector*>(slice + offset(block.column / 4, 0, block.row + r)),
                                     row);
    }
  }

  // depth: what there is of K from k on.
  XGEMM_DEVICE void copy_words(float* slice, gpu::Mbarrier& full, std::int64_t k, std::int64_t depth, int warp,
                               int lane) const {
    const bool whole = left == kExtent && depth >= kTileK;
    const int rows = depth < kTileK ? static_cast<int>(depth) : kTileK;
    if ((kind == PanelLoad::words_k ? k_stride : mn_stride) != 1) {
      copy_strided(slice, k, rows, warp, lane);
    } else if (kind == PanelLoad::words_k) {
      if (whole) {
        copy_along_k<true>(slice, k, rows, warp, lane);
      } else {
        copy_along_k<false>(slice, k, rows, warp, lane);
      }
    } else if (whole) {
      copy_along_mn<true>(slice, k, rows, warp, lane);
    } else {
      copy_along_mn<false>(slice, k, rows, warp, lane);
    }
    gpu::copy_async_arrive(full);
  }

 private:
  // What a warp brings in vectors: 16 columns, 4 k of 4 columns for each lane. A quarter of a warp has 8 k of 4 chunks:
  // whole sectors in global memory, and all banks of shared memory.
  struct Block {
    static constexpr int kColumns = 16, kNumber = kExtent / kColumns;

    int column, row;  // the lane's first

    XGEMM_DEVICE static Block make(int warp, int lane) {
      static_assert(kTileK == 32 && kNumber <= kWarps, "a block for each warp");
      return {kColumns * warp + 4 * (lane / 2 % 4), 8 * (lane / 8) + 4 * (lane % 2)};
    }
  };

  // A warp copies 8 k of 4 columns, a chunk. kWhole: all of the slice exists.
  template <bool kWhole>
  XGEMM_DEVICE void copy_along_k(float* slice, std::int64_t k, int rows, int warp, int lane) const {
    const int lane_k = lane % 8, lane_mn = lane / 8;
    const float* from = data + (4 * warp + lane_mn) * mn_stride + (k + lane_k);
    const std::int64_t step = 4 * kWarps * mn_stride;
    const int columns = panels() * kPanel;
    XGEMM_UNROLL
    for (int first = 0; first < kExtent; first += 4 * kWarps) {
      if (!kWhole && first >= columns) break;
      float* to = slice + offset(first / 4 + warp, lane_mn, lane_k);
      const bool inside = kWhole || first + 4 * warp + lane_mn < left;
      XGEMM_UNROLL
      for (int row = 0; row < kTileK; row += 8)
        gpu::copy_async<4>(to + row * kPanel, from + row, kWhole || (inside && row + lane_k < rows) ? 4 : 0);
      from += step;
    }
  }

  // A warp copies a row of a panel.
  template <bool kWhole>
  XGEMM_DEVICE void copy_along_mn(float* slice, std::int64_t k, int rows, int warp, int lane) const {
    const float* from = data + (k + warp) * k_stride + lane;
    const std::int64_t step = kWarps * k_stride;
    const int count = panels();
    XGEMM_UNROLL
    for (int row = 0; row < kTileK; row += kWarps) {
      float* to = slice + offset(lane / 4, lane % 4, row + warp);
      const bool inside = kWhole || row + warp < rows;
      XGEMM_UNROLL
      for (int panel = 0; panel < kPanels; ++panel) {
        if (!kWhole && panel >= count) break;
        gpu::copy_async<4>(to + panel * kPanelFloats, from + panel * kPanel,
                           kWhole || (inside && panel * kPanel + lane < left) ? 4 : 0);
      }
      from += step;
    }
  }

  // Where neither axis is contiguous.
  XGEMM_DEVICE void copy_strided(float* slice, std::int64_t k, int rows, int warp, int lane) const {
    const int columns = panels() * kPanel;
    XGEMM_NO_UNROLL
    for (int row = warp; row < kTileK; row += kWarps) {
      XGEMM_NO_UNROLL
      for (int column = lane; column < columns; column += gpu::kWarpSize) {
        const bool inside = column < left && row < rows;
        gpu::copy_async<4>(slice + offset(column / 4, column % 4, row),
                           inside ? data + column * mn_stride + (k + row) * k_stride : data, inside ? 4 : 0);
      }
    }
  }

  // Where column 4 * chunk + e of row `row` lies in a slice.
  XGEMM_DEVICE static int offset(int chunk, int e, int row) {
    return chunk / 8 * kPanelFloats + row * kPanel + (chunk % 8 ^ row % 8) * 4 + e;
  }
};

template <FfmaTmaConfig kConfig, class Epilogue>
struct FfmaTmaProducer {
  using Cta = FfmaTmaCta<kConfig>;
  using LoaderA = PanelLoader<Cta::kTileM, Cta::kTileK, kConfig.warp_m(), kConfig.team_warps()>;
  using LoaderB = PanelLoader<Cta::kTileN, Cta::kTileK, kConfig.warp_n(), kConfig.team_warps()>;

  XGEMM_DEVICE static void prefetch_maps(const FfmaTmaParams& p) {
    if (p.a_load == PanelLoad::bulk) gpu::tma_prefetch_map(p.a_map);
    if (p.b_load == PanelLoad::bulk) gpu::tma_prefetch_map(p.b_map);
  }

  XGEMM_DEVICE static void run(const FfmaTmaParams& p, typename Cta::SharedStorage& smem, int producer) {
    const int lane = gpu::lane_index();
    const int warp = producer % kConfig.team_warps();
    const bool bulk = p.a_load == PanelLoad::bulk && p.b_load == PanelLoad::bulk;
    if (bulk && lane != 0) return;
    gpu::grid_wait_dependencies();
    if (!holds(p.condition)) return;
    if (bulk) return walk<Loads::bulk>(p, smem, producer, warp, 0);
    if constexpr (kConfig.vectors_along_k()) {
      if (p.a_load == PanelLoad::vectors_k || p.b_load == PanelLoad::vectors_k)
        return walk<Loads::vectors>(p, smem, producer, warp, lane);
    }
    walk<Loads::words>(p, smem, producer, warp, lane);
  }

 private:
  // How the operands come: what a loop has no code for, it need not pass. A product waits for its first slot.
  enum class Loads {
    bulk,     // both so
    vectors,  // one in vectors along k, and none by words
    words,
  };

  template <Loads kLoads>
  XGEMM_DEVICE static void walk(const FfmaTmaParams& p, typename Cta::SharedStorage& smem, int producer, int warp,
                                int lane) {
    constexpr bool kVectors = kLoads == Loads::vectors;
    const bool bulk_a = kLoads == Loads::bulk || p.a_load == PanelLoad::bulk;
    const bool bulk_b = kLoads == Loads::bulk || p.b_load == PanelLoad::bulk;
    const Epilogue epilogue = Epilogue::make(p);
    int slice = producer / kConfig.team_warps();  // the team's next one, of the unit
    typename Cta::Ring ring;
    ring.skip(slice);
    for_each_unit_32<Cta::kTileM, Cta::kTileN, Cta::kTileK>(p, epilogue.has_product, [&](const Unit& unit) {
      const LoaderA a = LoaderA::make(p.a_load, p.a, p.a.row_stride, p.a.col_stride, unit, unit.row, p.m);
      const LoaderB b = LoaderB::make(p.b_load, p.b, p.b.col_stride, p.b.row_stride, unit, unit.col, p.n);
      const int bytes = a.bytes(warp) + b.bytes(warp);
      const int slices = Cta::slices(unit.depth);
      XGEMM_NO_UNROLL
      for (; slice < slices; slice += kConfig.teams()) {
        const std::int64_t done = static_cast<std::int64_t>(slice) * Cta::kTileK;
        const std::int64_t k = unit.k + done, depth = unit.depth - done;
        float* const slot = smem.slots[ring.slot];
        gpu::Mbarrier& full = smem.full[ring.slot];
        gpu::Vector<float, 4> of_a[4], of_b[4];
        if constexpr (kVectors) {  // on their way while the slot is not empty yet
          if (!bulk_a) a.fetch(of_a, k, depth, warp, lane);
          if (!bulk_b) b.fetch(of_b, k, depth, warp, lane);
        }
        gpu::mbarrier_wait(smem.empty[ring.slot], ring.phase ^ 1);
        if (lane == 0 && (bulk_a || bulk_b)) {
          gpu::mbarrier_arrive_expect(full, bytes);
          if (bulk_a) a.copy_bulk(p.a_map, slot, full, k, warp);
          if (bulk_b) b.copy_bulk(p.b_map, slot + Cta::kBFloats, full, k, warp);
        }
        if constexpr (kVectors) {
          if (!bulk_a) a.deposit(of_a, slot, warp, lane);
          if (!bulk_b) b.deposit(of_b, slot + Cta::kBFloats, warp, lane);
          gpu::sync_warp();
          if (lane == 0) gpu::mbarrier_arrive(full);
        } else if constexpr (kLoads == Loads::words) {
          if (!bulk_a) a.copy_words(slot, full, k, depth, warp, lane);
          if (!bulk_b) b.copy_words(slot + Cta::kBFloats, full, k, depth, warp, lane);
        }
        ring.skip(kConfig.teams());
      }
      slice -= slices;
    });
  }
};

}  // namespace xgemm::kernels
