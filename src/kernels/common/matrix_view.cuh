// MatrixView: a matrix inside a kernel is data, extents and strides. Views own nothing and sub-views share storage.
//
// Element (i, j) lies at data[swizzle(i * row_stride + j * col_stride)]. Each extent and stride has a type of its own:
// Int<N> where the value is known at compile time (tiles in shared memory, the contiguous axis of an operand), int or
// int64_t where it is not. Offsets are computed in the widest of these types, so a shared-memory tile costs 32-bit
// arithmetic with folded constants and a matrix in global memory is safe for any size.
//
//   a.block<128, 8>(i0, k0)      the part of the 128 x 8 tile at (i0, k0) that lies inside a; int extents
//   a.sub(i0, j0, rows, cols)    any part of a
//   a.transposed()               the same storage, axes swapped
//   v(i, j) = x;  v(i, j) += x;  one element. Name the type in `float x = v(i, j)`: the simulator returns a proxy.
//   v.get(i, j)                  its value; of a const view in global memory, through the read-only path
//   v.load<4>(i, j)              four elements along the contiguous axis, one access
//   v.load_if<4>(p, i, j)        the same if p, else zeros; v.store_if<4>(p, i, j, vector)
//   v.load_or_zero<4>(i, j)      those of them that lie inside the view, zeros for the others
//   v.store<4>(i, j, vector)     / v.store_inside<4>: only those inside the view
//
// On the GPU a view is gone after inlining. In the simulator each access is checked against the view's extents, against
// the allocation it lies in and against what other threads do, and is counted for the source line it is written on.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/dtype.cuh"
#include "kernels/common/params.h"
#include "kernels/common/predicated.cuh"
#include "kernels/common/target.cuh"
#include "kernels/common/tile_config.h"
#include "kernels/common/units.cuh"

namespace xgemm::kernels {

using gpu::Loc;
using gpu::Space;

// An integer known at compile time, as a type.
template <int kValue>
struct Int {
  static constexpr int value = kValue;
  XGEMM_HOST_DEVICE constexpr operator int() const { return kValue; }
};

struct LinearLayout {
  XGEMM_DEVICE static constexpr int apply(int offset) { return offset; }
};

template <class T, Space kSpace_, class Rows, class Cols, class RowStride, class ColStride,
          class Swizzle = LinearLayout>
class MatrixView {
 public:
  using Element = std::remove_const_t<T>;
  static constexpr Space kSpace = kSpace_;
  // Whether neighbours along a column (row) are neighbours in memory; vectors run along that axis.
  static constexpr bool kColumnMajor = std::is_same_v<RowStride, Int<1>>;
  static constexpr bool kRowMajor = std::is_same_v<ColStride, Int<1>>;
  static constexpr bool kSwizzled = !std::is_same_v<Swizzle, LinearLayout>;

  XGEMM_DEVICE MatrixView(T* data, Rows rows, Cols cols, RowStride row_stride, ColStride col_stride)
      : data_(data), rows_(rows), cols_(cols), row_stride_(row_stride), col_stride_(col_stride) {}

  XGEMM_DEVICE T* data() const { return data_; }
  XGEMM_DEVICE Rows rows() const { return rows_; }
  XGEMM_DEVICE Cols cols() const { return cols_; }
  XGEMM_DEVICE RowStride row_stride() const { return row_stride_; }
  XGEMM_DEVICE ColStride col_stride() const { return col_stride_; }

  template <class I, class J>
  XGEMM_DEVICE bool contains(I i, J j) const {
    return i >= 0 && i < rows_ && j >= 0 && j < cols_;
  }

  // The address of an element; nothing is accessed or checked.
  template <class I, class J>
  XGEMM_DEVICE T* address(I i, J j) const {
    return data_ + offset(i, j);
  }

  template <class I, class J>
  XGEMM_DEVICE gpu::Reference<kSpace, T> operator()(I i, J j, Loc loc = Loc::current()) const {
    gpu::check_bounds<std::int64_t, std::int64_t>(i, j, rows_, cols_, loc);
    return gpu::make_reference<kSpace, T>(address(i, j), loc);
  }

  template <class I, class J>
  XGEMM_DEVICE Element get(I i, J j, Loc loc = Loc::current()) const {
    return load<1>(i, j, loc)[0];
  }

  // kWidth elements along the contiguous axis, starting at (i, j), all of them inside the view.
  template <int kWidth, class I, class J>
  XGEMM_DEVICE gpu::Vector<Element, kWidth> load(I i, J j, Loc loc = Loc::current()) const {
    check_vector<kWidth>(i, j, loc);
    const auto* p = reinterpret_cast<const gpu::Vector<Element, kWidth>*>(address(i, j));
    if constexpr (kSpace == Space::global && std::is_const_v<T>) {
      return gpu::read_constant(p, loc);
    } else {
      return gpu::read<kSpace>(p, loc);
    }
  }

  template <int kWidth, class I, class J>
  XGEMM_DEVICE void store(I i, J j, const gpu::Vector<Element, kWidth>& value, Loc loc = Loc::current()) const {
    check_vector<kWidth>(i, j, loc);
    gpu::write<kSpace>(reinterpret_cast<gpu::Vector<Element, kWidth>*>(address(i, j)), value, loc);
  }

  // The same where a predicate says so, without a branch; else zeros, and nothing is stored.
  template <int kWidth>
  XGEMM_DEVICE gpu::Vector<Element, kWidth> load_if(bool inside, int i, int j, Loc loc = Loc::current()) const {
    static_assert(kSpace == Space::global);
    if (inside) check_vector<kWidth>(i, j, loc);
    return gpu::read_if(inside, reinterpret_cast<const gpu::Vector<Element, kWidth>*>(address(i, j)), loc);
  }
  template <int kWidth>
  XGEMM_DEVICE void store_if(bool inside, int i, int j, const gpu::Vector<Element, kWidth>& value,
                             Loc loc = Loc::current()) const {
    static_assert(kSpace == Space::global);
    if (inside) check_vector<kWidth>(i, j, loc);
    gpu::write_if(inside, reinterpret_cast<gpu::Vector<Element, kWidth>*>(address(i, j)), value, loc);
  }

  // How many of the kWidth elements from (i, j) along the contiguous axis lie inside the view: 0 to kWidth.
  template <int kWidth>
  XGEMM_DEVICE int count_inside(int i, int j) const {
    static_assert(kWidth == 1 || kColumnMajor || kRowMajor, "vectors need a contiguous axis known at compile time");
    if constexpr (kWidth == 1) {
      return i < rows_ && j < cols_ ? 1 : 0;
    } else if constexpr (kColumnMajor) {
      const int left = static_cast<int>(rows_) - i;
      return j >= cols_ || left <= 0 ? 0 : (left < kWidth ? left : kWidth);
    } else {
      const int left = static_cast<int>(cols_) - j;
      return i >= rows_ || left <= 0 ? 0 : (left < kWidth ? left : kWidth);
    }
  }

  // A full vector is one access; a vector cut by the edge is loaded element by element, so nothing outside is read.
  template <int kWidth>
  XGEMM_DEVICE gpu::Vector<Element, kWidth> load_or_zero(int i, int j, Loc loc = Loc::current()) const {
    const int inside = count_inside<kWidth>(i, j);
    if (inside == kWidth) return load<kWidth>(i, j, loc);
    gpu::Vector<Element, kWidth> value{};
    if (inside == 0) {
      gpu::skip_load<kSpace>(loc);
    } else {
      XGEMM_UNROLL
      for (int e = 0; e < kWidth - 1; ++e) {
        if (e < inside) value[e] = load<1>(i + (kColumnMajor ? e : 0), j + (kColumnMajor ? 0 : e), loc)[0];
      }
    }
    return value;
  }

  template <int kWidth>
  XGEMM_DEVICE void store_inside(int i, int j, const gpu::Vector<Element, kWidth>& value,
                                 Loc loc = Loc::current()) const {
    const int inside = count_inside<kWidth>(i, j);
    if (inside == kWidth) {
      store<kWidth>(i, j, value, loc);
    } else if (inside == 0) {
      gpu::skip_store<kSpace>(loc);
    } else {
      XGEMM_UNROLL
      for (int e = 0; e < kWidth - 1; ++e) {
        if (e < inside) {
          store<1>(i + (kColumnMajor ? e : 0), j + (kColumnMajor ? 0 : e), gpu::Vector<Element, 1>{{value[e]}}, loc);
        }
      }
    }
  }

  // The rows x cols part at (i, j), which must lie inside this view.
  template <class I, class J, class SubRows, class SubCols>
  XGEMM_DEVICE auto sub(I i, J j, SubRows rows, SubCols cols, Loc loc = Loc::current()) const {
    static_assert(!kSwizzled, "a swizzle is relative to the origin of its view");
    gpu::check_bounds<std::int64_t, std::int64_t>(i, j, static_cast<std::int64_t>(rows_) + 1,
                                                  static_cast<std::int64_t>(cols_) + 1, loc);
    gpu::check_bounds<std::int64_t, std::int64_t>(i + rows, j + cols, static_cast<std::int64_t>(rows_) + 1,
                                                  static_cast<std::int64_t>(cols_) + 1, loc);
    return MatrixView<T, kSpace, SubRows, SubCols, RowStride, ColStride>(address(i, j), rows, cols, row_stride_,
                                                                         col_stride_);
  }

  // What lies inside this view of the kRows x kCols tile at (i, j): extents are ints between 0 and the tile's.
  template <int kRows, int kCols, class I, class J>
  XGEMM_DEVICE auto block(I i, J j) const {
    static_assert(!kSwizzled, "a swizzle is relative to the origin of its view");
    return MatrixView<T, kSpace, int, int, RowStride, ColStride>(address(i, j), clamp<kRows>(rows_ - i),
                                                                 clamp<kCols>(cols_ - j), row_stride_, col_stride_);
  }

  XGEMM_DEVICE auto transposed() const {
    return MatrixView<T, kSpace, Cols, Rows, ColStride, RowStride, Swizzle>(data_, cols_, rows_, col_stride_,
                                                                            row_stride_);
  }

 private:
  template <class I, class J>
  XGEMM_DEVICE auto offset(I i, J j) const {
    if constexpr (kSwizzled) {
      return Swizzle::apply(i * row_stride_ + j * col_stride_);
    } else {
      return i * row_stride_ + j * col_stride_;
    }
  }

  template <int kMax, class N>
  XGEMM_DEVICE static int clamp(N n) {
    return n <= 0 ? 0 : (n < kMax ? static_cast<int>(n) : kMax);
  }

  template <int kWidth, class I, class J>
  XGEMM_DEVICE void check_vector(I i, J j, Loc loc) const {
    static_assert(kWidth == 1 || kColumnMajor || kRowMajor, "vectors need a contiguous axis known at compile time");
    gpu::check_bounds<std::int64_t, std::int64_t>(i, j, rows_, cols_, loc);
    if constexpr (kWidth > 1) {
      gpu::check_bounds<std::int64_t, std::int64_t>(i + (kColumnMajor ? kWidth - 1 : 0),
                                                    j + (kColumnMajor ? 0 : kWidth - 1), rows_, cols_, loc);
    }
  }

  T* data_;
  Rows rows_;
  Cols cols_;
  RowStride row_stride_;
  ColStride col_stride_;
};

// A matrix in global memory as a kernel receives it. The contiguous axis gets a static stride of 1.
enum class Contiguous : std::uint8_t { row, col, none };  // row: along the row index, as in a column-major matrix

XGEMM_HOST_DEVICE constexpr Contiguous contiguous(layout::Axis axis, bool any_strides = false) {
  if (any_strides) return Contiguous::none;
  return axis == layout::Axis::row ? Contiguous::row : Contiguous::col;
}

// Where a matrix of a batch begins. by_pointers: of all operands, or of none.
template <class T, class Arg>
XGEMM_DEVICE T* entry_of(const Arg& arg, std::int64_t batch, bool by_pointers, Loc loc = Loc::current()) {
  if (by_pointers) return gpu::read<Space::global>(static_cast<T* const*>(arg.data) + batch, loc);
  return static_cast<T*>(arg.data) + batch * arg.batch_stride;
}
template <class T, class Arg>
XGEMM_DEVICE T* entry_of(const Arg& arg, std::int64_t batch, Loc loc = Loc::current()) {
  return entry_of<T>(arg, batch, arg.by_pointers(), loc);
}

// kThreads threads of each CTA ask for the pointers of all entries, so that no later unit waits for the memory twice,
// for a pointer and then for what is there. args: of those that are found by pointers.
template <int kThreads, class... Args>
XGEMM_DEVICE void prefetch_pointers(std::int64_t entries, int thread, const Args&... args) {
  constexpr std::int64_t kOfLine = 128 / sizeof(void*);
  const std::int64_t last = entries - 1, step = gpu::grid_x() * kThreads;
  const auto prefetch = [&](const auto& x) {
    if (!x.by_pointers()) return;
    for (std::int64_t line = thread * gpu::grid_x() + gpu::block_x(); line * kOfLine < last + kOfLine; line += step)
      gpu::prefetch(static_cast<const void* const*>(x.data) + (line * kOfLine < last ? line * kOfLine : last));
  };
  (prefetch(args), ...);
}

// What all lanes of a warp have, and the compiler knows that they have the same, as TMA wants it (sm90/tma.cuh).
template <class T>
XGEMM_DEVICE T* uniform(T* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const std::uint64_t low = gpu::shuffle(static_cast<std::uint32_t>(address), 0);
  const std::uint64_t high = gpu::shuffle(static_cast<std::uint32_t>(address >> 32), 0);
  return reinterpret_cast<T*>(high << 32 | low);
}
template <class T, class Arg>
XGEMM_DEVICE T* uniform_entry_of(const Arg& arg, std::int64_t batch, bool by_pointers, Loc loc = Loc::current()) {
  return uniform(entry_of<T>(arg, batch, by_pointers, loc));
}

// data: the view's first element.
template <Contiguous kContiguous, class T, class Arg>
XGEMM_DEVICE auto view_from(T* data, const Arg& arg, std::int64_t rows, std::int64_t cols) {
  using Extent = std::int64_t;
  if constexpr (kContiguous == Contiguous::row) {
    return MatrixView<T, Space::global, Extent, Extent, Int<1>, Extent>(data, rows, cols, {}, arg.col_stride);
  } else if constexpr (kContiguous == Contiguous::col) {
    return MatrixView<T, Space::global, Extent, Extent, Extent, Int<1>>(data, rows, cols, arg.row_stride, {});
  } else {
    return MatrixView<T, Space::global, Extent, Extent, Extent, Extent>(data, rows, cols, arg.row_stride,
                                                                        arg.col_stride);
  }
}

// kFollows: whether entries may be found by pointers.
template <class T, Contiguous kContiguous, bool kFollows = false, class Arg>
XGEMM_DEVICE auto global_view(const Arg& arg, std::int64_t rows, std::int64_t cols, std::int64_t batch = 0) {
  return view_from<kContiguous>(entry_of<T>(arg, batch, kFollows && arg.by_pointers()), arg, rows, cols);
}

// A tile in shared memory: everything static.
template <int kRows, int kCols, int kRowStride, int kColStride, class Swizzle = LinearLayout, class T>
XGEMM_DEVICE auto shared_view(T* data) {
  return MatrixView<T, Space::shared, Int<kRows>, Int<kCols>, Int<kRowStride>, Int<kColStride>, Swizzle>(data, {}, {},
                                                                                                         {}, {});
}

// The matrices of a unit of work: what of op(A) and op(B) it sums, C, and, of a part of a tile, the sums in the
// workspace. by_pointers: whether they are found by pointers, which are read then.
template <TileConfig kConfig>
XGEMM_DEVICE auto view_a(const GemmParams& p, const Unit& unit, bool by_pointers = false) {
  auto* const a = entry_of<const gpu::ElementOf<kConfig.type>>(p.a, unit.batch, by_pointers);
  return view_from<contiguous(kConfig.a_contiguous, kConfig.any_strides)>(a + unit.k * p.a.col_stride, p.a, p.m,
                                                                          unit.depth);
}
template <TileConfig kConfig>
XGEMM_DEVICE auto view_b(const GemmParams& p, const Unit& unit, bool by_pointers = false) {
  auto* const b = entry_of<const gpu::ElementOf<kConfig.type>>(p.b, unit.batch, by_pointers);
  return view_from<contiguous(kConfig.b_contiguous, kConfig.any_strides)>(b + unit.k * p.b.row_stride, p.b, unit.depth,
                                                                          p.n);
}
template <TileConfig kConfig, bool kFollows = false>
XGEMM_DEVICE auto view_c(const GemmParams& p, const Unit& unit) {
  return global_view<gpu::ElementOf<kConfig.type_c>, Contiguous::row, kFollows>(p.c, p.m, p.n, unit.batch);
}
template <TileConfig kConfig>
XGEMM_DEVICE auto view_sums(const TileParams& p, const Unit& unit) {
  constexpr int kM = kConfig.cta_m, kN = kConfig.cta_n;
  using Sum = gpu::SumOf<kConfig.type>;
  return MatrixView<Sum, Space::global, Int<kM>, Int<kN>, Int<1>, Int<kM>>(
      static_cast<Sum*>(p.partials) + p.schedule.partial_index(unit.index) * (kM * kN), {}, {}, {}, {});
}

}  // namespace xgemm::kernels
