// The one description of a product that everything behind the API works on: canonical (column-major, flags reduced to
// N and T), checked, 64-bit.
#pragma once

#include <cstdint>
#include <string>

#include "core/dtype.h"

namespace xgemm {

enum class Op : char { none = 'N', transpose = 'T' };

// An input as stored: op(X) is X or its transpose. Strides count elements.
struct InputMatrix {
  const void* data = nullptr;
  Op op = Op::none;
  std::int64_t ld = 1;
  std::int64_t batch_stride = 0;  // 0: the same matrix for all products of the batch
};

struct OutputMatrix {
  void* data = nullptr;
  std::int64_t ld = 1;
  std::int64_t batch_stride = 0;
};

// A factor known now, or read from device memory when the work runs.
struct Scalar {
  float value = 0;
  const float* device = nullptr;

  bool known() const { return device == nullptr; }
  bool is(float x) const { return known() && value == x; }
};

// C := alpha * op(A) * op(B) + beta * C, batch_count times. op(A) is m x k, op(B) is k x n, C is m x n.
struct Problem {
  DType type = DType::f32;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batch_count = 1;
  Scalar alpha, beta;
  InputMatrix a, b;
  OutputMatrix c;

  // Whether A and B contribute: else they are not read and may be null.
  bool reads_inputs() const { return k > 0 && !alpha.is(0.0f); }
  bool reads_c() const { return !beta.is(0.0f); }

  // Whether C stays as it is (the quick return of the reference BLAS).
  bool does_nothing() const { return m == 0 || n == 0 || batch_count == 0 || (!reads_inputs() && beta.is(1.0f)); }

  // Rows and columns of A and B as stored.
  std::int64_t a_rows() const { return a.op == Op::none ? m : k; }
  std::int64_t a_cols() const { return a.op == Op::none ? k : m; }
  std::int64_t b_rows() const { return b.op == Op::none ? k : n; }
  std::int64_t b_cols() const { return b.op == Op::none ? n : k; }

  double flops() const { return 2.0 * double(m) * double(n) * double(k) * double(batch_count); }
};

// "type=s transa=N transb=T m=... ": keys and values that the benchmark's --replay reads back.
std::string to_string(const Problem& problem);

}  // namespace xgemm
