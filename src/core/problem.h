// The one description of a product that everything behind the API works on: canonical (column-major, flags reduced to
// N and T), checked, 64-bit. core/problem_fields.h lists its members; one that is added is added there too.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "core/activation.h"
#include "core/compute.h"
#include "core/dtype.h"
#include "core/fill.h"
#include "core/prepared.h"

namespace xgemm {

enum class Op : char { none = 'N', transpose = 'T' };

// How the matrices of a batch are found. A single product is a strided batch of one. Where no kernel follows pointers
// on a GPU, the matrices are copied (core/pointer_batch.h).
enum class BatchKind : std::uint8_t {
  strided,  // batch_stride elements from one to the next
  pointers  // data points to batch_count pointers
};

// Whose elements those of a vector belong to.
enum class Along : std::uint8_t { none, rows, columns };

// What becomes of x = alpha * op(A) * op(B) + beta * C before it is stored: activation(x + bias), times the scales of
// its row and of its column. How that is computed: core/finishing.h.
struct Epilogue {
  Activation activation = Activation::none;
  Along bias_along = Along::none;
  const void* bias = nullptr;           // elements of C's type
  const void* row_scales = nullptr;     // of the type in which sums are kept; null: 1
  const void* column_scales = nullptr;  // likewise
  // What beta multiplies where it is not C itself: of C's type, and disjoint from C, which is only written then.
  const void* old_c = nullptr;
  std::int64_t ld_old_c = 0;
  std::int64_t stride_old_c = 0;

  // What the activation is given, for gradients: of C's type, or, of ReLU, bits that say whether it is 0 or more.
  void* aux = nullptr;
  std::int64_t ld_aux = 0;
  std::int64_t stride_aux = 0;

  bool any() const { return *this != Epilogue{}; }
  bool aux_is_bits() const { return activation == Activation::relu; }
  bool operator==(const Epilogue&) const = default;
};

// An input as stored: op(X) is X or its transpose. Strides count elements; `ld` is that between columns. BLAS describes
// plain matrices, whose columns are contiguous (`step` is 1) and lie one behind the other. In others both strides may
// be any numbers.
struct InputMatrix {
  DType type = DType::f32;
  const void* data = nullptr;
  Op op = Op::none;
  std::int64_t ld = 1;
  std::int64_t batch_stride = 0;             // 0: the same matrix for all products of the batch
  std::int64_t step = 1;                     // between neighbours in a column
  const xgemm_prepared* prepared = nullptr;  // what xgemm_prepare() made of it, or of what it is a part of; or null

  // Of element (i, j) of op(X), from the first one.
  constexpr std::int64_t offset(std::int64_t i, std::int64_t j) const { return i * row_stride() + j * col_stride(); }
  constexpr std::int64_t row_stride() const { return op == Op::none ? step : ld; }
  constexpr std::int64_t col_stride() const { return op == Op::none ? ld : step; }
  bool operator==(const InputMatrix&) const = default;
};

struct OutputMatrix {
  DType type = DType::f32;
  void* data = nullptr;
  std::int64_t ld = 1;
  std::int64_t batch_stride = 0;
  std::int64_t step = 1;

  constexpr std::int64_t offset(std::int64_t i, std::int64_t j) const { return i * step + j * ld; }
  bool operator==(const OutputMatrix&) const = default;
};

// Whether a matrix of so many rows, as stored, is plain.
template <class Matrix>
constexpr bool is_plain(const Matrix& x, std::int64_t rows) {
  return x.step == 1 && x.ld >= rows;
}

// Any matrix, so many elements further on.
template <class Pointer>
Pointer moved(Pointer data, std::int64_t elements, DType type) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const char, char>;
  return data == nullptr ? nullptr : static_cast<Byte*>(data) + elements * size_of(type);
}

// A factor known now, or read from device memory when the work runs. It has the type in which sums are kept
// (TypeInfo::sums), in device memory as well; a double holds the values of all of these types.
struct Scalar {
  double value = 0;
  const void* device = nullptr;

  constexpr bool known() const { return device == nullptr; }
  constexpr bool is(double x) const { return known() && value == x; }
  bool operator==(const Scalar&) const = default;
};

// C := alpha * op(A) * op(B) + beta * C, batch_count times, and what the epilogue makes of it. op(A) is m x k, op(B) is
// k x n, C is m x n.
struct Problem {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batch_count = 1;
  BatchKind batch_kind = BatchKind::strided;
  Fill fill = Fill::full;  // of C; m equals n where it is a triangle
  Compute compute = Compute::strict;
  Epilogue epilogue;
  Scalar alpha, beta;
  InputMatrix a, b;
  OutputMatrix c;

  bool operator==(const Problem&) const = default;

  ProductTypes types() const { return {a.type, b.type, c.type}; }
  DType sums() const { return sums_of(a.type); }

  // Whether A and B contribute: else they are not read and may be null.
  bool reads_inputs() const { return k > 0 && !alpha.is(0.0f); }
  bool reads_c() const { return !beta.is(0.0f); }

  // Whether C stays as it is (the quick return of the reference BLAS).
  bool does_nothing() const {
    return m == 0 || n == 0 || batch_count == 0 || (!reads_inputs() && beta.is(1.0f) && !epilogue.any());
  }

  bool by_pointers() const { return batch_kind == BatchKind::pointers; }
  // Whether all products of the batch have this matrix.
  template <class Matrix>
  bool shares(const Matrix& x) const {
    return x.batch_stride == 0 && !by_pointers();
  }

  bool has_plain_a() const { return is_plain(a, a_rows()); }
  bool has_plain_b() const { return is_plain(b, b_rows()); }
  bool has_plain_c() const { return is_plain(c, m); }

  // Rows and columns of A and B as stored.
  std::int64_t a_rows() const { return a.op == Op::none ? m : k; }
  std::int64_t a_cols() const { return a.op == Op::none ? k : m; }
  std::int64_t b_rows() const { return b.op == Op::none ? k : n; }
  std::int64_t b_cols() const { return b.op == Op::none ? n : k; }

  double flops() const { return 2.0 * elements() * double(k); }
  // That inputs and C take in memory, C twice where it is read.
  double bytes() const {
    const auto matrices = [&](const InputMatrix& x) { return shares(x) ? 1.0 : double(batch_count); };
    const double depth = reads_inputs() ? double(k) : 0.0;
    return depth * (matrices(a) * double(m) * size_of(a.type) + matrices(b) * double(n) * size_of(b.type)) +
           elements() * size_of(c.type) * (reads_c() ? 2 : 1);
  }
  // That are computed.
  double elements() const {
    return double(batch_count) * (fill == Fill::full ? double(m) * double(n) : double(n) * (double(n) + 1) / 2);
  }
};

// "type=s transa=N transb=T ... m=128 n=64 ... layout=col": keys and values that the benchmark's --replay reads back.
// What has its usual value is left out: type_b and type_c where they equal type, kind of batch, compute mode, and what
// an epilogue does not have.
std::string to_string(const Problem& problem);

// "f16", or "f16 with C in f32".
std::string to_string(const ProductTypes& types);

}  // namespace xgemm
