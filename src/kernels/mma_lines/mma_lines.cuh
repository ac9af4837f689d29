// mma_lines: 16-bit products of a long operand whose lines lie along k and start anywhere, and a short one, both of a
// short K, by wgmma: a table of features times a matrix of weights. They take what the memory needs for the long
// operand and for C, if nothing else is done for each element of them: so lines come to shared memory as they lie, by
// vectors that begin where memory has them, not lines.
//
//   long operand    global -> shared: cp.async of 16 bytes, a tile's lines as one stretch where there are no gaps
//                   (LineRing), several tiles ahead. shared -> registers: pairs of elements, of words that are shifted
//                   where lines start off them
//   short operand   in shared memory for all tiles of a CTA, 16 k of all columns after 16 k, where wgmma reads it
//   C               in shared memory as it lies in memory (LineImage), by vectors
//
//     wait for tile i | barrier | copy tile i + stages - 1 | multiply | results | barrier | store
//
// The instruction's rows are lines, and its columns 64 or 32 of the short operand. CTAs are persistent, and take the
// short operand anew where it changes.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/kernel.cuh"
#include "kernels/common/read_line.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/sm90/tma.cuh"
#include "kernels/common/sm90/wgmma.cuh"
#include "kernels/mma_lines/instances.h"
#include "kernels/mma_lines/line_image.cuh"
#include "kernels/mma_lines/line_pairs.cuh"
#include "kernels/mma_lines/line_ring.cuh"
#include "kernels/mma_lines/line_unit.cuh"
#include "kernels/mma_lines/warp_lines.cuh"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue = LinearCombinationOf<kConfig.type>>
struct MmaLines {
  using Element = gpu::ElementOf<kConfig.type>;
  using ElementC = gpu::ElementOf<kConfig.type_c>;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr MmaLinesShape kShape = MmaLinesShape::of(kConfig);
  static constexpr int kTileM = kConfig.cta_m, kTileN = kConfig.cta_n, kTileK = kConfig.cta_k;
  static constexpr int kThreads = kConfig.threads(), kWarpgroups = kThreads / gpu::kGroupThreads;
  static constexpr int kMinBlocksPerSm = kShape.ctas_per_sm;
  static constexpr bool kStartsEarly = true;
  // A warpgroup has slabs of 64 lines, of which a warp has 16 each, and columns.
  static constexpr int kSlab = 64, kSlabs = (kShape.streams_b ? kConfig.warp_n : kConfig.warp_m) / 16;
  static constexpr int kColumns = kShape.streams_b ? kConfig.warp_m : kConfig.warp_n;
  static constexpr int kDepth = 16;    // of K, in an instruction
  static constexpr int kTogether = 2;  // steps of so much that are waited for together
  static constexpr int kWidth = kShape.width;
  static_assert(kConfig.cta_k % kDepth == 0 && kShape.lines == kSlabs * kSlab && kThreads % gpu::kGroupThreads == 0);
  static_assert(sizeof(Element) == 2 && sizeof(ElementC) == 2, "pairs are words");

  using Ring = LineRing<Element, kShape.lines, kConfig.cta_k, kThreads>;
  using Image = LineImage<ElementC, kTileM, kTileN, kThreads>;
  // The short operand: of each 16 k, a row of 32 bytes for each column, swizzled as wgmma has them.
  static constexpr int kStepElements = kWidth * kDepth;
  struct SharedStorage {
    alignas(256) Element of_short[kConfig.cta_k / kDepth * kStepElements];
    SharedArray<Element, kShape.ring_bytes / sizeof(Element)> ring;
    typename Image::Storage c;
  };
  static_assert(kShape.ctas_per_sm * (sizeof(SharedStorage) + 1024) <= 228 * 1024, "of an SM");

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage& smem) {
    gpu::grid_launch_dependents();
    const Epilogue epilogue = Epilogue::make_early(p), elements = epilogue.of_zero_sums();
    const auto units = static_cast<unsigned>(p.schedule.units), step = static_cast<unsigned>(gpu::grid_x());
    // Both operands as lines along k.
    const ConstMatrixArg b = p.b.transposed();
    const ConstMatrixArg &x = kShape.streams_b ? b : p.a, &y = kShape.streams_b ? p.a : b;
    const std::int64_t depth = epilogue.has_product ? p.k : 0;
    const Ring ring(smem.ring.data, kShape.ring_bytes, kShape.lines, x, Ring::lie_of(x, p.k),
                    kShape.streams_b ? p.n : p.m, p.k, units / tiles_of_entry(p));
    const int stages = ring.stages();
    // Slices of K, of tile after tile.
    struct Slice {
      unsigned unit;
      std::int64_t k;
    };
    const auto next_of = [&](Slice& slice) {
      slice.k += kTileK;
      if (slice.k >= depth) slice = {slice.unit + step, 0};
    };
    const auto copy = [&](Slice& slice, int stage) {
      if (slice.unit < units && depth > 0) {
        const Unit unit = line_unit<kConfig>(p, slice.unit, kShape.streams_b);
        ring.copy(stage, unit.batch, first_line(unit), kShape.lines, slice.k, Ring::most_of(depth - slice.k));
        next_of(slice);
      }
      gpu::copy_async_commit();
    };
    Slice next = {static_cast<unsigned>(gpu::block_x()), 0};
    int stage = 0;
    std::int64_t entry = -1, column = -1, from = -1;  // where what there is of the short operand begins
    auto index = next.unit;
    gpu::grid_wait_dependencies();
    XGEMM_NO_UNROLL
    for (int s = 0; s < stages - 1; ++s) copy(next, s);
    XGEMM_NO_UNROLL
    for (; index < units; index += step) {
      const Unit unit = line_unit<kConfig>(p, index, kShape.streams_b);
      const auto c = view_c<kConfig>(p, unit).template block<kTileM, kTileN>(unit.row, unit.col);
      Sums sums = {};
      XGEMM_NO_UNROLL
      for (std::int64_t k = 0; k < depth; k += kTileK) {
        if (unit.batch != entry || first_column(unit) != column || k != from) {
          entry = unit.batch, column = first_column(unit), from = k;
          gpu::sync_threads();  // the one before has been multiplied
          bring(y, entry, column, kShape.streams_b ? p.m : p.n, k, Ring::most_of(depth - k), smem);
        }
        Ring::wait_for_all_but(stages - 2);
        gpu::sync_threads();
        copy(next, stage == 0 ? stages - 1 : stage - 1);
        const Lines lines = {ring.slot(stage), ring.first(unit.batch, first_line(unit), k), ring.pitch(), lines_of(c)};
        multiply(lines, columns_of(c), Ring::most_of(depth - k), smem, sums);
        stage = stage + 1 == stages ? 0 : stage + 1;
      }
      if (depth == 0) gpu::sync_threads();  // the tile before has been stored; else a barrier has been since
      store(p, elements, c, sums, smem);
    }
    gpu::copy_async_wait<0>();
  }

 private:
  using Pairs = LinePairs<Element>;
  using Sums = float[kSlabs][kColumns / 2];  // as wgmma has them: of two lines, eight apart, and pairs of columns

  XGEMM_DEVICE static std::int64_t first_line(const Unit& unit) { return kShape.streams_b ? unit.col : unit.row; }
  XGEMM_DEVICE static std::int64_t first_column(const Unit& unit) { return kShape.streams_b ? unit.row : unit.col; }

  // Where a warp's part of a slab begins, and its warpgroup's columns.
  XGEMM_DEVICE static int warp_line() { return gpu::warp_index() % gpu::kWarpsPerGroup * 16; }
  XGEMM_DEVICE static int warp_column() { return gpu::warp_index() / gpu::kWarpsPerGroup * kColumns; }

  template <class View>
  XGEMM_DEVICE static int lines_of(const View& c) {
    return static_cast<int>(kShape.streams_b ? c.cols() : c.rows());
  }
  template <class View>
  XGEMM_DEVICE static int columns_of(const View& c) {
    return static_cast<int>(kShape.streams_b ? c.rows() : c.cols());
  }

  // A slice of the short operand's columns from `first` on, of which there are `all`; zeros stand in for what there is
  // not, but not for columns that no warpgroup has. Eight columns by four k a warp, which go to banks of their own.
  XGEMM_DEVICE static void bring(const ConstMatrixArg& y, std::int64_t entry, std::int64_t first, std::int64_t all,
                                 std::int64_t begin, int depth, SharedStorage& smem) {
    constexpr int kAcross = 8, kDeep = gpu::kWarpSize / kAcross, kStep = kThreads / gpu::kWarpSize * kAcross;
    constexpr int kBlocks = (kWidth + kStep - 1) / kStep, kAtOnce = 16;
    static_assert(kAtOnce * kDeep % kDepth == 0 && kStep % kAcross == 0);
    const int column = gpu::warp_index() * kAcross + gpu::lane_index() % kAcross;
    const int lane_k = gpu::lane_index() / kAcross, whole = (depth + kDepth - 1) / kDepth * kDepth;
    const int columns = static_cast<int>(all - first < kWidth ? all - first : kWidth);
    const int filled = (columns + kColumns - 1) / kColumns * kColumns;
    const std::uint16_t* from[kBlocks];
    XGEMM_UNROLL
    for (int b = 0; b < kBlocks; ++b)
      from[b] = static_cast<const std::uint16_t*>(y.data) + entry * y.batch_stride +
                (first + column + b * kStep) * y.row_stride + (begin + lane_k) * y.col_stride;
    // Of four columns in turn the halves of 16 k change places.
    const int swap = column / 4 % 2 * (kDepth / 2);
    Element* to[2] = {smem.of_short + column * kDepth + lane_k + swap, smem.of_short + column * kDepth + lane_k - swap};
    XGEMM_NO_UNROLL
    for (int k = lane_k; k < whole; k += kAtOnce * kDeep) {
      std::uint16_t values[kBlocks][kAtOnce];
      XGEMM_UNROLL
      for (int u = 0; u < kAtOnce; ++u) {
        XGEMM_UNROLL
        for (int b = 0; b < kBlocks; ++b) {
          values[b][u] = gpu::read_line_or_zero(from[b], column + b * kStep < columns && k + u * kDeep < depth);
          from[b] += kDeep * y.col_stride;
        }
      }
      XGEMM_UNROLL
      for (int u = 0; u < kAtOnce; ++u) {
        const int in_step = u * kDeep % kDepth, at = u * kDeep / kDepth * kStepElements + in_step;
        XGEMM_UNROLL
        for (int b = 0; b < kBlocks; ++b) {
          if (column + b * kStep < filled && k + u * kDeep < whole) {
            gpu::write<Space::shared>(to[in_step >= kDepth / 2] + at + b * kStep * kDepth, Element{values[b][u]});
          } else {
            gpu::skip_store<Space::shared>();
          }
        }
      }
      XGEMM_UNROLL
      for (Element*& part : to) part += kAtOnce * kDeep / kDepth * kStepElements;
    }
    gpu::fence_async_shared();  // wgmma reads it
  }

  template <class View>
  XGEMM_DEVICE static void store(const TileParams& p, const Epilogue& epilogue, const View& c, const Sums& sums,
                                 SharedStorage& smem) {
    const Image image(smem.c, c);
    if (epilogue.reads_c()) {
      image.load();
      gpu::sync_threads();
      finish<true, false>(p, epilogue, image, sums);
    } else if (kShape.streams_b && image.in_pairs()) {
      finish<false, true>(p, epilogue, image, sums);
    } else {
      finish<false, false>(p, epilogue, image, sums);
    }
    gpu::sync_threads();
    image.store();
  }

  // The linear combination does not look at the place of an element. Beyond the last column of C there is room for what
  // is not stored, but not beyond each one's last row. kInPairs: columns of C are pairs, which are words.
  template <bool kReadsC, bool kInPairs>
  XGEMM_DEVICE static void finish(const TileParams& p, const Epilogue& epilogue, const Image& image, const Sums& sums) {
    static_assert(std::is_same_v<Epilogue, LinearCombinationOf<kConfig.type>>);
    const int line = warp_line() + gpu::lane_index() / 4, column = warp_column() + gpu::lane_index() % 4 * 2;
    const int lines = kShape.streams_b ? image.cols() : image.rows();
    const int columns = kShape.streams_b ? image.rows() : image.cols();
    ElementC* const first = kShape.streams_b ? image.at(column, line) : image.at(line, column);
    const int to_line = kShape.streams_b ? image.pitch() : 1, to_column = kShape.streams_b ? 1 : image.pitch();
    XGEMM_UNROLL
    for (int n = 0; n < kColumns / 8; ++n) {
      if (warp_column() + 8 * n >= columns) break;
      XGEMM_UNROLL
      for (int i = 0; i < 2 * kSlabs; ++i) {
        const int l = i / 2 * kSlab + i % 2 * 8;
        ElementC* const to = first + l * to_line + 8 * n * to_column;
        float results[2];
        XGEMM_UNROLL
        for (int e = 0; e < 2; ++e) {
          float old = 0;
          if constexpr (kReadsC) {
            if (line + l < lines && column + 8 * n + e < columns) {
              old = gpu::to_sum<ElementC>(gpu::read<Space::shared>(to + e * to_column));
            } else {
              gpu::skip_load<Space::shared>();
            }
          }
          results[e] = epilogue.template apply<kReadsC>(sums[i / 2][4 * n + i % 2 * 2 + e], old, 0, 0, p);
        }
        const std::uint32_t pair = gpu::pack_pair<ElementC>(results[0], results[1]);
        const auto store = [&](auto* at, const auto& part, bool inside) {
          if (inside) {
            gpu::write<Space::shared>(at, part);
          } else {
            gpu::skip_store<Space::shared>();
          }
        };
        if constexpr (kInPairs) {
          store(reinterpret_cast<std::uint32_t*>(to), pair, column + 8 * n < columns);
        } else {
          XGEMM_UNROLL
          for (int e = 0; e < 2; ++e)
            store(to + e * to_column, ElementC{static_cast<std::uint16_t>(e == 0 ? pair : pair >> 16)},
                  kShape.streams_b ? column + 8 * n + e < columns : line + l < lines);
        }
      }
    }
  }

  // A slice's lines in their slot.
  struct Lines {
    const Element* slot;
    int first, pitch, number;
  };

  XGEMM_DEVICE static void multiply(const Lines& lines, int columns, int depth, const SharedStorage& smem, Sums& sums) {
    // The same in all lanes, which the compiler has to know.
    if (gpu::shuffle(warp_column(), 0) >= columns) return;
    if (((lines.first | lines.pitch) & 1) == 0) {
      multiply<false>(lines, depth, smem, sums);
    } else {
      multiply<true>(lines, depth, smem, sums);
    }
  }

  // kShifts: lines may start off words.
  template <bool kShifts>
  XGEMM_DEVICE static void multiply(const Lines& lines, int depth, const SharedStorage& smem, Sums& sums) {
    // What lies beyond the last line is multiplied as well, and not stored: there the last line stands again.
    const int lane = gpu::lane_index(), lanes_k = lane % 4 * 2;
    Pairs of_lines[kSlabs][2];
    XGEMM_UNROLL
    for (int i = 0; i < 2 * kSlabs; ++i) {
      const int line = i / 2 * kSlab + warp_line() + i % 2 * 8 + lane / 4;
      const int at = lines.first + (line < lines.number ? line : lines.number - 1) * lines.pitch + lanes_k;
      of_lines[i / 2][i % 2] = Pairs::of(lines.slot, at);
    }
    constexpr int kBytes = kStepElements * static_cast<int>(sizeof(Element));
    std::uint64_t of_short = gpu::wgmma_descriptor(smem.of_short + warp_column() * kDepth, 32, 16, 256);
    const auto add = [&](auto number, const auto& mask_of) {
      constexpr int kSteps = decltype(number)::value;
      std::uint32_t fragments[kSteps][kSlabs][4];
      XGEMM_UNROLL
      for (int step = 0; step < kSteps; ++step) {
        XGEMM_UNROLL
        for (int i = 0; i < 4 * kSlabs; ++i) {
          const int k = step * kDepth + i / 2 % 2 * 8;
          fragments[step][i / 4][i % 4] = of_lines[i / 4][i % 2].template at<kShifts>(k, mask_of(k));
        }
      }
      gpu::wgmma_fence();
      XGEMM_UNROLL
      for (int step = 0; step < kSteps; ++step) {
        XGEMM_UNROLL
        for (int i = 0; i < kSlabs; ++i)
          gpu::wgmma_of_registers<Element, kColumns>(sums[i], fragments[step][i],
                                                     gpu::wgmma_advance(of_short, step * kBytes));
      }
      gpu::wgmma_commit();
      of_short = gpu::wgmma_advance(of_short, kSteps * kBytes);
      XGEMM_UNROLL
      for (int i = 0; i < 2 * kSlabs; ++i) of_lines[i / 2][i % 2].words += kSteps * kDepth;
      gpu::wgmma_wait<0>();
    };
    using One = std::integral_constant<int, 1>;
    using Several = std::integral_constant<int, kTogether>;
    const auto all = [](int) { return Pairs::kAll; };
    int left = depth;
    XGEMM_NO_UNROLL
    for (; left >= kTogether * kDepth; left -= kTogether * kDepth) add(Several{}, all);
    if (left >= kDepth) add(One{}, all);
    if (left % kDepth != 0) add(One{}, [&](int k) { return Pairs::mask_of(left % kDepth - lanes_k - k); });
    XGEMM_UNROLL
    for (auto& slab : sums) {
      XGEMM_UNROLL
      for (float& sum : slab) gpu::keep_register(sum);
    }
  }
};

}  // namespace xgemm::kernels
