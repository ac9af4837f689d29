// Batches whose matrices are found by pointers in device memory: in any order, on multiples of 16 bytes or not, of all
// sizes, against fp64, with guards between the matrices; in a captured graph, which follows
// what the pointers are when it runs, with the same bits wherever C lies.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "call.h"
#include "support/element.h"
#include "support/matrix.h"

namespace xgemm::gpu_test {
namespace {

using test::Bfloat16;
using test::Half;
using test::Random;

enum class Where { on_vectors, one_off, anywhere };

const char* name_of(Where where) {
  return where == Where::on_vectors ? "all on vectors" : where == Where::one_off ? "one off vectors" : "off vectors";
}

template <class T>
constexpr xgemm_type type_of() {
  if constexpr (std::is_same_v<T, float>) return XGEMM_F32;
  if constexpr (std::is_same_v<T, double>) return XGEMM_F64;
  return std::is_same_v<T, Half> ? XGEMM_F16 : XGEMM_BF16;
}

// Matrices that lie in one piece of memory in an order of their own, with guards between them.
template <class T>
struct Matrices {
  std::int64_t rows, cols, ld;
  std::vector<std::int64_t> first;  // of each
  std::vector<T> host;
  T* device = nullptr;
  void** pointers = nullptr;  // in device memory

  Matrices(Random& random, std::int64_t rows_, std::int64_t cols_, std::int64_t ld_, std::int64_t batch, Where where,
           bool values)
      : rows(rows_), cols(cols_), ld(ld_) {
    constexpr std::int64_t kVector = 16 / sizeof(T), kGuard = 64;
    const std::int64_t pitch = (ld * cols + kGuard + kVector - 1) / kVector * kVector + kVector;
    for (std::int64_t b = 0; b < batch; ++b) first.push_back(kGuard + (batch - 1 - b) * pitch);
    for (std::int64_t b = 0; b < batch; ++b) {
      const bool off = where == Where::anywhere || (where == Where::one_off && b == batch / 2);
      if (off) first[static_cast<std::size_t>(b)] += random.integer(1, kVector - 1);
    }
    host.assign(static_cast<std::size_t>(kGuard + batch * pitch + kGuard), test::from_double<T>(std::nan("")));
    for (std::int64_t b = 0; b < batch && values; ++b)
      for (std::int64_t j = 0; j < cols; ++j)
        for (std::int64_t i = 0; i < rows; ++i) at(b, i, j) = test::from_double<T>(random.uniform());
    XGEMM_CHECK_CUDA(cudaMalloc(reinterpret_cast<void**>(&device), host.size() * sizeof(T)));
    upload();
    XGEMM_CHECK_CUDA(cudaMalloc(reinterpret_cast<void**>(&pointers), first.size() * sizeof(void*)));
    upload_pointers();
  }
  Matrices(const Matrices&) = delete;
  ~Matrices() {
    cudaFree(device);
    cudaFree(pointers);
  }

  T& at(std::int64_t b, std::int64_t i, std::int64_t j) {
    return host[static_cast<std::size_t>(first[static_cast<std::size_t>(b)] + j * ld + i)];
  }
  void upload() { XGEMM_CHECK_CUDA(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice)); }
  void upload_pointers() {
    std::vector<void*> all;
    for (const std::int64_t x : first) all.push_back(device + x);
    XGEMM_CHECK_CUDA(cudaMemcpy(pointers, all.data(), all.size() * sizeof(void*), cudaMemcpyHostToDevice));
  }
  std::vector<T> fetch() const {
    std::vector<T> now(host.size());
    XGEMM_CHECK_CUDA(cudaMemcpy(now.data(), device, now.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return now;
  }
};

struct Shape {
  std::int64_t m, n, k, batch;
};

template <class T, class U = T>
class PointerCase {
 public:
  PointerCase(Random& random, const Shape& s, Where where, bool padded, double beta)
      : s_(s),
        transa_(random.integer(0, 1) != 0),
        transb_(random.integer(0, 1) != 0),
        alpha_(static_cast<Scalar>(0.7)),
        beta_(static_cast<Scalar>(beta)),
        a_(random, transa_ ? s.k : s.m, transa_ ? s.m : s.k, ld(transa_ ? s.k : s.m, padded), s.batch, where, true),
        b_(random, transb_ ? s.n : s.k, transb_ ? s.k : s.n, ld(transb_ ? s.n : s.k, padded), s.batch, where, true),
        c_(random, s.m, s.n, ld(s.m, padded), s.batch, where, beta != 0) {}

  xgemm_args args() const {
    xgemm_args x = XGEMM_ARGS_INIT;
    x.type = type_of<T>();
    x.type_c = std::is_same_v<T, U> ? XGEMM_C_SAME : XGEMM_C_F32;
    x.transa = transa_ ? 'T' : 'N', x.transb = transb_ ? 'T' : 'N';
    x.m = s_.m, x.n = s_.n, x.k = s_.k;
    x.alpha = &alpha_, x.beta = &beta_;
    x.a = a_.pointers, x.lda = a_.ld;
    x.b = b_.pointers, x.ldb = b_.ld;
    x.c = c_.pointers, x.ldc = c_.ld;
    x.batch_count = s_.batch;
    x.batch_kind = XGEMM_BATCH_POINTERS;
    return x;
  }

  // more: of a term's magnitude, beside what sums are rounded by.
  std::string check(double more = 0) {
    std::vector<U> now = c_.fetch(), guards = now;
    using Wide = test::WideOf<T>;
    std::vector<Wide> a(static_cast<std::size_t>(s_.m * s_.k)), x(static_cast<std::size_t>(s_.n * s_.k));  // lines of k
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      for (std::int64_t l = 0; l < s_.k; ++l) {
        for (std::int64_t i = 0; i < s_.m; ++i)
          a[static_cast<std::size_t>(i * s_.k + l)] = test::to_double(transa_ ? a_.at(b, l, i) : a_.at(b, i, l));
        for (std::int64_t j = 0; j < s_.n; ++j)
          x[static_cast<std::size_t>(j * s_.k + l)] = test::to_double(transb_ ? b_.at(b, j, l) : b_.at(b, l, j));
      }
      for (std::int64_t j = 0; j < s_.n; ++j)
        for (std::int64_t i = 0; i < s_.m; ++i) {
          const auto index = static_cast<std::size_t>(c_.first[static_cast<std::size_t>(b)] + j * c_.ld + i);
          guards[index] = c_.host[index];
          Wide sum = 0, magnitude = 0;
          for (std::int64_t l = 0; l < s_.k; ++l) {
            const Wide product = a[static_cast<std::size_t>(i * s_.k + l)] * x[static_cast<std::size_t>(j * s_.k + l)];
            sum += product, magnitude += std::fabs(product);
          }
          const Wide old = beta_ != 0 ? beta_ * Wide{test::to_double(c_.host[index])} : 0;
          const auto expected = static_cast<double>(alpha_ * sum + old);
          const double bound = (more + test::kSumRoundoff<T> * static_cast<double>(s_.k + 4)) *
                                   static_cast<double>(magnitude + std::fabs(old)) +
                               test::half_ulp<U>(expected);
          const double actual = test::to_double(now[index]);
          if (!(std::fabs(actual - expected) <= bound))
            return "C(" + std::to_string(i) + ", " + std::to_string(j) + ") of matrix " + std::to_string(b) + " is " +
                   std::to_string(actual) + ", expected " + std::to_string(expected) + " within " +
                   std::to_string(bound);
        }
    }
    return std::memcmp(guards.data(), c_.host.data(), guards.size() * sizeof(U)) == 0 ? "" : "a guard was written";
  }

  std::string words() const {
    return std::string(transa_ ? "T" : "N") + (transb_ ? "T " : "N ") + std::to_string(s_.m) + "x" +
           std::to_string(s_.n) + "x" + std::to_string(s_.k) + " batch " + std::to_string(s_.batch) + " beta " +
           std::to_string(beta_) + " ld " + std::to_string(a_.ld) + " " + std::to_string(b_.ld) + " " +
           std::to_string(c_.ld);
  }
  Matrices<U>& c() { return c_; }

 private:
  using Scalar = test::ScalarOf<T>;
  static std::int64_t ld(std::int64_t rows, bool padded) {
    return std::max<std::int64_t>(1, padded ? (rows + 15) / 16 * 16 : rows);
  }

  Shape s_;
  bool transa_, transb_;
  Scalar alpha_, beta_;
  Matrices<T> a_, b_;
  Matrices<U> c_;
};

template <class T, class U = T>
void run_all(const std::vector<Shape>& shapes) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  Random random(sizeof(T) * 10 + sizeof(U));
  for (const Shape& shape : shapes)
    for (const Where where : {Where::on_vectors, Where::one_off, Where::anywhere})
      for (const bool padded : {true, false})
        for (const double beta : {0.0, -0.5}) {
          PointerCase<T, U> x(random, shape, where, padded, beta);
          const xgemm_args args = x.args();
          char plan[4096] = "";
          xgemm_explain(nullptr, &args, plan, sizeof plan);
          ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error() << ": " << x.words();
          XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
          ASSERT_EQ(x.check(), "") << x.words() << ", " << name_of(where) << "\n" << plan;
        }
}

const std::vector<Shape> kSmall = {{1, 1, 1, 3},    {16, 16, 16, 40}, {1, 65, 33, 5},  {70, 1, 128, 4},
                                   {33, 31, 29, 9}, {4, 96, 64, 6},   {64, 64, 64, 5}, {40, 24, 0, 3}};
const std::vector<Shape> kLarger = {{128, 128, 128, 8}, {192, 136, 200, 7},  {257, 130, 71, 4},
                                    {384, 256, 320, 2}, {96, 64, 2048, 2},   {1, 700, 900, 5},
                                    {8, 512, 256, 9},   {256, 256, 200, 40}, {520, 264, 72, 9}};

TEST(PointersSmall, F32) {
  run_all<float>(kSmall);
}
TEST(PointersSmall, F64) {
  run_all<double>(kSmall);
}
TEST(PointersSmall, F16) {
  run_all<Half>(kSmall);
}
TEST(PointersSmall, Bf16) {
  run_all<Bfloat16>(kSmall);
}
TEST(PointersSmall, Bf16ToF32) {
  run_all<Bfloat16, float>(kSmall);
}
TEST(PointersLarger, F32) {
  run_all<float>(kLarger);
}
TEST(PointersLarger, F64) {
  run_all<double>(kLarger);
}
TEST(PointersLarger, F16) {
  run_all<Half>(kLarger);
}
TEST(PointersLarger, F16ToF32) {
  run_all<Half, float>(kLarger);
}

// What tensor cores may compute is copied for them where that takes less time, and else found by strict kernels; so
// are doubles. more: what copies may be off by beside sums (PointerCase::check).
template <class T>
void run_where_copies_have_more(int math_mode, double more) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  int major = 0;
  XGEMM_CHECK_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (major != 9) GTEST_SKIP() << "kernels find matrices by pointers on compute capability 9.0";
  Random random(7);
  const auto run = [&](const Shape& shape, std::optional<bool> is_copied) {
    for (const Where where : {Where::on_vectors, Where::anywhere})
      for (const double beta : {0.0, -0.5}) {
        PointerCase<T> x(random, shape, where, false, beta);
        xgemm_args args = x.args();
        args.math_mode = math_mode;
        char plan[4096] = "";
        xgemm_explain(nullptr, &args, plan, sizeof plan);
        const bool copied = std::string_view(plan).find("matrices: copied") != std::string_view::npos;
        EXPECT_NE(copied, std::string_view(plan).find("matrices: found by the kernel") != std::string_view::npos)
            << plan;
        if (is_copied) {
          EXPECT_EQ(copied, *is_copied) << plan;
        }
        if (shape.k > 256) continue;  // to check would take long
        ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error() << ": " << x.words();
        XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
        ASSERT_EQ(x.check(copied ? more : 0), "") << x.words() << ", " << name_of(where) << "\n" << plan;
      }
  };
  run({16, 16, 16, 700}, false);
  run({1, 128, 200, 30}, false);
  run({256, 200, 256, 20}, std::nullopt);
  run({1024, 1024, 1024, 4}, true);
}
TEST(PointersLarger, Tf32) {
  run_where_copies_have_more<float>(XGEMM_MATH_TF32 + 1, 2e-3);
}
TEST(PointersLarger, Emulated) {
  run_where_copies_have_more<float>(XGEMM_MATH_FP32_EMULATED + 1, 0);
}
TEST(PointersLarger, DoublesAreCopiedWhereThatIsFaster) {
  run_where_copies_have_more<double>(0, 0);
}

// Where lines start anywhere and products are large, the kernel finds copies, of which pointers are left beside them.
template <class T>
void run_copied() {
  XGEMM_SKIP_WITHOUT_DEVICE();
  int major = 0;
  XGEMM_CHECK_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (major != 9) GTEST_SKIP() << "kernels find matrices by pointers on compute capability 9.0";
  Random random(5);
  // An old C that starts anywhere keeps the tiles of 16 bits away for which copies pay.
  const double beta = sizeof(T) == 2 ? 0 : -0.5;
  for (const Where where : {Where::on_vectors, Where::anywhere}) {
    PointerCase<T> x(random, {511, 511, 511, 8}, where, false, beta);
    const xgemm_args args = x.args();
    char plan[4096] = "";
    xgemm_explain(nullptr, &args, plan, sizeof plan);
    EXPECT_NE(std::string_view(plan).find("found by the kernel"), std::string_view::npos) << plan;
    EXPECT_NE(std::string_view(plan).find(" packed="), std::string_view::npos) << plan;
    ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error() << ": " << x.words();
    XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
    ASSERT_EQ(x.check(), "") << x.words() << ", " << name_of(where) << "\n" << plan;
  }
}
TEST(PointersLarger, CopiesF32) {
  run_copied<float>();
}
TEST(PointersLarger, CopiesF16) {
  run_copied<Half>();
}

// Copies of more than 256 MiB: a part of the batch at a time. An epilogue, whose factors are 1, asks for copies on
// every GPU.
TEST(PointersLarger, CopiesOfAPartOfTheBatchAtATime) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  constexpr std::int64_t kN = 2900;
  Random random(8);
  const std::vector<double> ones(kN, 1.0);
  void* scales = nullptr;
  XGEMM_CHECK_CUDA(cudaMalloc(&scales, kN * sizeof(double)));
  XGEMM_CHECK_CUDA(cudaMemcpy(scales, ones.data(), kN * sizeof(double), cudaMemcpyHostToDevice));
  for (const double beta : {0.0, -0.5}) {
    PointerCase<double> x(random, {kN, kN, 2, 5}, Where::anywhere, false, beta);
    xgemm_args args = x.args();
    args.row_scales = scales;
    ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error() << ": " << x.words();
    XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
    ASSERT_EQ(x.check(), "") << x.words();
  }
  XGEMM_CHECK_CUDA(cudaFree(scales));
}

// What the pointers are is known when the work runs: a graph follows them where they lead by then.
TEST(PointersSmall, GraphsFollowThemWhenTheyRun) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  Random random(3);
  PointerCase<Half> x(random, {128, 128, 128, 12}, Where::on_vectors, true, 0);
  cudaStream_t stream = nullptr;
  XGEMM_CHECK_CUDA(cudaStreamCreate(&stream));
  xgemm_context* ctx = nullptr;
  ASSERT_EQ(xgemm_create(&ctx), 0);
  ASSERT_EQ(xgemm_set_stream(ctx, stream), 0);
  const xgemm_args args = x.args();
  ASSERT_EQ(xgemm_gemm(ctx, &args), 0) << xgemm_last_error();
  XGEMM_CHECK_CUDA(cudaStreamSynchronize(stream));
  const auto bits = x.c().fetch();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  XGEMM_CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  ASSERT_EQ(xgemm_gemm(ctx, &args), 0) << xgemm_last_error();
  XGEMM_CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
  XGEMM_CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 2; ++i) {
    x.c().upload();
    XGEMM_CHECK_CUDA(cudaGraphLaunch(exec, stream));
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(stream));
    const auto again = x.c().fetch();
    EXPECT_EQ(std::memcmp(again.data(), bits.data(), bits.size() * sizeof(Half)), 0);
  }
  EXPECT_EQ(x.check(), "");

  // The pointers to C change after the capture: first their order, then one of them to no multiple of 16 bytes.
  Matrices<Half>& c = x.c();
  const auto run_with_new_pointers = [&] {
    c.upload();
    c.upload_pointers();
    XGEMM_CHECK_CUDA(cudaGraphLaunch(exec, stream));
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(stream));
  };
  const std::vector<std::int64_t> before = c.first;
  std::reverse(c.first.begin(), c.first.end());
  run_with_new_pointers();
  const auto reversed = c.fetch();
  for (std::size_t b = 0; b < before.size(); ++b)
    EXPECT_EQ(std::memcmp(&reversed[static_cast<std::size_t>(c.first[b])], &bits[static_cast<std::size_t>(before[b])],
                          static_cast<std::size_t>(c.ld * c.cols) * sizeof(Half)),
              0)
        << "matrix " << b;
  EXPECT_EQ(x.check(), "");
  c.first[5] += 1;
  run_with_new_pointers();
  EXPECT_EQ(x.check(), "");

  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  xgemm_destroy(ctx);
  cudaStreamDestroy(stream);
}

}  // namespace
}  // namespace xgemm::gpu_test
