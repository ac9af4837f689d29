// xgemm::gemm on views of every kind against a product in double, with guards between and around the elements.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/matrix.h"
#include "xgemm.hpp"

namespace {

using xgemm::bfloat16;
using xgemm::col_major;
using xgemm::half;
using xgemm::MatrixView;
using xgemm::row_major;
using xgemm::test::Random;

struct Shape {
  std::int64_t rows, cols, row_stride, col_stride;
};

bool overlaps(const Shape& s) {
  std::set<std::int64_t> offsets;
  for (std::int64_t i = 0; i < s.rows; ++i)
    for (std::int64_t j = 0; j < s.cols; ++j) offsets.insert(i * s.row_stride + j * s.col_stride);
  return static_cast<std::int64_t>(offsets.size()) < s.rows * s.cols;
}

// A view of the given shape in a storage of its own that ends where the view does, so that AddressSanitizer sees every
// step beyond it. All elements start as NaN.
template <class T>
class Operand {
 public:
  explicit Operand(const Shape& s) : shape_(s) {
    std::int64_t low = 0, high = -1;
    if (s.rows > 0 && s.cols > 0) {
      const std::int64_t down = (s.rows - 1) * s.row_stride, right = (s.cols - 1) * s.col_stride;
      low = std::min<std::int64_t>({0, down, right, down + right});
      high = std::max<std::int64_t>({0, down, right, down + right});
    }
    storage_.assign(static_cast<std::size_t>(high - low + 1), T(std::numeric_limits<float>::quiet_NaN()));
    origin_ = -low;
  }

  MatrixView<T> view() {
    return {storage_.data() + origin_, shape_.rows, shape_.cols, shape_.row_stride, shape_.col_stride};
  }

  void fill(Random& random) {
    for (std::int64_t i = 0; i < shape_.rows; ++i)
      for (std::int64_t j = 0; j < shape_.cols; ++j) view()(i, j) = T(static_cast<float>(random.uniform()));
  }

  // Whether all but the view's elements hold the same bits as in `before`.
  bool same_around(Operand before) {
    Operand after = *this;
    for (std::int64_t i = 0; i < shape_.rows; ++i)
      for (std::int64_t j = 0; j < shape_.cols; ++j) before.view()(i, j) = after.view()(i, j) = T(0.0f);
    return before.same_bits(after);
  }
  bool same_bits(const Operand& other) const {
    return storage_.empty() || std::memcmp(storage_.data(), other.storage_.data(), storage_.size() * sizeof(T)) == 0;
  }

  std::string describe() const {
    return std::to_string(shape_.rows) + " x " + std::to_string(shape_.cols) + " strides " +
           std::to_string(shape_.row_stride) + ", " + std::to_string(shape_.col_stride);
  }

 private:
  Shape shape_;
  std::int64_t origin_ = 0;
  std::vector<T> storage_;
};

template <class T>
double rounding_of(double value);  // the most that rounding the result to T may add
template <>
double rounding_of<float>(double) {
  return 0;
}
template <>
double rounding_of<half>(double value) {
  return std::max(std::fabs(value) * 0x1p-11, 0x1p-25) * 1.001;
}
template <>
double rounding_of<bfloat16>(double value) {
  return std::max(std::fabs(value) * 0x1p-8, 0x1p-134) * 1.001;
}

// "" or the first element of `after` that is not alpha A B + beta C.
template <class In, class Out>
std::string first_difference(float alpha, const MatrixView<In>& a, const MatrixView<In>& b, float beta,
                             const MatrixView<Out>& before, const MatrixView<Out>& after) {
  const std::int64_t k = a.cols();
  for (std::int64_t i = 0; i < after.rows(); ++i) {
    for (std::int64_t j = 0; j < after.cols(); ++j) {
      double value = 0, magnitude = 0;
      if (alpha != 0) {
        for (std::int64_t p = 0; p < k; ++p) {
          const double term = double{alpha} * static_cast<double>(a(i, p)) * static_cast<double>(b(p, j));
          value += term;
          magnitude += std::fabs(term);
        }
      }
      if (beta != 0) {
        value += double{beta} * static_cast<double>(before(i, j));
        magnitude += std::fabs(double{beta} * static_cast<double>(before(i, j)));
      }
      const double error = std::fabs(static_cast<double>(after(i, j)) - value);
      const double bound = 2 * 0x1p-24 * static_cast<double>(k + 2) * magnitude + rounding_of<Out>(value);
      if (!(error <= bound)) {
        return "(" + std::to_string(i) + ", " + std::to_string(j) + ") is " +
               std::to_string(static_cast<double>(after(i, j))) + ", expected " + std::to_string(value);
      }
    }
  }
  return "";
}

// Any shape that may come up: contiguous with or without padding, transposed, strided, reversed, repeated, overlapping.
Shape random_shape(Random& random, std::int64_t rows, std::int64_t cols, bool input) {
  Shape s{rows, cols, 1, 1};
  do {
    const bool by_columns = random.integer(0, 1) == 0;
    const std::int64_t extent = std::max<std::int64_t>(1, by_columns ? rows : cols);
    std::int64_t step = 1, ld = extent + random.integer(0, 3);
    switch (random.integer(0, 5)) {
      case 0:  // strided
        step = random.integer(2, 3);
        ld = extent * step + random.integer(0, 3);
        break;
      case 1:  // either axis reversed
        if (random.integer(0, 1) == 0) step = -step;
        if (random.integer(0, 1) == 0) ld = -ld;
        break;
      case 2:  // anything, zeros among it
        step = random.integer(-4, 4);
        ld = random.integer(-12, 12);
        break;
      default:
        break;
    }
    s.row_stride = by_columns ? step : ld;
    s.col_stride = by_columns ? ld : step;
  } while (!input && overlaps(s));
  return s;
}

float random_scalar(Random& random) {
  const float scalars[] = {0.0f, 1.0f, -0.7f, 2.5f};
  return scalars[random.integer(0, 3)];
}

// One random product.
template <class In, class Out>
void check_random_product(Random& random, std::int64_t most) {
  const std::int64_t m = random.integer(0, most), n = random.integer(0, most), k = random.integer(0, most);
  const float alpha = random_scalar(random), beta = random_scalar(random);
  Operand<In> a(random_shape(random, m, k, true)), b(random_shape(random, k, n, true));
  Operand<Out> c(random_shape(random, m, n, false));
  // What may not be read stays NaN.
  if (alpha != 0) {
    a.fill(random);
    b.fill(random);
  }
  if (beta != 0) c.fill(random);
  const Operand<In> a_before = a, b_before = b;
  Operand<Out> c_before = c;
  SCOPED_TRACE("A " + a.describe() + "; B " + b.describe() + "; C " + c.describe() + "; alpha " +
               std::to_string(alpha) + ", beta " + std::to_string(beta));

  ASSERT_NO_THROW(xgemm::gemm(alpha, a.view(), MatrixView<const In>(b.view()), beta, c.view()));
  ASSERT_EQ(first_difference(alpha, a.view(), b.view(), beta, c_before.view(), c.view()), "");
  ASSERT_TRUE(c.same_around(c_before)) << "an element beside those of C was written";
  ASSERT_TRUE(a.same_bits(a_before) && b.same_bits(b_before)) << "an input was written";
}

// The types of A and B, and of C.
template <class I, class O>
struct Elements {
  using In = I;
  using Out = O;
};

template <class T>
class GemmTest : public testing::Test {};
using ElementTypes = testing::Types<Elements<float, float>, Elements<half, half>, Elements<bfloat16, bfloat16>,
                                    Elements<half, float>, Elements<bfloat16, float>>;
TYPED_TEST_SUITE(GemmTest, ElementTypes);

TYPED_TEST(GemmTest, RandomViews) {
  Random random(2023);
  for (int round = 0; round < 4000; ++round) {
    check_random_product<typename TypeParam::In, typename TypeParam::Out>(random, round % 50 == 0 ? 40 : 7);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(GemmTest, EveryMixOfStorageOrders) {
  using In = typename TypeParam::In;
  using Out = typename TypeParam::Out;
  Random random(5);
  const std::int64_t m = 5, n = 3, k = 4;
  for (int mix = 0; mix < 8; ++mix) {
    const auto shape = [](std::int64_t rows, std::int64_t cols, bool by_rows) {
      return by_rows ? Shape{rows, cols, cols + 1, 1} : Shape{rows, cols, 1, rows + 2};
    };
    Operand<In> a(shape(m, k, mix & 1)), b(shape(k, n, mix & 2));
    Operand<Out> c(shape(m, n, mix & 4));
    a.fill(random);
    b.fill(random);
    c.fill(random);
    Operand<Out> before = c;
    xgemm::gemm(1.5f, a.view(), b.view(), -0.5f, c.view());
    ASSERT_EQ(first_difference(1.5f, a.view(), b.view(), -0.5f, before.view(), c.view()), "") << mix;
    ASSERT_TRUE(c.same_around(before)) << mix;
  }
}

TYPED_TEST(GemmTest, HankelAndBroadcastInputs) {
  using In = typename TypeParam::In;
  using Out = typename TypeParam::Out;
  Random random(6);
  Operand<In> hankel({6, 4, 1, 1}), row({4, 5, 0, 1});
  Operand<Out> c({6, 5, 2, 12});
  hankel.fill(random);
  row.fill(random);
  Operand<Out> before = c;
  xgemm::gemm(1.0f, hankel.view(), row.view(), 0.0f, c.view());
  EXPECT_EQ(first_difference(1.0f, hankel.view(), row.view(), 0.0f, before.view(), c.view()), "");
  EXPECT_TRUE(c.same_around(before));
}

// A triangle of any C, as rank-k updates have it.
TYPED_TEST(GemmTest, TrianglesOfAnyStrides) {
  using In = typename TypeParam::In;
  using Out = typename TypeParam::Out;
  Random random(7);
  for (int round = 0; round < 500; ++round) {
    const std::int64_t n = random.integer(1, 40), k = random.integer(1, 9);
    const float beta = random_scalar(random);
    Operand<In> a(random_shape(random, n, k, true));
    Operand<Out> c(random_shape(random, n, n, false));
    a.fill(random);
    if (beta != 0) c.fill(random);
    Operand<Out> before = c;
    const bool lower = random.integer(0, 1) == 0;
    xgemm::gemm(0.5f, a.view(), a.view().transposed(), beta, c.view(), lower ? XGEMM_FILL_LOWER : XGEMM_FILL_UPPER);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        const bool inside = lower ? i >= j : i <= j;
        const MatrixView<Out> result(&c.view()(i, j), 1, 1, 1, 1), old(&before.view()(i, j), 1, 1, 1, 1);
        if (inside) {
          ASSERT_EQ(first_difference(0.5f, a.view().row(i), a.view().row(j).transposed(), beta, old, result), "");
        } else {
          ASSERT_EQ(std::memcmp(result.data(), old.data(), sizeof(Out)), 0) << "beyond the triangle";
        }
      }
    ASSERT_TRUE(c.same_around(before));
  }
}

template <class Call>
int status_of(const Call& call, std::string* message = nullptr) {
  try {
    call();
    return 0;
  } catch (const xgemm::error& e) {
    if (message != nullptr) *message = e.what();
    return e.status();
  }
}

TEST(GemmErrors, ShapesMustAgree) {
  std::vector<float> x(100);
  const auto view = [&](std::int64_t rows, std::int64_t cols) { return row_major(x.data(), rows, cols); };
  std::string message;
  EXPECT_EQ(status_of([&] { xgemm::gemm(1, view(3, 4), view(4, 5), 0, view(2, 5)); }, &message), -XGEMM_ARG_M);
  EXPECT_EQ(message, "xgemm: A is 3 x 4, B is 4 x 5, C is 2 x 5, but rows(A) = rows(C) >= 0 is required");
  EXPECT_EQ(status_of([&] { xgemm::gemm(1, view(3, 4), view(4, 5), 0, view(3, 6)); }), -XGEMM_ARG_N);
  EXPECT_EQ(status_of([&] { xgemm::gemm(1, view(3, 4), view(3, 5), 0, view(3, 5)); }), -XGEMM_ARG_K);
  EXPECT_EQ(status_of([&] { xgemm::gemm(1, view(-1, 4), view(4, 5), 0, view(-1, 5)); }), -XGEMM_ARG_M);
  // Also where nothing is to be computed.
  EXPECT_EQ(status_of([&] { xgemm::gemm(0, view(3, 4), view(3, 5), 1, view(3, 5)); }), -XGEMM_ARG_K);
}

TEST(GemmErrors, OverlappingResult) {
  std::vector<float> x(100);
  const MatrixView<float> a(x.data(), 3, 3, 1, 3), c(x.data() + 50, 3, 3, 1, 2);
  std::string message;
  EXPECT_EQ(status_of([&] { xgemm::gemm(1, a, a, 0, c); }, &message), -XGEMM_ARG_LDC);
  EXPECT_EQ(
      message,
      "xgemm: row_stride_c = 1 and column_stride_c = 2, by which two of the 3 x 3 elements of C share an address");
}

TEST(GemmErrors, NullPointers) {
  std::vector<float> x(100, 1.0f);
  const auto a = row_major(x.data(), 3, 3), c = row_major(x.data() + 50, 3, 3);
  for (std::int64_t step : {1, 2}) {  // plain, and not
    const MatrixView<float> null(nullptr, 3, 3, 3 * step, step);
    EXPECT_EQ(status_of([&] { xgemm::gemm(1, null, a, 0, c); }), -XGEMM_ARG_A);
    EXPECT_EQ(status_of([&] { xgemm::gemm(1, a, null, 0, c); }), -XGEMM_ARG_B);
    EXPECT_EQ(status_of([&] { xgemm::gemm(1, a, a, 0, null); }), -XGEMM_ARG_C);
    EXPECT_EQ(status_of([&] { xgemm::gemm(0, null, null, 1, null); }), 0);
    EXPECT_EQ(status_of([&] { xgemm::gemm(0, null, null, 2, c); }), 0);
  }
  EXPECT_EQ(c(0, 0), 4.0f);  // scaled twice, and untouched by what failed
}

TEST(GemmErrors, NoMemoryToPack) {
  const float one = 1;
  float result = 0;
  const std::int64_t huge = std::int64_t{1} << 62;
  const MatrixView<const float> row(&one, 1, huge, 0, 0), column(&one, huge, 1, 0, 0);
  EXPECT_EQ(status_of([&] { xgemm::gemm(1, row, column, 0, row_major(&result, 1, 1)); }), XGEMM_OUT_OF_HOST_MEMORY);
}

TEST(Context, OwnsAndMoves) {
  std::vector<float> a = {1, 2, 3, 4}, b = {5, 6, 7, 8}, c(4);
  xgemm::context first;
  first.set_math_mode(XGEMM_MATH_STRICT).set_stream(nullptr).set_workspace(nullptr, 0);
  ASSERT_NE(first.get(), nullptr);
  xgemm::context second = std::move(first);
  EXPECT_EQ(first.get(), nullptr);
  xgemm::gemm(1, row_major(a.data(), 2, 2), row_major(b.data(), 2, 2), 0, row_major(c.data(), 2, 2), second);
  EXPECT_EQ(c, (std::vector<float>{19, 22, 43, 50}));
  first = xgemm::context();  // and what it had is gone
  first = std::move(second);
  EXPECT_NE(first.get(), nullptr);
  EXPECT_EQ(second.get(), nullptr);
  auto& same = first;
  first = std::move(same);
  EXPECT_NE(first.get(), nullptr);
  xgemm::gemm(1, row_major(a.data(), 2, 2), col_major(b.data(), 2, 2), 0, row_major(c.data(), 2, 2), first.get());
  EXPECT_EQ(c, (std::vector<float>{17, 23, 39, 53}));
  EXPECT_EQ(status_of([&] { first.set_workspace(nullptr, 256); }), -XGEMM_ARG_WORKSPACE);
}

TEST(Prepared, ThrowsWhatCannotBePrepared) {
  const std::vector<float> x(9, 1.0f);
  xgemm_args args = XGEMM_ARGS_INIT;
  args.m = args.n = args.k = args.lda = args.ldb = 3;
  args.a = args.b = x.data();
  EXPECT_EQ(status_of([&] { xgemm::prepared(args, XGEMM_ARG_A); }), -XGEMM_ARG_A);  // not device memory
  args.ldb = 2;
  EXPECT_EQ(status_of([&] { xgemm::prepared(args, XGEMM_ARG_B); }), -XGEMM_ARG_LDB);
}

}  // namespace

// Types of one's own: a matrix class with an overload beside it, and an fp16 type known by a specialisation.
namespace mine {

struct Half {
  xgemm_half bits;
};

struct Matrix {
  std::vector<Half> elements;
  std::int64_t n;
};

xgemm::MatrixView<const Half> as_matrix_view(const Matrix& m) {
  return xgemm::col_major(m.elements.data(), m.n, m.n);
}
xgemm::MatrixView<Half> as_matrix_view(Matrix& m) {
  return xgemm::col_major(m.elements.data(), m.n, m.n);
}

}  // namespace mine

template <>
struct xgemm::element<mine::Half> : std::integral_constant<xgemm_type, XGEMM_F16> {};

namespace {

TEST(Gemm, TakesForeignTypes) {
  const xgemm_half one = half(1.0f).bits(), two = half(2.0f).bits();
  const mine::Matrix a{{{one}, {two}, {two}, {one}}, 2};
  std::vector<mine::Half> c(4);
  xgemm::gemm(1, a, a, 0, xgemm::col_major(c.data(), 2, 2));
  std::vector<half> other(4);  // fp16 by another name
  xgemm::gemm(1, a, a, 0, xgemm::col_major(other.data(), 2, 2));
  EXPECT_EQ(other[0].bits(), c[0].bits);
  mine::Matrix own{std::vector<mine::Half>(4), 2}, square = a;  // written and read without const
  xgemm::gemm(1, square, square, 0, own);
  EXPECT_EQ(own.elements[0].bits, c[0].bits);
  EXPECT_EQ(static_cast<float>(half::from_bits(c[0].bits)), 5);
  EXPECT_EQ(static_cast<float>(half::from_bits(c[1].bits)), 4);
}

#if defined(__STDCPP_BFLOAT16_T__)
TEST(Gemm, TakesStdBfloat16) {
  std::vector<std::bfloat16_t> a(4), c(4);
  for (int i = 0; i < 4; ++i) a[static_cast<std::size_t>(i)] = static_cast<std::bfloat16_t>(static_cast<float>(i));
  xgemm::gemm(1, row_major(a.data(), 2, 2), row_major(a.data(), 2, 2), 0, row_major(c.data(), 2, 2));
  EXPECT_EQ(static_cast<float>(c[3]), 11);
}
#endif

#if defined(XGEMM_HAS_FLOAT16)
TEST(Gemm, TakesFloat16) {
  std::vector<_Float16> a(4), c(4);
  for (int i = 0; i < 4; ++i) a[static_cast<std::size_t>(i)] = static_cast<_Float16>(i);
  xgemm::gemm(1, row_major(a.data(), 2, 2), row_major(a.data(), 2, 2), 0, row_major(c.data(), 2, 2));
  EXPECT_EQ(static_cast<float>(c[3]), 11);
}
#endif

}  // namespace
