// The simulator bites: kernels with one thing broken, each reported with the right kind of fault and the right line.
// And it does not bite the intact ones.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/naive/naive.cuh"
#include "kernels/smem_tiled/smem_tiled.cuh"
#include "schedules.h"
#include "sim/launch.h"

namespace xgemm::sim {
namespace {

using gpu::Space;
using kernels::GemmParams;
using kernels::Int;
using kernels::MatrixView;
using kernels::shared_view;
using kernels::TileConfig;

// A kernel of `threads` threads in `blocks` CTAs with 4 KiB of shared memory and one vector x in global memory.
class SimulatorTest : public testing::Test {
 protected:
  static constexpr int kLength = 256;
  alignas(128) std::array<float, kLength> x{};

  template <class Body>
  Result launch(const Options& options, int threads, int blocks, Body body) {
    GlobalMemory memory;
    memory.add({"x", x.data(), 4, length, 1, 1, 1, length, 0, access});
    LaunchShape shape;
    shape.grid = blocks;
    shape.threads = threads;
    shape.dynamic_shared_bytes = 4096;
    shape.granule = 4;
    return launch_body(shape, memory, options, [&](unsigned char* shared) { body(reinterpret_cast<float*>(shared)); });
  }

  // Under every schedule: a report of this kind at this line (0: any).
  template <class Body>
  void expect_fault(Fault fault, const int& line, int threads, Body body, int blocks = 1) {
    for (const Options& options : schedules()) {
      const Result result = launch(options, threads, blocks, body);
      sim::expect_fault(result, fault, __FILE__, line);
    }
  }

  template <class Body>
  void expect_clean(int threads, Body body, int blocks = 1) {
    for (const Options& options : schedules()) {
      const Result result = launch(options, threads, blocks, body);
      EXPECT_TRUE(result.ok()) << result.summary();
    }
  }

  auto global() { return MatrixView<float, Space::global, int, Int<1>, Int<1>, int>(x.data(), length, {}, {}, length); }
  static auto tile(float* shared) { return shared_view<32, 32, 1, 32>(shared); }

  int length = kLength;
  Access access = Access::read_write;
};

// ---- Shared memory: barriers ----

TEST_F(SimulatorTest, NeighboursExchangeThroughSharedMemory) {
  expect_clean(64, [&](float* shared) {
    const auto v = shared_view<64, 1, 1, 64>(shared);
    const int t = gpu::thread_index();
    v(t, 0) = static_cast<float>(t);
    gpu::sync_threads();
    const float other = v(63 - t, 0);
    gpu::sync_threads();
    v(t, 0) = other;
    if (other != static_cast<float>(63 - t)) throw std::logic_error("wrong value");
  });
}

TEST_F(SimulatorTest, RemovedBarrierBeforeReading) {
  int line = 0;
  expect_fault(Fault::shared_race, line, 64, [&](float* shared) {
    const auto v = shared_view<64, 1, 1, 64>(shared);
    const int t = gpu::thread_index();
    v(t, 0) = 1.0f;
    // gpu::sync_threads();
    NEXT_LINE(line);
    const float other = v(t ^ 1, 0);
    (void)other;
    gpu::sync_threads();
  });
}

TEST_F(SimulatorTest, RemovedBarrierBeforeOverwriting) {
  int line = 0;
  expect_fault(Fault::shared_race, line, 64, [&](float* shared) {
    const auto v = shared_view<64, 1, 1, 64>(shared);
    const int t = gpu::thread_index();
    v(t, 0) = 1.0f;
    gpu::sync_threads();
    float sum = v(63 - t, 0);
    // gpu::sync_threads();
    NEXT_LINE(line);
    v(t, 0) = sum;
  });
}

TEST_F(SimulatorTest, TwoThreadsWriteOneElement) {
  int line = 0;
  expect_fault(Fault::shared_race, line, 64, [&](float* shared) {
    NEXT_LINE(line);
    shared_view<64, 1, 1, 64>(shared)(gpu::thread_index() / 2, 0) = 1.0f;
  });
}

TEST_F(SimulatorTest, RaceNamesBothParties) {
  int write = 0, read = 0;
  const Result result = launch(options_of(Order::forward), 64, 1, [&](float* shared) {
    const auto v = shared_view<64, 1, 1, 64>(shared);
    if (gpu::thread_index() == 5) {
      NEXT_LINE(write);
      v(9, 0) = 1.0f;
    }
    if (gpu::thread_index() == 40) {
      NEXT_LINE(read);
      (void)static_cast<float>(v(9, 0));
    }
  });
  const Report* report = result.find(Fault::shared_race);
  ASSERT_NE(report, nullptr) << result.summary();
  EXPECT_EQ(report->thread, 40);
  EXPECT_EQ(static_cast<int>(report->line()), read);
  EXPECT_EQ(report->other_thread, 5);
  EXPECT_EQ(static_cast<int>(report->other.line()), write);
}

TEST_F(SimulatorTest, HalvesOfOneWordAreNotARace) {
  GlobalMemory memory;
  LaunchShape shape;
  shape.threads = 64;
  shape.dynamic_shared_bytes = 256;
  shape.granule = 2;
  for (const Options& options : schedules()) {
    const Result result = launch_body(shape, memory, options, [&](unsigned char* shared) {
      shared_view<64, 1, 1, 64>(reinterpret_cast<gpu::half*>(shared))(gpu::thread_index(), 0) = gpu::half{1};
    });
    EXPECT_TRUE(result.ok()) << result.summary();
  }
}

TEST_F(SimulatorTest, ReadsWhatNobodyWrote) {
  int line = 0;
  expect_fault(Fault::uninitialised_read, line, 32, [&](float* shared) {
    NEXT_LINE(line);
    const float value = tile(shared)(gpu::thread_index(), 3);
    EXPECT_TRUE(std::isnan(value));
  });
}

TEST_F(SimulatorTest, SharedMemoryOfTheNextCtaIsFresh) {
  int line = 0;
  expect_fault(
      Fault::uninitialised_read, line, 32,
      [&](float* shared) {
        if (gpu::block_x() == 0) tile(shared)(gpu::thread_index(), 0) = 1.0f;
        if (gpu::block_x() == 1) {
          NEXT_LINE(line);
          (void)static_cast<float>(tile(shared)(gpu::thread_index(), 0));
        }
      },
      2);
}

// ---- Deadlocks ----

TEST_F(SimulatorTest, BarrierThatOneThreadDoesNotReach) {
  int line = 0;
  expect_fault(Fault::deadlock, line, 64, [&](float*) {
    if (gpu::thread_index() == 17) return;
    NEXT_LINE(line);
    gpu::sync_threads();
  });
}

TEST_F(SimulatorTest, BarrierInADivergentBranch) {
  int line = 0;
  const Result result = launch(options_of(Order::forward), 64, 1, [&](float*) {
    if (gpu::thread_index() < 32) {
      NEXT_LINE(line);
      gpu::sync_threads();
    }
  });
  const Report* report = result.find(Fault::deadlock);
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(static_cast<int>(report->line()), line);
  EXPECT_NE(report->message.find("32 threads wait in __syncthreads"), std::string::npos) << report->message;
  EXPECT_NE(report->message.find("32 have ended"), std::string::npos) << report->message;
}

TEST_F(SimulatorTest, DeadlockUnwindsTheThreadsThatHang) {
  struct Counted {
    int& count;
    explicit Counted(int& c) : count(c) { ++count; }
    ~Counted() { --count; }
  };
  int alive = 0;
  const Result result = launch(options_of(Order::forward), 64, 3, [&](float*) {
    const Counted counted(alive);
    if (gpu::thread_index() != 0) gpu::sync_threads();
  });
  EXPECT_TRUE(result.has(Fault::deadlock));
  EXPECT_EQ(alive, 0);
}

// ---- Named barriers ----

TEST_F(SimulatorTest, NamedBarriersOrderTheirParticipants) {
  // Two pairs of warps, each with a barrier of its own, and one of all four.
  expect_clean(128, [&](float* shared) {
    const auto v = shared_view<128, 1, 1, 128>(shared);
    const int t = gpu::thread_index(), pair = t / 64;
    v(t, 0) = static_cast<float>(t);
    gpu::named_barrier_sync(1 + pair, 64);
    (void)static_cast<float>(v(t ^ 32, 0));
    gpu::named_barrier_sync(3, 128);
    if (t < 64) (void)static_cast<float>(v(t + 64, 0));
  });
}

TEST_F(SimulatorTest, NamedBarrierDoesNotOrderOthers) {
  int line = 0;
  expect_fault(Fault::shared_race, line, 128, [&](float* shared) {
    const auto v = shared_view<128, 1, 1, 128>(shared);
    const int t = gpu::thread_index();
    v(t, 0) = 1.0f;
    gpu::named_barrier_sync(1 + t / 64, 64);
    NEXT_LINE(line);
    (void)static_cast<float>(v(127 - t, 0));
  });
}

TEST_F(SimulatorTest, NamedBarrierMisused) {
  int line = 0;
  expect_fault(Fault::barrier_misuse, line, 64, [&](float*) {
    NEXT_LINE(line);
    gpu::named_barrier_sync(16, 64);
  });
  expect_fault(Fault::barrier_misuse, line, 64, [&](float*) {
    NEXT_LINE(line);
    gpu::named_barrier_sync(1, 40);
  });
  expect_fault(Fault::barrier_misuse, line, 64, [&](float*) {
    NEXT_LINE(line);
    gpu::named_barrier_sync(1, 96);
  });
  expect_fault(Fault::deadlock, line, 96, [&](float*) {
    NEXT_LINE(line);
    if (gpu::thread_index() < 32) gpu::named_barrier_sync(1, 64);
  });
}

// ---- Warps ----

TEST_F(SimulatorTest, Shuffles) {
  expect_clean(64, [&](float*) {
    const int lane = gpu::lane_index();
    EXPECT_EQ(gpu::shuffle(lane * 10, 7), 70);
    EXPECT_EQ(gpu::shuffle_xor(lane, 5), lane ^ 5);
    EXPECT_EQ(gpu::shuffle(static_cast<float>(lane), lane / 2), static_cast<float>(lane / 2));
    if (lane < 16) {
      EXPECT_EQ(gpu::shuffle_xor(lane, 1, 0xffffu), lane ^ 1);
    } else {
      EXPECT_EQ(gpu::shuffle(lane, 20, 0xffff0000u), 20);
    }
    int sum = lane;
    for (int step = 16; step > 0; step /= 2) sum += gpu::shuffle_xor(sum, step);
    EXPECT_EQ(sum, 31 * 16);
  });
}

TEST_F(SimulatorTest, ShuffleThatALaneDoesNotExecute) {
  int line = 0;
  expect_fault(Fault::deadlock, line, 32, [&](float*) {
    NEXT_LINE(line);
    if (gpu::lane_index() != 3) (void)gpu::shuffle_xor(1, 1);
  });
}

TEST_F(SimulatorTest, LanesInDifferentOperations) {
  const int anywhere = 0;
  expect_fault(Fault::warp_divergence, anywhere, 32, [&](float*) {
    if (gpu::lane_index() < 16) (void)gpu::shuffle_xor(1, 1);
    if (gpu::lane_index() >= 16) gpu::sync_warp();
  });
  int line = 0;
  expect_fault(Fault::warp_divergence, line, 32, [&](float*) {
    NEXT_LINE(line);
    (void)gpu::shuffle(1, 0, 0x0000ffffu);
  });
}

TEST_F(SimulatorTest, SyncWarpOrdersMemoryInsideTheWarpOnly) {
  expect_clean(64, [&](float* shared) {
    const auto v = shared_view<64, 1, 1, 64>(shared);
    const int t = gpu::thread_index();
    v(t, 0) = 1.0f;
    gpu::sync_warp();
    (void)static_cast<float>(v(t ^ 9, 0));
  });
  int line = 0;
  expect_fault(Fault::shared_race, line, 64, [&](float* shared) {
    const auto v = shared_view<64, 1, 1, 64>(shared);
    const int t = gpu::thread_index();
    v(t, 0) = 1.0f;
    gpu::sync_warp();
    NEXT_LINE(line);
    (void)static_cast<float>(v(t ^ 32, 0));
  });
}

TEST_F(SimulatorTest, ShuffleOrdersNoMemory) {
  int line = 0;
  expect_fault(Fault::shared_race, line, 32, [&](float* shared) {
    const int t = gpu::thread_index();
    tile(shared)(t, 0) = 1.0f;
    (void)gpu::shuffle_xor(t, 1);
    NEXT_LINE(line);
    (void)static_cast<float>(tile(shared)(t ^ 1, 0));
  });
}

// ---- cp.async ----

TEST_F(SimulatorTest, CopyAsyncIsInvisibleUntilWaitedFor) {
  std::iota(x.begin(), x.end(), 0.0f);
  expect_clean(32, [&](float* shared) {
    const int t = gpu::thread_index();
    gpu::copy_async<16>(shared + 4 * t, x.data() + 4 * t);
    gpu::copy_async_commit();
    gpu::copy_async<16>(shared + 128 + 4 * t, x.data() + 4 * t, 8);  // two elements and zeros
    gpu::copy_async_commit();
    gpu::copy_async<16>(shared + 256 + 4 * t, nullptr, 0);
    gpu::copy_async_commit();
    EXPECT_TRUE(std::isnan(shared[4 * t]));
    gpu::copy_async_wait<2>();
    EXPECT_EQ(shared[4 * t], static_cast<float>(4 * t));
    EXPECT_TRUE(std::isnan(shared[128 + 4 * t]));
    gpu::copy_async_wait<0>();
    const auto v = shared_view<384, 1, 1, 384>(shared);
    const auto second = v.load<4>(128 + 4 * t, 0);
    EXPECT_EQ(second[1], static_cast<float>(4 * t + 1));
    EXPECT_EQ(second[2], 0.0f);
    EXPECT_EQ(v.load<4>(256 + 4 * t, 0)[0], 0.0f);
    gpu::sync_threads();
    EXPECT_EQ(v.get(4 * (31 - t), 0), static_cast<float>(4 * (31 - t)));
  });
}

TEST_F(SimulatorTest, MissingWait) {
  int line = 0;
  expect_fault(Fault::async_not_waited, line, 32, [&](float* shared) {
    const int t = gpu::thread_index();
    gpu::copy_async<4>(shared + t, x.data() + t);
    gpu::copy_async_commit();
    // gpu::copy_async_wait<0>();
    gpu::sync_threads();
    NEXT_LINE(line);
    const float value = tile(shared)(31 - t, 0);
    EXPECT_TRUE(std::isnan(value));
  });
}

TEST_F(SimulatorTest, WaitForTooFewGroups) {
  int line = 0;
  expect_fault(Fault::async_not_waited, line, 32, [&](float* shared) {
    const int t = gpu::thread_index();
    for (int stage = 0; stage < 2; ++stage) {
      gpu::copy_async<4>(shared + 32 * stage + t, x.data() + t);
      gpu::copy_async_commit();
    }
    gpu::copy_async_wait<1>();
    gpu::sync_threads();
    (void)static_cast<float>(tile(shared)(t, 0));
    NEXT_LINE(line);
    (void)static_cast<float>(tile(shared)(t, 1));
  });
}

TEST_F(SimulatorTest, MissingCommit) {
  int line = 0;
  expect_fault(Fault::async_not_waited, line, 32, [&](float* shared) {
    const int t = gpu::thread_index();
    gpu::copy_async<4>(shared + t, x.data() + t);
    gpu::copy_async_wait<0>();
    NEXT_LINE(line);
    (void)static_cast<float>(tile(shared)(t, 0));
  });
}

TEST_F(SimulatorTest, WaitedForButNoBarrier) {
  int line = 0;
  expect_fault(Fault::shared_race, line, 64, [&](float* shared) {
    const int t = gpu::thread_index();
    gpu::copy_async<4>(shared + t, x.data() + t);
    gpu::copy_async_commit();
    gpu::copy_async_wait<0>();
    gpu::named_barrier_sync(1 + t / 32, 32);
    NEXT_LINE(line);
    if (t >= 32) (void)static_cast<float>(tile(shared)(t - 32, 0));
  });
}

TEST_F(SimulatorTest, CopyIntoWhatOthersStillRead) {
  int line = 0;
  expect_fault(Fault::shared_race, line, 32, [&](float* shared) {
    const int t = gpu::thread_index();
    tile(shared)(t, 0) = 0.0f;
    gpu::sync_threads();
    (void)static_cast<float>(tile(shared)(31 - t, 0));
    NEXT_LINE(line);
    gpu::copy_async<4>(shared + t, x.data() + t);
    gpu::copy_async_commit();
    gpu::copy_async_wait<0>();
  });
}

TEST_F(SimulatorTest, CopyAsyncOutOfBoundsAndMisaligned) {
  int line = 0;
  expect_fault(Fault::global_bounds, line, 1, [&](float* shared) {
    NEXT_LINE(line);
    gpu::copy_async<16>(shared, x.data() + kLength, 16);
  });
  expect_fault(Fault::misaligned, line, 1, [&](float* shared) {
    NEXT_LINE(line);
    gpu::copy_async<16>(shared, x.data() + 1, 16);
  });
  expect_fault(Fault::misaligned, line, 1, [&](float* shared) {
    NEXT_LINE(line);
    gpu::copy_async<8>(shared + 1, x.data(), 8);
  });
  expect_fault(Fault::shared_bounds, line, 1, [&](float* shared) {
    NEXT_LINE(line);
    gpu::copy_async<8>(shared + 1024, x.data(), 8);
  });
}

// ---- Bounds ----

TEST_F(SimulatorTest, OffByOneTail) {
  length = 100;
  int line = 0;
  // All threads of a CTA of 128 but the last 27: one too many.
  const auto kernel = [&](float*) {
    const int t = gpu::thread_index();
    NEXT_LINE(line);
    if (t < 101) (void)static_cast<float>(global()(t, 0));
  };
  expect_fault(Fault::view_bounds, line, 128, kernel);
  expect_fault(Fault::global_bounds, line, 128, kernel);
}

TEST_F(SimulatorTest, OffByOneStoreIsReportedAndDropped) {
  length = 100;
  x[100] = 42.0f;
  int line = 0;
  expect_fault(Fault::global_bounds, line, 1, [&](float*) {
    NEXT_LINE(line);
    gpu::write<Space::global>(x.data() + 100, 1.0f);
  });
  EXPECT_EQ(x[100], 42.0f);
}

TEST_F(SimulatorTest, VectorThatCrossesTheEdge) {
  length = 98;
  int line = 0;
  expect_fault(Fault::global_bounds, line, 1, [&](float*) {
    NEXT_LINE(line);
    (void)gpu::read<Space::global>(reinterpret_cast<gpu::Vector<float, 4>*>(x.data() + 96));
  });
  expect_clean(1, [&](float*) {
    const auto v = global().load_or_zero<4>(96, 0);
    EXPECT_EQ(v[1], x[97]);
    EXPECT_EQ(v[2], 0.0f);
  });
}

TEST_F(SimulatorTest, RowsBetweenMAndLdAreOutOfBounds) {
  GlobalMemory memory;
  memory.add({"A", x.data(), 4, 5, 3, 1, 1, 8, 0, Access::read});
  int line = 0;
  const Result result = launch_body(LaunchShape{}, memory, {}, [&](unsigned char*) {
    (void)gpu::read<Space::global>(x.data() + 8 + 4);
    NEXT_LINE(line);
    (void)gpu::read<Space::global>(x.data() + 8 + 5);
  });
  ASSERT_EQ(result.reports.size(), 1u) << result.summary();
  EXPECT_EQ(result.reports[0].fault, Fault::global_bounds);
  EXPECT_EQ(static_cast<int>(result.reports[0].line()), line);
}

TEST_F(SimulatorTest, OutsideSharedMemory) {
  int line = 0;
  expect_fault(Fault::shared_bounds, line, 1, [&](float* shared) {
    NEXT_LINE(line);
    gpu::write<Space::shared>(shared + 1024, 1.0f);
  });
  expect_fault(Fault::view_bounds, line, 1, [&](float* shared) {
    NEXT_LINE(line);
    shared_view<4, 4, 1, 4>(shared)(4, 0) = 1.0f;
  });
}

TEST_F(SimulatorTest, MisalignedVectors) {
  int line = 0;
  expect_fault(Fault::misaligned, line, 1, [&](float*) {
    NEXT_LINE(line);
    (void)global().load<4>(2, 0);
  });
  expect_fault(Fault::misaligned, line, 1, [&](float* shared) {
    NEXT_LINE(line);
    tile(shared).store<2>(1, 0, gpu::Vector<float, 2>{});
  });
}

TEST_F(SimulatorTest, PermissionsOfGlobalMemory) {
  int line = 0;
  access = Access::read;
  expect_fault(Fault::global_permission, line, 1, [&](float*) {
    NEXT_LINE(line);
    global()(0, 0) = 1.0f;
  });
  access = Access::write;
  expect_fault(Fault::global_permission, line, 1, [&](float*) {
    NEXT_LINE(line);
    (void)global().get(0, 0);
  });
}

// ---- Races in global memory ----

TEST_F(SimulatorTest, TwoThreadsWriteOneElementOfGlobalMemory) {
  int line = 0;
  expect_fault(Fault::global_race, line, 64, [&](float*) {
    NEXT_LINE(line);
    global()(gpu::thread_index() / 2, 0) = 1.0f;
  });
}

TEST_F(SimulatorTest, TwoCtasWriteOneElementOfGlobalMemory) {
  int line = 0;
  expect_fault(
      Fault::global_race, line, 32,
      [&](float*) {
        NEXT_LINE(line);
        global()(gpu::thread_index(), 0) = 1.0f;
      },
      2);
}

TEST_F(SimulatorTest, OneCtaReadsWhatAnotherWrites) {
  int line = 0;
  expect_fault(
      Fault::global_race, line, 32,
      [&](float*) {
        const int t = gpu::thread_index();
        NEXT_LINE(line);
        gpu::block_x() == 0 ? global().store<1>(t, 0, {}) : (void)global().get(t, 0);
      },
      2);
}

TEST_F(SimulatorTest, GlobalMemoryBehindABarrierIsOrdered) {
  expect_clean(64, [&](float*) {
    const int t = gpu::thread_index();
    global()(t, 0) = 1.0f;
    gpu::sync_threads();
    (void)global().get(63 - t, 0);
  });
}

// ---- The rest of the machine ----

TEST_F(SimulatorTest, ExceptionsBecomeReports) {
  const Result result = launch(options_of(Order::forward), 32, 1, [&](float*) {
    if (gpu::thread_index() == 7) throw std::runtime_error("out of luck");
  });
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.reports[0].fault, Fault::exception);
  EXPECT_EQ(result.reports[0].thread, 7);
  EXPECT_EQ(result.reports[0].message, "out of luck");
}

TEST_F(SimulatorTest, ImpossibleLaunches) {
  GlobalMemory memory;
  const auto fault_of = [&](const LaunchShape& shape) {
    return launch_body(shape, memory, {}, [](unsigned char*) {}).has(Fault::bad_launch);
  };
  EXPECT_FALSE(fault_of({}));
  EXPECT_TRUE(fault_of({.threads = 1025}));
  EXPECT_TRUE(fault_of({.grid = 0}));
  EXPECT_TRUE(fault_of({.grid = std::int64_t{1} << 31}));
  EXPECT_TRUE(fault_of({.dynamic_shared_bytes = kMaxSharedBytes + 1}));
}

TEST_F(SimulatorTest, SchedulesDiffer) {
  const auto order_of = [&](const Options& options) {
    std::vector<int> order;
    launch(options, 64, 2, [&](float*) {
      order.push_back(gpu::thread_index() + 64 * static_cast<int>(gpu::block_x()));
      gpu::sync_threads();
      order.push_back(gpu::thread_index());
    });
    return order;
  };
  const auto forward = order_of(options_of(Order::forward));
  ASSERT_EQ(forward.size(), 256u);
  EXPECT_TRUE(std::is_sorted(forward.begin(), forward.begin() + 64));
  EXPECT_EQ(order_of(options_of(Order::reverse)).front(), 127);
  EXPECT_EQ(order_of(options_of(Order::random, 5)), order_of(options_of(Order::random, 5)));
  EXPECT_NE(order_of(options_of(Order::random, 5)), order_of(options_of(Order::random, 6)));
}

TEST_F(SimulatorTest, ReportsAreKeptOncePerLine) {
  const Result result = launch(options_of(Order::forward), 64, 2, [&](float* shared) {
    for (int i = 0; i < 10; ++i) (void)static_cast<float>(tile(shared)(0, i));
  });
  ASSERT_EQ(result.reports.size(), 1u) << result.summary();
  EXPECT_EQ(result.reports[0].count, 64 * 2 * 10);
}

// ---- The same on a whole kernel: a product with one thing broken ----

enum class Break { nothing, barrier_after_load, barrier_before_load, tail_reads, tail_stores, wait, race };

template <Break kBreak>
struct BrokenGemm {
  using Element = float;
  using ElementC = float;
  static constexpr int kTile = 16, kThreads = kTile * kTile;
  struct SharedStorage {
    kernels::SharedArray<float, kTile * kTile> a, b;
  };
  static constexpr kernels::TileConfig kInstance{.cta_m = kTile, .cta_n = kTile, .cta_k = kTile};
  static inline int line = 0;

  static void run(const kernels::TileParams& p, SharedStorage& smem) {
    const auto epilogue = kernels::LinearCombination::make(p);
    const auto a_tile = shared_view<kTile, kTile, 1, kTile>(smem.a.data);
    const auto b_tile = shared_view<kTile, kTile, kTile, 1>(smem.b.data);
    const int i = gpu::thread_index() % kTile, j = gpu::thread_index() / kTile;
    kernels::for_each_unit<kTile, kTile, kTile>(p, true, [&](const kernels::Unit& unit) {
      const auto a = kernels::global_view<const float, kernels::Contiguous::row>(p.a, p.m, p.k);
      const auto b = kernels::global_view<const float, kernels::Contiguous::row>(p.b, p.k, p.n);
      const auto c = kernels::global_view<float, kernels::Contiguous::row>(p.c, p.m, p.n);
      const std::int64_t row = unit.row + i, col = unit.col + j;
      constexpr int kSlack = kBreak == Break::tail_reads ? 1 : 0;
      float acc = 0;
      for (std::int64_t k0 = 0; k0 < p.k; k0 += kTile) {
        if constexpr (kBreak == Break::wait) {
          const bool inside = row < p.m && k0 + j < p.k;
          gpu::copy_async<4>(a_tile.address(i, j), a.address(inside ? row : 0, inside ? k0 + j : 0), inside ? 4 : 0);
          gpu::copy_async_commit();
        } else {
          a_tile(i, j) = row < p.m && k0 + j < p.k ? a.get(row, k0 + j) : 0.0f;
        }
        const float b_element = k0 + i < p.k + kSlack && col < p.n ? b.get(k0 + i, col) : 0.0f;
        NEXT_LINE(line);
        b_tile(kBreak == Break::race ? i / 2 : i, j) = b_element;
        if constexpr (kBreak != Break::barrier_after_load) gpu::sync_threads();
        for (int k = 0; k < kTile; ++k) acc = gpu::fma(a_tile(i, k), b_tile(k, j), acc);
        if constexpr (kBreak != Break::barrier_before_load) gpu::sync_threads();
      }
      if (row < p.m + (kBreak == Break::tail_stores ? 1 : 0) && col < p.n) {
        c(row, col) = epilogue.template apply<false>(acc, 0.0f, row, col, p);
      }
    });
  }
};

template <Break kBreak>
Result run_broken(const Options& options) {
  const std::int64_t m = 21, n = 19, k = 37;
  std::vector<float> a(static_cast<std::size_t>(m * k), 1.0f), b(static_cast<std::size_t>(k * n), 1.0f),
      c(static_cast<std::size_t>((m + 2) * n), -1.0f);
  GemmParams p{};
  p.a = {a.data(), 1, m, 0};
  p.b = {b.data(), 1, k, 0};
  p.c = {c.data(), 1, m + 2, 0};
  p.m = m, p.n = n, p.k = k, p.batch_count = 1;
  p.alpha = kernels::Factor::of(1.0f);
  Result result = launch<BrokenGemm<kBreak>>(p, options);
  if (kBreak == Break::nothing) {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m + 2; ++i) {
        EXPECT_EQ(c[static_cast<std::size_t>(i + j * (m + 2))], i < m ? 37.0f : -1.0f);
      }
  }
  return result;
}

TEST(BrokenGemm, IsFoundOutUnderEverySchedule) {
  for (const Options& options : schedules()) {
    const Result intact = run_broken<Break::nothing>(options);
    EXPECT_TRUE(intact.ok()) << intact.summary();
    EXPECT_TRUE(run_broken<Break::barrier_after_load>(options).has(Fault::shared_race));
    EXPECT_TRUE(run_broken<Break::barrier_before_load>(options).has(Fault::shared_race));
    EXPECT_TRUE(run_broken<Break::tail_reads>(options).has(Fault::global_bounds));
    EXPECT_TRUE(run_broken<Break::tail_stores>(options).has(Fault::global_bounds));
    EXPECT_TRUE(run_broken<Break::wait>(options).has(Fault::async_not_waited));
    const Result race = run_broken<Break::race>(options);
    ASSERT_TRUE(race.has(Fault::shared_race));
    EXPECT_EQ(static_cast<int>(race.find(Fault::shared_race)->line()), BrokenGemm<Break::race>::line);
  }
}

// ---- Offsets beyond 2^32 elements, on memory that is reserved and hardly touched ----

template <class Kernel>
void run_far(bool transposed) {
  using Element = typename Kernel::Element;
  constexpr std::int64_t kLd = (std::int64_t{1} << 31) + 16;  // the third line starts beyond 2^32 elements
  constexpr std::int64_t kLines = 3, kAlong = 5;
  const std::size_t bytes = static_cast<std::size_t>((kLd * (kLines - 1) + kAlong)) * sizeof(Element);
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no address space for " << bytes << " bytes";
  auto* const a = static_cast<Element*>(memory);
  for (std::int64_t line = 0; line < kLines; ++line)
    for (std::int64_t i = 0; i < kAlong; ++i) a[line * kLd + i] = static_cast<Element>(10 * line + i);
  // C (5 x 3, also far apart) = A * I, or A^T.
  const std::vector<Element> identity = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  GemmParams p{};
  p.k = kLines, p.batch_count = 1, p.alpha = kernels::Factor::of(1.0f);
  void* const out = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (out == MAP_FAILED) {
    munmap(memory, bytes);
    GTEST_SKIP() << "no address space for " << bytes << " bytes";
  }
  p.c = {out, 1, kLd, 0};
  p.m = kAlong, p.n = kLines;
  if (transposed) {  // C = I * A^T instead
    p.m = kLines, p.n = kAlong;
    p.a = {identity.data(), 1, 3, 0};
    p.b = {a, kLd, 1, 0};
    p.c = {out, 1, kLines, 0};
  } else {
    p.a = {a, 1, kLd, 0};
    p.b = {identity.data(), 1, 3, 0};
  }
  const Result result = launch<Kernel>(p);
  EXPECT_TRUE(result.ok()) << result.summary();
  const auto* const c = static_cast<const Element*>(out);
  for (std::int64_t line = 0; line < kLines; ++line)
    for (std::int64_t i = 0; i < kAlong; ++i) {
      const Element actual = transposed ? c[line + i * kLines] : c[i + line * kLd];
      EXPECT_EQ(actual, static_cast<Element>(10 * line + i));
    }
  munmap(memory, bytes);
  munmap(out, bytes);
}

constexpr TileConfig kNaive{.cta_m = 32, .cta_n = 8, .any_strides = true};
constexpr TileConfig kTiled{.cta_m = 32, .cta_n = 8, .cta_k = 8};

TEST(FarMemory, Naive) {
  run_far<kernels::Naive<kNaive>>(false);
  run_far<kernels::Naive<kNaive>>(true);
}

TEST(FarMemory, SmemTiled) {
  run_far<kernels::SmemTiled<kernels::nn(kTiled)>>(false);
  run_far<kernels::SmemTiled<kernels::nt(kTiled)>>(true);
}

}  // namespace
}  // namespace xgemm::sim
