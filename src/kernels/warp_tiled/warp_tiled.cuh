// warp_tiled: tiny products, alone and in batches of thousands, and products with few k. A warp computes a tile of C
// from registers alone: operands come to the lanes that multiply them straight from global memory, so that nothing
// waits for a barrier and an SM has many products under way.
//
//                      B: lane's columns
//                    |    |    |    |    |      lane 4 g + t stores rows [g R, g R + R) and columns [t S, t S + S)
//               -----+----+----+----+----+      of the tile: R = cta_m / 8, S = cta_n / 4.
//   A: lane's   g = 0| t=0  1    2    3  |
//   rows            1|                   |      In fp32 it brings those rows of A and columns of B, for all k of a
//                  ..|                   |      slice; lanes with the same rows (columns) read the same addresses.
//                   7|                   |
//
// On tensor cores, lane 4 g + t brings rows [g R, g R + R) of A and columns [g S / 2, g S / 2 + S / 2) of B, of the
// t-th quarter of the slice. An mma sums over k in any order and its rows and columns may be any, if A, B and C agree:
// so what lies together in memory belongs to one lane, and its vectors are fragments as they come. Row 2 i + h of a
// lane is row g + 8 h of tile i of the instruction, column j of a lane column g of tile j, and a lane's columns of C
// follow: the instruction gives it columns 2 t and 2 t + 1 of each tile, which are t S + j and t S + S / 2 + j.
//
// Vectors run along whichever axis is contiguous and aligned; else elements come one by one.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/aligned.cuh"
#include "kernels/common/kernel.cuh"
#include "kernels/common/mma.cuh"
#include "kernels/common/read_line.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/store_block.cuh"
#include "kernels/warp_tiled/instances.h"
#include "kernels/warp_tiled/staged.cuh"

namespace xgemm::kernels {

// kFollows: the matrices of a batch are found by pointers, and each is looked at for where it starts.
template <TileConfig kConfig, class Epilogue, bool kFollows>
struct WarpTiled {
  using ByPointers = WarpTiled<kConfig, Epilogue, true>;
  using Element = gpu::ElementOf<kConfig.type>;
  using ElementC = gpu::ElementOf<kConfig.type_c>;
  using Sum = typename Epilogue::Sum;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr WarpTiledShape kShape = WarpTiledShape::of(kConfig);
  static constexpr bool kOnTensorCores = kConfig.on_tensor_cores();
  static constexpr bool kPairs = sizeof(Element) == 2;  // a register of the tensor cores has two elements
  static constexpr int kTileM = kConfig.cta_m, kTileN = kConfig.cta_n, kTileK = kConfig.cta_k;
  static constexpr int kRows = kShape.rows, kColumns = kShape.columns, kLinesB = kShape.lines_b;
  static constexpr int kDepth = kShape.depth;
  static constexpr int kWarps = WarpTiledShape::kWarps;
  static constexpr int kThreads = kWarps * gpu::kWarpSize;
  static constexpr int kMinBlocksPerSm = kShape.ctas_per_sm;
  static constexpr bool kStartsEarly = true;
  static_assert(kTileM % 16 == 0 && kTileN % 16 == 0, "tiles of mma.m16n8, of which lanes have rows in pairs");

  using SharedStorage = NoSharedStorage;

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage&) {
    if constexpr (kFollows) prefetch_pointers<kThreads>(p.batch_count, gpu::thread_index(), p.c, p.a, p.b);
    gpu::grid_launch_dependents();
    if constexpr (kFollows) gpu::grid_wait_dependencies();  // pointers are read at once
    const Epilogue epilogue = Epilogue::make_early(p);
    const int g = gpu::lane_index() / 4, t = gpu::lane_index() % 4;
    const int k = kOnTensorCores ? t * kDepth : 0;
    A a(p.a, p.m, p.k, g * kRows, k);
    B b(p.b.transposed(), p.n, p.k, (kOnTensorCores ? g : t) * kLinesB, k);
    constexpr int kVectorC = WarpTiledShape::vector(sizeof(Sum), kRows);
    const bool may_be_in_vectors = ((p.c.col_stride | p.m) & (kVectorC - 1)) == 0;
    bool in_vectors = may_be_in_vectors && (kFollows || starts_aligned<kVectorC, ElementC>(p.c));
    const std::int64_t depth = epilogue.has_product ? p.k : 0;
    XGEMM_NO_UNROLL
    for (std::int64_t index = gpu::block_x() * kWarps + gpu::warp_index(); index < p.schedule.units;
         index += gpu::grid_x() * kWarps) {
      const Unit unit = tile_at(p, index);
      a.go_to(unit.batch, unit.row);
      b.go_to(unit.batch, unit.col);
      gpu::grid_wait_dependencies();
      Sums sums = {};
      multiply(a, b, depth, sums);
      const std::int64_t row = unit.row + g * kRows, col = unit.col + t * kColumns;
      const auto view = view_c<kConfig, kFollows>(p, unit).template block<kRows, kColumns>(row, col);
      // All of C, which the compiler is to know: the family computes no triangles.
      const OutputTile<Epilogue, std::remove_const_t<decltype(view)>> c(epilogue, p, view, row, col, Fill::full);
      if constexpr (kFollows) in_vectors = may_be_in_vectors && is_aligned<kVectorC>(view.data());
      in_vectors ? store_block<kVectorC>(c, sums) : store_block<1>(c, sums);
    }
  }

 private:
  using Sums = Sum[kColumns][kRows];

  // Most products have one tile, and their number needs no division.
  XGEMM_DEVICE static Unit tile_at(const TileParams& p, std::int64_t index) {
    if (p.schedule.tiles_m == 1 && p.schedule.tiles_n == 1) return {index, p.schedule.first_tile + index, 0, 0, 0, p.k};
    return unit_at<kTileM, kTileN, kTileK>(p, index);
  }

  // What a lane keeps of operands: an element, or, for the tensor cores, two of neighbouring k.
  using Register = std::conditional_t<kPairs, std::uint32_t, Element>;
  static constexpr int kInRegister = kPairs ? 2 : 1;

  // A lane's part of slices of A, or of B transposed: `kLines` lines, which run along K. Vectors run along K, or across
  // the lines, and are as wide as either allows.
  template <int kLines>
  struct Operand {
    static constexpr int kAlong = WarpTiledShape::vector(sizeof(Element), kDepth);
    static constexpr int kAcross = WarpTiledShape::vector(sizeof(Element), kLines);

    ConstMatrixArg x;
    std::int64_t extent, depth;  // what there is from the lane's first line and k of a tile on
    bool along, across;          // how vectors run, if they do
    const Element* origin;       // this lane's first element of the first tile,
    const Element* first;        // and of the present one,
    int lines;                   // and its lines there
    gpu::Vector<Register, kAlong / kInRegister> plain[kLines][kDepth / kAlong];
    gpu::Vector<Register, kAcross / kInRegister> turned[kDepth][kLines / kAcross];

    // arg: op(A), or op(B) transposed, of so many lines; a lane begins at so many lines and k in a tile.
    XGEMM_DEVICE Operand(const ConstMatrixArg& arg, std::int64_t all_lines, std::int64_t all_depth, int line, int k)
        : x(arg), extent(all_lines - line), depth(all_depth - k) {
      along =
          starts_aligned<kAlong, Element>(x) && x.col_stride == 1 && ((x.row_stride | all_depth) & (kAlong - 1)) == 0;
      across =
          starts_aligned<kAcross, Element>(x) && x.row_stride == 1 && ((x.col_stride | all_lines) & (kAcross - 1)) == 0;
      origin = static_cast<const Element*>(x.data) + line * x.row_stride + k * x.col_stride;
    }

    XGEMM_DEVICE void go_to(std::int64_t batch, std::int64_t line) {
      if constexpr (!kFollows) {
        first = origin + batch * x.batch_stride + line * x.row_stride;
      } else {
        // `origin` is from the array on. Lines and k that lanes begin at are whole vectors.
        const auto* const matrix = entry_of<const Element>(x, batch);
        first = matrix + (origin - static_cast<const Element*>(x.data)) + line * x.row_stride;
        along = is_aligned<kAlong>(matrix) && x.col_stride == 1 && ((x.row_stride | depth) & (kAlong - 1)) == 0;
        across = is_aligned<kAcross>(matrix) && x.row_stride == 1 && ((x.col_stride | extent) & (kAcross - 1)) == 0;
      }
      lines = static_cast<int>(extent - line < kLines ? extent - line : kLines);
    }

    // Brings the slice at k0; kTurned: by vectors across the lines. Vectors lie inside or outside as a whole.
    template <bool kTurned>
    XGEMM_DEVICE void load(std::int64_t k0) {
      const auto left = static_cast<int>(depth - k0 < kDepth ? depth - k0 : kDepth);
      const Element* from = first + k0 * x.col_stride;
      if constexpr (kTurned) {
        XGEMM_UNROLL
        for (int d = 0; d < kDepth; ++d, from += x.col_stride) {
          XGEMM_UNROLL
          for (int l = 0; l < kLines; l += kAcross)
            turned[d][l / kAcross] = read_or_zero<Register, kAcross / kInRegister>(from + l, l < lines && d < left);
        }
      } else if (along) {
        XGEMM_UNROLL
        for (int l = 0; l < kLines; ++l, from += x.row_stride) {
          XGEMM_UNROLL
          for (int d = 0; d < kDepth; d += kAlong)
            plain[l][d / kAlong] = read_or_zero<Register, kAlong / kInRegister>(from + d, l < lines && d < left);
        }
      } else {
        XGEMM_UNROLL
        for (int l = 0; l < kLines; ++l, from += x.row_stride) {
          XGEMM_UNROLL
          for (int d = 0; d < kDepth; d += kInRegister) {
            Register& to = plain[l][d / kAlong][d % kAlong / kInRegister];
            const Element element = read_or_zero<Element, 1>(from + d * x.col_stride, l < lines && d < left)[0];
            if constexpr (kPairs) {
              const Element next =
                  read_or_zero<Element, 1>(from + (d + 1) * x.col_stride, l < lines && d + 1 < left)[0];
              to = element.bits | std::uint32_t{next.bits} << 16;
            } else {
              to = element;
            }
          }
        }
      }
      if constexpr (kTurned && kPairs) {
        XGEMM_UNROLL
        for (int d = 0; d < kDepth; d += 2) {
          XGEMM_UNROLL
          for (int l = 0; l < kLines; l += 2) {
            const Register element = turned[d][l / kAcross][l % kAcross / 2];
            const Register next = turned[d + 1][l / kAcross][l % kAcross / 2];
            plain[l][d / kAlong][d % kAlong / 2] = (element & 0xffffu) | next << 16;
            plain[l + 1][d / kAlong][d % kAlong / 2] = element >> 16 | (next & 0xffff0000u);
          }
        }
      }
    }

    template <bool kTurned>
    XGEMM_DEVICE Register at(int line, int index) const {
      if constexpr (kTurned && !kPairs) return turned[index][line / kAcross][line % kAcross];
      return plain[line][index * kInRegister / kAlong][index % (kAlong / kInRegister)];
    }
  };

  // Operands are small, so that a line's neighbours are those of the next slices.
  template <class T, int kNumber>
  XGEMM_DEVICE static gpu::Vector<T, kNumber> read_or_zero(const Element* from, bool inside) {
    return gpu::read_line_or_zero(reinterpret_cast<const gpu::Vector<T, kNumber>*>(from), inside);
  }

  using A = Operand<kRows>;
  using B = Operand<kLinesB>;

  // Code of its own for each way in which the operands may come: what came in vectors stays where it came.
  XGEMM_DEVICE static void multiply(A& a, B& b, std::int64_t depth, Sums& sums) {
    Fragments fragments = {};
    XGEMM_NO_UNROLL
    for (std::int64_t k0 = 0; k0 < depth; k0 += kTileK) {
      if constexpr (kPairs) {
        a.across ? a.template load<true>(k0) : a.template load<false>(k0);
        b.across ? b.template load<true>(k0) : b.template load<false>(k0);
        add_fragments<false, false>(a, b, fragments);
      } else if (a.across) {
        b.across ? add<true, true>(a, b, k0, sums, fragments) : add<true, false>(a, b, k0, sums, fragments);
      } else {
        b.across ? add<false, true>(a, b, k0, sums, fragments) : add<false, false>(a, b, k0, sums, fragments);
      }
    }
    if constexpr (kOnTensorCores) {
      XGEMM_UNROLL
      for (int j = 0; j < kColumns; ++j) {
        XGEMM_UNROLL
        for (int i = 0; i < kRows; ++i) sums[j][i] = fragments[i / 2][j % kLinesB][i % 2 * 2 + j / kLinesB];
      }
    }
  }

  // Tiles of the instruction: of a lane's rows two at a time, and each of its lines of B.
  using Fragments = Sum[kRows / 2][kLinesB][4];

  template <bool kTurnedA, bool kTurnedB>
  XGEMM_DEVICE static void add(A& a, B& b, std::int64_t k0, Sums& sums, Fragments& fragments) {
    a.template load<kTurnedA>(k0);
    b.template load<kTurnedB>(k0);
    if constexpr (kOnTensorCores) {
      add_fragments<kTurnedA, kTurnedB>(a, b, fragments);
    } else {
      XGEMM_UNROLL
      for (int d = 0; d < kDepth; ++d) {
        XGEMM_UNROLL
        for (int j = 0; j < kColumns; ++j) {
          XGEMM_UNROLL
          for (int i = 0; i < kRows; ++i)
            sums[j][i] = gpu::fma(a.template at<kTurnedA>(i, d), b.template at<kTurnedB>(j, d), sums[j][i]);
        }
      }
    }
  }

  template <bool kTurnedA, bool kTurnedB>
  XGEMM_DEVICE static void add_fragments(const A& a, const B& b, Fragments& fragments) {
    XGEMM_UNROLL
    for (int r = 0; r < kDepth / kInRegister; r += 2) {
      XGEMM_UNROLL
      for (int i = 0; i < kRows / 2; ++i) {
        const auto of_a = [&](int row, int index) { return a.template at<kTurnedA>(2 * i + row, r + index); };
        const Register registers_a[4] = {of_a(0, 0), of_a(1, 0), of_a(0, 1), of_a(1, 1)};
        XGEMM_UNROLL
        for (int j = 0; j < kLinesB; ++j) {
          const Register registers_b[2] = {b.template at<kTurnedB>(j, r), b.template at<kTurnedB>(j, r + 1)};
          gpu::mma<Element>(fragments[i][j], registers_a, registers_b);
        }
      }
    }
  }
};

}  // namespace xgemm::kernels
