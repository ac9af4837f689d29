// mma_swizzled: tensor cores by mma.sync, m16n8k16 with fp32 sums of fp16 or bf16 operands, m16n8k8 of doubles (sm_80).
//
//   global -> shared     cp.async of 16 bytes, stages - 1 slices ahead; operands whose lines start anywhere have a
//                        kernel of their own (shifting.cuh)
//   shared               in the operands' own order, permuted: no conflict and no padding (OperandTile)
//   shared -> registers  ldmatrix, transposing where lines run along M or N (vectors of doubles), for the next
//   product's
//                        depth of K while these are multiplied, across slices as well
//   registers -> C       through shared memory, a warp for itself, by vectors of 16 bytes
//
//     copy slice i + stages - 1 | multiply | ... | slice i + 1 is there: barrier | first fragments of it | multiply
//
// The instruction's rows are columns of C: neighbours along a row of its result are then neighbours in memory, pairs
// that are stored together.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/kernel.cuh"
#include "kernels/common/mma.cuh"
#include "kernels/mma_swizzled/async_loader.cuh"
#include "kernels/mma_swizzled/operand_tile.cuh"
#include "kernels/mma_swizzled/shifting.cuh"

namespace xgemm::kernels {

// A warp's part of C in shared memory, where results gather for wide accesses. Vectors where every column of C starts
// at a multiple of 16 bytes and all of the part is to be stored, else elements.
template <class Element, int kRows, int kCols>
class GatheredTile {
 public:
  struct Storage {
    alignas(128) Element data[kRows * kCols];
  };

  // C: the warp's part (OutputTile), cut by the edges.
  template <class Output>
  XGEMM_DEVICE static void load(Storage& storage, const Output& c, int lane, Loc loc = Loc::current()) {
    move(
        c, lane,
        [&](auto width, bool whole, int i, int j) {
          constexpr int kWidth = decltype(width)::value;
          return whole ? c.view().template load<kWidth>(i, j, loc) : c.template load_or_zero<kWidth>(i, j, loc);
        },
        [&](bool, int i, int j, const auto& value) { view(storage).store(i, j, value, loc); });
  }
  template <class Output>
  XGEMM_DEVICE static void store(Storage& storage, const Output& c, int lane, Loc loc = Loc::current()) {
    move(
        c, lane,
        [&](auto width, bool, int i, int j) { return view(storage).template load<decltype(width)::value>(i, j, loc); },
        [&](bool whole, int i, int j, const auto& value) {
          if (whole) {
            c.view().store(i, j, value, loc);
          } else {
            c.store_inside(i, j, value, loc);
          }
        });
  }

  XGEMM_DEVICE static auto view(Storage& storage) { return shared_view<kRows, kCols, 1, kRows, Swizzle>(storage.data); }

 private:
  static constexpr int kVector = 16 / sizeof(Element);

  // Pairs from 8 rows fill 32 bytes of a column in fp32 and 64 in doubles, and those of four (two) columns move
  // together: they lie in banks of their own.
  using WideSwizzle = std::conditional_t<sizeof(Element) == 4, XorSwizzle<2, 3, log2_of(kRows) - 3>,
                                         XorSwizzle<1, 3, log2_of(kRows) - 3>>;
  using Swizzle = std::conditional_t<sizeof(Element) == 2, ChunkSwizzle<kRows>, WideSwizzle>;

  // Calls put(whether all of the part is to be stored, i, j, get(width, whether..., i, j)) for all accesses.
  template <class Output, class Get, class Put>
  XGEMM_DEVICE static void move(const Output& c, int lane, const Get& get, const Put& put) {
    const auto origin = reinterpret_cast<std::uintptr_t>(c.view().data());
    const auto step = static_cast<std::uintptr_t>(c.view().col_stride()) * sizeof(Element);
    const bool whole = c.view().rows() == kRows && c.view().cols() == kCols;
    if ((origin | step) % 16 != 0 || !c.contains_all()) {
      move_by<1, 8>(lane, false, get, put);
    } else if (whole) {
      move_by<kVector, 8>(lane, true, get, put);
    } else {
      move_by<kVector, 1>(lane, false, get, put);
    }
  }

  // kAtOnce accesses are in flight; more is more code.
  template <int kWidth, int kAtOnce, class Get, class Put>
  XGEMM_DEVICE static void move_by(int lane, bool whole, const Get& get, const Put& put) {
    constexpr int kPerColumn = kRows / kWidth;
    constexpr int kCount = kRows * kCols / (kWidth * gpu::kWarpSize);
    constexpr int kUnrolled = kCount < kAtOnce ? kCount : kAtOnce;
    static_assert(kCount % kUnrolled == 0);
    XGEMM_NO_UNROLL
    for (int first = 0; first < kCount; first += kUnrolled) {
      const auto for_each = [&](const auto& f) {
        XGEMM_UNROLL
        for (int s = 0; s < kUnrolled; ++s) {
          const int index = (first + s) * gpu::kWarpSize + lane;
          f(s, index % kPerColumn * kWidth, index / kPerColumn);
        }
      };
      gpu::Vector<Element, kWidth> values[kUnrolled];
      for_each([&](int s, int i, int j) { values[s] = get(Int<kWidth>{}, whole, i, j); });
      for_each([&](int s, int i, int j) { put(whole, i, j, values[s]); });
    }
  }
};

template <TileConfig kConfig, class Epilogue = LinearCombinationOf<kConfig.type>>
struct MmaSwizzled {
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
  static constexpr int kWarps = kThreads / gpu::kWarpSize;
  // As many warps on an SM as registers allow, which sums and fragments take.
  static constexpr int kSumWords = kWarpM * kWarpN * int{sizeof(Sum)} / 4;
  static constexpr int kWarpsPerSm = kSumWords >= 64 * 64 || sizeof(Sum) == 8 ? 8 : (kSumWords >= 64 * 32 ? 12 : 16);
  static constexpr int kMinBlocksPerSm = kWarpsPerSm > kWarps ? kWarpsPerSm / kWarps : 1;
  static_assert(kConfig.min_compute_capability >= 80, "mma.m16n8k16 and cp.async exist from sm_80 on");
  static_assert(kTileM % kWarpM == 0 && kTileN % kWarpN == 0, "warps share a tile out evenly");
  static_assert(kConfig.copy == Copy::async && kStages >= 3 && kStages <= 5 && kConfig.vector * sizeof(Element) >= 4,
                "cp.async moves 4 bytes or more");

  using TileA = OperandTile<Element, kTileM, kTileK, kConfig.a_contiguous == Axis::col>;
  using TileB = OperandTile<Element, kTileN, kTileK, kConfig.b_contiguous == Axis::row>;
  using TileC = GatheredTile<ElementC, kWarpM, kWarpN>;
  struct Stage {
    typename TileA::Storage a;
    typename TileB::Storage b;
  };
  union SharedStorage {
    Stage stage[kStages];
    typename TileC::Storage c[kWarps];  // once the slices are multiplied
  };

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage& smem) {
    for_each_unit<kTileM, kTileN, kTileK>(p, Epilogue::make(p).has_product, [&](const Unit& begun) {
      const ViewA a = view_a<kConfig>(p, begun);
      const ViewB b = view_b<kConfig>(p, begun).transposed();
      Sums sums = {};
      if (begun.depth > 0) multiply(Slices(a, b, begun.row, begun.col, smem), begun.depth, smem, sums);
      // Looked up anew: kept, it would take registers from the mainloop.
      const Unit unit = unit_at<kTileM, kTileN, kTileK>(p, gpu::opaque(begun.index));
      const int warp = gpu::opaque(gpu::warp_index());
      if (unit.is_partial(p)) {
        const auto tile = view_sums<kConfig>(p, unit).sub(warp_m(warp), warp_n(warp), Int<kWarpM>{}, Int<kWarpN>{});
        for_each_pair(sums, gpu::opaque(gpu::lane_index()), [&](int i, int j, Sum low, Sum high) {
          tile.template store<2>(i, j, gpu::Vector<Sum, 2>{{low, high}});
        });
      } else {
        const Epilogue epilogue = Epilogue::make(p);
        store(output_tile<kConfig, kWarpM, kWarpN>(epilogue, p, unit, warp_m(warp), warp_n(warp)), sums, smem.c[warp]);
      }
      gpu::sync_threads();  // before the next unit's copies
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

  // Where a warp's part of the CTA tile begins.
  XGEMM_DEVICE static int warp_m(int warp) { return warp % (kTileM / kWarpM) * kWarpM; }
  XGEMM_DEVICE static int warp_n(int warp) { return warp / (kTileM / kWarpM) * kWarpN; }

  // By column blocks of 16 and row blocks of 8 of the warp's part of C: the instruction's order.
  using Sums = Sum[kWarpN / 16][kWarpM / 8][4];

  using ReaderA = FragmentReader<TileA, kWarpM, false>;
  using ReaderB = FragmentReader<TileB, kWarpN, true>;
  // Fragments of doubles are too many to be there twice: they make way for the next ones as soon as all products with
  // them have begun.
  static constexpr bool kReplaces = sizeof(Element) == 8;
  static constexpr int kDepth = ReaderA::kDepth;  // of K, in a product
  static constexpr int kSteps = kTileK / kDepth;  // in a slice
  static_assert(kSteps >= 2 && kSteps % 2 == 0, "fragments take turns");
  struct Fragments {
    typename ReaderA::Fragments a;
    typename ReaderB::Fragments b;
  };

  // The products of eight columns of the fragments, by all their rows.
  XGEMM_DEVICE static void multiply(int m, int n, const Fragments& f, Sums& sums) {
    const std::remove_all_extents_t<typename ReaderA::Fragments> columns[2] = {f.a[m / 2][m % 2 * 2],
                                                                               f.a[m / 2][m % 2 * 2 + 1]};
    gpu::mma<Element>(sums[n][m], f.b[n], columns);
  }

  XGEMM_DEVICE static void multiply_step(const Fragments& f, Sums& sums) {
    XGEMM_UNROLL
    for (int n = 0; n < kWarpN / 16; ++n) {
      XGEMM_UNROLL
      for (int m = 0; m < kWarpM / 8; ++m) multiply(m, n, f, sums);
    }
  }

  XGEMM_DEVICE static int stage_after(int stage) { return stage + 1 < kStages ? stage + 1 : 0; }

  // How slices come in. begin() returns when the first one is there. start() is called before a slice is multiplied,
  // with what is left of K from it on, and fills the stage of the slice before it; next() when all fragments of the
  // slice have been read, and returns when the one after it is there.

  // cp.async, stages - 1 slices ahead. A group is committed for every slice, also for those beyond the last: the wait
  // counts groups.
  struct Slices {
    AsyncLoader<ViewA, TileA, kConfig.vector, kThreads> a;
    AsyncLoader<ViewB, TileB, kConfig.vector, kThreads> b;
    SharedStorage& smem;
    int free = 0;  // the stage of the slice that is copied next

    XGEMM_DEVICE Slices(const ViewA& all_a, const ViewB& all_b, std::int64_t row, std::int64_t col,
                        SharedStorage& storage)
        : a(all_a, row), b(all_b, col), smem(storage) {}

    XGEMM_DEVICE void begin(std::int64_t depth) {
      XGEMM_NO_UNROLL
      for (int s = 0; s < kStages - 1; ++s) copy(depth - s * kTileK);
      next();
    }
    XGEMM_DEVICE void start(std::int64_t left) { copy(left - (kStages - 1) * kTileK); }
    XGEMM_DEVICE void next() {
      gpu::copy_async_wait<kStages - 2>();
      gpu::sync_threads();
    }

   private:
    XGEMM_DEVICE void copy(std::int64_t left) {
      a.copy(smem.stage[free].a, left);
      b.copy(smem.stage[free].b, left);
      gpu::copy_async_commit();
      free = stage_after(free);
    }
  };

  // The stages are unused by this thread on return.
  XGEMM_DEVICE static void multiply(Slices slices, std::int64_t depth, SharedStorage& smem, Sums& sums) {
    const ReaderA reader_a(warp_m(gpu::warp_index()));
    const ReaderB reader_b(warp_n(gpu::warp_index()));
    slices.begin(depth);
    Fragments fragments[kReplaces ? 1 : 2];
    reader_a.load(smem.stage[0].a, 0, fragments[0].a);
    reader_b.load(smem.stage[0].b, 0, fragments[0].b);
    int stage = 0;
    XGEMM_NO_UNROLL
    for (std::int64_t left = depth; left > 0; left -= kTileK) {
      if constexpr (!kReplaces) slices.start(left);
      XGEMM_UNROLL
      for (int step = 0; step < kSteps; ++step) {
        if (step == kSteps - 1) {
          slices.next();
          // After the last slice, doubles are read from it once more: loads that depend on a condition cost moves.
          if (!kReplaces || left > kTileK) stage = stage_after(stage);
        }
        const int k = (step + 1) % kSteps * kDepth;
        if constexpr (kReplaces) {
          Fragments& f = fragments[0];
          XGEMM_UNROLL
          for (int i = 0; i < kWarpM / 16; ++i) {
            XGEMM_UNROLL
            for (int n = 0; n < kWarpN / 16; ++n) {
              multiply(2 * i, n, f, sums);
              multiply(2 * i + 1, n, f, sums);
              if (i == kWarpM / 16 - 1) reader_b.load(smem.stage[stage].b, k, n, f.b);
            }
            reader_a.load(smem.stage[stage].a, k, i, f.a);
            if (step == 0 && i == 0) slices.start(left);
          }
        } else {
          if (step < kSteps - 1 || left > kTileK) {
            Fragments& next = fragments[(step + 1) % 2];
            reader_a.load(smem.stage[stage].a, k, next.a);
            reader_b.load(smem.stage[stage].b, k, next.b);
          }
          multiply_step(fragments[step % 2], sums);
        }
      }
    }
    if constexpr (kReplaces) gpu::sync_threads();
  }

  // The pairs of sums that a lane holds: f(pair of elements in shared memory, first sum).
  template <class F>
  XGEMM_DEVICE static void for_each_pair(const Sums& sums, int lane, const F& f) {
    const int n = lane / 4, m = lane % 4 * 2;
    XGEMM_UNROLL
    for (int i = 0; i < kWarpN / 8; ++i) {
      XGEMM_UNROLL
      for (int j = 0; j < kWarpM / 8; ++j)
        f(m + 8 * j, n + 8 * i, sums[i / 2][j][i % 2 * 2], sums[i / 2][j][i % 2 * 2 + 1]);
    }
  }

  template <class Output>
  XGEMM_DEVICE static void store(const Output& c, const Sums& sums, typename TileC::Storage& gathered) {
    const int lane = gpu::opaque(gpu::lane_index());
    using Pair = gpu::Vector<ElementC, 2>;
    const auto tile = TileC::view(gathered);
    if (c.reads_c()) {
      TileC::load(gathered, c, lane);
      gpu::sync_warp();
      for_each_pair(sums, lane, [&](int i, int j, Sum low, Sum high) {
        const Pair old = tile.template load<2>(i, j);
        tile.template store<2>(i, j, Pair{{c.finish(i, j, low, old[0]), c.finish(i + 1, j, high, old[1])}});
      });
    } else {
      for_each_pair(sums, lane, [&](int i, int j, Sum low, Sum high) {
        tile.template store<2>(i, j, Pair{{c.finish(i, j, low, {}), c.finish(i + 1, j, high, {})}});
      });
    }
    gpu::sync_warp();
    TileC::store(gathered, c, lane);
  }
};

}  // namespace xgemm::kernels
