// Every kernel family tells its epilogue which element of C it is about: with an epilogue that adds a function of the
// coordinates, each element of C shows it, at the edges, in later tiles, and in the sums of split products.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/activation.h"
#include "core/status.h"
#include "families/family.h"
#include "families/wgmma_tma.h"
#include "kernels.h"
#include "kernels/common/finishing.cuh"
#include "kernels/double_buffered/double_buffered.cuh"
#include "kernels/ffma_tma/instances.h"
#include "kernels/mma_swizzled/mma_swizzled.cuh"
#include "kernels/naive/naive.cuh"
#include "kernels/smem_tiled/smem_tiled.cuh"
#include "kernels/thread_tiled/thread_tiled.cuh"
#include "kernels/wmma_padded/wmma_padded.cuh"
#include "support/element.h"
#include "support/matrix.h"

namespace xgemm::sim {
namespace {

using namespace kernels;

// What is added at (i, j): differs between any two elements that a kernel could take for each other.
constexpr float place(std::int64_t i, std::int64_t j) {
  return static_cast<float>((37 * i + 101 * j) % 509);
}

struct AddsPlace : LinearCombination {
  template <class Params>
  static AddsPlace make(const Params& p) {
    return {LinearCombination::make(p)};
  }
  template <class Params>
  static AddsPlace make_early(const Params& p) {
    return {LinearCombination::make_early(p)};
  }
  template <bool kReadsC, class I, class J>
  float apply(float sum, float old, I i, J j, const EpilogueArguments& arguments) const {
    return LinearCombination::apply<kReadsC>(sum, old, i, j, arguments) + place(i, j);
  }
};

// C = A B + beta C + place, of small integers: exact in fp16 as well. Two products, 8 elements between columns.
template <class T, class Run>
void expect_places(const Run& run, std::int64_t m, std::int64_t n, std::int64_t k, float beta, const Options& options) {
  const auto value = [](std::int64_t i, std::int64_t j, int salt) {
    return static_cast<float>((3 * i + 5 * j + salt) % 5 - 2);
  };
  const auto ld = [](std::int64_t rows) { return (rows + 7) / 8 * 8 + 8; };
  constexpr std::int64_t kBatch = 2;
  struct alignas(16) Word {
    T elements[16 / sizeof(T)];
  };
  struct Operand {
    std::int64_t ld, stride;
    std::vector<Word> words;
    T* data() { return words.data()->elements; }
  };
  const auto make = [&](std::int64_t rows, std::int64_t cols, int salt) {
    Operand x{ld(rows), ld(rows) * cols, {}};
    x.words.resize(static_cast<std::size_t>(x.stride * kBatch) * sizeof(T) / 16);
    for (std::int64_t b = 0; b < kBatch; ++b)
      for (std::int64_t j = 0; j < cols; ++j)
        for (std::int64_t i = 0; i < rows; ++i)
          x.data()[b * x.stride + j * x.ld + i] = test::from_double<T>(value(i, j, salt + static_cast<int>(b)));
    return x;
  };
  Operand a = make(m, k, 1), b = make(k, n, 3), c = make(m, n, 4);
  GemmParams p{};
  p.a = {a.data(), 1, a.ld, a.stride};
  p.b = {b.data(), 1, b.ld, b.stride};
  p.c = {c.data(), 1, c.ld, c.stride};
  p.m = m, p.n = n, p.k = k, p.batch_count = kBatch;
  p.alpha = Factor::of(1.0f), p.beta = Factor::of(beta);
  const Result result = run(p, options);
  ASSERT_TRUE(result.ok()) << result.summary();
  for (std::int64_t x = 0; x < kBatch; ++x)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) {
        const int salt = static_cast<int>(x);
        float expected = place(i, j) + beta * value(i, j, 4 + salt);
        for (std::int64_t l = 0; l < k; ++l) expected += value(i, l, 1 + salt) * value(l, j, 3 + salt);
        ASSERT_EQ(test::to_double(c.data()[x * c.stride + j * c.ld + i]), expected)
            << "C(" << i << ", " << j << ") of product " << x << ", " << m << " x " << n << " x " << k;
      }
}

template <class T, class Run>
void expect_places_around(int tile_m, int tile_n, const Run& run) {
  for (const float beta : {0.0f, 2.0f}) {
    Options options;
    options.max_grid_x = 2;  // later tiles too
    expect_places<T>(run, tile_m, tile_n, 24, beta, options);
    expect_places<T>(run, 2 * tile_m + 3, tile_n + 5, 24, beta, options);
  }
}

template <class T, class Kernel>
void expect_places_of() {
  expect_places_around<T>(Kernel::kTileM, Kernel::kTileN,
                          [](const GemmParams& p, const Options& options) { return launch<Kernel>(p, options); });
}

TEST(Epilogue, NaiveTellsThePlace) {
  expect_places_of<float, Naive<TileConfig{.cta_m = 32, .cta_n = 8, .any_strides = true}, AddsPlace>>();
}
TEST(Epilogue, SmemTiledTellsThePlace) {
  expect_places_of<float, SmemTiled<TileConfig{.cta_m = 16, .cta_n = 16, .cta_k = 16}, AddsPlace>>();
}
TEST(Epilogue, ThreadTiledTellsThePlace) {
  constexpr TileConfig kConfig{.cta_m = 64, .cta_n = 32, .cta_k = 8, .thread_m = 8, .thread_n = 8, .vector = 4};
  expect_places_of<float, ThreadTiled<kConfig, AddsPlace>>();
}
TEST(Epilogue, DoubleBufferedTellsThePlace) {
  constexpr TileConfig kConfig{.cta_m = 64,
                               .cta_n = 32,
                               .cta_k = 8,
                               .thread_m = 8,
                               .thread_n = 8,
                               .stages = 2,
                               .copy = Copy::prefetch,
                               .vector = 1};
  expect_places_of<float, DoubleBuffered<kConfig, AddsPlace>>();
}

constexpr TileConfig kTensorCores{.type = DType::f16,
                                  .cta_m = 32,
                                  .cta_n = 64,
                                  .cta_k = 32,
                                  .warp_m = 32,
                                  .warp_n = 32,
                                  .stages = 3,
                                  .copy = Copy::async,
                                  .vector = 8,
                                  .vector_c = 1,
                                  .min_compute_capability = 80};
TEST(Epilogue, WmmaPaddedTellsThePlace) {
  expect_places_of<test::Half, WmmaPadded<kTensorCores, AddsPlace>>();
}
TEST(Epilogue, MmaSwizzledTellsThePlace) {
  expect_places_of<test::Half, MmaSwizzled<kTensorCores, AddsPlace>>();
}
TEST(Epilogue, MmaSwizzledShiftingTellsThePlace) {
  constexpr TileConfig kConfig{.type = DType::f16,
                               .cta_m = 64,
                               .cta_n = 64,
                               .cta_k = 64,
                               .warp_m = 32,
                               .warp_n = 32,
                               .stages = 2,
                               .copy = Copy::prefetch,
                               .vector_c = 1,
                               .min_compute_capability = 80};
  expect_places_of<test::Half, MmaSwizzledShifting<kConfig, AddsPlace>>();
}

template <WgmmaTmaConfig kConfig>
void expect_places_of_wgmma_tma() {
  expect_places_around<test::Half>(kConfig.cta_m, kConfig.cta_n, run_wgmma_tma<kConfig, AddsPlace>);
  Options options;
  options.parts = 2;
  expect_places<test::Half>(run_wgmma_tma<kConfig, AddsPlace>, kConfig.cta_m + 3, kConfig.cta_n + 5, 130, 2.0f,
                            options);
  options.parts = 1;
  options.cluster = {1, 1, 2};
  expect_places<test::Half>(run_wgmma_tma<kConfig, AddsPlace>, kConfig.cta_m + 3, kConfig.cta_n + 5, 130, 2.0f,
                            options);
}
TEST(Epilogue, WgmmaTmaTellsThePlace) {
  expect_places_of_wgmma_tma<WgmmaTmaConfig{.cta_m = 128, .cta_n = 40, .stages = 3, .groups_rows = 2}>();
}
TEST(Epilogue, WgmmaTmaTransposedTellsThePlace) {
  expect_places_of_wgmma_tma<WgmmaTmaConfig{
      .cta_m = 32, .cta_n = 64, .stages = 3, .transposed = true, .groups_rows = 1}>();
}
// ---- Twins --------------------------------------------------------------------------------------------------------

struct FinishedCase {
  std::int64_t m, n, k, batch = 1;
  bool a_along_k = false, b_along_k = true;
  std::int64_t aligned = 8;  // to so many elements are leading dimensions
};

// C = activation(alpha A B + bias) * scales in the instances that have a twin: with the bits that the pass gives, which
// finishes the same sums; here they are exact. At the edges, in later tiles, entries of a batch, parts of tiles, and
// clusters, also those that share K.
template <class T>
void expect_finished(const SimKernel& kernel, const FinishedCase& x, const Options& options, test::Random& random) {
  using test::from_double;
  using test::to_double;
  const auto any = [&](std::int64_t from, std::int64_t to) { return random.integer(from, to); };
  const auto value = [](std::int64_t i, std::int64_t j) { return static_cast<double>((3 * i + 5 * j) % 5 - 2); };
  constexpr std::int64_t kWord = 16 / sizeof(T);
  struct alignas(16) Word {
    T elements[kWord];
  };
  struct Operand {
    bool turned;
    std::int64_t ld, stride;
    std::vector<Word> words;
    T& at(std::int64_t i, std::int64_t j, std::int64_t entry) {
      return words.data()->elements[entry * stride + (turned ? i * ld + j : j * ld + i)];
    }
  };
  const auto make = [&](std::int64_t rows, std::int64_t columns, bool turned) {
    const std::int64_t lines = turned ? rows : columns, length = turned ? columns : rows;
    const std::int64_t ld = (length + x.aligned - 1) / x.aligned * x.aligned + x.aligned * any(0, 2);
    const std::int64_t stride = (ld * lines + x.aligned - 1) / x.aligned * x.aligned;
    return Operand{turned, ld, stride, std::vector<Word>(static_cast<std::size_t>(stride * x.batch / kWord + 1))};
  };
  Operand a = make(x.m, x.k, x.a_along_k), b = make(x.k, x.n, !x.b_along_k), c = make(x.m, x.n, false);
  for (std::int64_t entry = 0; entry < x.batch; ++entry)
    for (std::int64_t l = 0; l < x.k; ++l) {
      for (std::int64_t i = 0; i < x.m; ++i) a.at(i, l, entry) = from_double<T>(value(i, l + entry));
      for (std::int64_t j = 0; j < x.n; ++j) b.at(l, j, entry) = from_double<T>(value(l, j));
    }
  GemmParams p{};
  const auto strides = [](auto& arg, Operand& from) {
    arg = {from.words.data(), from.turned ? from.ld : 1, from.turned ? 1 : from.ld, from.stride};
  };
  strides(p.a, a), strides(p.b, b), strides(p.c, c);
  p.m = x.m, p.n = x.n, p.k = x.k, p.batch_count = x.batch;
  p.alpha = Factor::of(any(0, 1) == 0 ? 1.0f : -0.7f), p.beta = Factor::of(0.0f);

  Finishing& f = p.finishing;
  f.bias_of_rows = any(0, 1) == 0;
  std::vector<T> bias;
  for (std::int64_t i = 0; i < (f.bias_of_rows ? x.m : x.n); ++i)
    bias.push_back(from_double<T>(double(7 * i % 23 - 11)));
  if (any(0, 3) != 0) f.bias = bias.data();
  f.activation = static_cast<Activation>(any(0, static_cast<int>(Activation::silu)));
  std::vector<float> scales;
  for (std::int64_t i = 0; i < std::max(x.m, x.n); ++i) scales.push_back(0.1f * static_cast<float>(i % 31 - 7));
  if (any(0, 3) == 0) f.row_scales = scales.data();
  if (any(0, 3) == 0) f.column_scales = scales.data();
  if (!f.any()) f.bias = bias.data();

  const Result result = kernel.run(p, options);
  ASSERT_TRUE(result.ok()) << result.summary();
  const std::string words =
      format("%lld x %lld x %lld, batch %lld, %d %d, bias %d of rows %d, activation %d, scales %d %d, ",
             static_cast<long long>(x.m), static_cast<long long>(x.n), static_cast<long long>(x.k),
             static_cast<long long>(x.batch), x.a_along_k, x.b_along_k, f.bias != nullptr, f.bias_of_rows,
             static_cast<int>(f.activation), f.row_scales != nullptr, f.column_scales != nullptr) +
      format("parts %d, cluster %d x %d x %d", options.parts, options.cluster.m, options.cluster.n, options.cluster.k);
  for (std::int64_t entry = 0; entry < x.batch; ++entry)
    for (std::int64_t j = 0; j < x.n; ++j)
      for (std::int64_t i = 0; i < x.m; ++i) {
        float sum = 0;
        for (std::int64_t l = 0; l < x.k; ++l) sum += static_cast<float>(value(i, l + entry) * value(l, j));
        const double added = f.bias != nullptr ? to_double(bias[static_cast<std::size_t>(f.bias_of_rows ? i : j)]) : 0;
        float y = gpu::fma(p.alpha.f32, sum, static_cast<float>(added));
        with_activation<T, float>(f.activation, [&](const auto& function) { y = function(y); });
        if (f.row_scales != nullptr) y *= f.row_scales[i];
        if (f.column_scales != nullptr) y *= f.column_scales[j];
        ASSERT_EQ(to_double(c.at(i, j, entry)), to_double(from_double<T>(y)))
            << "C(" << i << ", " << j << ") of entry " << entry << ": " << words;
      }
}

// Few CTAs, in one order or another, and tiles in parts or not.
Options any_options(test::Random& random) {
  Options options;
  options.max_grid_x = random.integer(1, 3);
  options.order = random.integer(0, 1) == 0 ? Order::forward : Order::random;
  options.seed = static_cast<std::uint64_t>(random.integer(1, 1000));
  options.parts = random.integer(0, 2) == 0 ? static_cast<int>(random.integer(2, 6)) : 1;
  return options;
}

template <Family kFamily>
class Twins : public testing::TestWithParam<int> {
 protected:
  static const char* name(int index) { return kInfos<kFamily>[static_cast<std::size_t>(index)].name; }
  static const auto& config(int index) { return kConfigs<kFamily>[static_cast<std::size_t>(index)]; }

  // Calls run(kernel, config, random) some times.
  template <class Run>
  void repeat(const Run& run) const {
    const SimKernel* const kernel = find_kernel(name(GetParam()));
    ASSERT_NE(kernel, nullptr);
    test::Random random(static_cast<std::uint64_t>(GetParam()));
    for (int i = 0; i < 12 && !HasFatalFailure(); ++i) run(*kernel, config(GetParam()), random);
  }

 public:
  template <class Finishes>
  static std::vector<int> all(const Finishes& finishes) {
    std::vector<int> found;
    for (int i = 0; i < static_cast<int>(kCount<kFamily>); ++i)
      if (finishes(config(i))) found.push_back(i);
    return found;
  }
  static std::string name_of(const testing::TestParamInfo<int>& test) { return name(test.param); }
};

using WgmmaTmaTwins = Twins<Family::wgmma_tma>;
TEST_P(WgmmaTmaTwins, FinishAsThePassDoes) {
  repeat([](const SimKernel& kernel, const WgmmaTmaConfig& c, test::Random& random) {
    const auto any = [&](std::int64_t from, std::int64_t to) { return random.integer(from, to); };
    Options options = any_options(random);
    if (options.parts == 1) {
      const auto shapes = cluster_shapes(c);
      do {
        options.cluster = shapes[static_cast<std::size_t>(any(0, std::ssize(shapes) - 1))];
      } while (options.cluster.size() * c.cta_m * c.cta_n > 64 * 1024);
    }
    const FinishedCase x = {.m = (any(1, 2 * c.cta_m) + 7) / 8 * 8,
                            .n = any(1, 2 * c.cta_n),
                            .k = any(1, 200),
                            .batch = any(0, 3) == 0 ? 2 : 1,
                            .a_along_k = c.a_along_k()};
    if (c.type == DType::f16) {
      expect_finished<test::Half>(kernel, x, options, random);
    } else {
      expect_finished<test::Bfloat16>(kernel, x, options, random);
    }
  });
}
INSTANTIATE_TEST_SUITE_P(, WgmmaTmaTwins,
                         testing::ValuesIn(WgmmaTmaTwins::all([](const auto& c) { return c.finishes; })),
                         WgmmaTmaTwins::name_of);

using FfmaTmaTwins = Twins<Family::ffma_tma>;
TEST_P(FfmaTmaTwins, FinishAsThePassDoes) {
  repeat([](const SimKernel& kernel, const FfmaTmaConfig& c, test::Random& random) {
    const auto any = [&](std::int64_t from, std::int64_t to) { return random.integer(from, to); };
    const FinishedCase x = {.m = any(1, 2 * c.cta_m),
                            .n = any(1, 2 * c.cta_n),
                            .k = any(1, 150),
                            .batch = any(0, 3) == 0 ? 2 : 1,
                            .a_along_k = any(0, 1) == 0,
                            .b_along_k = any(0, 1) == 0,
                            .aligned = any(0, 2) == 0 ? 1 : 4};
    expect_finished<float>(kernel, x, any_options(random), random);
  });
}
INSTANTIATE_TEST_SUITE_P(, FfmaTmaTwins,
                         testing::ValuesIn(FfmaTmaTwins::all([](const auto& c) { return c.finishes(); })),
                         FfmaTmaTwins::name_of);

}  // namespace
}  // namespace xgemm::sim
