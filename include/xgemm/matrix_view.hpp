// Matrices as views: a pointer, two extents and two strides.
// C++17. SPDX-License-Identifier: BSD-3-Clause
#ifndef XGEMM_MATRIX_VIEW_HPP
#define XGEMM_MATRIX_VIEW_HPP

#include <cstdint>
#include <type_traits>

#include "xgemm.h"
#include "xgemm/error.hpp"

#if defined(__has_include)
#if __has_include(<version>)
#include <version>
#endif
#endif
#if defined(__cpp_lib_mdspan)
#include <mdspan>
#endif

namespace xgemm {

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

// What gemm() calls on its operands, of which C alone is not const. Overloads beside a matrix type of your own, found
// by argument-dependent lookup, make gemm() take that type:
//
//     xgemm::MatrixView<const float> as_matrix_view(const Mine& matrix);  // for A and B
//     xgemm::MatrixView<float> as_matrix_view(Mine& matrix);              // for C
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

}  // namespace xgemm

#endif  // XGEMM_MATRIX_VIEW_HPP
