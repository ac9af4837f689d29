// One product through the C ABI, from making its operands to judging C and what must not have been touched.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <type_traits>
#include <utility>

#include "device_matrix.h"
#include "xgemm.h"

namespace xgemm::gpu_test {

struct CallSpec {
  char transa = 'N', transb = 'N';
  std::int64_t m = 1, n = 1, k = 1;
  double alpha = 1, beta = 0;  // rounded to the type of the call's scalars
  bool row_major = false;
  std::int64_t pad_a = 0, pad_b = 0, pad_c = 0;        // leading dimension beyond its least value
  std::int64_t shift_a = 0, shift_b = 0, shift_c = 0;  // elements off alignment
  Fill fill = Fill::full;                              // of C as it is stored in the call's layout
  std::int64_t batch = 1;
  std::int64_t gap = 0;  // between the matrices of a batch
  bool shares_a = false, shares_b = false;
  Memory a = Memory::device, b = Memory::device, c = Memory::device;
  std::uint64_t seed = 1;
};

inline std::ostream& operator<<(std::ostream& out, const CallSpec& s) {
  return out << s.transa << s.transb << (s.row_major ? " row-major" : "") << " m=" << s.m << " n=" << s.n
             << " k=" << s.k << " alpha=" << s.alpha << " beta=" << s.beta << " pads " << s.pad_a << " " << s.pad_b
             << " " << s.pad_c << " shifts " << s.shift_a << " " << s.shift_b << " " << s.shift_c
             << " fill=" << static_cast<int>(s.fill) << " batch=" << s.batch << " gap=" << s.gap
             << (s.shares_a ? " one A" : "") << (s.shares_b ? " one B" : "") << " A " << name_of(s.a) << " B "
             << name_of(s.b) << " C " << name_of(s.c);
}

template <class T>
inline constexpr xgemm_type kTypeOf = XGEMM_F32;
template <>
inline constexpr xgemm_type kTypeOf<double> = XGEMM_F64;
template <>
inline constexpr xgemm_type kTypeOf<Half> = XGEMM_F16;
template <>
inline constexpr xgemm_type kTypeOf<Bfloat16> = XGEMM_BF16;

// A and B of T, C in fp32.
template <class T>
struct WideC {};

// What a call is made of: one type for all operands, or WideC of one.
template <class T>
struct Types {
  using Input = T;
  using Output = T;
};
template <class T>
struct Types<WideC<T>> {
  using Input = T;
  using Output = float;
};
// fp32 in XGEMM_MATH_TF32, whose products are exact: the bound is that of strict sums.
template <>
struct Types<Tf32> {
  using Input = Tf32;
  using Output = float;
};

template <class T>
class Call {
 public:
  using Input = typename Types<T>::Input;
  using Output = typename Types<T>::Output;
  using Scalar = std::conditional_t<std::is_same_v<Input, double>, double, float>;

  // What a, b and c hold can be set before run(), with refill().
  Operand<Input> a, b;
  Operand<Output> c;

  explicit Call(const CallSpec& spec)
      : spec_(spec), alpha_(static_cast<Scalar>(spec.alpha)), beta_(static_cast<Scalar>(spec.beta)) {
    // In column-major terms: a row-major product is that of the transposes, operands and extents swapped.
    const std::int64_t m = spec.m, n = spec.n, k = spec.k;
    const bool reads = k > 0 && spec.alpha != 0;
    std::int64_t a_rows = spec.transa == 'N' ? m : k, a_cols = spec.transa == 'N' ? k : m;
    std::int64_t b_rows = spec.transb == 'N' ? k : n, b_cols = spec.transb == 'N' ? n : k;
    std::int64_t c_rows = m, c_cols = n;
    if (spec.row_major) {
      std::swap(a_rows, a_cols);
      std::swap(b_rows, b_cols);
      std::swap(c_rows, c_cols);
    }
    const auto layout = [&](std::int64_t rows, std::int64_t cols, std::int64_t pad, std::int64_t shift, bool shared) {
      Layout l{rows, cols, std::max<std::int64_t>(1, rows) + pad, shared ? 1 : spec.batch, 0, shift};
      l.stride = l.ld * std::max<std::int64_t>(1, cols) + spec.gap;
      return l;
    };
    a = Operand<Input>(layout(a_rows, a_cols, spec.pad_a, spec.shift_a, spec.shares_a), {spec.seed * 3 + 1, !reads},
                       spec.a);
    b = Operand<Input>(layout(b_rows, b_cols, spec.pad_b, spec.shift_b, spec.shares_b), {spec.seed * 3 + 2, !reads},
                       spec.b);
    c = Operand<Output>(layout(c_rows, c_cols, spec.pad_c, spec.shift_c, false), {spec.seed * 3 + 3, spec.beta == 0},
                        spec.c);
  }

  const CallSpec& spec() const { return spec_; }

  xgemm_args args() const {
    xgemm_args args = XGEMM_ARGS_INIT;
    args.type = kTypeOf<Input>;
    args.type_c = std::is_same_v<Input, Output> ? XGEMM_C_SAME : kTypeOf<Output> + 1;
    if (std::is_same_v<Input, Tf32>) args.math_mode = XGEMM_MATH_TF32 + 1;
    args.layout = spec_.row_major ? XGEMM_ROW_MAJOR : XGEMM_COL_MAJOR;
    args.transa = spec_.transa;
    args.transb = spec_.transb;
    args.m = spec_.m;
    args.n = spec_.n;
    args.k = spec_.k;
    args.alpha = &alpha_;
    args.a = a.data();
    args.lda = a.layout().ld;
    args.b = b.data();
    args.ldb = b.layout().ld;
    args.beta = &beta_;
    args.c = c.data();
    args.ldc = c.layout().ld;
    args.batch_count = spec_.batch;
    args.stride_a = spec_.shares_a ? 0 : a.layout().stride;
    args.stride_b = spec_.shares_b ? 0 : b.layout().stride;
    args.stride_c = c.layout().stride;
    args.fill = static_cast<std::int32_t>(spec_.fill);
    return args;
  }

  int enqueue(xgemm_context* ctx) const {
    const xgemm_args arguments = args();
    return xgemm_gemm(ctx, &arguments);
  }

  // The column-major product that the call is, with its operands in their places.
  Product product() const {
    const CallSpec& s = spec_;
    return s.row_major ? Product{s.transb, s.transa, s.n, s.m, s.k, alpha_, beta_, s.batch, transposed(s.fill)}
                       : Product{s.transa, s.transb, s.m, s.n, s.k, alpha_, beta_, s.batch, s.fill};
  }
  const Operand<Input>& left() const { return spec_.row_major ? b : a; }
  const Operand<Input>& right() const { return spec_.row_major ? a : b; }

  testing::AssertionResult check(int period = 1) const {
    testing::AssertionResult verdict = judge(product(), left(), right(), c, period);
    return verdict ? verdict : testing::AssertionFailure() << spec_ << "\n" << verdict.message();
  }

 private:
  CallSpec spec_;
  Scalar alpha_, beta_;
};

// On a context's stream, which is waited for.
template <class T>
testing::AssertionResult serve(const CallSpec& spec, xgemm_context* ctx = nullptr, cudaStream_t stream = nullptr,
                               int period = 1) {
  Call<T> call(spec);
  if (const int status = call.enqueue(ctx); status != 0)
    return testing::AssertionFailure() << spec << "\nstatus " << status << ": " << xgemm_last_error();
  if (const cudaError_t error = cudaStreamSynchronize(stream); error != cudaSuccess)
    return testing::AssertionFailure() << spec << "\n" << cudaGetErrorString(error);
  return call.check(period);
}

// A context and a stream of its own.
class Context {
 public:
  explicit Context(unsigned flags = cudaStreamNonBlocking) {
    XGEMM_CHECK_CUDA(cudaStreamCreateWithFlags(&stream_, flags));
    EXPECT_EQ(xgemm_create(&context_), 0);
    EXPECT_EQ(xgemm_set_stream(context_, stream_), 0);
  }
  ~Context() {
    xgemm_destroy(context_);
    cudaStreamDestroy(stream_);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  operator xgemm_context*() const { return context_; }
  cudaStream_t stream() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
  xgemm_context* context_ = nullptr;
};

// Tests that are the same for all element types.
template <class T>
class EveryType : public testing::Test {
 protected:
  void SetUp() override { XGEMM_SKIP_WITHOUT_DEVICE(); }
};
using ElementTypes = testing::Types<float, double, Half, Bfloat16>;
using CallTypes = testing::Types<float, double, Half, Bfloat16, WideC<Half>, WideC<Bfloat16>>;

}  // namespace xgemm::gpu_test
