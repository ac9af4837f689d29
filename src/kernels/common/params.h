// What a kernel is told about a problem: plain data, the same on host, device and simulator.
//
// Layout convention. Matrices are described by element strides, so a transposed operand is the same matrix with its two
// strides swapped and kernels know no flags: op(A) is m x k, op(B) is k x n, C is m x n. One stride of each operand is
// normally 1 (the contiguous axis); which one is part of a kernel's TileConfig: it decides how tiles are loaded.
// C always has row_stride 1 (column-major): a row-major C is computed as its transpose.
//
// All extents and strides are 64-bit, and what is an offset in memory is multiplied in 64 bits.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/activation.h"
#include "core/fill.h"
#include "core/portability.h"
#include "kernels/common/schedule.h"

namespace xgemm::kernels {

// What batch_stride is where data is an array, in device memory, of pointers to the matrices of a batch: a stride that
// no memory has, so that parameters are as short as without. A kernel that starts waits for each of their lines.
constexpr std::int64_t kStrideOfPointers = INT64_MIN;
XGEMM_HOST_DEVICE constexpr bool is_of_pointers(std::int64_t batch_stride) {
  return batch_stride == kStrideOfPointers;
}

// Element (i, j) of batch entry b lies at data[b * batch_stride + i * row_stride + j * col_stride], or, found by a
// pointer, at data[b][i * row_stride + j * col_stride].
template <class Pointer>
struct BasicMatrixArg {
  Pointer data;
  std::int64_t row_stride;
  std::int64_t col_stride;
  std::int64_t batch_stride;

  XGEMM_HOST_DEVICE bool by_pointers() const { return is_of_pointers(batch_stride); }
  // Whether each matrix of the batch starts on a vector of 16 bytes. Those that are found by pointers may: kernels
  // look.
  bool may_start_on_vectors(int element_bytes, std::int64_t batch_count) const {
    if (by_pointers()) return true;
    return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 &&
           (batch_count <= 1 || batch_stride % (16 / element_bytes) == 0);
  }
  // The same memory, axes swapped.
  XGEMM_HOST_DEVICE BasicMatrixArg transposed() const { return {data, col_stride, row_stride, batch_stride}; }
};
using ConstMatrixArg = BasicMatrixArg<const void*>;
using MatrixArg = BasicMatrixArg<void*>;

// A factor of an epilogue, of the type in which its kernel keeps sums: float or double.
struct Factor {
  union {
    float f32;
    double f64;
  };
  const void* device;  // read instead of the value when it is not null

  static Factor of(float value, const void* device = nullptr) { return {{.f32 = value}, device}; }
  static Factor of(double value, const void* device = nullptr) { return {{.f64 = value}, device}; }

  template <class Sum>
  XGEMM_HOST_DEVICE Sum value() const {
    if constexpr (std::is_same_v<Sum, float>) {
      return f32;
    } else {
      static_assert(std::is_same_v<Sum, double>);
      return f64;
    }
  }

  template <class Sum>
  XGEMM_HOST_DEVICE bool is_zero() const {
    return device == nullptr && value<Sum>() == Sum{0};
  }
};

// What an epilogue computes with, beside sums and old C.
struct EpilogueArguments {
  Factor alpha;
  Factor beta;
  Fill fill = Fill::full;  // of C: other elements are not touched
};

// Of a launch that is enqueued before it is known whether it shall compute: it does if the word, which kernels before
// it write, is `value` or is not, as `equal` says, and leaves C alone otherwise. For kernels of the families whose
// params have it.
struct Condition {
  unsigned* word = nullptr;  // null: it computes
  unsigned value = 0;
  bool equal = true;
};

// What becomes of alpha times a sum before it is rounded, in kernels that finish it themselves (FamilyInfo::finishes).
struct Finishing {
  const void* bias = nullptr;  // elements of C's type; null: none
  bool bias_of_rows = false;   // an element for each row of C, else for each column
  Activation activation = Activation::none;
  const float* row_scales = nullptr;  // null: 1
  const float* column_scales = nullptr;

  XGEMM_HOST_DEVICE bool any() const {
    return bias != nullptr || activation != Activation::none || row_scales != nullptr || column_scales != nullptr;
  }
};

struct GemmParams : EpilogueArguments {
  ConstMatrixArg a;  // op(A), m x k; not read when alpha is 0
  ConstMatrixArg b;  // op(B), k x n; not read when alpha is 0
  MatrixArg c;       // m x n, row_stride 1; not read when beta is 0
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t batch_count;
  ConstMatrixArg c_copy = {};  // of old C, for kernels that need it aligned; data is null where there is none
  Condition condition = {};
  // Where A and B are given in parts: what the sums of a row, of a column are multiplied with.
  const float* factors_a = nullptr;
  const float* factors_b = nullptr;
  Finishing finishing = {};
};

// What kernels of a TileConfig are launched with.
struct TileParams : GemmParams {
  Schedule schedule;
  void* partials;  // of split tiles: a tile of sums, column after column, for each partial unit
};

}  // namespace xgemm::kernels
