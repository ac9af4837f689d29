// libxgemm for C++: matrix products on strided views.
//
//     #include <xgemm.hpp>
//
//     std::vector<float> a(m * k), b(k * n), c(m * n);
//     auto A = xgemm::row_major(a.data(), m, k);
//     auto B = xgemm::col_major(b.data(), k, n);
//     auto C = xgemm::row_major(c.data(), m, n);
//     xgemm::gemm(1.0f, A, B, 0.0f, C);                              // C := A B
//     xgemm::gemm(2.0f, B.transposed(), A.transposed(), 1.0f, C.transposed());  // C^T := 2 B^T A^T + C^T
//
// A view is a pointer, two extents and two strides; it owns nothing and is copied like a pointer. gemm() reads storage
// orders, transposes and leading dimensions off the strides, so any mix of row- and column-major operands, transposes
// and sub-matrices goes to one BLAS-like call with nothing copied.
//
// Views without a unit stride, which BLAS cannot take (every other column, reversed rows, a row repeated by stride 0, a
// Hankel matrix whose lines overlap), work as well. In host memory they are packed first: inputs into a copy, C into a
// copy and back, elements between those of C untouched. In device memory nothing is copied: the product is cut into
// rows or columns, each of which BLAS can take; that serves any such view for which the summed index runs forward
// through both A and B or backward through both, and asks for more memory traffic than a copy of your own would for
// large products.
//
// Everything else is as in xgemm.h: where data may live, when a call is asynchronous, what alpha = 0 and beta = 0 do
// not read. A and B may overlap each other, but not C. Failures throw xgemm::error.
//
// C++17, header-only over xgemm.h; needs no CUDA header. std::mdspan is accepted where the standard library has it.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef XGEMM_HPP
#define XGEMM_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "xgemm.h"
#include "xgemm_float16.hpp"

#if defined(__has_include)
#if __has_include(<version>)
#include <version>
#endif
#endif
#if defined(__cpp_lib_mdspan)
#include <mdspan>
#endif
#if defined(__STDCPP_BFLOAT16_T__)
#include <stdfloat>
#endif

// CUDA's; only their names are needed here.
struct __half;
struct __nv_bfloat16;

namespace xgemm {

// ---- Errors ---------------------------------------------------------------------------------------------------------

// What a call of xgemm.h returned when it did not return 0: -i for an illegal argument (enum xgemm_argument), else an
// enum xgemm_status.
class error : public std::runtime_error {
 public:
  error(int status, const std::string& message) : std::runtime_error("xgemm: " + message), status_(status) {}

  int status() const noexcept { return status_; }

 private:
  int status_;
};

namespace detail {

inline void throw_if_failed(int status) {
  if (status == XGEMM_SUCCESS) return;
  const char* message = xgemm_last_error();
  throw error(status, *message != '\0' ? message : xgemm_status_string(status));
}

}  // namespace detail

// ---- Element types --------------------------------------------------------------------------------------------------

// An IEEE 754 binary16 number with conversions from and to float, rounded to nearest even. It stores the same 16 bits
// as xgemm_half, CUDA's __half and _Float16; arithmetic happens in float.
class half {
 public:
  half() = default;
  half(float value) noexcept : bits_(float_to_half(value)) {}  // implicit, as between the built-in types

  operator float() const noexcept { return half_to_float(bits_); }

  static half from_bits(xgemm_half bits) noexcept {
    half result;
    result.bits_ = bits;
    return result;
  }
  xgemm_half bits() const noexcept { return bits_; }

 private:
  xgemm_half bits_;
};
static_assert(sizeof(half) == sizeof(xgemm_half) && std::is_trivially_copyable_v<half>);

// The same for bfloat16, the upper half of a float: xgemm_bfloat16, CUDA's __nv_bfloat16 and std::bfloat16_t.
class bfloat16 {
 public:
  bfloat16() = default;
  bfloat16(float value) noexcept : bits_(float_to_bfloat16(value)) {}

  operator float() const noexcept { return bfloat16_to_float(bits_); }

  static bfloat16 from_bits(xgemm_bfloat16 bits) noexcept {
    bfloat16 result;
    result.bits_ = bits;
    return result;
  }
  xgemm_bfloat16 bits() const noexcept { return bits_; }

 private:
  xgemm_bfloat16 bits_;
};
static_assert(sizeof(bfloat16) == sizeof(xgemm_bfloat16) && std::is_trivially_copyable_v<bfloat16>);

// The types that matrices may have. To use another type with one of these representations, specialise it:
//     template <> struct xgemm::element<my_half> : std::integral_constant<xgemm_type, XGEMM_F16> {};
template <class T>
struct element;
template <>
struct element<float> : std::integral_constant<xgemm_type, XGEMM_F32> {};
template <>
struct element<half> : std::integral_constant<xgemm_type, XGEMM_F16> {};
template <>
struct element<::__half> : std::integral_constant<xgemm_type, XGEMM_F16> {};
#if defined(__STDCPP_FLOAT16_T__) || defined(__FLT16_MANT_DIG__)
template <>
struct element<_Float16> : std::integral_constant<xgemm_type, XGEMM_F16> {};  // also std::float16_t
#endif
template <>
struct element<bfloat16> : std::integral_constant<xgemm_type, XGEMM_BF16> {};
template <>
struct element<::__nv_bfloat16> : std::integral_constant<xgemm_type, XGEMM_BF16> {};
#if defined(__STDCPP_BFLOAT16_T__)
template <>
struct element<std::bfloat16_t> : std::integral_constant<xgemm_type, XGEMM_BF16> {};
#endif

namespace detail {

template <class T, class = void>
struct is_element : std::false_type {};
template <class T>
struct is_element<T, std::void_t<decltype(element<T>::value)>> : std::true_type {};

}  // namespace detail

// ---- Views ----------------------------------------------------------------------------------------------------------

// rows x cols elements, (i, j) at data[i * row_stride + j * col_stride]. Strides count elements and may be any numbers;
// gemm() refuses a C of which two elements share an address. MatrixView<const T> is read-only. As with std::span, the
// constness of the view itself says nothing about its elements. Indices are not checked.
template <class T>
class MatrixView {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using index_type = std::int64_t;

  constexpr MatrixView() = default;

  constexpr MatrixView(T* data, index_type rows, index_type cols, index_type row_stride, index_type col_stride) noexcept
      : data_(data), rows_(rows), cols_(cols), row_stride_(row_stride), col_stride_(col_stride) {}

  // A view of const elements from one of mutable elements.
  template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
  constexpr MatrixView(const MatrixView<U>& other) noexcept
      : MatrixView(other.data(), other.rows(), other.cols(), other.row_stride(), other.col_stride()) {}

  constexpr T* data() const noexcept { return data_; }
  constexpr index_type rows() const noexcept { return rows_; }
  constexpr index_type cols() const noexcept { return cols_; }
  constexpr index_type row_stride() const noexcept { return row_stride_; }
  constexpr index_type col_stride() const noexcept { return col_stride_; }
  constexpr bool empty() const noexcept { return rows_ == 0 || cols_ == 0; }

  constexpr T& operator()(index_type i, index_type j) const { return data_[i * row_stride_ + j * col_stride_]; }

  constexpr MatrixView transposed() const noexcept { return {data_, cols_, rows_, col_stride_, row_stride_}; }

  // rows x cols elements from (row, col) on; a step takes every row_step-th row and every col_step-th column.
  constexpr MatrixView submatrix(index_type row, index_type col, index_type rows, index_type cols,
                                 index_type row_step = 1, index_type col_step = 1) const noexcept {
    return {address(row, col), rows, cols, row_stride_ * row_step, col_stride_ * col_step};
  }
  constexpr MatrixView row(index_type i) const noexcept { return submatrix(i, 0, 1, cols_); }
  constexpr MatrixView col(index_type j) const noexcept { return submatrix(0, j, rows_, 1); }

  // The same elements from the last row (column) to the first.
  constexpr MatrixView reversed_rows() const noexcept {
    return {rows_ > 0 ? address(rows_ - 1, 0) : data_, rows_, cols_, -row_stride_, col_stride_};
  }
  constexpr MatrixView reversed_cols() const noexcept {
    return {cols_ > 0 ? address(0, cols_ - 1) : data_, rows_, cols_, row_stride_, -col_stride_};
  }

 private:
  constexpr T* address(index_type i, index_type j) const noexcept {
    return data_ == nullptr ? nullptr : data_ + (i * row_stride_ + j * col_stride_);
  }

  T* data_ = nullptr;
  index_type rows_ = 0;
  index_type cols_ = 0;
  index_type row_stride_ = 1;
  index_type col_stride_ = 1;
};

// ld: elements between the starts of two neighbouring rows (columns).
template <class T>
constexpr MatrixView<T> row_major(T* data, std::int64_t rows, std::int64_t cols, std::int64_t ld) noexcept {
  return {data, rows, cols, ld, 1};
}
template <class T>
constexpr MatrixView<T> row_major(T* data, std::int64_t rows, std::int64_t cols) noexcept {
  return row_major(data, rows, cols, cols);
}
template <class T>
constexpr MatrixView<T> col_major(T* data, std::int64_t rows, std::int64_t cols, std::int64_t ld) noexcept {
  return {data, rows, cols, 1, ld};
}
template <class T>
constexpr MatrixView<T> col_major(T* data, std::int64_t rows, std::int64_t cols) noexcept {
  return col_major(data, rows, cols, rows);
}

// What gemm() calls on its operands. An overload beside a matrix type of your own, found by argument-dependent lookup,
// makes gemm() take that type.
template <class T>
constexpr MatrixView<T> as_matrix_view(const MatrixView<T>& view) noexcept {
  return view;
}

#if defined(__cpp_lib_mdspan)
// Throws xgemm::error when the mapping has no strides.
template <class T, class Extents, class Layout>
constexpr MatrixView<T> as_matrix_view(const std::mdspan<T, Extents, Layout, std::default_accessor<T>>& span) {
  static_assert(Extents::rank() == 2, "a matrix is an mdspan of rank 2");
  if (!span.is_strided()) throw error(XGEMM_UNSUPPORTED, "an mdspan without strides is no matrix that gemm() can take");
  return {span.data_handle(), static_cast<std::int64_t>(span.extent(0)), static_cast<std::int64_t>(span.extent(1)),
          static_cast<std::int64_t>(span.stride(0)), static_cast<std::int64_t>(span.stride(1))};
}
#endif

// ---- Contexts -------------------------------------------------------------------------------------------------------

// Owns an xgemm_context: a stream, a workspace and a math mode. Movable; serves one thread at a time. One that was
// moved from stands for the thread's default context.
class context {
 public:
  context() { detail::throw_if_failed(xgemm_create(&handle_)); }
  explicit context(void* cuda_stream) : context() { set_stream(cuda_stream); }
  ~context() { xgemm_destroy(handle_); }

  context(context&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  context& operator=(context&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  context& set_stream(void* cuda_stream) {
    detail::throw_if_failed(xgemm_set_stream(handle_, cuda_stream));
    return *this;
  }
  context& set_workspace(void* device_memory, std::size_t bytes) {
    detail::throw_if_failed(xgemm_set_workspace(handle_, device_memory, bytes));
    return *this;
  }
  context& set_math_mode(xgemm_math_mode mode) {
    detail::throw_if_failed(xgemm_set_math_mode(handle_, mode));
    return *this;
  }

  xgemm_context* get() const noexcept { return handle_; }

 private:
  xgemm_context* handle_ = nullptr;
};

// ---- Products -------------------------------------------------------------------------------------------------------

namespace detail {

constexpr std::int64_t at_least_1(std::int64_t x) {
  return x > 1 ? x : 1;
}
constexpr std::uint64_t magnitude(std::int64_t x) {
  return x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
}

// How BLAS would describe a matrix: which of rows and columns are contiguous, and the leading dimension.
struct storage {
  bool rows_contiguous;
  std::int64_t ld;
};

// Empty when BLAS cannot describe it: no unit stride, or lines that run backwards or overlap. The stride of an axis
// with one element is never used, so it may have any value; the leading dimension of a single line is the least legal
// one. A single row can be described both ways unless it is strided: it is then contiguous along itself.
template <class T>
constexpr std::optional<storage> storage_of(const MatrixView<T>& x) {
  const bool one_row = x.rows() <= 1, one_col = x.cols() <= 1;
  if ((x.col_stride() == 1 || one_col) && (one_row || (!one_col && x.row_stride() >= x.cols())))
    return storage{true, one_row ? at_least_1(x.cols()) : x.row_stride()};
  if ((x.row_stride() == 1 || one_row) && (one_col || x.col_stride() >= at_least_1(x.rows())))
    return storage{false, one_col ? at_least_1(x.rows()) : x.col_stride()};
  // A single column that is strided: rows of one element.
  if (one_col && x.row_stride() >= 1) return storage{true, x.row_stride()};
  return std::nullopt;
}

// Whether two elements share an address: whether (di, dj) != (0, 0) within the extents solves
// di * row_stride + dj * col_stride = 0. The solutions are the multiples of (col_stride, -row_stride) / gcd.
template <class T>
constexpr bool overlaps_itself(const MatrixView<T>& x) {
  if (x.empty()) return false;
  std::uint64_t g = magnitude(x.row_stride()), rest = magnitude(x.col_stride());
  while (rest != 0) g = std::exchange(rest, g % rest);
  if (g == 0) return x.rows() > 1 || x.cols() > 1;
  return magnitude(x.col_stride()) / g < static_cast<std::uint64_t>(x.rows()) &&
         magnitude(x.row_stride()) / g < static_cast<std::uint64_t>(x.cols());
}

// A batch that gemm() makes itself, of slices of one product.
struct batch {
  std::int64_t count = 1;
  std::int64_t stride_a = 0;
  std::int64_t stride_b = 0;
  std::int64_t stride_c = 0;
};

// One call of the library.
template <class T>
struct product {
  xgemm_context* ctx;
  float alpha;
  MatrixView<const T> a, b;
  float beta;
  MatrixView<T> c;

  product transposed() const { return {ctx, alpha, b.transposed(), a.transposed(), beta, c.transposed()}; }

  bool blas_can_take() const { return storage_of(a) && storage_of(b) && storage_of(c); }

  // The storage order of C is that of the call; operands of the other order are transposed in it.
  void run(const batch& slices = {}) const {
    const storage sa = *storage_of(a), sb = *storage_of(b), sc = *storage_of(c);
    xgemm_args args = XGEMM_ARGS_INIT;
    args.type = element<T>::value;
    args.layout = sc.rows_contiguous ? XGEMM_ROW_MAJOR : XGEMM_COL_MAJOR;
    args.transa = sa.rows_contiguous == sc.rows_contiguous ? 'N' : 'T';
    args.transb = sb.rows_contiguous == sc.rows_contiguous ? 'N' : 'T';
    args.m = c.rows();
    args.n = c.cols();
    args.k = a.cols();
    args.alpha = &alpha;
    args.a = a.data();
    args.lda = sa.ld;
    args.b = b.data();
    args.ldb = sb.ld;
    args.beta = &beta;
    args.c = c.data();
    args.ldc = sc.ld;
    args.batch_count = slices.count;
    args.stride_a = slices.stride_a;
    args.stride_b = slices.stride_b;
    args.stride_c = slices.stride_c;
    throw_if_failed(xgemm_gemm(ctx, &args));
  }
};

// -- Host memory: pack.

template <class From, class To>
void copy(const MatrixView<From>& from, const MatrixView<To>& to) {
  // Along the axis on which the packed side is contiguous.
  if (to.row_stride() != 1 && from.row_stride() != 1 && (to.col_stride() == 1 || from.col_stride() == 1)) {
    copy(from.transposed(), to.transposed());
    return;
  }
  for (std::int64_t j = 0; j < to.cols(); ++j)
    for (std::int64_t i = 0; i < to.rows(); ++i) to(i, j) = from(i, j);
}

// Room for a packed copy of a view, in the view's own order of axes.
template <class T>
class packed {
 public:
  packed() = default;

  template <class U>
  explicit packed(const MatrixView<U>& like) {
    constexpr std::int64_t most = std::numeric_limits<std::ptrdiff_t>::max() / static_cast<std::int64_t>(sizeof(T));
    if (like.rows() <= most / at_least_1(like.cols()))
      elements_.reset(new (std::nothrow) T[static_cast<std::size_t>(like.rows() * like.cols())]);
    if (!elements_)
      throw error(XGEMM_OUT_OF_HOST_MEMORY, "no memory to pack a view of " + std::to_string(like.rows()) + " x " +
                                                std::to_string(like.cols()) + " elements without a unit stride");
    view_ = magnitude(like.row_stride()) <= magnitude(like.col_stride())
                ? col_major(elements_.get(), like.rows(), like.cols())
                : row_major(elements_.get(), like.rows(), like.cols());
  }

  const MatrixView<T>& view() const { return view_; }

 private:
  std::unique_ptr<T[]> elements_;
  MatrixView<T> view_;
};

// -- Device memory: cut the product into slices that BLAS can take.

// Whether kernels have to follow the pointer: device memory, or managed memory where a GPU serves the call. The library
// is asked where a product of that one element would run.
template <class T>
bool on_device(xgemm_context* ctx, const T* pointer) {
  const float one = 1, zero = 0;
  xgemm_args args = XGEMM_ARGS_INIT;
  args.type = element<std::remove_cv_t<T>>::value;
  args.m = args.n = args.k = 1;
  args.alpha = &one;
  args.beta = &zero;
  args.a = args.b = pointer;
  args.c = const_cast<std::remove_cv_t<T>*>(pointer);
  char where[32] = "";
  const int status = xgemm_explain(ctx, &args, where, sizeof where);
  if (status == XGEMM_KERNEL_NOT_USABLE) return true;  // a kernel was forced that cannot serve this probe
  throw_if_failed(status);
  return std::strncmp(where, "route=device", 12) == 0;
}

[[noreturn]] inline void throw_not_sliceable() {
  throw error(
      XGEMM_UNSUPPORTED,
      "views in device memory without a unit stride must run through the summed index in the same direction in A "
      "and B, and must not repeat an element along it; copy one of them to contiguous memory first");
}

// Row i of C is row i of A times B. A row of any positive column stride is a matrix that BLAS can take, with that
// stride as its leading dimension, so all rows are one batch. B must be a matrix that BLAS can take.
template <class T>
void run_by_rows(const product<T>& p) {
  const auto row = [&p](std::int64_t i) { return product<T>{p.ctx, p.alpha, p.a.row(i), p.b, p.beta, p.c.row(i)}; };
  const product<T> first = row(0);
  if (!first.blas_can_take()) throw_not_sliceable();
  if (p.a.row_stride() >= 0) {
    first.run({p.c.rows(), p.a.row_stride(), 0, p.c.row_stride()});
  } else {
    for (std::int64_t i = 0; i < p.c.rows(); ++i) row(i).run();
  }
}

template <class T>
void run_in_slices(product<T> p) {
  // C runs forward along both axes, and A along the summed one.
  if (p.c.row_stride() < 0) {
    p.c = p.c.reversed_rows();
    p.a = p.a.reversed_rows();
  }
  if (p.c.col_stride() < 0) {
    p.c = p.c.reversed_cols();
    p.b = p.b.reversed_cols();
  }
  if (p.a.col_stride() < 0) {
    p.a = p.a.reversed_cols();
    p.b = p.b.reversed_rows();
  }
  if (p.blas_can_take()) {
    p.run();
  } else if (storage_of(p.b)) {
    run_by_rows(p);
  } else if (storage_of(p.a)) {
    run_by_rows(p.transposed());
  } else {
    // Both: row by row, or column by column where they are fewer, and each of those by the other axis.
    if (p.c.rows() > p.c.cols()) p = p.transposed();
    for (std::int64_t i = 0; i < p.c.rows(); ++i) {
      const product<T> row{p.ctx, p.alpha, p.a.row(i), p.b, p.beta, p.c.row(i)};
      if (!storage_of(row.a)) throw_not_sliceable();
      run_by_rows(row.transposed());
    }
  }
}

// -- The product of any views.

inline std::string shape(const char* name, std::int64_t rows, std::int64_t cols) {
  return std::string(name) + " is " + std::to_string(rows) + " x " + std::to_string(cols);
}

template <class T>
void check_shapes(const product<T>& p) {
  const auto& [ctx, alpha, a, b, beta, c] = p;
  const auto require = [&p](bool condition, int status, const char* rule) {
    if (condition) return;
    throw error(status, shape("A", p.a.rows(), p.a.cols()) + ", " + shape("B", p.b.rows(), p.b.cols()) + ", " +
                            shape("C", p.c.rows(), p.c.cols()) + ", but " + rule + " is required");
  };
  require(c.rows() >= 0 && a.rows() == c.rows(), -XGEMM_ARG_M, "rows(A) = rows(C) >= 0");
  require(c.cols() >= 0 && b.cols() == c.cols(), -XGEMM_ARG_N, "cols(B) = cols(C) >= 0");
  require(a.cols() >= 0 && a.cols() == b.rows(), -XGEMM_ARG_K, "cols(A) = rows(B) >= 0");
  if (overlaps_itself(c)) {
    throw error(-XGEMM_ARG_LDC, "C has strides " + std::to_string(c.row_stride()) + " and " +
                                    std::to_string(c.col_stride()) + ", by which two of its " +
                                    std::to_string(c.rows()) + " x " + std::to_string(c.cols()) +
                                    " elements share an address");
  }
}

template <class T>
void run(product<T> p) {
  check_shapes(p);
  const bool reads_inputs = p.alpha != 0.0f && p.a.cols() > 0;
  if (p.c.empty() || (!reads_inputs && p.beta == 1.0f)) return;
  if (!reads_inputs) {
    p.a = col_major<const T>(nullptr, p.a.rows(), p.a.cols(), at_least_1(p.a.rows()));
    p.b = col_major<const T>(nullptr, p.b.rows(), p.b.cols(), at_least_1(p.b.rows()));
  }
  if (p.blas_can_take()) {
    p.run();
    return;
  }

  if (reads_inputs && p.a.data() == nullptr) throw error(-XGEMM_ARG_A, "A has no data, but it is read");
  if (reads_inputs && p.b.data() == nullptr) throw error(-XGEMM_ARG_B, "B has no data, but it is read");
  if (p.c.data() == nullptr) throw error(-XGEMM_ARG_C, "C has no data, but it is written");
  const auto must_pack = [ctx = p.ctx](const auto& x) { return !storage_of(x) && !on_device(ctx, x.data()); };
  packed<T> a, b, c;
  const MatrixView<T> result = p.c;
  if (must_pack(p.a)) {
    a = packed<T>(p.a);
    copy(p.a, a.view());
    p.a = a.view();
  }
  if (must_pack(p.b)) {
    b = packed<T>(p.b);
    copy(p.b, b.view());
    p.b = b.view();
  }
  const bool packed_c = must_pack(p.c);
  if (packed_c) {
    c = packed<T>(p.c);
    if (p.beta != 0.0f) copy(p.c, c.view());
    p.c = c.view();
  }
  run_in_slices(p);
  if (packed_c) copy(p.c, result);
}

template <class M>
using view_of = decltype(as_matrix_view(std::declval<const M&>()));
template <class M>
using value_of = typename view_of<M>::value_type;

}  // namespace detail

// C := alpha A B + beta C. A, B, C: MatrixView, std::mdspan of rank 2, or any type with an as_matrix_view() overload,
// all of one element type, with sums in fp32: float; fp16 as xgemm::half, __half, _Float16 or std::float16_t; bf16 as
// xgemm::bfloat16, __nv_bfloat16 or std::bfloat16_t. ctx: NULL is the calling thread's default context. Its scalars
// must be on the host, as they are by default.
template <class A, class B, class C, class T = detail::value_of<C>,
          class = std::void_t<detail::view_of<A>, detail::view_of<B>>>
void gemm(float alpha, const A& a, const B& b, float beta, const C& c, xgemm_context* ctx = nullptr) {
  constexpr bool served = detail::is_element<T>::value;
  constexpr bool alike = std::is_same_v<T, detail::value_of<A>> && std::is_same_v<T, detail::value_of<B>>;
  constexpr bool writable = !std::is_const_v<typename detail::view_of<C>::element_type>;
  static_assert(served,
                "the elements must be float or a 16-bit floating-point type; view raw bits as xgemm::half or bfloat16");
  static_assert(alike, "A, B and C must have the same element type");
  static_assert(writable, "C is written, but its elements are const");
  if constexpr (served && alike && writable)
    detail::run(detail::product<T>{ctx, alpha, as_matrix_view(a), as_matrix_view(b), beta, as_matrix_view(c)});
}

template <class A, class B, class C, class = std::void_t<detail::view_of<A>, detail::view_of<B>, detail::view_of<C>>>
void gemm(float alpha, const A& a, const B& b, float beta, const C& c, const context& ctx) {
  gemm(alpha, a, b, beta, c, ctx.get());
}

}  // namespace xgemm

#endif  // XGEMM_HPP
