// Products on the CPU: what BLAS promises, kept here whatever library is below, and fp16 and bf16 through fp32
// blocks.
//
// alpha = 0 or k = 0 only scales C and calls no library. 16-bit A and B work in blocks that are converted to fp32: the
// sums of one block of C stay in fp32 across all of k; alpha, beta and the one rounding to the type of C, which may be
// fp32, come at the end. Scratch memory for it: 8 MiB at most, whatever the size of the product.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "host/cpu_engine.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/once.h"
#include "core/thread_state.h"
#include "host/aligned_buffer.h"
#include "host/builtin_gemm.h"
#include "host/conversion.h"
#include "host/cpu_blas.h"
#include "host/finish.h"
#include "host/plain_copies.h"
#include "xgemm/float16.hpp"

namespace xgemm::host {
namespace {

using std::int64_t;
using std::uint16_t;

// Blocks of C and of the inner dimension in products of 16-bit types. Converting a block costs little beside
// multiplying it: each element of A takes part in 1024 multiplications, and so does each of B.
constexpr int64_t kBlockRows = 1024;
constexpr int64_t kBlockColumns = 1024;
constexpr int64_t kBlockInner = 512;

const CpuBlas& engine() {
  static Once<CpuBlas> builtin;
  if (thread_state.inside_library) return builtin.get([] { return CpuBlas{}; });
  return cpu_blas();
}

template <class T>
bool fits_library(const Gemm<T>& p) {
  constexpr int64_t largest = std::numeric_limits<int>::max();
  return p.lda <= largest && p.ldb <= largest && p.ldc <= largest;
}

template <class T>
bool all_finite(const T* x, int64_t ld, int64_t rows, int64_t columns) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const Bits exponent = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  for (int64_t j = 0; j < columns; ++j, x += ld) {
    bool finite = true;
    for (int64_t i = 0; i < rows; ++i) finite &= (std::bit_cast<Bits>(x[i]) & exponent) != exponent;
    if (!finite) return false;
  }
  return true;
}

template <class T>
bool all_finite(const Gemm<T>& p) {
  const bool a_plain = p.transa == Op::none, b_plain = p.transb == Op::none;
  return std::isfinite(p.alpha) && all_finite(p.a, p.lda, a_plain ? p.m : p.k, a_plain ? p.k : p.m) &&
         all_finite(p.b, p.ldb, b_plain ? p.k : p.n, b_plain ? p.n : p.k);
}

// C := 0.
template <class T>
void clear(int64_t m, int64_t n, T* c, int64_t ldc) {
  for (int64_t j = 0; j < n; ++j, c += ldc) std::fill_n(c, m, T{});  // the bits of +0 in every type
}

template <class T>
Status run_gemm(const Gemm<T>& p);

// A triangle of C by products of rectangles: blocks on the diagonal beside C, what is below or above them in place.
template <class T>
Status run_rectangles(const Gemm<T>& p) {
  constexpr int64_t kBlock = 256;
  const int64_t most = std::min(kBlock, p.n);
  const AlignedBuffer<T> square(most * most);
  if (!square.ok()) return fail_without_memory();
  const auto rows_at = [&](int64_t i, int64_t rows, int64_t j, int64_t columns) {
    Gemm<T> part = p;
    part.fill = Fill::full;
    part.m = rows, part.n = columns;
    part.a += p.transa == Op::none ? i : i * p.lda;
    part.b += p.transb == Op::none ? j * p.ldb : j;
    part.c += i + j * p.ldc;
    return part;
  };
  for (int64_t j = 0; j < p.n; j += kBlock) {
    const int64_t size = std::min(kBlock, p.n - j);
    const int64_t first = p.fill == Fill::lower ? j + size : 0, rows = p.fill == Fill::lower ? p.n - first : j;
    if (rows > 0) XGEMM_RETURN_IF_FAILED(run_gemm(rows_at(first, rows, j, size)));
    Gemm<T> diagonal = rows_at(j, size, j, size);
    T* const c = diagonal.c;
    diagonal.c = square.data(), diagonal.ldc = size;
    std::fill_n(square.data(), size * size, T{0});
    const auto copy = [&](const T* from, int64_t from_ld, T* to, int64_t to_ld) {
      for (int64_t column = 0; column < size; ++column) {
        const auto [begin, end] = rows_of_column(p.fill, column, size);
        std::copy(from + column * from_ld + begin, from + column * from_ld + end, to + column * to_ld + begin);
      }
    };
    if (p.beta != 0) copy(c, p.ldc, square.data(), size);
    XGEMM_RETURN_IF_FAILED(run_gemm(diagonal));
    copy(square.data(), size, c, p.ldc);
  }
  return kOk;
}

template <class T>
Status run_triangle(const Gemm<T>& p) {
  if (thread_state.inside_library || !SyrkRoutine<T>::takes(p)) return run_rectangles(p);
  {
    const SyrkRoutine<T>& blas = cpu_blas().syrk<T>();
    const InsideLibrary guard(thread_state);
    constexpr int64_t kLargest = int64_t{1} << 30;  // as in BlasRoutine::run()
    if (blas.function != nullptr && blas.conduct.spares_c && fits_library(p) && p.n <= kLargest && p.k <= kLargest &&
        (blas.conduct.keeps_nan || all_finite(p))) {
      blas.call(p);
      return kOk;
    }
  }
  return run_rectangles(p);
}

// One product; k > 0.
template <class T>
Status run_gemm(const Gemm<T>& p) {
  if (p.fill != Fill::full) return run_triangle(p);
  if (thread_state.inside_library) return builtin_gemm(p);
  const BlasRoutine<T>& blas = cpu_blas().gemm<T>();
  const InsideLibrary guard(thread_state);
  if (blas.function == nullptr || !fits_library(p)) return builtin_gemm(p);
  if (!blas.conduct.keeps_nan && !all_finite(p)) return builtin_gemm(p);
  if (!blas.conduct.spares_c && p.beta == 0) clear(p.m, p.n, p.c, p.ldc);
  blas.run(p);
  return kOk;
}

// C := beta * C, where A and B do not contribute. beta = 0 does not read C.
template <class T, class Multiply>
void scale_batch(const Problem& p, Multiply&& multiply) {
  for (int64_t i = 0; i < p.batch_count; ++i) {
    T* column = static_cast<T*>(p.c.data) + i * p.c.batch_stride;
    for (int64_t j = 0; j < p.n; ++j, column += p.c.ld) {
      const auto [begin, end] = rows_of_column(p.fill, j, p.m);
      if (p.beta.is(0.0f)) {
        std::fill(column + begin, column + end, T{});  // the bits of +0 in every type
      } else {
        std::for_each(column + begin, column + end, multiply);
      }
    }
  }
}

// A rows x columns block in fp32, columns next to each other.
void widen_block(const Conversion& convert, const uint16_t* from, int64_t ld, int64_t rows, int64_t columns,
                 float* to) {
  if (ld == rows) return convert.widen(from, to, rows * columns);
  for (int64_t j = 0; j < columns; ++j) convert.widen(from + j * ld, to + j * rows, rows);
}

// C := alpha * sums + beta * C of a column, for a C in fp32.
void store_column(const Conversion&, const float* sums, int64_t rows, float alpha, float beta, float* c) {
  if (beta == 0.0f)
    for (int64_t i = 0; i < rows; ++i) c[i] = alpha * sums[i];
  else
    for (int64_t i = 0; i < rows; ++i) c[i] = alpha * sums[i] + beta * c[i];
}

// The same for a C in 16 bits, rounded once. Overwrites sums.
void store_column(const Conversion& convert, float* sums, int64_t rows, float alpha, float beta, uint16_t* c) {
  float old[kBlockRows];
  if (beta == 0.0f) {
    for (int64_t i = 0; i < rows; ++i) sums[i] = alpha * sums[i];
  } else {
    convert.widen(c, old, rows);
    for (int64_t i = 0; i < rows; ++i) sums[i] = alpha * sums[i] + beta * old[i];
  }
  convert.narrow(sums, c, rows);
}

// Scratch memory for the fp32 blocks of one product.
struct Blocks {
  int64_t rows, columns, inner;
  AlignedBuffer<float> memory;

  explicit Blocks(const Problem& p)
      : rows(std::min(kBlockRows, p.m)),
        columns(std::min(kBlockColumns, p.n)),
        inner(std::min(kBlockInner, p.k)),
        memory(a_floats() + b_floats() + rows * columns) {}

  int64_t a_floats() const { return AlignedBuffer<float>::rounded(rows * inner); }
  int64_t b_floats() const { return AlignedBuffer<float>::rounded(inner * columns); }
  float* a() const { return memory.data(); }
  float* b() const { return a() + a_floats(); }
  float* sums() const { return b() + b_floats(); }
};

template <class C>
Status gemm_16bit(const Problem& p, const uint16_t* a, const uint16_t* b, C* c, const Blocks& blocks) {
  const Conversion& convert = conversion(p.a.type);
  const bool a_plain = p.a.op == Op::none, b_plain = p.b.op == Op::none;
  for (int64_t j0 = 0; j0 < p.n; j0 += blocks.columns) {
    const int64_t columns = std::min(blocks.columns, p.n - j0);
    for (int64_t i0 = 0; i0 < p.m; i0 += blocks.rows) {
      const int64_t rows = std::min(blocks.rows, p.m - i0);
      if (!touches(p.fill, i0, j0, rows, columns)) continue;
      for (int64_t l0 = 0; l0 < p.k; l0 += blocks.inner) {
        const int64_t inner = std::min(blocks.inner, p.k - l0);
        // Converted as they are stored; the product transposes.
        if (a_plain)
          widen_block(convert, a + i0 + l0 * p.a.ld, p.a.ld, rows, inner, blocks.a());
        else
          widen_block(convert, a + l0 + i0 * p.a.ld, p.a.ld, inner, rows, blocks.a());
        if (b_plain)
          widen_block(convert, b + l0 + j0 * p.b.ld, p.b.ld, inner, columns, blocks.b());
        else
          widen_block(convert, b + j0 + l0 * p.b.ld, p.b.ld, columns, inner, blocks.b());
        XGEMM_RETURN_IF_FAILED(
            run_gemm<float>({p.a.op, p.b.op, rows, columns, inner, 1.0f, blocks.a(), a_plain ? rows : inner, blocks.b(),
                             b_plain ? inner : columns, l0 == 0 ? 0.0f : 1.0f, blocks.sums(), rows}));
      }
      const auto alpha = static_cast<float>(p.alpha.value), beta = static_cast<float>(p.beta.value);
      for (int64_t j = 0; j < columns; ++j) {
        const auto [begin, end] = rows_of_column(p.fill, j0 + j - i0, rows);
        store_column(convert, blocks.sums() + j * rows + begin, end - begin, alpha, beta,
                     c + (i0 + begin) + (j0 + j) * p.c.ld);
      }
    }
  }
  return kOk;
}

// T: float or double.
template <class T>
Status multiply(const Problem& p) {
  const auto* a = static_cast<const T*>(p.a.data);
  const auto* b = static_cast<const T*>(p.b.data);
  auto* c = static_cast<T*>(p.c.data);
  const auto alpha = static_cast<T>(p.alpha.value), beta = static_cast<T>(p.beta.value);
  for (int64_t i = 0; i < p.batch_count; ++i)
    XGEMM_RETURN_IF_FAILED(
        run_gemm<T>({p.a.op, p.b.op, p.m, p.n, p.k, alpha, a + i * p.a.batch_stride, p.a.ld, b + i * p.b.batch_stride,
                     p.b.ld, beta, c + i * p.c.batch_stride, p.c.ld, p.fill}));
  return kOk;
}

// C: float, or uint16_t for the type of A and B.
template <class C>
Status multiply_16bit(const Problem& p) {
  const auto* a = static_cast<const uint16_t*>(p.a.data);
  const auto* b = static_cast<const uint16_t*>(p.b.data);
  auto* c = static_cast<C*>(p.c.data);
  const Blocks blocks(p);
  if (!blocks.memory.ok()) return fail_without_memory();
  for (int64_t i = 0; i < p.batch_count; ++i)
    XGEMM_RETURN_IF_FAILED(
        gemm_16bit(p, a + i * p.a.batch_stride, b + i * p.b.batch_stride, c + i * p.c.batch_stride, blocks));
  return kOk;
}

// Of a product without an epilogue.
Status combine(const Problem& p) {
  if (p.does_nothing()) return kOk;
  if (p.reads_inputs()) {
    if (p.a.type == DType::f32) return multiply<float>(p);
    if (p.a.type == DType::f64) return multiply<double>(p);
    return p.c.type == DType::f32 ? multiply_16bit<float>(p) : multiply_16bit<uint16_t>(p);
  }
  const auto beta = static_cast<float>(p.beta.value);
  switch (p.c.type) {
    case DType::f32:
      scale_batch<float>(p, [=](float& x) { x *= beta; });
      break;
    case DType::f16:
      scale_batch<uint16_t>(p, [=](uint16_t& x) { x = float_to_half(beta * half_to_float(x)); });
      break;
    case DType::bf16:
      scale_batch<uint16_t>(p, [=](uint16_t& x) { x = float_to_bfloat16(beta * bfloat16_to_float(x)); });
      break;
    case DType::f64:
      scale_batch<double>(p, [by = p.beta.value](double& x) { x *= by; });
      break;
  }
  return kOk;
}

}  // namespace

Status cpu_gemm(const Problem& p) {
  return gemm_of_copies(p, not_plain(p), [](const Problem& plain) { return finished_gemm(plain, combine); });
}

std::string cpu_engine_name() {
  return engine().name;
}

int cpu_engine_threads(int cores) {
  const CpuBlas& blas = engine();
  if (blas.sgemm.function == nullptr) return 1;
  return blas.threads == nullptr ? cores : std::clamp(blas.threads(), 1, cores);
}

std::string cpu_engine_description() {
  const CpuBlas& blas = engine();
  std::string text = blas.sgemm.function == nullptr ? format("builtin blocked loop (%s)", builtin_isa())
                                                    : format("%s (%s)", blas.name.c_str(), blas.file.c_str());
  text += ", chosen by: " + blas.reason;
  if (!blas.sgemm.conduct.keeps_nan || !blas.dgemm.conduct.keeps_nan)
    text += "; it drops NaN and Inf beside zeros, so the built-in loop serves these";
  return text;
}

}  // namespace xgemm::host
