// mma_lines: 16-bit products of a long operand whose lines lie along k and start anywhere, and a short one, both of a
// short K, by mma.sync (sm_80): a table of features times a matrix of weights. They take what the memory needs for the
// long operand and for C, if nothing else is done for each element of them: so lines come to shared memory as they lie,
// by vectors that begin where memory has them, not lines.
//
//   long operand    global -> shared: cp.async of 16 bytes, a tile's lines as one stretch where there are no gaps
//                   (LineRing), several tiles ahead. shared -> registers: pairs of elements, of words that are shifted
//                   where lines start off them
//   short operand   in shared memory for all tiles of a CTA, in lines along k; ldmatrix
//   C               in shared memory as it lies in memory (LineImage), by vectors
//
//     wait for tile i | barrier | copy tile i + stages - 1 | multiply | results | barrier | store
//
// The instruction's rows are lines, its columns those of the short operand. A warp has 32 x 32 of C. CTAs are
// persistent, and take the short operand anew where it changes.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/fragments.cuh"
#include "kernels/common/kernel.cuh"
#include "kernels/common/mma.cuh"
#include "kernels/common/read_line.cuh"
#include "kernels/common/sm90/cluster.cuh"
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
  static constexpr int kThreads = kConfig.threads();
  static constexpr int kMinBlocksPerSm = kShape.ctas_per_sm;
  static constexpr bool kStartsEarly = true;
  static constexpr int kWarp = 32;   // lines, and columns, of a warp
  static constexpr int kDepth = 16;  // of K, in an instruction
  static constexpr int kBlock = 16;  // columns that are multiplied together, or not at all
  static_assert(kConfig.warp_m == kWarp && kConfig.warp_n == kWarp && kConfig.cta_k % kDepth == 0);
  static_assert(sizeof(Element) == 2 && sizeof(ElementC) == 2, "pairs are words");

  using Ring = LineRing<Element, kShape.lines, kConfig.cta_k, kThreads>;
  using Image = LineImage<ElementC, kTileM, kTileN, kThreads>;
  // The short operand's lines are an odd number of vectors apart, of an even number of those: ldmatrix finds eight of
  // them in banks of their own.
  static constexpr int kPad = 8;
  struct SharedStorage {
    SharedArray<Element, kShape.ring_bytes / sizeof(Element)> ring;
    SharedArray<Element, kShape.width*(kConfig.cta_k + kPad)> of_short;
    typename Image::Storage c;
  };
  static_assert(kShape.ctas_per_sm * (sizeof(SharedStorage) + 1024) <= 228 * 1024, "of an SM");

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage& smem) {
    gpu::grid_launch_dependents();
    gpu::grid_wait_dependencies();
    const Epilogue epilogue = Epilogue::make(p), elements = epilogue.of_zero_sums();
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
  using Sums = float[2][4][4];  // of two times 16 lines and four times eight columns

  XGEMM_DEVICE static std::int64_t first_line(const Unit& unit) { return kShape.streams_b ? unit.col : unit.row; }
  XGEMM_DEVICE static std::int64_t first_column(const Unit& unit) { return kShape.streams_b ? unit.row : unit.col; }

  // Where the warp's part of the tile begins, along lines and across.
  XGEMM_DEVICE static int warp_line() { return gpu::warp_index() % (kShape.lines / kWarp) * kWarp; }
  XGEMM_DEVICE static int warp_column() { return gpu::warp_index() / (kShape.lines / kWarp) * kWarp; }

  template <class View>
  XGEMM_DEVICE static int lines_of(const View& c) {
    return static_cast<int>(kShape.streams_b ? c.cols() : c.rows());
  }
  template <class View>
  XGEMM_DEVICE static int columns_of(const View& c) {
    return static_cast<int>(kShape.streams_b ? c.rows() : c.cols());
  }

  XGEMM_DEVICE static int steps(int depth) { return (depth + kDepth - 1) / kDepth; }
  XGEMM_DEVICE static int pitch(int depth) { return steps(depth) * kDepth + kPad; }

  // A slice of the short operand's lines from `first` on, of which there are `all`; zeros stand in for what there is
  // not. Eight lines by four k a warp, which go to banks of their own.
  XGEMM_DEVICE static void bring(const ConstMatrixArg& y, std::int64_t entry, std::int64_t first, std::int64_t all,
                                 std::int64_t begin, int depth, SharedStorage& smem) {
    constexpr int kLines = 8, kWidth = gpu::kWarpSize / kLines;
    constexpr int kStep = kThreads / gpu::kWarpSize * kLines, kBlocks = kShape.width / kStep, kAtOnce = 16;
    static_assert(kBlocks * kStep == kShape.width);
    const int line = gpu::warp_index() * kLines + gpu::lane_index() % kLines, lane_k = gpu::lane_index() / kLines;
    const int lines = static_cast<int>(all - first < kShape.width ? all - first : kShape.width);
    const int whole = steps(depth) * kDepth, rows = (lines + kBlock - 1) / kBlock * kBlock;
    const auto* from = static_cast<const std::uint16_t*>(y.data) + entry * y.batch_stride +
                       (first + line) * y.row_stride + (begin + lane_k) * y.col_stride;
    Element* to = smem.of_short.data + line * pitch(depth) + lane_k;
    XGEMM_NO_UNROLL
    for (int k = lane_k; k < whole; k += kAtOnce * kWidth) {
      std::uint16_t values[kBlocks][kAtOnce];
      const std::uint16_t* source = from;
      XGEMM_UNROLL
      for (int u = 0; u < kAtOnce; ++u, source += kWidth * y.col_stride) {
        XGEMM_UNROLL
        for (int l = 0; l < kBlocks; ++l)
          values[l][u] = gpu::read_line_or_zero(source + l * kStep * y.row_stride,
                                                line + l * kStep < lines && k + u * kWidth < depth);
      }
      from = source;
      XGEMM_UNROLL
      for (int u = 0; u < kAtOnce; ++u) {
        XGEMM_UNROLL
        for (int l = 0; l < kBlocks; ++l) {
          if (line + l * kStep < rows && k + u * kWidth < whole) {
            gpu::write<Space::shared>(to + l * kStep * pitch(depth) + u * kWidth, Element{values[l][u]});
          } else {
            gpu::skip_store<Space::shared>();
          }
        }
      }
      to += kAtOnce * kWidth;
    }
  }

  template <class View>
  XGEMM_DEVICE static void store(const TileParams& p, const Epilogue& epilogue, const View& c, const Sums& sums,
                                 SharedStorage& smem) {
    const Image image(smem.c, c);
    const bool inside = warp_line() < lines_of(c) && warp_column() < columns_of(c);
    if (epilogue.reads_c()) {
      image.load();
      gpu::sync_threads();
      if (inside) finish<true, false>(p, epilogue, image, sums);
    } else if (inside) {
      const bool whole = kShape.streams_b ? warp_column() + kWarp <= image.rows() : warp_line() + kWarp <= image.rows();
      if (whole) {
        finish<false, true>(p, epilogue, image, sums);
      } else {
        finish<false, false>(p, epilogue, image, sums);
      }
    }
    gpu::sync_threads();
    image.store();
  }

  // The linear combination does not look at the place of an element. kWhole: all of the warp's part lies within columns
  // of C. What lies beyond the last of these has room, and is not stored.
  template <bool kReadsC, bool kWhole>
  XGEMM_DEVICE static void finish(const TileParams& p, const Epilogue& epilogue, const Image& image, const Sums& sums) {
    static_assert(std::is_same_v<Epilogue, LinearCombinationOf<kConfig.type>>);
    const int line = warp_line() + gpu::lane_index() / 4, column = warp_column() + gpu::lane_index() % 4 * 2;
    const int lines = kShape.streams_b ? image.cols() : image.rows();
    const int columns = kShape.streams_b ? image.rows() : image.cols();
    ElementC* const first = kShape.streams_b ? image.at(column, line) : image.at(line, column);
    const int to_line = kShape.streams_b ? image.pitch() : 1, to_column = kShape.streams_b ? 1 : image.pitch();
    XGEMM_UNROLL
    for (int n = 0; n < 4; ++n) {
      if (warp_column() + 8 * n >= columns) break;
      XGEMM_UNROLL
      for (int l = 0; l < 4; ++l) {
        ElementC* const to[2] = {first + 8 * l * to_line + 8 * n * to_column,
                                 first + 8 * l * to_line + (8 * n + 1) * to_column};
        const auto inside = [&](int e) {
          return kWhole || (kShape.streams_b ? column + 8 * n + e < columns : line + 8 * l < lines);
        };
        float results[2];
        XGEMM_UNROLL
        for (int e = 0; e < 2; ++e) {
          float old = 0;
          if constexpr (kReadsC) {
            if (inside(e) && (kShape.streams_b ? line + 8 * l < lines : column + 8 * n + e < columns)) {
              old = gpu::to_sum<ElementC>(gpu::read<Space::shared>(to[e]));
            } else {
              gpu::skip_load<Space::shared>();
            }
          }
          results[e] = epilogue.template apply<kReadsC>(sums[l / 2][n][l % 2 * 2 + e], old, 0, 0, p);
        }
        const std::uint32_t pair = gpu::pack_pair<ElementC>(results[0], results[1]);
        XGEMM_UNROLL
        for (int e = 0; e < 2; ++e) {
          if (inside(e)) {
            gpu::write<Space::shared>(to[e], ElementC{static_cast<std::uint16_t>(e == 0 ? pair : pair >> 16)});
          } else {
            gpu::skip_store<Space::shared>();
          }
        }
      }
    }
  }

  // A slice's lines in their slot.
  struct Lines {
    const Element* slot;
    int first, pitch, number;
  };

  XGEMM_DEVICE static void multiply(const Lines& lines, int columns, int depth, SharedStorage& smem, Sums& sums) {
    if (warp_line() >= lines.number || warp_column() >= columns) return;
    if (((lines.first | lines.pitch) & 1) == 0) {
      multiply<false>(lines, columns, depth, smem, sums);
    } else {
      multiply<true>(lines, columns, depth, smem, sums);
    }
  }
  using Pairs = LinePairs<Element>;

  template <bool kShifts>
  XGEMM_DEVICE static void multiply(const Lines& lines, int columns, int depth, SharedStorage& smem, Sums& sums) {
    // The lane's pairs of each of its lines. What lies beyond the last line is multiplied as well, and not stored:
    // there the last line stands again.
    const int lane = gpu::lane_index(), lanes_k = lane % 4 * 2;
    Pairs of_lines[2][2];
    XGEMM_UNROLL
    for (int b = 0; b < 2; ++b) {
      XGEMM_UNROLL
      for (int h = 0; h < 2; ++h) {
        const int line = warp_line() + 16 * b + 8 * h + lane / 4;
        const int at = lines.first + (line < lines.number ? line : lines.number - 1) * lines.pitch + lanes_k;
        of_lines[b][h] = Pairs::of(lines.slot, at);
      }
    }
    // A row of each of four matrices: eight columns by the first eight k and the others, then the next eight columns.
    const Element* of_short =
        smem.of_short.data + (warp_column() + lane / 16 * 8 + lane % 8) * pitch(depth) + lane / 8 % 2 * 8;
    const int blocks = warp_column() + kBlock < columns ? 2 : 1;
    const auto advance = [&](int elements) {
      XGEMM_UNROLL
      for (int i = 0; i < 4; ++i) of_lines[i / 2][i % 2].words += elements;
      of_short += elements;
    };
    Fragments first, second;
    int whole = depth / kDepth;
    XGEMM_NO_UNROLL
    for (; whole > 1; whole -= 2) {
      first.template load<kShifts>(of_lines, 0, Pairs::kAll, Pairs::kAll, of_short, pitch(depth), blocks);
      second.template load<kShifts>(of_lines, kDepth, Pairs::kAll, Pairs::kAll, of_short + kDepth, pitch(depth),
                                    blocks);
      first.multiply(blocks, sums);
      second.multiply(blocks, sums);
      advance(2 * kDepth);
    }
    if (whole > 0) {
      first.template load<kShifts>(of_lines, 0, Pairs::kAll, Pairs::kAll, of_short, pitch(depth), blocks);
      first.multiply(blocks, sums);
      advance(kDepth);
    }
    const int left = depth % kDepth - lanes_k;
    if (depth % kDepth != 0) {
      first.template load<kShifts>(of_lines, 0, Pairs::mask_of(left), Pairs::mask_of(left - 8), of_short, pitch(depth),
                                   blocks);
      first.multiply(blocks, sums);
    }
  }

  // Of 16 k: of the lines, and of one or two blocks of columns.
  struct Fragments {
    std::uint32_t lines[2][4], columns[2][4];

    // The masks are those of the first eight k, and of the others.
    template <bool kShifts>
    XGEMM_DEVICE void load(const Pairs (&of_lines)[2][2], int k, std::uint32_t mask, std::uint32_t mask_of_others,
                           const Element* of_short, int pitch, int blocks) {
      XGEMM_UNROLL
      for (int n = 0; n < 2; ++n)
        if (n < blocks) gpu::load_matrices<false>(columns[n], of_short + n * kBlock * pitch);
      XGEMM_UNROLL
      for (int b = 0; b < 2; ++b) {
        XGEMM_UNROLL
        for (int i = 0; i < 4; ++i)
          lines[b][i] = of_lines[b][i % 2].template at<kShifts>(k + i / 2 * 8, i < 2 ? mask : mask_of_others);
      }
    }

    XGEMM_DEVICE void multiply(int blocks, Sums& sums) const {
      XGEMM_UNROLL
      for (int n = 0; n < 2; ++n) {
        if (n == blocks) break;
        XGEMM_UNROLL
        for (int i = 0; i < 4; ++i) {
          const std::uint32_t eight[2] = {columns[n][i % 2 * 2], columns[n][i % 2 * 2 + 1]};
          gpu::mma<Element>(sums[i / 2][2 * n + i % 2], lines[i / 2], eight);
        }
      }
    }
  };
};

}  // namespace xgemm::kernels
