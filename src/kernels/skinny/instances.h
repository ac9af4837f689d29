// The instances of skinny: fp32 products that are narrow along n, which stream A, and along m, which stream B; with
// vectors of 16 bytes, and of one element for operands that start anywhere; of those with a ring, both operands come in
// vectors. And products with a vector, of any type, or with a few in 16 bits, which take operands as they lie.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/common/instance_list.h"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue>
struct Skinny;
template <TileConfig kConfig, class Epilogue>
struct FewColumns;
template <TileConfig kConfig, class Epilogue, bool kFollows = false>
struct MatrixVector;
template <TileConfig kConfig, class Epilogue>
struct WideRows;
template <TileConfig kConfig, class Epilogue, bool kFollows = false>
struct ShortRows;
template <TileConfig kConfig, class Epilogue>
struct Narrow;
template <TileConfig kConfig, class Epilogue, bool kFollows = false>
struct NarrowRows;

// What follows from a config.
struct SkinnyShape {
  static constexpr int kWarps = 8;

  // Of those with a ring of slots, to which cp.async brings a Y along k, and X as it lies (few_columns.cuh).
  static constexpr bool has_ring(const TileConfig& c) { return c.copy == Copy::async; }
  static constexpr int kRingRows = 32, kRingDepth = 256;
  static constexpr int kMostSharers = 4;  // CTAs of a cluster that share K
  // Of shared memory: the ring, the sums of warps that share k, and those of the cluster's other CTAs, in two buffers.
  static constexpr int ring_bytes(const TileConfig& c) {
    const SkinnyShape s = of(c);
    const int shares = s.along_k ? 2 : kWarps, sums = (s.rows + 32 / s.width) * s.width;
    return 4 * (c.stages * c.cta_k * (s.rows + s.width) + shares * sums + 2 * (kMostSharers - 1) * s.rows * s.width);
  }

  bool streams_b;   // else A
  bool along_k;     // the streamed operand is contiguous along k, else along its other axis
  int rows, width;  // of a tile: along the streamed operand, and across

  static constexpr SkinnyShape of(const TileConfig& c) {
    const bool streams_b = c.cta_m < c.cta_n;
    return {streams_b, streams_b ? c.b_contiguous == Axis::row : c.a_contiguous == Axis::col,
            streams_b ? c.cta_n : c.cta_m, streams_b ? c.cta_m : c.cta_n};
  }
};

// The same of the instances for vectors.
struct VectorShape {
  static constexpr int kLongSlice = 256, kShortSlice = 128, kShortRow = 64, kNarrowStep = 32;
  static constexpr int kGathered = 2048;  // elements of a y that is put together in shared memory
  static constexpr int kNarrowRows = 64;  // of a warp, of narrow products
  static constexpr int kManyRows = 256;   // of a tile whose warps have rows of their own
  static constexpr int kWideAtOnce = 12;

  // Rows of which a warp brings all of a k at once: in vectors of 16 bytes, which enclose them wherever they start.
  static constexpr int wide_rows(DType type) { return 31 * 16 / size_of(type); }

  // Who has what of the matrix: a warp a row, and its lanes share k; all warps the same rows, and they share k; or a
  // warp many rows, hundreds that lie side by side or as many as lanes. Narrow ones on the tensor cores: as the second,
  // or the last.
  enum class Kind : std::uint8_t { row_of_warp, shared_rows, wide_rows, short_rows, narrow, narrow_rows };

  Kind kind;
  int rows;  // of a tile
  int warps;
  int ctas_per_sm;

  // Loads of the matrix that a thread has under way, of so many elements.
  constexpr int at_once(int element_bytes, int width) const {
    if (kind == Kind::wide_rows) return width == 1 ? 1 : kWideAtOnce;
    if (width == 1) return element_bytes == 8 ? 8 : 16;
    return kind == Kind::row_of_warp && element_bytes > 2 ? 8 : 4;
  }

  // Whether a warp has the rows of two tasks at once, in fp32: of vectors of 16 bytes, and so short that half of its
  // loads bring one.
  constexpr bool pairs_rows(int element_bytes, std::int64_t depth) const {
    return kind == Kind::row_of_warp && element_bytes == 4 && depth % 4 == 0 && depth <= 32 * 4 * kLoadsOfPair;
  }
  static constexpr int kLoadsOfPair = 4;  // of each row

  // The k that a warp, or warps that share a tile's k, have under way. x_along_k: how the matrix lies.
  constexpr int step(int element_bytes, int width, bool x_along_k) const {
    const int words = element_bytes == 8 ? 2 : 1;  // of a sum
    if (is_narrow()) return (kind == Kind::narrow ? warps : 1) * kNarrowStep;
    if (kind == Kind::wide_rows) return at_once(element_bytes, width);
    if (kind == Kind::short_rows && x_along_k) return 4 * width * (width == 1 ? 4 : 2) / words;
    if (kind == Kind::short_rows) return width * (width == 1 ? 16 : 8) / words;
    return (kind == Kind::row_of_warp ? 32 : warps) * width * at_once(element_bytes, width);
  }

  static constexpr int kColumns = 8;  // that narrow products have at once

  static constexpr bool is(const TileConfig& c) { return c.cta_m == c.cta_n; }
  static constexpr VectorShape of(const TileConfig& c) {
    if (c.cta_m == wide_rows(c.type) && c.cta_k == kShortRow) return {Kind::wide_rows, c.cta_m, 8, 2};
    if (c.cta_m == kNarrowRows) return {Kind::narrow, c.cta_m, 8, 2};
    if (c.cta_m == kManyRows && size_of(c.type) == 2) return {Kind::narrow_rows, c.cta_m, 4, 4};
    if (c.cta_m == kManyRows) return {Kind::short_rows, c.cta_m, 8, c.type == DType::f64 ? 2 : 3};
    if (c.cta_m == 8) return {Kind::row_of_warp, c.cta_m, 8, 4};
    return c.cta_k == kLongSlice ? VectorShape{Kind::shared_rows, c.cta_m, 32, 1}
                                 : VectorShape{Kind::shared_rows, c.cta_m, 8, 4};
  }
  // Whether each vector of a tile is a task of its own, which other CTAs have, or other warps; and how many a tile has,
  // of a product that has so many.
  constexpr bool has_tasks() const {
    return kind == Kind::row_of_warp || kind == Kind::shared_rows || kind == Kind::wide_rows;
  }
  static constexpr int tasks_of_tile(std::int64_t vectors, int rows) {
    return static_cast<int>(vectors < rows ? vectors : rows);
  }
  constexpr int tasks_of_tile(std::int64_t vectors) const { return has_tasks() ? tasks_of_tile(vectors, rows) : 1; }
  // Of wide rows: 1, 2, 4 or 8 warps of a CTA share the k of a task, as a power of two: more than one where a product
  // has few tasks, and each warp more k than it has under way. The order of sums depends on it, so it is the same for
  // any number of SMs.
  static constexpr int sharer_bits(std::int64_t tasks, std::int64_t depth) {
    constexpr int kWarpsOfGpu = 2048;
    int bits = 0;
    while (bits < 3 && tasks << (bits + 1) <= kWarpsOfGpu && depth > kWideAtOnce << bits) ++bits;
    return bits;
  }
  // Whether CTAs of a cluster may share K.
  constexpr bool shares_k() const {
    return kind == Kind::row_of_warp || kind == Kind::shared_rows || kind == Kind::narrow;
  }
  constexpr bool is_narrow() const { return kind == Kind::narrow || kind == Kind::narrow_rows; }
  constexpr bool warps_share_k() const { return kind == Kind::shared_rows || kind == Kind::narrow; }
};

template <>
struct Instances<Family::skinny> : TileInstances {
  template <TileConfig kConfig, VectorShape::Kind kKind>
  static constexpr bool kIs = VectorShape::of(kConfig).kind == kKind;
  template <TileConfig kConfig, class Epilogue = LinearCombinationOf<kConfig.type>>
  using OfColumns = std::conditional_t<kIs<kConfig, VectorShape::Kind::narrow>, Narrow<kConfig, Epilogue>,
                                       NarrowRows<kConfig, Epilogue>>;
  template <TileConfig kConfig, class Epilogue = LinearCombinationOf<kConfig.type>>
  using OfTasks = std::conditional_t<kIs<kConfig, VectorShape::Kind::wide_rows>, WideRows<kConfig, Epilogue>,
                                     MatrixVector<kConfig, Epilogue>>;
  template <TileConfig kConfig, class Epilogue = LinearCombinationOf<kConfig.type>>
  using OfVectors = std::conditional_t<VectorShape::of(kConfig).is_narrow(), OfColumns<kConfig, Epilogue>,
                                       std::conditional_t<kIs<kConfig, VectorShape::Kind::short_rows>,
                                                          ShortRows<kConfig, Epilogue>, OfTasks<kConfig, Epilogue>>>;
  template <TileConfig kConfig>
  using OfFew = std::conditional_t<SkinnyShape::has_ring(kConfig), FewColumns<kConfig, LinearCombination>,
                                   Skinny<kConfig, LinearCombination>>;
  template <TileConfig kConfig>
  using Kernel = std::conditional_t<VectorShape::is(kConfig), OfVectors<kConfig>, OfFew<kConfig>>;

  template <class Add>
  static constexpr void list(const Add& add) {
    for (const int width : {4, 8})
      for (const int vector : {4, 1})
        for (const bool streams_b : {false, true})
          for (const Axis a : {Axis::row, Axis::col})
            for (const Axis b : {Axis::row, Axis::col}) {
              TileConfig c = {.type = DType::f32, .a_contiguous = a, .b_contiguous = b, .vector = vector};
              const bool along_k = streams_b ? b == Axis::row : a == Axis::col;
              // As fast are single elements of operands across k, and of eight columns or rows beside an A along k;
              // four rows instead of eight with both across.
              if (vector > 1 && !along_k) continue;
              if (width == 8 && a == Axis::col && (vector > 1 || (streams_b && !along_k))) continue;
              // Along k a warp has a few lines, and its lanes lie along them. Else lanes lie across the lines, and
              // warps share k.
              const int rows = along_k ? SkinnyShape::kWarps * width / 2 : 128;
              c.cta_m = streams_b ? width : rows;
              c.cta_n = streams_b ? rows : width;
              c.cta_k = !along_k ? 64 : vector == 1 || width == 8 ? 128 : 256;
              (streams_b ? c.single_a : c.single_b) = true;  // the narrow operand comes element by element
              c.vector_c = 1;
              c.raster_group = 1;
              add(c);
            }
    for (const int width : {4, 8, 16})
      for (const bool streams_b : {false, true})
        for (const bool along_k : {true, false}) {
          if (width == 16 && !along_k) continue;  // ffma_tma is as fast
          TileConfig c = {.type = DType::f32, .copy = Copy::async, .vector = 4};
          c.stages = width == 4 ? 6 : width == 8 ? 5 : 4;
          c.a_contiguous = streams_b || along_k ? Axis::col : Axis::row;
          c.b_contiguous = streams_b && !along_k ? Axis::col : Axis::row;
          c.cta_m = streams_b ? width : SkinnyShape::kRingRows;
          c.cta_n = streams_b ? SkinnyShape::kRingRows : width;
          c.cta_k = SkinnyShape::kRingDepth;
          c.vector_c = 1;
          c.raster_group = 1;
          c.min_compute_capability = 90;  // measured nowhere else
          add(c);
        }
    const auto add_vectors = [&](DType type, DType type_c, int rows, int slice) {
      TileConfig c = {.type = type, .type_c = type_c, .any_strides = true, .vector_c = 1};
      c.cta_m = c.cta_n = rows;
      c.cta_k = slice;
      c.raster_group = 1;
      c.min_compute_capability = 90;  // measured nowhere else
      add(c);
    };
    const auto add_all = [&](DType type, DType type_c) {
      const auto add_one = [&](int rows, int slice) { add_vectors(type, type_c, rows, slice); };
      const bool is_narrow = size_of(type) == 2;
      add_one(8, VectorShape::kLongSlice);
      if (type_c == type) add_one(32, VectorShape::kLongSlice);
      add_one(32, VectorShape::kShortSlice);
      if (type != DType::f64) add_one(VectorShape::wide_rows(type), VectorShape::kShortRow);
      add_one(VectorShape::kManyRows, is_narrow ? VectorShape::kShortSlice : VectorShape::kShortRow);
      if (is_narrow) add_one(VectorShape::kNarrowRows, VectorShape::kLongSlice);
    };
    for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16}) add_all(type, type);
    for (const DType type : {DType::f16, DType::bf16}) add_all(type, DType::f32);
  }
  static constexpr KernelInfo common(const TileConfig& c) {
    return {.config = c, .threads = 32 * (VectorShape::is(c) ? VectorShape::of(c).warps : SkinnyShape::kWarps)};
  }
};

}  // namespace xgemm::kernels
