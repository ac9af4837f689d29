// Internal: copies of views in host memory that BLAS cannot describe.
// C++17. SPDX-License-Identifier: BSD-3-Clause
#ifndef XGEMM_PACKING_HPP
#define XGEMM_PACKING_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <string>

#include "xgemm.h"
#include "xgemm/error.hpp"
#include "xgemm/matrix_view.hpp"
#include "xgemm/product.hpp"

namespace xgemm {

namespace detail {

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

}  // namespace detail

}  // namespace xgemm

#endif  // XGEMM_PACKING_HPP
