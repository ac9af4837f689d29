// Every kernel family tells its epilogue which element of C it is about: with an epilogue that adds a function of the
// coordinates, each element of C shows it, at the edges, in later tiles, and in the sums of split products.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/activation.h"
#include "families/family.h"
#include "families/wgmma_tma.h"
#include "kernels/double_buffered/double_buffered.cuh"
#include "kernels/mma_swizzled/mma_swizzled.cuh"
#include "kernels/naive/naive.cuh"
#include "kernels/smem_tiled/smem_tiled.cuh"
#include "kernels/thread_tiled/thread_tiled.cuh"
#include "kernels/wmma_padded/wmma_padded.cuh"
#include "support/element.h"

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

// C = activation(0.5 A B + bias), in a kernel that finishes it: of a bias of rows, of columns, and of none; at the
// edges, in later tiles, and in the sums of parts. Sums are exact.
template <WgmmaTmaConfig kConfig>
void expect_finished() {
  using test::from_double;
  using test::Half;
  using test::to_double;
  const auto value = [](std::int64_t i, std::int64_t j) { return static_cast<double>((3 * i + 5 * j) % 5 - 2); };
  const auto added = [](std::int64_t i) { return static_cast<double>(7 * i % 23 - 11); };
  for (const int whose : {0, 1, 2})  // nobody's, rows', columns'
    for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu_tanh, Activation::silu})
      for (const int way : {0, 1, 2}) {  // whole tiles, parts of them, CTAs of a cluster that share K
        if (way == 2 && kConfig.most_along_k() == 1) continue;
        const std::int64_t m = 2 * kConfig.cta_m + 8, n = kConfig.cta_n + 5, k = 130, ld_a = (m + 15) / 8 * 8;
        struct alignas(16) Word {
          Half elements[8];
        };
        std::vector<Word> a(static_cast<std::size_t>(ld_a * k / 8)), b(static_cast<std::size_t>(136 * n / 8)),
            c(static_cast<std::size_t>(ld_a * n / 8));
        for (std::int64_t l = 0; l < k; ++l) {
          for (std::int64_t i = 0; i < m; ++i) a.data()->elements[l * ld_a + i] = from_double<Half>(value(i, l));
          for (std::int64_t j = 0; j < n; ++j) b.data()->elements[j * 136 + l] = from_double<Half>(value(l, j));
        }
        std::vector<Half> bias;
        for (std::int64_t i = 0; i < (whose == 1 ? m : n); ++i) bias.push_back(from_double<Half>(added(i)));
        GemmParams p{};
        p.a = {a.data(), 1, ld_a, 0};
        p.b = {b.data(), 1, 136, 0};
        p.c = {c.data(), 1, ld_a, 0};
        p.m = m, p.n = n, p.k = k, p.batch_count = 1;
        p.alpha = Factor::of(0.5f), p.beta = Factor::of(0.0f);
        p.finishing = {whose == 0 ? nullptr : bias.data(), whose == 1, activation};
        Options options;
        options.max_grid_x = 2;
        options.parts = way == 1 ? 2 : 1;
        if (way == 2) options.cluster = {1, 1, 2};
        const Result result = run_wgmma_tma<kConfig>(p, options);
        ASSERT_TRUE(result.ok()) << result.summary();
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = 0; i < m; ++i) {
            double expected = 0;
            for (std::int64_t l = 0; l < k; ++l) expected += 0.5 * value(i, l) * value(l, j);
            if (whose != 0) expected += added(whose == 1 ? i : j);
            expected = activated(activation, expected);
            const bool exact = activation == Activation::none || activation == Activation::relu;
            const double error = std::fabs(to_double(c.data()->elements[j * ld_a + i]) - expected);
            ASSERT_TRUE(error <= (exact ? 0 : 0x1.02p-11 * std::fabs(expected) + 0x1p-25))
                << "C(" << i << ", " << j << ") whose " << whose << " activation " << static_cast<int>(activation)
                << " way " << way << " error " << error << " of " << expected;
          }
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
TEST(Epilogue, WgmmaTmaFinishes) {
  expect_finished<WgmmaTmaConfig{.cta_m = 128, .cta_n = 128, .stages = 3, .groups_rows = 2}>();
}
TEST(Epilogue, WgmmaTmaTransposedFinishes) {
  expect_finished<WgmmaTmaConfig{.cta_m = 128, .cta_n = 128, .stages = 3, .transposed = true, .groups_rows = 2}>();
}
TEST(Epilogue, WgmmaTmaPingPongFinishes) {
  expect_finished<WgmmaTmaConfig{.cta_m = 128, .cta_n = 144, .stages = 3, .groups_rows = 1, .ping_pong = true}>();
}

}  // namespace
}  // namespace xgemm::sim
