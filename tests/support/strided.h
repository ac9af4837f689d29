// Random products of matrices with any strides: batches, triangles, an epilogue. Elements are small integers, so that
// results are exact whatever the order of sums, and every element between and around those of C is looked at.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "matrix.h"
#include "xgemm.h"

namespace xgemm::test {

// Matrices of a batch with any strides, in a storage that ends where they do. Elements between them are guards.
template <class T>
class StridedMatrix {
 public:
  StridedMatrix() = default;
  StridedMatrix(std::int64_t rows, std::int64_t cols, std::int64_t row_stride, std::int64_t col_stride,
                std::int64_t batch, std::int64_t batch_stride)
      : rows_(rows),
        cols_(cols),
        row_stride_(row_stride),
        col_stride_(col_stride),
        batch_(batch),
        batch_stride_(batch_stride) {
    std::int64_t low = 0, high = 0;
    for (const std::int64_t step : {(rows - 1) * row_stride, (cols - 1) * col_stride, (batch - 1) * batch_stride})
      (step < 0 ? low : high) += step;
    offset_ = -low;
    storage_.assign(static_cast<std::size_t>(high - low + 1), GuardValue<T>::value());
  }

  void fill(Random& random, int low, int high) {
    for (std::int64_t b = 0; b < batch_; ++b)
      for (std::int64_t i = 0; i < rows_; ++i)
        for (std::int64_t j = 0; j < cols_; ++j)
          at(i, j, b) = from_double<T>(static_cast<double>(random.integer(low, high)));
  }

  T& at(std::int64_t i, std::int64_t j, std::int64_t b) {
    return storage_[static_cast<std::size_t>(offset_ + i * row_stride_ + j * col_stride_ + b * batch_stride_)];
  }

  std::int64_t row_stride() const { return row_stride_; }
  std::int64_t col_stride() const { return col_stride_; }
  std::int64_t batch_stride() const { return batch_stride_; }
  std::vector<T>& storage() { return storage_; }
  const std::vector<T>& storage() const { return storage_; }
  std::int64_t offset() const { return offset_; }

  // Bit by bit.
  bool operator==(const StridedMatrix& other) const {
    return storage_.size() == other.storage_.size() &&
           std::memcmp(storage_.data(), other.storage_.data(), storage_.size() * sizeof(T)) == 0;
  }

  std::string words() const {
    return std::to_string(rows_) + "x" + std::to_string(cols_) + " strides " + std::to_string(row_stride_) + " " +
           std::to_string(col_stride_) + " batch " + std::to_string(batch_) + " " + std::to_string(batch_stride_) +
           "; ";
  }

 private:
  std::int64_t rows_ = 0, cols_ = 0, row_stride_ = 1, col_stride_ = 1, batch_ = 1, batch_stride_ = 0;
  std::int64_t offset_ = 0;
  std::vector<T> storage_;
};

// A and B of T, C of C. Every operand lies in any way, plain ones among them.
template <class T, class C = T>
struct StridedCase {
  std::int64_t m, n, k, batch;
  ScalarOf<T> alpha, beta;
  std::int32_t fill = XGEMM_FILL_FULL;
  char transa, transb;
  bool relu;
  StridedMatrix<T> a, b;
  StridedMatrix<C> c;

  StridedCase(Random& random, std::int64_t most) {
    const auto extent = [&] { return random.integer(0, 3) == 0 ? random.integer(1, 3) : random.integer(1, most); };
    m = extent(), n = extent(), k = std::min<std::int64_t>(100, extent());
    batch = random.integer(0, 3) == 0 ? random.integer(2, 3) : 1;
    if (random.integer(0, 3) == 0) m = n, fill = random.integer(0, 1) == 0 ? XGEMM_FILL_LOWER : XGEMM_FILL_UPPER;
    relu = fill == XGEMM_FILL_FULL && random.integer(0, 3) == 0;
    transa = random.integer(0, 1) == 0 ? 'N' : 'T', transb = random.integer(0, 1) == 0 ? 'N' : 'T';
    alpha = static_cast<ScalarOf<T>>(random.integer(1, 2));
    beta = static_cast<ScalarOf<T>>(random.integer(-1, 1));
    a = transa == 'N' ? input(random, m, k) : input(random, k, m);
    b = transb == 'N' ? input(random, k, n) : input(random, n, k);
    c = output(random);
    if (beta != 0) c.fill(random, -9, 9);
    c_before_ = c;
  }

  // place(matrix): where its first element is.
  template <class Place>
  xgemm_args args(const Place& place) {
    xgemm_args x = XGEMM_ARGS_INIT;
    x.type = kType<T>;
    x.type_c = kType<C> + 1;
    x.transa = transa, x.transb = transb;
    x.m = m, x.n = n, x.k = k;
    x.alpha = &alpha, x.beta = &beta;
    x.a = place(a), x.b = place(b), x.c = place(c);
    x.batch_count = batch;
    x.stride_a = a.batch_stride(), x.stride_b = b.batch_stride(), x.stride_c = c.batch_stride();
    x.fill = fill;
    x.activation = relu ? XGEMM_RELU : XGEMM_NO_ACTIVATION;
    x.strided = XGEMM_STRIDED_A | XGEMM_STRIDED_B | XGEMM_STRIDED_C;
    x.row_stride_a = a.row_stride(), x.column_stride_a = a.col_stride();
    x.row_stride_b = b.row_stride(), x.column_stride_b = b.col_stride();
    x.row_stride_c = c.row_stride(), x.column_stride_c = c.col_stride();
    return x;
  }

  std::string words() const {
    std::string text = {transa, transb};
    text += " k=" + std::to_string(k) + " alpha=" + std::to_string(alpha) + " beta=" + std::to_string(beta);
    text += " fill=" + std::to_string(fill) + (relu ? " relu" : "");
    return text + " A " + a.words() + "B " + b.words() + "C " + c.words();
  }

  // "" or the first thing that is wrong with what c holds.
  std::string check() {
    StridedMatrix<C> expected = c_before_;
    for (std::int64_t e = 0; e < batch; ++e)
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          if ((fill == XGEMM_FILL_LOWER && i < j) || (fill == XGEMM_FILL_UPPER && i > j)) continue;
          double sum = 0;
          for (std::int64_t l = 0; l < k; ++l)
            sum += to_double(transa == 'N' ? a.at(i, l, e) : a.at(l, i, e)) *
                   to_double(transb == 'N' ? b.at(l, j, e) : b.at(j, l, e));
          sum *= static_cast<double>(alpha);
          if (beta != 0) sum += static_cast<double>(beta) * to_double(c_before_.at(i, j, e));
          if (relu) sum = std::max(sum, 0.0);
          expected.at(i, j, e) = from_double<C>(sum);
          const double found = to_double(c.at(i, j, e));
          if (!(found == sum))
            return "(" + std::to_string(i) + ", " + std::to_string(j) + ", " + std::to_string(e) + ") is " +
                   std::to_string(found) + ", not " + std::to_string(sum) + ": " + words();
          c.at(i, j, e) = expected.at(i, j, e);  // +0 and -0 are equal
        }
    return c == expected ? "" : "an element that is not the product's was written: " + words();
  }

 private:
  template <class Element>
  static constexpr std::int32_t kType = std::is_same_v<Element, float>    ? XGEMM_F32
                                        : std::is_same_v<Element, double> ? XGEMM_F64
                                        : std::is_same_v<Element, Half>   ? XGEMM_F16
                                                                          : XGEMM_BF16;

  struct Strides {
    std::int64_t row, col;
  };
  // Contiguous along either axis, strided, reversed; inputs also repeated and overlapping.
  static Strides strides(Random& random, std::int64_t rows, std::int64_t cols, bool input) {
    const bool by_columns = random.integer(0, 1) == 0;
    const std::int64_t extent = by_columns ? rows : cols;
    std::int64_t near = random.integer(0, 1) == 0 ? 1 : random.integer(2, 3);
    std::int64_t far = extent * near + random.integer(0, 5);
    if (input && random.integer(0, 3) == 0) near = random.integer(-2, 2), far = random.integer(-40, 40);
    if (random.integer(0, 4) == 0) near = -near;
    if (random.integer(0, 4) == 0) far = -far;
    return by_columns ? Strides{near, far} : Strides{far, near};
  }
  static std::int64_t reach(const Strides& s, std::int64_t rows, std::int64_t cols) {
    return (rows - 1) * std::abs(s.row) + (cols - 1) * std::abs(s.col) + 1;
  }

  StridedMatrix<T> input(Random& random, std::int64_t rows, std::int64_t cols) {
    const Strides s = strides(random, rows, cols, true);
    const std::int64_t step = batch == 1 || random.integer(0, 2) == 0 ? 0 : random.integer(0, reach(s, rows, cols));
    StridedMatrix<T> x(rows, cols, s.row, s.col, batch, step);
    x.fill(random, -1, 1);
    return x;
  }
  StridedMatrix<C> output(Random& random) {
    const Strides s = strides(random, m, n, false);
    return {m, n, s.row, s.col, batch, batch == 1 ? 0 : reach(s, m, n) + random.integer(0, 5)};
  }

  StridedMatrix<C> c_before_;
};

}  // namespace xgemm::test
