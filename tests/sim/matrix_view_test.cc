// MatrixView: known answers, sub-views that share storage, bounds.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "kernels/common/kernel.cuh"
#include "sim/launch.h"

namespace xgemm::sim {
namespace {

using gpu::Space;
using kernels::Int;
using kernels::MatrixView;

// A 4 x 6 array stored by rows: element (i, j) is 6 i + j.
class View : public testing::Test {
 protected:
  using RowMajor = MatrixView<float, Space::global, int, int, int, Int<1>>;

  View() { std::iota(data.begin(), data.end(), 0.0f); }

  RowMajor a() { return RowMajor(data.data(), 4, 6, 6, {}); }

  template <class Body>
  Result run(Body body) {
    GlobalMemory memory;
    memory.add({"a", data.data(), 4, 4, 6, 1, 6, 1, 0, Access::read_write});
    LaunchShape shape;
    shape.threads = 1;
    shape.dynamic_shared_bytes = 4096;
    shape.granule = 4;
    return launch_body(shape, memory, {}, [&](unsigned char* shared) { body(reinterpret_cast<float*>(shared)); });
  }
  template <class Body>
  void clean(Body body) {
    const Result result = run([&](float*) { body(); });
    EXPECT_TRUE(result.ok()) << result.summary();
  }

  alignas(16) std::array<float, 24> data;
};

TEST_F(View, ElementsLieAtTheInnerProductOfIndexAndStride) {
  clean([&] {
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 6; ++j) {
        EXPECT_EQ(a().address(i, j) - data.data(), 6 * i + j);
        EXPECT_EQ(static_cast<float>(a()(i, j)), static_cast<float>(6 * i + j));
      }
  });
}

// The 4 x 3 part that starts at the third element, with the strides of the whole: its (1, 1) is element 7 from there.
TEST_F(View, SubViewSharesStorage) {
  clean([&] {
    const auto b = a().sub(0, 2, 4, 3);
    EXPECT_EQ(b.rows(), 4);
    EXPECT_EQ(b.cols(), 3);
    EXPECT_EQ(b.row_stride(), 6);
    EXPECT_EQ(int{b.col_stride()}, 1);
    EXPECT_EQ(b.data() - data.data(), 2);
    EXPECT_EQ(b.address(1, 1) - b.data(), 7);
    EXPECT_EQ(b.get(1, 1), 9.0f);
    b(1, 1) = 0.0f;
    EXPECT_EQ(data[9], 0.0f);
    EXPECT_EQ(a().get(1, 3), 0.0f);
    b(2, 0) += 0.5f;
    EXPECT_EQ(a().get(2, 2), 14.5f);
    EXPECT_EQ(b.sub(1, 1, 2, 2).get(1, 1), a().get(2, 4));
  });
}

TEST_F(View, Transposed) {
  clean([&] {
    const auto t = a().transposed();
    EXPECT_EQ(t.rows(), 6);
    EXPECT_EQ(t.cols(), 4);
    EXPECT_TRUE(t.kColumnMajor);
    EXPECT_EQ(t.get(5, 3), a().get(3, 5));
    EXPECT_EQ(t.transposed().get(3, 5), 23.0f);
    EXPECT_EQ(t.sub(2, 0, 3, 4).get(1, 1), 9.0f);
  });
}

TEST_F(View, BlocksAreCutAtTheEdge) {
  clean([&] {
    const auto full = a().block<2, 4>(0, 0);
    EXPECT_EQ(full.rows(), 2);
    EXPECT_EQ(full.cols(), 4);
    const auto corner = a().block<2, 4>(3, 4);
    EXPECT_EQ(corner.rows(), 1);
    EXPECT_EQ(corner.cols(), 2);
    EXPECT_EQ(corner.get(0, 1), 23.0f);
    EXPECT_EQ((a().block<2, 4>(4, 0).rows()), 0);
    EXPECT_EQ((a().block<2, 4>(1000, 1000).cols()), 0);
    EXPECT_TRUE(corner.contains(0, 1));
    EXPECT_FALSE(corner.contains(1, 0));
  });
}

TEST_F(View, VectorsRunAlongTheContiguousAxis) {
  clean([&] {
    const auto v = a().load<4>(2, 0);  // 12 elements from the start: aligned to 16 bytes
    for (int e = 0; e < 4; ++e) EXPECT_EQ(v[e], static_cast<float>(12 + e));
    const auto t = a().transposed().load<2>(4, 1);
    EXPECT_EQ(t[1], 11.0f);
    EXPECT_EQ(a().count_inside<4>(0, 4), 2);
    EXPECT_EQ(a().count_inside<4>(0, 6), 0);
    EXPECT_EQ(a().count_inside<4>(4, 0), 0);
    EXPECT_EQ(a().count_inside<4>(3, 2), 4);
    const auto cut = a().load_or_zero<4>(2, 4);
    EXPECT_EQ(cut[1], 17.0f);
    EXPECT_EQ(cut[2], 0.0f);
    a().store_inside<4>(3, 4, gpu::Vector<float, 4>{{-1, -2, -3, -4}});
    EXPECT_EQ(data[22], -1.0f);
    EXPECT_EQ(data[23], -2.0f);
    a().store<2>(0, 2, gpu::Vector<float, 2>{{7, 8}});
    EXPECT_EQ(data[3], 8.0f);
  });
}

TEST_F(View, ChecksItsOwnBounds) {
  const auto faults = [&](auto body) { return run([&](float*) { body(); }).has(Fault::view_bounds); };
  EXPECT_TRUE(faults([&] { (void)a().get(4, 0); }));
  EXPECT_TRUE(faults([&] { (void)a().get(0, -1); }));
  // Inside the array, and outside the view.
  EXPECT_TRUE(faults([&] { (void)a().sub(0, 2, 4, 3).get(0, 3); }));
  EXPECT_TRUE(faults([&] { (void)a().sub(0, 0, 4, 3).load<4>(0, 0); }));
  EXPECT_TRUE(faults([&] { (void)a().sub(1, 0, 4, 3); }));
  EXPECT_FALSE(faults([&] { (void)a().sub(1, 0, 3, 3).get(2, 2); }));
}

TEST_F(View, SharedTilesWithPaddingAndSwizzle) {
  const Result result = run([&](float* shared) {
    const auto padded = kernels::shared_view<8, 8, 9, 1>(shared);
    const auto swizzled = kernels::shared_view<8, 32, 32, 1, kernels::XorSwizzle<3, 2, 3>>(shared + 128);
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j) padded(i, j) = static_cast<float>(8 * i + j);
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 32; j += 4) {
        const auto x = static_cast<float>(32 * i + j);
        swizzled.store<4>(i, j, gpu::Vector<float, 4>{{x, x + 1, x + 2, x + 3}});
      }
    EXPECT_EQ(padded.get(7, 7), 63.0f);
    EXPECT_EQ(padded.address(1, 0) - shared, 9);
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 32; ++j) EXPECT_EQ(swizzled.get(i, j), static_cast<float>(32 * i + j));
    EXPECT_EQ(swizzled.address(1, 0) - (shared + 128), 32 + 4);
  });
  EXPECT_TRUE(result.ok()) << result.summary();
}

// The offset is computed in 64 bits where a stride is.
TEST_F(View, LargeOffsets) {
  using Far = MatrixView<float, Space::global, std::int64_t, std::int64_t, Int<1>, std::int64_t>;
  const std::int64_t ld = std::int64_t{1} << 30;
  const Far far(data.data(), 10, 100, {}, ld);
  const auto bytes =
      reinterpret_cast<std::uintptr_t>(far.address(1, 9)) - reinterpret_cast<std::uintptr_t>(data.data());
  EXPECT_EQ(bytes, (9u * static_cast<std::uintptr_t>(ld) + 1) * sizeof(float));
}

}  // namespace
}  // namespace xgemm::sim
