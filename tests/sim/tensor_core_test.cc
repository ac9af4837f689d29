// The instructions of tensor cores in the simulator: fragments and products against plain loops, their cost in shared
// memory, and what is reported when they are used wrongly.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/common/fragments.cuh"
#include "kernels/common/kernel.cuh"
#include "kernels/common/mma.cuh"
#include "kernels/common/wmma.cuh"
#include "schedules.h"
#include "sim/fragments.h"
#include "sim/launch.h"

namespace xgemm::sim {
namespace {

using gpu::bfloat16;
using gpu::half;
using gpu::Space;

constexpr int kSharedBytes = 8192;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// body(shared) in each thread of one CTA with 8 KiB of shared memory; x is global memory to copy from.
class TensorCore : public testing::Test {
 protected:
  template <class Body>
  Result launch(Options options, int threads, Body body) {
    GlobalMemory memory;
    memory.add({"x", x.data(), 2, std::ssize(x), 1, 1, 1, std::ssize(x), 0, Access::read});
    LaunchShape shape;
    shape.threads = threads;
    shape.dynamic_shared_bytes = kSharedBytes;
    shape.granule = 2;
    options.count = true;
    return launch_body(shape, memory, options,
                       [&](unsigned char* shared) { body(reinterpret_cast<std::uint16_t*>(shared)); });
  }

  template <class Body>
  void expect_clean(int threads, Body body) {
    for (const Options& options : schedules()) {
      const Result result = launch(options, threads, body);
      EXPECT_TRUE(result.ok()) << result.summary();
    }
  }

  template <class Body>
  void expect_fault(Fault fault, const int& line, int threads, Body body) {
    for (const Options& options : schedules()) {
      const Result result = launch(options, threads, body);
      sim::expect_fault(result, fault, __FILE__, line);
    }
  }

  // Of a kernel that one warp executes.
  template <class Body>
  Counters count(Body body) {
    const Result result = launch({}, 32, body);
    EXPECT_TRUE(result.ok()) << result.summary();
    return result.counters;
  }

  // Element i of shared memory becomes f(i), by all threads, with a barrier behind it.
  template <class F>
  static void fill(std::uint16_t* shared, int elements, F f) {
    for (int i = gpu::thread_index(); i < elements; i += static_cast<int>(current().cta->threads.size())) {
      gpu::write<Space::shared>(shared + i, static_cast<std::uint16_t>(f(i)));
    }
    gpu::sync_threads();
  }
  static void fill(std::uint16_t* shared, int elements) {
    fill(shared, elements, [](int i) { return i; });
  }

  alignas(128) std::array<std::uint16_t, 2048> x{};
};

std::uint32_t pair_of(int low, int high) {
  return static_cast<std::uint32_t>(low) | static_cast<std::uint32_t>(high) << 16;
}

// ---- ldmatrix, stmatrix ----

// Rows of all matrices in an order of their own: row r of matrix i is line (8 i + r) * 5 % 32 of 8 elements.
int line_of(int lane) {
  return lane * 5 % 32;
}
int element_of(int matrix, int row, int col) {
  return 8 * line_of(8 * matrix + row) + col;
}

TEST_F(TensorCore, LdmatrixGivesEachLaneItsElements) {
  expect_clean(64, [&](std::uint16_t* shared) {
    fill(shared, 256);
    const int lane = gpu::lane_index();
    const std::uint16_t* const row = shared + 8 * line_of(lane);
    std::uint32_t m[4], t[4], m2[2], t2[2];
    gpu::load_matrices<false>(m, row);
    gpu::load_matrices<true>(t, row);
    gpu::load_matrices<false>(m2, row);
    gpu::load_matrices<true>(t2, row);
    const int across = lane / 4, along = lane % 4 * 2;
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(m[i], pair_of(element_of(i, across, along), element_of(i, across, along + 1)));
      EXPECT_EQ(t[i], pair_of(element_of(i, along, across), element_of(i, along + 1, across)));
      EXPECT_TRUE(i >= 2 || (m2[i] == m[i] && t2[i] == t[i]));
    }
  });
}

TEST_F(TensorCore, LdmatrixX2IgnoresTheAddressesOfTheUpperLanes) {
  expect_clean(32, [&](std::uint16_t* shared) {
    fill(shared, 128);
    const int lane = gpu::lane_index();
    std::uint32_t m[2];
    gpu::load_matrices<false>(m, lane < 16 ? shared + 8 * lane : nullptr);
    EXPECT_EQ(m[1], pair_of(64 + 2 * lane, 65 + 2 * lane));
  });
}

TEST_F(TensorCore, StmatrixIsTheInverseOfLdmatrix) {
  expect_clean(64, [&](std::uint16_t* shared) {
    const int lane = gpu::lane_index();
    std::uint16_t* const mine = shared + 1024 * gpu::warp_index();
    std::uint16_t* const row = mine + 8 * line_of(lane);
    const int across = lane / 4, along = lane % 4 * 2;
    const auto expect = [&](int matrices, bool transposed) {
      gpu::sync_warp();
      for (int i = 0; i < matrices; ++i)
        for (int e = 0; e < 2; ++e) {
          const int place = transposed ? element_of(i, along + e, across) : element_of(i, across, along + e);
          EXPECT_EQ(gpu::read<Space::shared>(mine + place), 64 * i + 2 * lane + e) << transposed;
        }
      gpu::sync_warp();
    };
    std::uint32_t m[4], m2[2];
    for (int i = 0; i < 4; ++i) m[i] = pair_of(64 * i + 2 * lane, 64 * i + 2 * lane + 1);
    m2[0] = m[0], m2[1] = m[1];
    store_matrices(4, false, row, m, Loc::current());
    expect(4, false);
    store_matrices(4, true, row, m, Loc::current());
    expect(4, true);
    store_matrices(2, false, row, m2, Loc::current());
    expect(2, false);
    store_matrices(2, true, row, m2, Loc::current());
    expect(2, true);
  });
}

// A warp's 32 rows of 16 bytes, `stride` elements apart: the wavefronts of a load and of a store of four matrices.
TEST_F(TensorCore, MatricesCostAWavefrontEachPlusConflicts) {
  const auto cost = [&](int stride, bool transpose) {
    const Counters counters = count([&](std::uint16_t* shared) {
      std::uint16_t* const row = shared + stride * gpu::lane_index();
      std::uint32_t m[4] = {};
      store_matrices(4, transpose, row, m, Loc::current());
      gpu::sync_warp();
      load_matrices(4, transpose, m, row, Loc::current());
    });
    for (const Traffic traffic : {Traffic::shared_load, Traffic::shared_store}) {
      EXPECT_EQ(counters.total(traffic).requests, 1);
      EXPECT_EQ(counters.total(traffic).ideal, 4);
    }
    EXPECT_EQ(counters.total(Traffic::shared_load).units, counters.total(Traffic::shared_store).units);
    return counters.total(Traffic::shared_load).units;
  };
  for (const bool transpose : {false, true}) {
    EXPECT_EQ(cost(8, transpose), 4);
    EXPECT_EQ(cost(16, transpose), 8);
    EXPECT_EQ(cost(32, transpose), 16);  // a slice of 32 fp16: four rows of eight in the same banks
    EXPECT_EQ(cost(64, transpose), 32);  // rows of 128 bytes: all eight
    EXPECT_EQ(cost(40, transpose), 4);   // padded by 16 bytes
    EXPECT_EQ(cost(72, transpose), 4);
    EXPECT_EQ(cost(120, transpose), 4);
  }
  const Counters two = count([&](std::uint16_t* shared) {
    fill(shared, 1024);
    std::uint32_t m[2];
    gpu::load_matrices<false>(m, shared + 32 * gpu::lane_index());
  });
  EXPECT_EQ(two.total(Traffic::shared_load).requests, 1);
  EXPECT_EQ(two.total(Traffic::shared_load).units, 2 * 4);
  EXPECT_EQ(two.total(Traffic::shared_load).ideal, 2);
}

TEST_F(TensorCore, MatricesAreCheckedLikeOtherAccesses) {
  int line = 0;
  std::uint32_t m[4] = {};
  expect_fault(Fault::misaligned, line, 32, [&](std::uint16_t* shared) {
    fill(shared, 512);
    NEXT_LINE(line);
    gpu::load_matrices<false>(m, shared + 12 * gpu::lane_index());
  });
  expect_fault(Fault::misaligned, line, 32, [&](std::uint16_t* shared) {
    NEXT_LINE(line);
    store_matrices(4, false, shared + 8 * gpu::lane_index() + 1, m, Loc::current());
  });
  expect_fault(Fault::shared_bounds, line, 32, [&](std::uint16_t*) {
    NEXT_LINE(line);
    gpu::load_matrices<true>(m, x.data() + 8 * gpu::lane_index());
  });
  expect_fault(Fault::shared_bounds, line, 32, [&](std::uint16_t* shared) {
    NEXT_LINE(line);
    store_matrices(4, true, shared + kSharedBytes / 2 - 8 * gpu::lane_index(), m, Loc::current());
  });
  expect_fault(Fault::uninitialised_read, line, 32, [&](std::uint16_t* shared) {
    fill(shared, 255);
    NEXT_LINE(line);
    gpu::load_matrices<false>(m, shared + 8 * gpu::lane_index());
  });
  expect_fault(Fault::async_not_waited, line, 32, [&](std::uint16_t* shared) {
    gpu::copy_async<16>(shared + 8 * gpu::lane_index(), x.data() + 8 * gpu::lane_index());
    gpu::copy_async_commit();
    // gpu::copy_async_wait<0>();
    gpu::sync_threads();
    NEXT_LINE(line);
    gpu::load_matrices<false>(m, shared + 8 * gpu::lane_index());
    gpu::copy_async_wait<0>();
  });
}

// The lane that gave the address is the one that reads or writes.
TEST_F(TensorCore, MatricesTakePartInRaces) {
  int line = 0;
  const Result result = launch({}, 64, [&](std::uint16_t* shared) {
    const int t = gpu::thread_index();
    if (t == 41) gpu::write<Space::shared>(shared + 8 * 5 + 3, std::uint16_t{0});
    fill(shared + 256, 256);
    std::uint32_t m[4];
    if (t >= 32) return;
    NEXT_LINE(line);
    gpu::load_matrices<false>(m, t == 5 ? shared + 8 * t : shared + 256 + 8 * t);
  });
  EXPECT_TRUE(result.has(Fault::uninitialised_read)) << result.summary();  // the rest of the row; a barrier lay between
  EXPECT_FALSE(result.has(Fault::shared_race)) << result.summary();

  const auto race = [&](auto body) { expect_fault(Fault::shared_race, line, 64, body); };
  race([&](std::uint16_t* shared) {  // loaded before others have stored
    const int t = gpu::thread_index();
    gpu::write<Space::shared>(reinterpret_cast<gpu::Vector<std::uint16_t, 8>*>(shared + 8 * t), {});
    std::uint32_t m[4];
    NEXT_LINE(line);
    gpu::load_matrices<false>(m, shared + 8 * (t ^ 32));
  });
  race([&](std::uint16_t* shared) {  // the same within a warp: the instruction orders no memory
    const int t = gpu::thread_index();
    gpu::write<Space::shared>(reinterpret_cast<gpu::Vector<std::uint16_t, 8>*>(shared + 8 * t), {});
    std::uint32_t m[4];
    NEXT_LINE(line);
    gpu::load_matrices<false>(m, shared + 8 * (t ^ 1));
  });
  race([&](std::uint16_t* shared) {  // overwritten while others still load
    const int t = gpu::thread_index();
    fill(shared, 512);
    std::uint32_t m[4];
    gpu::load_matrices<false>(m, shared + 8 * t);
    gpu::sync_warp();
    NEXT_LINE(line);
    gpu::write<Space::shared>(shared + 8 * (t ^ 32), std::uint16_t{1});
  });
  race([&](std::uint16_t* shared) {  // stored over what others still read
    const int t = gpu::thread_index();
    fill(shared, 512);
    (void)gpu::read<Space::shared>(shared + 8 * (t ^ 1));
    const std::uint32_t m[4] = {};
    NEXT_LINE(line);
    store_matrices(4, false, shared + 8 * t, m, Loc::current());
  });
  race([&](std::uint16_t* shared) {  // two lanes store one row
    const std::uint32_t m[4] = {};
    NEXT_LINE(line);
    store_matrices(4, true, shared + 8 * (gpu::thread_index() / 2), m, Loc::current());
  });
  race([&](std::uint16_t* shared) {  // read back by another lane with no sync_warp
    const int t = gpu::thread_index();
    const std::uint32_t m[4] = {};
    store_matrices(4, false, shared + 8 * t, m, Loc::current());
    NEXT_LINE(line);
    (void)gpu::read<Space::shared>(shared + 8 * (t ^ 1));
  });
}

// ---- mma.sync ----

// Both element types, by name.
template <class Element>
class Products : public TensorCore {
 protected:
  static std::uint16_t bits(float value) { return gpu::from_float<Element>(value).bits; }
  static float value(std::uint16_t bits) { return gpu::to_float(Element{bits}); }

  using A = std::array<std::array<float, 16>, 16>;  // [row][k]
  using B = std::array<std::array<float, 8>, 16>;   // [k][col]
  using D = std::array<std::array<float, 8>, 16>;   // [row][col]

  // By the table of fragments in the PTX manual, for one warp.
  D multiply(const A& a, const B& b, const D& c = {}) {
    D result;
    expect_clean(32, [&](std::uint16_t*) {
      const int group = gpu::lane_index() >> 2, in_group = gpu::lane_index() % 4;
      std::uint32_t fa[4], fb[2];
      float d[4];
      for (int i = 0; i < 8; i += 2) {
        const int row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
        const int col = in_group * 2 + (i >= 4 ? 8 : 0);
        fa[i / 2] = pair_of(bits(a[row][col]), bits(a[row][col + 1]));
      }
      for (int i = 0; i < 4; i += 2) {
        const int row = in_group * 2 + (i >= 2 ? 8 : 0);
        fb[i / 2] = pair_of(bits(b[row][group]), bits(b[row + 1][group]));
      }
      const auto place = [&](int i) -> std::array<int, 2> {
        return {i < 2 ? group : group + 8, in_group * 2 + (i & 1)};
      };
      for (int i = 0; i < 4; ++i) d[i] = c[place(i)[0]][place(i)[1]];
      gpu::mma<Element>(d, fa, fb);
      for (int i = 0; i < 4; ++i) result[place(i)[0]][place(i)[1]] = d[i];
    });
    return result;
  }
};
struct TypeName {
  template <class T>
  static std::string GetName(int) {
    return std::is_same_v<T, half> ? "fp16" : "bf16";
  }
};
using Elements = testing::Types<half, bfloat16>;
TYPED_TEST_SUITE(Products, Elements, TypeName);

TYPED_TEST(Products, OfSmallIntegersAreExact) {
  typename TestFixture::A a;
  typename TestFixture::B b;
  typename TestFixture::D c;
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 16; ++k) a[i][k] = static_cast<float>((7 * i + 3 * k) % 31 - 15);
  for (int k = 0; k < 16; ++k)
    for (int j = 0; j < 8; ++j) b[k][j] = static_cast<float>((5 * k + 11 * j) % 29 - 14);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) c[i][j] = static_cast<float>(1000 * i + j);
  const auto d = this->multiply(a, b, c);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      float sum = c[i][j];
      for (int k = 0; k < 16; ++k) sum += a[i][k] * b[k][j];
      EXPECT_EQ(d[i][j], sum) << i << ", " << j;
    }
}

TYPED_TEST(Products, AreExactAndSummedInFp32) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  typename TestFixture::A a;
  typename TestFixture::B b;
  for (auto& row : a)
    for (float& element : row) element = this->value(this->bits(uniform(random)));
  for (auto& row : b)
    for (float& element : row) element = this->value(this->bits(uniform(random)));
  const auto d = this->multiply(a, b);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      double sum = 0, magnitude = 0;
      for (int k = 0; k < 16; ++k) {
        sum += double{a[i][k]} * b[k][j];
        magnitude += std::fabs(double{a[i][k]} * b[k][j]);
      }
      EXPECT_TRUE(std::fabs(d[i][j] - sum) <= 16 * 0x1p-24 * magnitude) << i << ", " << j;
    }
  // Nothing is rounded to the type of the elements: neither products, nor sums, nor what was there before.
  a = {}, b = {};
  const float exact = 1 + 0x1p-7f;  // both types have it
  a[3][5] = b[5][2] = exact;
  typename TestFixture::D c{};
  c[3][2] = 0x1p-20f;
  EXPECT_EQ(this->multiply(a, b, c)[3][2], exact * exact + 0x1p-20f);
}

TYPED_TEST(Products, SpreadNanAndInf) {
  typename TestFixture::A a;
  typename TestFixture::B b;
  for (auto& row : a) row.fill(1);
  for (auto& row : b) row.fill(2);
  a[1][3] = kNan, a[2][4] = kInf, a[5][0] = -kInf, a[6][6] = kInf, a[6][7] = -kInf;
  b[4][7] = 0;
  const auto d = this->multiply(a, b);
  for (int j = 0; j < 8; ++j) {
    EXPECT_EQ(d[0][j], j == 7 ? 30 : 32);
    EXPECT_TRUE(std::isnan(d[1][j]));
    EXPECT_TRUE(j == 7 ? std::isnan(d[2][j]) : d[2][j] == kInf);  // Inf * 0
    EXPECT_EQ(d[5][j], -kInf);
    EXPECT_TRUE(std::isnan(d[6][j]));
  }
}

// Doubles, by the manual's table of m16n8k8: the products of integers with 25 bits, which fp32 could not hold.
TEST_F(TensorCore, ProductsOfDoublesAreExact) {
  const auto a = [](int i, int k) { return double((7 * i + 3 * k) % 31 - 15) + 0x1p-24; };
  const auto b = [](int k, int j) { return double((5 * k + 11 * j) % 29 - 14); };
  const auto c = [](int i, int j) { return double(1000 * i + j); };
  double result[16][8] = {};
  expect_clean(32, [&](std::uint16_t*) {
    const int group = gpu::lane_index() / 4, in_group = gpu::lane_index() % 4;
    double fa[4], fb[2], d[4];
    for (int i = 0; i < 4; ++i) fa[i] = a(i % 2 == 0 ? group : group + 8, in_group + (i < 2 ? 0 : 4));
    for (int i = 0; i < 2; ++i) fb[i] = b(in_group + 4 * i, group);
    for (int i = 0; i < 4; ++i) d[i] = c(i < 2 ? group : group + 8, in_group * 2 + i % 2);
    gpu::mma<double>(d, fa, fb);
    for (int i = 0; i < 4; ++i) result[i < 2 ? group : group + 8][in_group * 2 + i % 2] = d[i];
  });
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      double sum = c(i, j);
      for (int k = 0; k < 8; ++k) sum += a(i, k) * b(k, j);
      EXPECT_EQ(result[i][j], sum) << i << ", " << j;
    }
}

TEST(Fp16, LargestAndLeastProductsAreExact) {
  GlobalMemory memory;
  const Result result = launch_body({}, memory, {}, [](unsigned char*) {
    const auto product = [](std::uint16_t x) {
      std::uint32_t a[4] = {x, 0, 0, 0}, b[2] = {x, 0};
      float d[4] = {};
      if (gpu::lane_index() % 4 != 0) a[0] = b[0] = 0;
      gpu::mma<half>(d, a, b);
      return gpu::lane_index() % 4 == 0 ? d[0] : 0.0f;
    };
    const bool first = gpu::lane_index() % 4 == 0;
    EXPECT_EQ(product(0x7bff), first ? 65504.0f * 65504.0f : 0.0f);
    EXPECT_EQ(product(0x0001), first ? 0x1p-48f : 0.0f);
  });
  EXPECT_TRUE(result.ok()) << result.summary();
}

// ---- Together: matrices in shared memory, products ----

// op(A) 16 x 16 and op(B) 16 x 8 as they lie in memory for each pair of flags, through ldmatrix with and without
// .trans.
TYPED_TEST(Products, OfMatricesInSharedMemory) {
  const auto a = [](int i, int k) { return static_cast<float>((3 * i + 5 * k) % 17 - 8); };
  const auto b = [](int k, int j) { return static_cast<float>((7 * k + 2 * j) % 13 - 6); };
  for (const bool a_along_k : {false, true})
    for (const bool b_along_k : {false, true}) {
      this->expect_clean(32, [&](std::uint16_t* shared) {
        std::uint16_t* const second = shared + 256;
        this->fill(shared, 256, [&](int e) { return this->bits(a_along_k ? a(e / 16, e % 16) : a(e % 16, e / 16)); });
        this->fill(second, 128, [&](int e) { return this->bits(b_along_k ? b(e % 16, e / 16) : b(e / 8, e % 8)); });
        const int lane = gpu::lane_index(), r = lane % 8, below = lane / 8 % 2, right = lane / 16;
        std::uint32_t fa[4], fb[2];
        if (a_along_k) {
          gpu::load_matrices<false>(fa, shared + (r + 8 * below) * 16 + 8 * right);
        } else {
          gpu::load_matrices<true>(fa, shared + (r + 8 * right) * 16 + 8 * below);
        }
        if (b_along_k) {
          gpu::load_matrices<false>(fb, second + r * 16 + 8 * below);
        } else {
          gpu::load_matrices<true>(fb, second + (r + 8 * below) * 8);
        }
        float d[4] = {};
        gpu::mma<TypeParam>(d, fa, fb);
        for (int e = 0; e < 4; ++e) {
          const int i = lane / 4 + 8 * (e / 2), j = lane % 4 * 2 + e % 2;
          float sum = 0;
          for (int k = 0; k < 16; ++k) sum += a(i, k) * b(k, j);
          EXPECT_EQ(d[e], sum);
        }
      });
    }
}

// ---- WMMA ----

template <class Element, bool kColumnsA, bool kColumnsB, bool kColumnsD>
void wmma_product(std::uint16_t* shared, int ld_a, int ld_b, int ld_d) {
  auto* const elements = reinterpret_cast<Element*>(shared);
  gpu::WmmaFragment<Element, gpu::WmmaUse::a, kColumnsA> a;
  gpu::WmmaFragment<Element, gpu::WmmaUse::b, kColumnsB> b;
  gpu::WmmaFragment<float, gpu::WmmaUse::accumulator> d;
  gpu::wmma_fill(d, 0.5f);
  gpu::wmma_load(a, elements, ld_a);
  gpu::wmma_load(b, elements + 1024, ld_b);
  gpu::wmma_multiply(d, a, b);
  gpu::wmma_store<kColumnsD>(reinterpret_cast<float*>(shared + 2048), d, ld_d);
  gpu::sync_warp();
}

TYPED_TEST(Products, OfWmma) {
  const auto a = [](int i, int k) { return static_cast<float>((3 * i + 5 * k) % 17 - 8); };
  const auto b = [](int k, int j) { return static_cast<float>((7 * k + 2 * j) % 13 - 6); };
  const auto test = [&]<bool kColumnsA, bool kColumnsB, bool kColumnsD>(int ld_a, int ld_b, int ld_d) {
    this->expect_clean(32, [&](std::uint16_t* shared) {
      this->fill(shared, 16 * ld_a, [&](int e) {
        const int line = e / ld_a, along = e % ld_a;
        return this->bits(kColumnsA ? a(along, line) : a(line, along));
      });
      this->fill(shared + 1024, 16 * ld_b, [&](int e) {
        const int line = e / ld_b, along = e % ld_b;
        return this->bits(kColumnsB ? b(along, line) : b(line, along));
      });
      wmma_product<TypeParam, kColumnsA, kColumnsB, kColumnsD>(shared, ld_a, ld_b, ld_d);
      for (int e = gpu::lane_index(); e < 256; e += 32) {
        const int i = e / 16, j = e % 16;
        float sum = 0.5f;
        for (int k = 0; k < 16; ++k) sum += a(i, k) * b(k, j);
        const auto* d = reinterpret_cast<const float*>(shared + 2048);
        EXPECT_EQ(gpu::read<Space::shared>(d + (kColumnsD ? j * ld_d + i : i * ld_d + j)), sum);
      }
    });
  };
  test.template operator()<false, false, false>(16, 24, 16);
  test.template operator()<false, true, true>(24, 16, 20);
  test.template operator()<true, false, true>(40, 40, 16);
  test.template operator()<true, true, false>(16, 16, 24);
  test.template operator()<false, true, false>(40, 56, 24);
}

TEST_F(TensorCore, WmmaCostsWhatItsInstructionsDo) {
  const auto cost = [&](bool columns, int ld, int ld_d) {
    return count([&](std::uint16_t* shared) {
      fill(shared, 2048, [](int) { return 0; });
      columns ? wmma_product<half, true, false, true>(shared, ld, ld, ld_d)
              : wmma_product<half, false, true, false>(shared, ld, ld, ld_d);
    });
  };
  const auto loads = [&](bool columns, int ld) { return cost(columns, ld, 16).total(Traffic::shared_load); };
  for (const bool columns : {false, true}) {
    EXPECT_EQ(loads(columns, 32).requests, 2);
    EXPECT_EQ(loads(columns, 32).ideal, 2 * 4);
    EXPECT_EQ(loads(columns, 32).units, 2 * 16);  // lines of 64 bytes: four rows of a matrix in the same banks
    EXPECT_EQ(loads(columns, 40).units, 2 * 4);   // padded by 8 elements
    EXPECT_EQ(loads(columns, 64).units, 2 * 32);
  }
  // By rows: four stores of 8 bytes a lane, 16 lanes at a time on four rows. By columns: eight of 4 bytes, four
  // columns.
  const auto stores = [&](bool columns, int ld_d) {
    const Counters all = cost(columns, 16, ld_d);
    for (const LineCounters& line : all.lines)
      if (line.traffic == Traffic::shared_store && line.bytes >= 4) return line;
    return LineCounters{};
  };
  EXPECT_EQ(stores(false, 16).requests, 4);
  EXPECT_EQ(stores(false, 16).ideal, 8);
  EXPECT_EQ(stores(false, 16).units, 16);  // rows of 64 bytes: every other one in the same banks
  EXPECT_EQ(stores(false, 24).units, 8);
  EXPECT_EQ(stores(true, 16).requests, 8);
  EXPECT_EQ(stores(true, 16).ideal, 8);
  EXPECT_EQ(stores(true, 16).units, 32);  // columns two apart, 128 bytes: all in the same banks
  EXPECT_EQ(stores(true, 20).units, 8);
}

TEST_F(TensorCore, WmmaAsksForAlignment) {
  int line = 0;
  gpu::WmmaFragment<half, gpu::WmmaUse::a> a;
  gpu::WmmaFragment<float, gpu::WmmaUse::accumulator> d;
  gpu::wmma_fill(d, 0.0f);
  const auto elements = [](std::uint16_t* shared) { return reinterpret_cast<half*>(shared); };
  const auto floats = [](std::uint16_t* shared) { return reinterpret_cast<float*>(shared); };
  expect_fault(Fault::misaligned, line, 32, [&](std::uint16_t* shared) {
    fill(shared, 1024);
    NEXT_LINE(line);
    gpu::wmma_load(a, elements(shared), 36);  // padded by 4 elements
  });
  expect_fault(Fault::misaligned, line, 32, [&](std::uint16_t* shared) {
    fill(shared, 1024);
    NEXT_LINE(line);
    gpu::wmma_load(a, elements(shared) + 8, 32);
  });
  expect_fault(Fault::misaligned, line, 32, [&](std::uint16_t* shared) {
    NEXT_LINE(line);
    gpu::wmma_store<false>(floats(shared), d, 18);
  });
  expect_fault(Fault::misaligned, line, 32, [&](std::uint16_t* shared) {
    NEXT_LINE(line);
    gpu::wmma_store<true>(floats(shared) + 4, d, 16);
  });
  expect_fault(Fault::uninitialised_read, line, 32, [&](std::uint16_t* shared) {
    fill(shared, 255);
    NEXT_LINE(line);
    gpu::wmma_load(a, elements(shared), 16);
  });
  expect_fault(Fault::shared_bounds, line, 32, [&](std::uint16_t* shared) {
    NEXT_LINE(line);
    gpu::wmma_store<false>(floats(shared) + kSharedBytes / 4 - 128, d, 16);
  });
  expect_fault(Fault::shared_race, line, 64, [&](std::uint16_t* shared) {
    NEXT_LINE(line);
    gpu::wmma_store<false>(floats(shared) + 128 * gpu::warp_index(), d, 16);
  });
}

// ---- All lanes, at one place ----

TEST_F(TensorCore, InstructionsNeedTheWholeWarp) {
  int line = 0;
  std::uint32_t m[4] = {};
  const std::uint32_t b[2] = {};
  float d[4] = {};
  // A lane that never comes: the others wait for it.
  expect_fault(Fault::deadlock, line, 32, [&](std::uint16_t* shared) {
    fill(shared, 256);
    if (gpu::lane_index() == 17) return;
    NEXT_LINE(line);
    gpu::load_matrices<false>(m, shared + 8 * gpu::lane_index());
  });
  expect_fault(Fault::deadlock, line, 64, [&](std::uint16_t*) {
    NEXT_LINE(line);
    if (gpu::thread_index() != 40) gpu::mma<half>(d, m, b);
  });
  // A warp that has fewer lanes.
  expect_fault(Fault::warp_divergence, line, 48, [&](std::uint16_t*) {
    NEXT_LINE(line);
    gpu::mma<half>(d, m, b);
  });
  expect_fault(Fault::warp_divergence, line, 24, [&](std::uint16_t* shared) {
    fill(shared, 256);
    NEXT_LINE(line);
    gpu::load_matrices<false>(m, shared + 8 * gpu::lane_index());
  });
}

TEST_F(TensorCore, LanesInDifferentInstructions) {
  int line = 0, other = 0;
  std::uint32_t m[4] = {};
  const std::uint32_t b[2] = {};
  float d[4] = {};
  const auto expect_both = [&](auto body) {
    expect_fault(Fault::warp_divergence, line, 32, body);
    expect_fault(Fault::warp_divergence, other, 32, body);  // the report names both lines
  };
  expect_both([&](std::uint16_t* shared) {  // of two kinds
    fill(shared, 256);
    if (gpu::lane_index() % 2 == 0) {
      NEXT_LINE(line);
      gpu::load_matrices<false>(m, shared + 8 * gpu::lane_index());
    } else {
      NEXT_LINE(other);
      gpu::mma<half>(d, m, b);
    }
  });
  expect_both([&](std::uint16_t* shared) {  // of two forms
    fill(shared, 256);
    if (gpu::lane_index() < 16) {
      NEXT_LINE(line);
      gpu::load_matrices<false>(m, shared + 8 * gpu::lane_index());
    } else {
      NEXT_LINE(other);
      gpu::load_matrices<true>(m, shared + 8 * gpu::lane_index());
    }
  });
  expect_both([&](std::uint16_t*) {  // of one form at two places: the branch diverged
    if (gpu::lane_index() < 31) {
      NEXT_LINE(line);
      gpu::mma<half>(d, m, b);
    } else {
      NEXT_LINE(other);
      gpu::mma<half>(d, m, b);
    }
  });
  expect_both([&](std::uint16_t*) {  // and a shuffle
    if (gpu::lane_index() > 0) {
      NEXT_LINE(line);
      gpu::mma<bfloat16>(d, m, b);
    } else {
      NEXT_LINE(other);
      (void)gpu::shuffle_xor(1, 1);
    }
  });
}

TEST_F(TensorCore, LanesThatNameDifferentMatrices) {
  int line = 0;
  gpu::WmmaFragment<half, gpu::WmmaUse::b> b;
  gpu::WmmaFragment<float, gpu::WmmaUse::accumulator> d;
  gpu::wmma_fill(d, 0.0f);
  expect_fault(Fault::warp_divergence, line, 32, [&](std::uint16_t* shared) {
    fill(shared, 512);
    const auto* elements = reinterpret_cast<const half*>(shared);
    NEXT_LINE(line);
    gpu::wmma_load(b, gpu::lane_index() == 9 ? elements + 256 : elements, 16);
  });
  expect_fault(Fault::warp_divergence, line, 32, [&](std::uint16_t* shared) {
    NEXT_LINE(line);
    gpu::wmma_store<false>(reinterpret_cast<float*>(shared), d, gpu::lane_index() < 30 ? 16 : 20);
  });
}

}  // namespace
}  // namespace xgemm::sim
