// mma_swizzled for operands and C that start anywhere: for so little work that copies of them would take longer, and
// for GPUs without memory for copies.
//
//   global -> shared     through registers: aligned pieces, shifted (ShiftingLoader); a slice ahead. All loads of a
//                        slice, and those of old C, are under way at once: K up to that of a slice takes one round trip
//   shared -> registers  as in mma_swizzled.cuh, and so is the instruction
//   registers -> C       through shared memory, by vectors that are aligned in C (AlignedOutput)
//
//     fetch 0, old C | deposit 0 | barrier | fetch i + 1 | multiply i | deposit i + 1 | barrier | ... | C
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/kernel.cuh"
#include "kernels/common/mma.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/mma_swizzled/aligned_output.cuh"
#include "kernels/mma_swizzled/instances.h"
#include "kernels/mma_swizzled/operand_tile.cuh"
#include "kernels/mma_swizzled/shifting_loader.cuh"

namespace xgemm::kernels {

// kFollows: the matrices of a batch are found by pointers.
template <TileConfig kConfig, class Epilogue = LinearCombinationOf<kConfig.type>, bool kFollows>
struct MmaSwizzledShifting {
  using ByPointers = std::conditional_t<Instances<Family::mma_swizzled>::follows(kConfig),
                                        MmaSwizzledShifting<kConfig, Epilogue, true>, MmaSwizzledShifting>;
  using Element = gpu::ElementOf<kConfig.type>;
  using ElementC = gpu::ElementOf<kConfig.type_c>;
  using Sum = gpu::SumOf<kConfig.type>;
  static constexpr int kTileM = kConfig.cta_m;
  static constexpr int kTileN = kConfig.cta_n;
  static constexpr int kTileK = kConfig.cta_k;
  static constexpr int kWarpM = kConfig.warp_m;
  static constexpr int kWarpN = kConfig.warp_n;
  static constexpr int kStages = kConfig.stages;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr int kThreads = kConfig.threads();
  static constexpr int kMinBlocksPerSm = gpu::kArch == 900 ? 4 : 3;  // as registers allow
  static constexpr bool kStartsEarly = true;
  static_assert(kConfig.min_compute_capability >= 80, "mma.m16n8k16 and cp.async exist from sm_80 on");
  static_assert(kStages == 2 && kConfig.vector == 1 && kConfig.copy == Copy::prefetch);

  using TileA = OperandTile<Element, kTileM, kTileK, kConfig.a_contiguous == Axis::col>;
  using TileB = OperandTile<Element, kTileN, kTileK, kConfig.b_contiguous == Axis::row>;
  using Output = AlignedOutput<ElementC, kTileM, kTileN, kThreads>;
  struct Stage {
    typename TileA::Storage a;
    typename TileB::Storage b;
  };
  struct SharedStorage {
    Stage stage[kStages];
    typename Output::Storage c;
  };

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage& smem) {
    gpu::grid_launch_dependents();
    for_each_unit<kTileM, kTileN, kTileK>(p, true, [&](const Unit& begun) {
      Sums sums = {};
      compute(p, begun, smem, sums);
      // What follows from these is computed anew: kept, it would take registers from the mainloop.
      Unit unit = begun;
      unit.batch = gpu::opaque(begun.batch), unit.row = gpu::opaque(begun.row), unit.col = gpu::opaque(begun.col);
      const Epilogue epilogue = Epilogue::make(p);
      const auto c = output_tile<kConfig, kTileM, kTileN, kFollows>(epilogue, p, unit, 0, 0);
      if (unit.is_partial(p)) {
        const auto tile = view_sums<kConfig>(p, unit);
        for_each_pair(sums, [&](int i, int j, Sum low, Sum high) {
          tile.template store<2>(i, j, gpu::Vector<Sum, 2>{{low, high}});
        });
      } else {
        const Output output(smem.c, c.view(), unit.row, unit.col, p.fill);
        if (c.reads_c()) {
          for_each_pair(sums, [&](int i, int j, Sum low, Sum high) {
            ElementC* const pair = output.column(j) + i;
            write(pair, c.finish(i, j, low, gpu::read<Space::shared>(pair)));
            write(pair + 1, c.finish(i + 1, j, high, gpu::read<Space::shared>(pair + 1)));
          });
        } else {
          for_each_pair(sums, [&](int i, int j, Sum low, Sum high) {
            ElementC* const pair = output.column(j) + i;
            write(pair, c.finish(i, j, low, {}));
            write(pair + 1, c.finish(i + 1, j, high, {}));
          });
        }
        gpu::sync_threads();
        output.store();
      }
      gpu::sync_threads();  // before the next unit's slices
    });
  }

 private:
  // op(A), and op(B) transposed.
  template <bool kAlongK>
  using View =
      MatrixView<const Element, Space::global, std::int64_t, std::int64_t,
                 std::conditional_t<kAlongK, std::int64_t, Int<1>>, std::conditional_t<kAlongK, Int<1>, std::int64_t>>;
  using ViewA = View<TileA::kAlongK>;
  using ViewB = View<TileB::kAlongK>;
  using ReaderA = FragmentReader<TileA, kWarpM, false>;
  using ReaderB = FragmentReader<TileB, kWarpN, true>;
  // By column blocks of 16 and row blocks of 8 of the warp's part of C: the instruction's order.
  using Sums = Sum[kWarpN / 16][kWarpM / 8][4];

  // Where the warp's part of the tile begins.
  XGEMM_DEVICE static int warp_m() { return gpu::warp_index() % (kTileM / kWarpM) * kWarpM; }
  XGEMM_DEVICE static int warp_n() { return gpu::warp_index() / (kTileM / kWarpM) * kWarpN; }

  XGEMM_DEVICE static void write(ElementC* to, ElementC value) { gpu::write<Space::shared>(to, value); }

  // The unit's sums; and old C is there, where it is read.
  XGEMM_DEVICE static void compute(const TileParams& p, const Unit& unit, SharedStorage& smem, Sums& sums) {
    // Pointers may be written by the kernels before this one, and where nothing is multiplied there may be none.
    bool by_pointers = false;
    Unit operands = unit;
    if constexpr (kFollows) {
      gpu::grid_wait_dependencies();
      by_pointers = Epilogue::make(p).has_product;
      if (!by_pointers) operands.batch = 0;  // the stride stands for pointers
    }
    ShiftingLoader<ViewA, TileA, kThreads> a(view_a<kConfig>(p, operands, by_pointers), unit.row);
    ShiftingLoader<ViewB, TileB, kThreads> b(view_b<kConfig>(p, operands, by_pointers).transposed(), unit.col);
    const auto fetch = [&](std::int64_t left) {
      a.fetch(left);
      b.fetch(left);
    };
    std::int64_t left = gpu::opaque(Epilogue::make_early(p).has_product ? unit.depth : 0);
    // The way here, some hundred cycles, is under way while kernels before this one end.
    gpu::grid_wait_dependencies();
    fetch(left);
    if (Epilogue::make(p).reads_c() && !unit.is_partial(p)) {
      const auto view = view_c<kConfig, kFollows>(p, unit).template block<kTileM, kTileN>(unit.row, unit.col);
      Output(smem.c, view, unit.row, unit.col, p.fill).load();
    }
    const ReaderA reader_a(warp_m());
    const ReaderB reader_b(warp_n());
    int stage = 0;
    XGEMM_NO_UNROLL
    do {
      a.deposit(smem.stage[stage].a);
      b.deposit(smem.stage[stage].b);
      gpu::sync_threads();
      if (left > kTileK) fetch(left - kTileK);
      XGEMM_UNROLL
      for (int k = 0; k < kTileK; k += ReaderA::kDepth) {
        if (k < left) multiply(reader_a, reader_b, smem.stage[stage], k, sums);
      }
      left -= kTileK;
      stage ^= 1;
    } while (left > 0);
  }

  XGEMM_DEVICE static void multiply(const ReaderA& reader_a, const ReaderB& reader_b, const Stage& stage, int k,
                                    Sums& sums) {
    typename ReaderA::Fragments a;
    typename ReaderB::Fragments b;
    reader_a.load(stage.a, k, a);
    reader_b.load(stage.b, k, b);
    XGEMM_UNROLL
    for (int n = 0; n < kWarpN / 16; ++n) {
      XGEMM_UNROLL
      for (int m = 0; m < kWarpM / 8; ++m) {
        const std::uint32_t columns[2] = {a[m / 2][m % 2 * 2], a[m / 2][m % 2 * 2 + 1]};
        gpu::mma<Element>(sums[n][m], b[n], columns);
      }
    }
  }

  // The pairs of sums that the thread holds: f(row and column of the first in the tile, the sums).
  template <class F>
  XGEMM_DEVICE static void for_each_pair(const Sums& sums, const F& f) {
    const int n = warp_n() + gpu::lane_index() / 4, m = warp_m() + gpu::lane_index() % 4 * 2;
    XGEMM_UNROLL
    for (int i = 0; i < kWarpN / 8; ++i) {
      XGEMM_UNROLL
      for (int j = 0; j < kWarpM / 8; ++j)
        f(m + 8 * j, n + 8 * i, sums[i / 2][j][i % 2 * 2], sums[i / 2][j][i % 2 * 2 + 1]);
    }
  }
};

}  // namespace xgemm::kernels
