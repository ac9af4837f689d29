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

// C = activation(alpha A B + bias) * scales in the instances that have a twin: with the bits that the pass gives, which
// finishes the same sums; here they are exact. At the edges, in later tiles, entries of a batch, parts of tiles, and
// clusters, also those that share K.
template <class T>
void expect_finished(const SimKernel& kernel, const WgmmaTmaConfig& config, test::Random& random) {
  using test::from_double;
  using test::to_double;
  const auto any = [&](std::int64_t from, std::int64_t to) { return random.integer(from, to); };
  const auto rounded = [](std::int64_t x) { return (x + 7) / 8 * 8; };
  const auto shapes = cluster_shapes(config);
  Options options;
  options.max_grid_x = any(1, 3);
  options.order = any(0, 1) == 0 ? Order::forward : Order::random;
  options.seed = static_cast<std::uint64_t>(any(1, 1000));
  options.parts = any(0, 2) == 0 ? 2 : 1;
  if (options.parts == 1) {
    do {
      options.cluster = shapes[static_cast<std::size_t>(any(0, std::ssize(shapes) - 1))];
    } while (options.cluster.size() * config.cta_m * config.cta_n > 64 * 1024);
  }
  const std::int64_t m = rounded(any(1, 2 * config.cta_m)), n = any(1, 2 * config.cta_n), k = any(1, 200);
  const std::int64_t batch = any(0, 3) == 0 ? 2 : 1;
  const bool a_along_k = config.a_along_k();
  const auto value = [](std::int64_t i, std::int64_t j) { return static_cast<double>((3 * i + 5 * j) % 5 - 2); };
  struct alignas(16) Word {
    T elements[8];
  };
  struct Operand {
    std::int64_t ld, stride;
    std::vector<Word> words;
    T& at(std::int64_t i, std::int64_t j, std::int64_t entry) {
      return words.data()->elements[entry * stride + j * ld + i];
    }
  };
  const auto make = [&](std::int64_t rows, std::int64_t columns) {
    const std::int64_t ld = rounded(rows) + 8 * any(0, 2);
    return Operand{ld, ld * columns, std::vector<Word>(static_cast<std::size_t>(ld * columns * batch / 8))};
  };
  Operand a = a_along_k ? make(k, m) : make(m, k), b = make(k, n), c = make(m, n);
  for (std::int64_t entry = 0; entry < batch; ++entry)
    for (std::int64_t l = 0; l < k; ++l) {
      for (std::int64_t i = 0; i < m; ++i)
        (a_along_k ? a.at(l, i, entry) : a.at(i, l, entry)) = from_double<T>(value(i, l + entry));
      for (std::int64_t j = 0; j < n; ++j) b.at(l, j, entry) = from_double<T>(value(l, j));
    }
  GemmParams p{};
  p.a = {a.words.data(), a_along_k ? a.ld : 1, a_along_k ? 1 : a.ld, a.stride};
  p.b = {b.words.data(), 1, b.ld, b.stride};
  p.c = {c.words.data(), 1, c.ld, c.stride};
  p.m = m, p.n = n, p.k = k, p.batch_count = batch;
  p.alpha = Factor::of(any(0, 1) == 0 ? 1.0f : -0.375f), p.beta = Factor::of(0.0f);

  Finishing& f = p.finishing;
  f.bias_of_rows = any(0, 1) == 0;
  std::vector<T> bias;
  for (std::int64_t i = 0; i < (f.bias_of_rows ? m : n); ++i) bias.push_back(from_double<T>(double(7 * i % 23 - 11)));
  if (any(0, 3) != 0) f.bias = bias.data();
  f.activation = static_cast<Activation>(any(0, static_cast<int>(Activation::silu)));
  std::vector<float> scales;
  for (std::int64_t i = 0; i < std::max(m, n); ++i) scales.push_back(0.1f * static_cast<float>(i % 31 - 7));
  if (any(0, 3) == 0) f.row_scales = scales.data();
  if (any(0, 3) == 0) f.column_scales = scales.data();
  if (!f.any()) f.bias = bias.data();

  const Result result = kernel.run(p, options);
  ASSERT_TRUE(result.ok()) << result.summary();
  const std::string words =
      format("%lld x %lld x %lld, batch %lld, bias %d of rows %d, activation %d, scales %d %d, ",
             static_cast<long long>(m), static_cast<long long>(n), static_cast<long long>(k),
             static_cast<long long>(batch), f.bias != nullptr, f.bias_of_rows, static_cast<int>(f.activation),
             f.row_scales != nullptr, f.column_scales != nullptr) +
      format("parts %d, cluster %d x %d x %d", options.parts, options.cluster.m, options.cluster.n, options.cluster.k);
  for (std::int64_t entry = 0; entry < batch; ++entry)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) {
        float sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum += static_cast<float>(value(i, l + entry) * value(l, j));
        const double added = f.bias != nullptr ? to_double(bias[static_cast<std::size_t>(f.bias_of_rows ? i : j)]) : 0;
        float x = gpu::fma(p.alpha.f32, sum, static_cast<float>(added));
        with_short_activation(f.activation, [&](const auto& function) { x = function(x); });
        if (f.row_scales != nullptr) x *= f.row_scales[i];
        if (f.column_scales != nullptr) x *= f.column_scales[j];
        ASSERT_EQ(to_double(c.at(i, j, entry)), to_double(from_double<T>(x)))
            << "C(" << i << ", " << j << ") of entry " << entry << ": " << words;
      }
}

class Twins : public testing::TestWithParam<int> {
 protected:
  static const WgmmaTmaConfig& config(int index) {
    return kConfigs<Family::wgmma_tma>[static_cast<std::size_t>(index)];
  }
  static const char* name(int index) { return kInfos<Family::wgmma_tma>[static_cast<std::size_t>(index)].name; }

 public:
  static std::vector<int> all() {
    std::vector<int> found;
    for (int i = 0; i < static_cast<int>(kCount<Family::wgmma_tma>); ++i)
      if (config(i).finishes) found.push_back(i);
    return found;
  }
  static std::string name_of(const testing::TestParamInfo<int>& test) { return name(test.param); }
};

TEST_P(Twins, FinishAsThePassDoes) {
  const WgmmaTmaConfig& c = config(GetParam());
  const SimKernel* const kernel = find_kernel(name(GetParam()));
  ASSERT_NE(kernel, nullptr);
  test::Random random(static_cast<std::uint64_t>(GetParam()));
  for (int i = 0; i < 12 && !HasFatalFailure(); ++i) {
    if (c.type == DType::f16) {
      expect_finished<test::Half>(*kernel, c, random);
    } else {
      expect_finished<test::Bfloat16>(*kernel, c, random);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(, Twins, testing::ValuesIn(Twins::all()), Twins::name_of);

}  // namespace
}  // namespace xgemm::sim
