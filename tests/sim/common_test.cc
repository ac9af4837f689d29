// The parts that kernels are made of: tile order, swizzles, tile loaders, the epilogue.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "kernels/common/kernel.cuh"
#include "sim/launch.h"

namespace xgemm::sim {
namespace {

using gpu::Space;
using namespace kernels;

// ---- units.cuh ----

TEST(Units, PartsOfATileAreAllOfKInOrder) {
  for (const std::int64_t k : {1, 7, 8, 9, 64, 100, 1000})
    for (const int parts : {1, 2, 3, 7}) {
      if (parts > (k + 7) / 8) continue;
      TileParams p{};
      p.m = 40, p.n = 20, p.k = k, p.batch_count = 2;
      p.schedule = tile_schedule({.cta_m = 16, .cta_n = 8, .cta_k = 8}, p.m, p.n, p.batch_count, {5, parts}, 132);
      std::map<std::array<std::int64_t, 3>, std::int64_t> summed;  // of each tile
      for (std::int64_t index = 0; index < p.schedule.units; ++index) {
        const Unit unit = unit_at<16, 8, 8>(p, index);
        ASSERT_TRUE(unit.row % 16 == 0 && unit.row < p.m && unit.col % 8 == 0 && unit.col < p.n && unit.batch < 2);
        ASSERT_EQ(unit.is_partial(p), parts > 1 && index >= 5);
        std::int64_t& done = summed[{unit.batch, unit.row, unit.col}];
        ASSERT_EQ(unit.k, done);
        ASSERT_GT(unit.depth, 0);
        ASSERT_EQ(unit.k % 8, 0);
        done += unit.depth;
      }
      EXPECT_EQ(summed.size(), 3u * 3u * 2u);
      for (const auto& [tile, done] : summed) EXPECT_EQ(done, k);
    }
}

// ---- swizzle.cuh ----

template <class Swizzle>
void expect_permutation(int size) {
  std::set<int> images;
  for (int offset = 0; offset < size; ++offset) {
    EXPECT_EQ(Swizzle::apply(Swizzle::apply(offset)), offset);
    images.insert(Swizzle::apply(offset));
  }
  EXPECT_EQ(static_cast<int>(images.size()), size);
  EXPECT_EQ(*images.rbegin(), size - 1);
}

TEST(Swizzle, IsAnInvolution) {
  expect_permutation<XorSwizzle<3, 2, 3>>(256);
  expect_permutation<XorSwizzle<3, 3, 3>>(512);
  expect_permutation<XorSwizzle<2, 0, 5>>(128);
}

// A column of a tile with rows of 32 words: 16 bytes each, eight rows. Without a swizzle all in the same banks.
TEST(Swizzle, SpreadsAColumnOverTheBanks) {
  std::array<LaneAccess, 8> plain, swizzled;
  for (int row = 0; row < 8; ++row) {
    const auto lane = static_cast<std::size_t>(row);
    plain[lane] = {true, static_cast<std::uint64_t>(32 * row * 4)};
    swizzled[lane] = {true, static_cast<std::uint64_t>(XorSwizzle<3, 2, 3>::apply(32 * row) * 4)};
  }
  EXPECT_EQ(shared_cost(plain, 16).units, 8);
  EXPECT_EQ(shared_cost(swizzled, 16).units, 1);
}

// ---- tile_loader.cuh ----

enum class Way { copy, fetch_and_deposit, async };

// Loads the tile at (row, col) of a matrix and compares all of it, zeros included.
template <class T, int kRows, int kCols, Contiguous kContiguous, int kWidth, int kThreads, bool kSameOrder>
void check_loader(std::int64_t rows, std::int64_t cols, std::int64_t row, std::int64_t col, Way way) {
  using Loader = TileLoader<T, kRows, kCols, kContiguous, kWidth, kThreads>;
  constexpr bool kAlongRow = kContiguous == Contiguous::row;
  const std::int64_t line = kAlongRow ? rows : cols;
  const std::int64_t ld = (line + kWidth - 1) / kWidth * kWidth;
  std::vector<T> storage(static_cast<std::size_t>(ld * (kAlongRow ? cols : rows)) + 16);
  T* const data = storage.data();
  for (std::size_t i = 0; i < storage.size(); ++i) {
    if constexpr (sizeof(T) == 4) {
      storage[i] = static_cast<T>(i + 1);
    } else {
      storage[i].bits = static_cast<std::uint16_t>(i + 1);
    }
  }
  const ConstMatrixArg arg{data, kAlongRow ? 1 : ld, kAlongRow ? ld : 1, 0};
  GlobalMemory memory;
  memory.add({"x", data, sizeof(T), rows, cols, 1, arg.row_stride, arg.col_stride, 0, Access::read});
  LaunchShape shape;
  shape.threads = kThreads;
  shape.dynamic_shared_bytes = (kRows + 8) * (kCols + 8) * sizeof(T);
  shape.granule = sizeof(T);
  for (const Order order : {Order::forward, Order::random}) {
    Options options;
    options.order = order;
    const Result result = launch_body(shape, memory, options, [&](unsigned char* shared) {
      const auto block = global_view<const T, kContiguous>(arg, rows, cols).template block<kRows, kCols>(row, col);
      constexpr bool kTileByColumns = kAlongRow == kSameOrder;
      constexpr int kPad = kSameOrder ? 8 : 1;
      const auto tile = shared_view < kRows, kCols, kTileByColumns ? 1 : kCols + kPad,
                 kTileByColumns ? kRows + kPad : 1 > (reinterpret_cast<T*>(shared));
      if (way == Way::copy) {
        Loader::copy(block, tile);
      } else if (way == Way::fetch_and_deposit) {
        typename Loader::Fragment fragment;
        Loader::fetch(block, fragment);
        Loader::deposit(fragment, tile);
      } else if constexpr (kSameOrder && Loader::kCanCopyAsync) {
        Loader::copy_async(block, tile);
        gpu::copy_async_commit();
        gpu::copy_async_wait<0>();
      }
      gpu::sync_threads();
      for (int e = gpu::thread_index(); e < kRows * kCols; e += kThreads) {
        const int i = e % kRows, j = e / kRows;
        const bool inside = row + i < rows && col + j < cols;
        const auto index = static_cast<std::size_t>((row + i) * arg.row_stride + (col + j) * arg.col_stride);
        const T expected = inside ? storage[index] : T{};
        const T actual = tile.get(i, j);
        ASSERT_EQ(std::memcmp(&actual, &expected, sizeof(T)), 0) << i << ", " << j;
      }
    });
    ASSERT_TRUE(result.ok()) << result.summary();
  }
}

template <class T, int kRows, int kCols, Contiguous kContiguous, int kWidth, int kThreads>
void check_loader_all_ways() {
  const std::pair<std::int64_t, std::int64_t> corners[] = {{0, 0}, {kRows, kCols}, {2 * kRows, 0}, {0, 2 * kCols}};
  for (const auto& [row, col] : corners) {
    const std::int64_t rows = 2 * kRows + 5, cols = 2 * kCols + 3;
    check_loader<T, kRows, kCols, kContiguous, kWidth, kThreads, true>(rows, cols, row, col, Way::copy);
    check_loader<T, kRows, kCols, kContiguous, kWidth, kThreads, false>(rows, cols, row, col, Way::fetch_and_deposit);
    if constexpr (TileLoader<T, kRows, kCols, kContiguous, kWidth, kThreads>::kCanCopyAsync) {
      check_loader<T, kRows, kCols, kContiguous, kWidth, kThreads, true>(rows, cols, row, col, Way::async);
    }
  }
}

TEST(TileLoader, BringsTheTileAndZerosAroundTheMatrix) {
  check_loader_all_ways<float, 32, 16, Contiguous::row, 4, 128>();
  check_loader_all_ways<float, 32, 16, Contiguous::col, 4, 128>();
  check_loader_all_ways<float, 64, 8, Contiguous::row, 1, 64>();
  check_loader_all_ways<float, 64, 8, Contiguous::col, 2, 256>();
  check_loader_all_ways<gpu::half, 64, 16, Contiguous::row, 8, 64>();
  check_loader_all_ways<gpu::half, 64, 16, Contiguous::col, 8, 64>();
  check_loader_all_ways<gpu::half, 32, 32, Contiguous::row, 1, 128>();
}

TEST(TileLoader, TilesThatAreNoMultipleOfAWave) {
  check_loader_all_ways<float, 16, 8, Contiguous::row, 1, 256>();
  check_loader_all_ways<float, 48, 12, Contiguous::row, 4, 96>();
  check_loader_all_ways<gpu::half, 24, 40, Contiguous::col, 4, 160>();
}

// ---- epilogue.cuh ----

TEST(Epilogue, TheLetterOfTheReference) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  GemmParams p{};
  p.k = 4;
  const auto make = [&](float alpha, float beta) {
    p.alpha = Factor::of(alpha), p.beta = Factor::of(beta);
    return LinearCombination::make(p);
  };
  const auto combine = [&](float alpha, float beta, float sum, float old) {
    const LinearCombination epilogue = make(alpha, beta);
    return epilogue.reads_c() ? epilogue.apply<true>(sum, old, 0, 0, p) : epilogue.apply<false>(sum, old, 0, 0, p);
  };
  EXPECT_EQ(combine(2.0f, 0.0f, 3.0f, kNan), 6.0f);
  EXPECT_FALSE(make(2.0f, 0.0f).reads_c());
  EXPECT_FALSE(make(2.0f, -0.0f).reads_c());
  EXPECT_EQ(combine(2.0f, -1.0f, 3.0f, 5.0f), 1.0f);
  EXPECT_TRUE(std::isnan(combine(kNan, 0.0f, 1.0f, 0.0f)));
  EXPECT_TRUE(make(kNan, 0.0f).has_product);
  EXPECT_TRUE(std::isnan(combine(1.0f, kNan, 1.0f, 0.0f)));
  EXPECT_EQ(combine(1.0f, 1.0f, kInf, 1.0f), kInf);
  // alpha = 0: A and B are out of it, even a sum that is NaN.
  EXPECT_EQ(combine(0.0f, 2.0f, kNan, 3.0f), 6.0f);
  EXPECT_EQ(combine(0.0f, 0.0f, kNan, kNan), 0.0f);
  EXPECT_FALSE(make(0.0f, 2.0f).has_product);
  EXPECT_TRUE(make(1.0f, 2.0f).has_product);
  EXPECT_TRUE(std::signbit(combine(0.0f, 2.0f, 0.0f, -0.0f)));
  p.k = 0;
  EXPECT_EQ(combine(1.0f, 2.0f, 0.0f, 3.0f), 6.0f);
  EXPECT_TRUE(std::signbit(combine(1.0f, 1.0f, 0.0f, -0.0f)));
}

TEST(Epilogue, RoundsToHalfOnce) {
  GemmParams p{};
  p.k = 1, p.alpha = p.beta = Factor::of(1.0f);
  const LinearCombination epilogue = LinearCombination::make(p);
  gpu::half unused;
  const MatrixView<gpu::half, Space::global, int, int, Int<1>, int> view(&unused, 1, 1, {}, 1);
  const OutputTile output(epilogue, p, view, 0, 0);
  // 1 + 2^-11 + 2^-20 is above the tie between two halves; rounded in two steps it would fall on it and go to even.
  EXPECT_EQ(output.finish(0, 0, 0x1p-11f + 0x1p-20f, gpu::half{0x3c00}).bits, 0x3c01);
  EXPECT_EQ(output.finish(0, 0, 65504.0f, gpu::half{0x7bff}).bits, 0x7c00);
  EXPECT_EQ(output.finish(0, 0, 0x1p-24f, gpu::half{0}).bits, 1);
}

}  // namespace
}  // namespace xgemm::sim
