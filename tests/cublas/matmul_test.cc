// cublasLtMatmul by libxgemm where it can: orders, flags and batches in all combinations; and what is declined. Runs in
// the program of products_test.cc.
#include "matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "stand_in.h"
#include "stand_in_product.h"

namespace xgemm::test {
namespace {

using namespace cublas;

class Layout {
 public:
  // rows and cols as stored.
  Layout(int type, int order, std::int64_t rows, std::int64_t cols, std::int64_t pad) : order_(order) {
    ld_ = (order == kOrderCol ? rows : cols) + pad;
    cublasLtMatrixLayoutCreate(&layout_, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols), ld_);
    set<std::int32_t>(kLayoutOrder, order);
  }
  ~Layout() { cublasLtMatrixLayoutDestroy(layout_); }
  Layout(const Layout&) = delete;

  template <class T>
  void set(int attribute, T value) {
    EXPECT_EQ(kSuccess, cublasLtMatrixLayoutSetAttribute(layout_, attribute, &value, sizeof value));
  }
  void* get() const { return layout_; }
  std::int64_t at(std::int64_t i, std::int64_t j) const { return order_ == kOrderCol ? i + j * ld_ : j + i * ld_; }
  std::int64_t ld() const { return ld_; }

 private:
  void* layout_ = nullptr;
  int order_;
  std::int64_t ld_;
};

class Matmul : public testing::Test {
 protected:
  void SetUp() override { cublasLtMatmulDescCreate(&operation_, kCompute32F, kReal32F); }
  void TearDown() override { cublasLtMatmulDescDestroy(operation_); }

  template <class T>
  void set(int attribute, T value) {
    EXPECT_EQ(kSuccess, cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof value));
  }
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  // A column-major product of 4x4 matrices, where C is D unless d is given.
  int multiply(const Layout& a, const Layout& b, const Layout& c, float beta, float* d = nullptr,
               const Layout* d_layout = nullptr) {
    const float alpha = 1;
    const Layout& of_d = d_layout != nullptr ? *d_layout : c;
    return cublasLtMatmul(handle_, operation_, &alpha, a_, a.get(), b_, b.get(), &beta, c_, c.get(),
                          d != nullptr ? d : c_, of_d.get(), nullptr, nullptr, 0, nullptr);
  }
  int forwarded(const std::function<int()>& call) {
    const int before = stand_in_lt_calls();
    EXPECT_EQ(kSuccess, call());
    return stand_in_lt_calls() - before;
  }

  void* handle_ = lt_handle();
  void* operation_ = nullptr;
  std::mt19937 random_{5};
  float a_[64] = {1}, b_[64] = {1}, c_[64] = {};
};

TEST_F(Matmul, IsServedInAllOrders) {
  for (int i = 0; i < 200; ++i) {
    const std::int64_t m = pick(1, 12), n = pick(1, 12), k = pick(1, 12), batch = pick(1, 3);
    const bool ta = pick(0, 1) != 0, tb = pick(0, 1) != 0;
    const int type = pick(0, 1) != 0 ? kReal16F : kReal32F;
    const Layout a(type, pick(0, 1), ta ? k : m, ta ? m : k, pick(0, 2));
    Layout copy_of_a(type, kOrderCol, 1, 1, 0);
    Layout b(type, pick(0, 1), tb ? n : k, tb ? k : n, pick(0, 2)), d(type, pick(0, 1), m, n, pick(0, 2));
    const std::int64_t stride = 14 * 14;
    for (const Layout* x : {&a, static_cast<const Layout*>(&b), static_cast<const Layout*>(&d)}) {
      const_cast<Layout*>(x)->set<std::int32_t>(kLayoutBatchCount, static_cast<std::int32_t>(batch));
      const_cast<Layout*>(x)->set<std::int64_t>(kLayoutBatchStride, stride);
    }
    set<std::int32_t>(kMatmulTransA, ta ? kOpT : kOpN);
    set<std::int32_t>(kMatmulTransB, tb ? kOpT : kOpN);
    std::vector<float> ma(3 * stride), mb(3 * stride), md(3 * stride);
    for (std::int64_t e = 0; e < 3 * stride; ++e) {
      store(ma.data(), type, e, pick(-1, 1));
      store(mb.data(), type, e, pick(-1, 1));
      store(md.data(), type, e, pick(-1, 1));
    }
    const std::vector<float> before = md;
    const float alpha = 2, beta = static_cast<float>(pick(0, 1));
    EXPECT_EQ(0, forwarded([&] {
                return cublasLtMatmul(lt_handle(), operation_, &alpha, ma.data(), a.get(), mb.data(), b.get(), &beta,
                                      md.data(), d.get(), md.data(), d.get(), nullptr, nullptr, 0, nullptr);
              }));
    for (std::int64_t p = 0; p < batch; ++p)
      for (std::int64_t r = 0; r < m; ++r)
        for (std::int64_t s = 0; s < n; ++s) {
          double sum = 0;
          for (std::int64_t l = 0; l < k; ++l)
            sum += load(ma.data(), type, p * stride + (ta ? a.at(l, r) : a.at(r, l))) *
                   load(mb.data(), type, p * stride + (tb ? b.at(s, l) : b.at(l, s)));
          const std::int64_t at = p * stride + d.at(r, s);
          ASSERT_EQ(2 * sum + (beta != 0 ? beta * load(before.data(), type, at) : 0), load(md.data(), type, at));
        }
  }
}

TEST_F(Matmul, IsServedWithADThatIsNotC) {
  const Layout x(kReal32F, kOrderCol, 4, 4, 0), wider(kReal32F, kOrderCol, 4, 4, 1);
  c_[0] = 5;
  float d[20];
  EXPECT_EQ(0, forwarded([&] { return multiply(x, x, x, 0, d); }));
  EXPECT_EQ(1, d[0]);
  EXPECT_EQ(0, forwarded([&] { return multiply(x, x, x, 1, d, &wider); }));
  EXPECT_EQ(6, d[0]);
  EXPECT_EQ(5, c_[0]);
  EXPECT_EQ(1, forwarded([&] { return multiply(x, x, x, 1, c_, &wider); }));  // they overlap
  const Layout other_type(kReal16F, kOrderCol, 4, 4, 0);
  EXPECT_EQ(0, forwarded([&] { return multiply(x, x, other_type, 0, d, &x); })) << "C is not read";
  EXPECT_EQ(1, forwarded([&] { return multiply(x, x, other_type, 1, d, &x); }));
}

TEST_F(Matmul, EpiloguesAreServed) {
  for (int i = 0; i < 200; ++i) {
    const std::int64_t m = pick(1, 12), n = pick(1, 12), k = pick(1, 12);
    const Layout a(kReal32F, kOrderCol, m, k, 0), b(kReal32F, kOrderCol, k, n, 0), c(kReal32F, kOrderCol, m, n, 3),
        d(kReal32F, kOrderCol, m, n, pick(0, 2));
    std::vector<float> ma(144), mb(144), mc(200), md(200), bias(12);
    for (std::vector<float>* const x : {&ma, &mb, &mc, &bias})
      for (float& e : *x) e = static_cast<float>(pick(-2, 2));
    const int kinds[] = {kEpilogueDefault,     kEpilogueRelu,       kEpilogueBias,    kEpilogueGelu,
                         kEpilogueReluBias,    kEpilogueGeluBias,   kEpilogueReluAux, kEpilogueGeluAux,
                         kEpilogueReluAuxBias, kEpilogueGeluAuxBias};
    const int epilogue = kinds[pick(0, 9)];
    const bool bits = (epilogue & kEpilogueRelu) != 0;
    const std::int64_t ld_aux = bits ? 128 * pick(1, 2) : 8 * pick(2, 3);
    std::vector<float> aux(1000);
    set<void*>(kMatmulAux, aux.data());
    set<std::int64_t>(kMatmulAuxLd, ld_aux);
    set<std::uint32_t>(kMatmulEpilogue, static_cast<std::uint32_t>(epilogue));
    set<const void*>(kMatmulBias, bias.data());
    set<std::int32_t>(kMatmulBiasType, pick(0, 1) != 0 ? -1 : static_cast<int>(kReal32F));
    const float alpha = 1, beta = static_cast<float>(pick(0, 1));
    EXPECT_EQ(0, forwarded([&] {
                return cublasLtMatmul(lt_handle(), operation_, &alpha, ma.data(), a.get(), mb.data(), b.get(), &beta,
                                      mc.data(), c.get(), md.data(), d.get(), nullptr, nullptr, 0, nullptr);
              }));
    for (std::int64_t r = 0; r < m; ++r)
      for (std::int64_t s = 0; s < n; ++s) {
        double x = beta * mc[static_cast<std::size_t>(c.at(r, s))];
        for (std::int64_t l = 0; l < k; ++l)
          x += ma[static_cast<std::size_t>(a.at(r, l))] * mb[static_cast<std::size_t>(b.at(l, s))];
        if ((epilogue & kEpilogueBias) != 0) x += bias[static_cast<std::size_t>(r)];
        if ((epilogue & kEpilogueAux) != 0) {
          const std::int64_t at = s * ld_aux + r;
          const auto* const bytes = reinterpret_cast<const unsigned char*>(aux.data());
          ASSERT_EQ(bits ? bytes[at / 8] >> (at % 8) & 1 : double{aux[static_cast<std::size_t>(at)]},
                    bits ? x >= 0 : x);
        }
        if ((epilogue & kEpilogueRelu) != 0) x = std::max(x, 0.0);
        if ((epilogue & kEpilogueGelu) != 0) x = 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
        ASSERT_NEAR(md[static_cast<std::size_t>(d.at(r, s))], x, 1e-4) << "epilogue " << epilogue;
      }
  }
}

TEST_F(Matmul, IsForwardedWithWhatLibxgemmDoesNotHave) {
  Layout x(kReal32F, kOrderCol, 4, 4, 0);
  const auto is_forwarded = [&] { return forwarded([&] { return multiply(x, x, x, 0); }) == 1; };
  EXPECT_FALSE(is_forwarded());
  float scale = 1;
  float bias[4] = {};
  set<std::uint32_t>(kMatmulEpilogue, kEpilogueBias);
  EXPECT_TRUE(is_forwarded()) << "there is none";
  set<const void*>(kMatmulBias, bias);
  EXPECT_FALSE(is_forwarded());
  set<std::int32_t>(kMatmulBiasType, kReal16F);
  EXPECT_TRUE(is_forwarded());
  set<std::int32_t>(kMatmulBiasType, -1);
  for (const int epilogue : {8 | 128, 64 | 128 | 16, 256, 512}) {
    set<std::uint32_t>(kMatmulEpilogue, static_cast<std::uint32_t>(epilogue));
    EXPECT_TRUE(is_forwarded()) << "gradients";
  }
  float aux[128];
  set<std::uint32_t>(kMatmulEpilogue, kEpilogueGeluAux);
  set<std::int64_t>(kMatmulAuxLd, 8);
  EXPECT_TRUE(is_forwarded()) << "there is none";
  set<void*>(kMatmulAux, aux);
  EXPECT_FALSE(is_forwarded());
  set<std::uint32_t>(kMatmulEpilogue, kEpilogueReluAux);
  EXPECT_TRUE(is_forwarded()) << "bits begin at multiples of 128";
  set<std::int64_t>(kMatmulAuxLd, 128);
  EXPECT_FALSE(is_forwarded());
  set<std::uint32_t>(kMatmulEpilogue, kEpilogueGeluAux);
  set<std::int32_t>(kMatmulAuxType, kReal16F);
  EXPECT_TRUE(is_forwarded());
  set<std::int32_t>(kMatmulAuxType, -1);
  set<std::uint32_t>(kMatmulEpilogue, kEpilogueDefault);
  for (const int attribute : {kMatmulAScale, kMatmulBScale, kMatmulCScale, kMatmulDScale, kMatmulAmaxD}) {
    set<void*>(attribute, &scale);
    EXPECT_TRUE(is_forwarded());
    set<void*>(attribute, nullptr);
  }
  for (const int attribute : {kMatmulTransC, kMatmulSmCountTarget, kMatmulAtomicRows, kMatmulAtomicCols}) {
    set<std::int32_t>(attribute, 1);
    EXPECT_TRUE(is_forwarded());
    set<std::int32_t>(attribute, 0);
  }
  for (const int attribute : {kMatmulAtomicIn, kMatmulAtomicOut}) {
    set<void*>(attribute, &scale);
    EXPECT_TRUE(is_forwarded());
    set<void*>(attribute, nullptr);
  }
  for (const int fill : {0, 1}) {
    set<std::int32_t>(kMatmulFillMode, fill);
    EXPECT_TRUE(is_forwarded()) << "a triangle";
  }
  set<std::int32_t>(kMatmulFillMode, kFillFull);
  handle_ = nullptr;
  EXPECT_TRUE(is_forwarded()) << "cuBLAS has a status for it";
  handle_ = lt_handle();
  for (const int mode : {2, 3, 4}) {  // vectors of scalars
    set<std::int32_t>(kMatmulPointerMode, mode);
    EXPECT_TRUE(is_forwarded());
  }
  set<std::int32_t>(kMatmulPointerMode, kScalarsOnHost);
  x.set<std::int64_t>(kLayoutPlaneOffset, 64);
  EXPECT_TRUE(is_forwarded());
  x.set<std::int64_t>(kLayoutPlaneOffset, 0);
  x.set<std::uint32_t>(kLayoutBatchMode, 1);
  EXPECT_TRUE(is_forwarded());
  x.set<std::uint32_t>(kLayoutBatchMode, kBatchStrided);
  const Layout other(kReal32F, kOrderCol, 3, 4, 1);
  EXPECT_EQ(1, forwarded([&] { return multiply(x, other, x, 0); }));
  EXPECT_FALSE(is_forwarded());
}

}  // namespace
}  // namespace xgemm::test
