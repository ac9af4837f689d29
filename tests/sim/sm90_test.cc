// Hopper's mechanisms in the simulator: what each one does when it is used rightly, and what is reported when it is
// not.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/common/kernel.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/sm90/tma.cuh"
#include "kernels/common/sm90/warpgroup.cuh"
#include "kernels/common/sm90/wgmma.cuh"
#include "schedules.h"
#include "sim/launch.h"

namespace xgemm::sim {
namespace {

using gpu::bfloat16;
using gpu::half;
using gpu::Major;
using gpu::Mbarrier;
using gpu::Space;
using kernels::TensorBox;

constexpr int kRows = 40, kColumns = 72, kPitch = 80;  // of the matrix in global memory

struct Shared {
  alignas(1024) std::uint16_t tile[2][16384];
  alignas(16) float vector[256];
  Mbarrier barriers[4];
};

class Sm90 : public testing::Test {
 protected:
  Sm90() {
    for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<std::uint16_t>(i + 1);
  }

  template <class Body>
  Result launch(Options options, int threads, int cluster, Body body) {
    GlobalMemory memory;
    memory.add({"the matrix", matrix.data(), 2, kRows, kColumns, 1, 1, kPitch, kPitch * kColumns, Access::read});
    memory.add({"the result", stored.data(), 2, kRows, kColumns, 1, 1, kPitch, kPitch * kColumns, Access::write});
    LaunchShape shape;
    shape.grid = cluster;
    shape.threads = threads;
    shape.dynamic_shared_bytes = sizeof(Shared);
    shape.granule = 2;
    shape.cluster = cluster;
    shape.agents = 16;
    shape.dependent = dependent;
    options.count = true;
    return launch_body(shape, memory, options,
                       [&](unsigned char* shared) { body(*reinterpret_cast<Shared*>(shared)); });
  }

  template <class Body>
  void expect_clean(int threads, int cluster, Body body) {
    for (const Options& options : schedules()) {
      const Result result = launch(options, threads, cluster, body);
      EXPECT_TRUE(result.ok()) << result.summary();
    }
  }
  template <class Body>
  void expect_fault(Fault fault, const int& line, int threads, int cluster, Body body) {
    for (const Options& options : schedules()) {
      const Result result = launch(options, threads, cluster, body);
      if (fault == Fault::async_not_waited || fault == Fault::proxy_fence || fault == Fault::barrier_misuse) {
        // The other party may be the one that is named first.
        ASSERT_TRUE(result.has(fault)) << result.summary();
        bool at_line = line == 0;
        for (const Report& report : result.reports) {
          at_line = at_line || (report.fault == fault && (static_cast<int>(report.line()) == line ||
                                                          static_cast<int>(report.other.line()) == line));
        }
        EXPECT_TRUE(at_line) << "expected line " << line << ":\n" << result.summary();
      } else {
        sim::expect_fault(result, fault, __FILE__, line);
      }
    }
  }

  // In every CTA of the cluster: barriers of `count` arrivals that all may use.
  static void init(Shared& s, int count) {
    if (gpu::thread_index() == 0) {
      for (Mbarrier& barrier : s.barriers) gpu::mbarrier_init(barrier, count);
      gpu::mbarrier_init_fence();
    }
    gpu::cluster_arrive();
    gpu::cluster_wait();
  }

  TensorBox box(int x, int y, int swizzle) const {
    return {matrix.data(), kRows, kColumns, 1, kPitch, 0, x, y, swizzle, 2};
  }
  TensorBox result_box(int x, int y, int swizzle) {
    return {stored.data(), kRows, kColumns, 1, kPitch, 0, x, y, swizzle, 2};
  }

  bool dependent = false;
  alignas(128) std::array<std::uint16_t, kPitch * kColumns> matrix{};
  alignas(128) std::array<std::uint16_t, kPitch * kColumns> stored{};
};

void expect(bool condition) {
  if (!condition) throw std::logic_error("wrong value");
}

float get(const float* p, gpu::Loc loc = gpu::Loc::current()) {
  return gpu::read<Space::shared>(p, loc);
}
void put(float* p, float value, gpu::Loc loc = gpu::Loc::current()) {
  gpu::write<Space::shared>(p, value, loc);
}

// ---- mbarrier ----

TEST_F(Sm90, MbarrierCarriesWhatArrivalsWrote) {
  // Two warps take turns: each phase of a barrier hands the vector to the other.
  expect_clean(64, 1, [](Shared& s) {
    init(s, 32);
    const int t = gpu::thread_index(), lane = gpu::lane_index(), me = gpu::warp_index();
    for (unsigned round = 0; round < 5; ++round) {
      if (me == 0) {
        gpu::mbarrier_wait(s.barriers[1], (round & 1) ^ 1);
        put(&s.vector[lane], static_cast<float>(round));
        gpu::mbarrier_arrive(s.barriers[0]);
      } else {
        gpu::mbarrier_wait(s.barriers[0], round & 1);
        expect(get(&s.vector[(t ^ 63) & 31]) == static_cast<float>(round));
        gpu::mbarrier_arrive(s.barriers[1]);
      }
    }
  });
}

TEST_F(Sm90, MbarrierNotWaitedFor) {
  int line = 0;
  expect_fault(Fault::shared_race, line, 64, 1, [&](Shared& s) {
    init(s, 32);
    const int lane = gpu::lane_index();
    if (gpu::warp_index() == 0) {
      put(&s.vector[lane], 1.0f);
      gpu::mbarrier_arrive(s.barriers[0]);
    } else {
      gpu::mbarrier_wait(s.barriers[0], 1);  // the phase before the first
      NEXT_LINE(line);
      (void)get(&s.vector[lane]);
    }
  });
}

// Copies by cp.async that a barrier tells of: the waiter sees them, and nobody else may look.
TEST_F(Sm90, CopiesArriveAtAnMbarrier) {
  const auto copy = [this](Shared& s, int lane) {
    gpu::copy_async<4>(&s.vector[lane], matrix.data() + kPitch * lane);
    gpu::copy_async<4>(&s.vector[32 + lane], matrix.data(), 0);
    gpu::copy_async_arrive(s.barriers[0]);
  };
  const auto bits = [](const float& x) { return std::bit_cast<std::uint32_t>(get(&x)); };
  expect_clean(64, 1, [&](Shared& s) {
    init(s, 32);
    const int lane = gpu::lane_index();
    if (gpu::warp_index() == 0) {
      copy(s, lane);
    } else {
      gpu::mbarrier_wait(s.barriers[0], 0);
      const auto first = static_cast<std::uint32_t>(kPitch * (lane ^ 31) + 1);
      expect(bits(s.vector[lane ^ 31]) == (first | (first + 1) << 16));
      expect(bits(s.vector[32 + lane]) == 0);
    }
  });
  int line = 0;
  expect_fault(Fault::shared_race, line, 64, 1, [&](Shared& s) {
    init(s, 32);
    const int lane = gpu::lane_index();
    if (gpu::warp_index() == 0) {
      copy(s, lane);
    } else {
      gpu::mbarrier_wait(s.barriers[0], 1);  // the phase before the first
      NEXT_LINE(line);
      (void)get(&s.vector[lane]);
    }
  });
}

TEST_F(Sm90, MbarrierThatNobodyCompletes) {
  int line = 0;
  const auto body = [&](Shared& s) {
    init(s, 2);
    if (gpu::thread_index() == 0) gpu::mbarrier_arrive(s.barriers[0]);
    NEXT_LINE(line);
    gpu::mbarrier_wait(s.barriers[0], 0);
  };
  expect_fault(Fault::deadlock, line, 32, 1, body);
  const Result result = launch({}, 32, 1, body);
  EXPECT_NE(result.summary().find("whose phase 0 lacks 1 of 2 arrivals and 0 bytes"), std::string::npos)
      << result.summary();
}

TEST_F(Sm90, PollingIsNoDeadlockUnlessNobodyComes) {
  expect_clean(64, 1, [](Shared& s) {
    init(s, 1);
    if (gpu::thread_index() == 0) gpu::mbarrier_arrive(s.barriers[1]);
    // The first never completes, the second does.
    while (gpu::warp_index() == 1 && !gpu::mbarrier_try_wait(s.barriers[0], 0) &&
           !gpu::mbarrier_try_wait(s.barriers[1], 0)) {
    }
  });
  int line = 0;
  expect_fault(Fault::deadlock, line, 32, 1, [&](Shared& s) {
    init(s, 1);
    NEXT_LINE(line);
    while (!gpu::mbarrier_try_wait(s.barriers[0], 0)) {
    }
  });
}

TEST_F(Sm90, MbarrierMisused) {
  int line = 0;
  expect_fault(Fault::barrier_misuse, line, 32, 1, [&](Shared& s) {
    NEXT_LINE(line);
    gpu::mbarrier_arrive(s.barriers[0]);  // not initialised
  });
  expect_fault(Fault::barrier_misuse, line, 64, 1, [&](Shared& s) {
    if (gpu::thread_index() == 0) gpu::mbarrier_init(s.barriers[0], 2);
    gpu::sync_warp();  // does not reach the other warp
    if (gpu::lane_index() != 0) return;
    if (gpu::warp_index() == 1) put(&s.vector[0], 1.0f);
    NEXT_LINE(line);
    gpu::mbarrier_arrive(s.barriers[0]);
  });
  expect_fault(Fault::barrier_misuse, line, 32, 1, [&](Shared& s) {
    init(s, 8);
    if (gpu::thread_index() == 0) gpu::mbarrier_arrive_expect(s.barriers[0], 64);  // holds the phase open
    NEXT_LINE(line);
    gpu::mbarrier_arrive(s.barriers[0]);  // 32 more
  });
  expect_fault(Fault::barrier_misuse, line, 32, 1, [&](Shared& s) {
    init(s, 1);
    NEXT_LINE(line);
    if (gpu::thread_index() == 0) gpu::write<Space::shared>(&s.barriers[0].state, std::uint64_t{0});
  });
  expect_fault(Fault::left_in_flight, line, 32, 1, [&](Shared& s) {
    NEXT_LINE(line);
    if (gpu::thread_index() == 0) gpu::mbarrier_init(s.barriers[0], 1);
    if (gpu::thread_index() == 0) gpu::mbarrier_arrive_expect(s.barriers[0], 64);
  });
}

// ---- Clusters ----

TEST_F(Sm90, RemoteWritesAreReleasedAndAcquiredByTheCluster) {
  const auto body = [](bool release, bool acquire, int* line) {
    return [=](Shared& s) {
      init(s, 1);
      const int other = 1 - gpu::cluster_rank(), t = gpu::thread_index();
      gpu::write_remote(&s.vector[4 * t], other, 1, 2, 3, static_cast<float>(t + 100 * other));
      gpu::sync_warp();
      if (t == 0 && release) gpu::mbarrier_arrive_remote_release(s.barriers[0], other);
      if (t == 0 && !release) gpu::mbarrier_arrive_remote(s.barriers[0], other);
      if (acquire) {
        gpu::mbarrier_wait_cluster(s.barriers[0], 0);
      } else {
        gpu::mbarrier_wait(s.barriers[0], 0);
      }
      if (line != nullptr) *line = __LINE__ + 1;
      expect(get(&s.vector[4 * t + 3]) == static_cast<float>(t + 100 * gpu::cluster_rank()));
    };
  };
  int line = 0;
  expect_clean(32, 2, body(true, true, nullptr));
  expect_fault(Fault::shared_race, line, 32, 2, body(false, true, &line));
  expect_fault(Fault::shared_race, line, 32, 2, body(true, false, &line));
}

TEST_F(Sm90, AsynchronousRemoteWritesCompleteOnTheirBarrier) {
  // Each CTA gets four words of every CTA of the cluster, itself included.
  constexpr int kCtas = 3;
  const auto body = [](int expected, bool waits) {
    return [=](Shared& s) {
      auto* const words = reinterpret_cast<unsigned*>(s.vector);
      const int t = gpu::thread_index(), me = gpu::cluster_rank();
      if (t == 0) {
        gpu::mbarrier_init(s.barriers[0], 1);
        gpu::mbarrier_init_fence();
        gpu::mbarrier_arrive_expect(s.barriers[0], expected);
      }
      gpu::cluster_arrive();
      gpu::cluster_wait();
      const auto value = [](int from, int to) { return static_cast<unsigned>(10 * from + to); };
      if (t < kCtas) gpu::write_remote_async(words + 4 * me, s.barriers[0], t, 1, 2, 3, value(me, t));
      if (waits) gpu::mbarrier_wait_cluster(s.barriers[0], 0);
      if (t < kCtas)
        expect(gpu::read<Space::shared>(words + 4 * t + 3) == value(t, me) || !waits || expected != kCtas * 16);
    };
  };
  expect_clean(64, kCtas, body(kCtas * 16, true));
  for (const auto& [expected, waits, fault] : {std::tuple{kCtas * 16, false, Fault::async_not_waited},
                                               {kCtas * 16, false, Fault::cluster_misuse},
                                               {kCtas * 16 + 16, true, Fault::deadlock}}) {
    bool found = false;
    for (const Options& options : schedules())
      found = found || launch(options, 64, kCtas, body(expected, waits)).has(fault);
    EXPECT_TRUE(found) << expected << waits;
  }
  // Fewer bytes than come.
  for (const Options& options : schedules()) EXPECT_FALSE(launch(options, 64, kCtas, body(kCtas * 16 - 16, true)).ok());
}

TEST_F(Sm90, AsynchronousRemoteWritesMisused) {
  int line = 0;
  // Nobody knows that the place is free.
  expect_fault(Fault::shared_race, line, 32, 2, [&](Shared& s) {
    auto* const words = reinterpret_cast<unsigned*>(s.vector);
    const int t = gpu::thread_index(), me = gpu::cluster_rank();
    if (me == 0 && t == 0) put(&s.vector[0], 1);
    init(s, 1);
    if (t == 0) gpu::mbarrier_arrive_expect(s.barriers[0], me == 0 ? 16 : 0);
    NEXT_LINE(line);
    if (me == 1 && t == 0) gpu::write_remote_async(words, s.barriers[0], 0, 1, 2, 3, 4);
    gpu::mbarrier_wait(s.barriers[0], 0);
  });
  expect_fault(Fault::misaligned, line, 32, 2, [&](Shared& s) {
    auto* const words = reinterpret_cast<unsigned*>(s.vector);
    init(s, 1);
    NEXT_LINE(line);
    if (gpu::thread_index() == 0) gpu::write_remote_async(words + 2, s.barriers[0], 0, 1, 2, 3, 4);
  });
  expect_fault(Fault::cluster_misuse, line, 32, 2, [&](Shared& s) {
    auto* const words = reinterpret_cast<unsigned*>(s.vector);
    init(s, 1);
    NEXT_LINE(line);
    if (gpu::thread_index() == 0) gpu::write_remote_async(words, s.barriers[0], 2, 1, 2, 3, 4);
  });
}

TEST_F(Sm90, ClusterBarrierOrdersNoAccesses) {
  int line = 0;
  expect_fault(Fault::shared_race, line, 32, 2, [&](Shared& s) {
    init(s, 1);
    gpu::write_remote(&s.vector[4 * gpu::thread_index()], 1 - gpu::cluster_rank(), 1, 2, 3, 4);
    gpu::cluster_arrive();
    gpu::cluster_wait();
    NEXT_LINE(line);
    (void)get(&s.vector[gpu::thread_index()]);
  });
}

TEST_F(Sm90, RemoteArrivalsAllowOverwriting) {
  // CTA 0 reads its vector, says so, and CTA 1 writes it again: needs no release of writes.
  expect_clean(32, 2, [](Shared& s) {
    const int t = gpu::thread_index();
    if (gpu::cluster_rank() == 0) put(&s.vector[t], 1);
    init(s, 32);
    if (gpu::cluster_rank() == 0) {
      (void)get(&s.vector[t]);
      gpu::mbarrier_arrive_remote(s.barriers[0], 1);
      gpu::mbarrier_wait_cluster(s.barriers[1], 0);
    } else {
      gpu::mbarrier_wait(s.barriers[0], 0);
      if (t < 8) gpu::write_remote(&s.vector[4 * t], 0, 1, 2, 3, 4);
      gpu::mbarrier_arrive_remote_release(s.barriers[1], 0);
    }
  });
  int line = 0;
  expect_fault(Fault::shared_race, line, 32, 2, [&](Shared& s) {
    const int t = gpu::thread_index();
    init(s, 32);
    if (gpu::cluster_rank() == 0) {
      put(&s.vector[t], 1);
      gpu::mbarrier_wait_cluster(s.barriers[1], 0);
    } else {
      NEXT_LINE(line);
      if (t < 8) gpu::write_remote(&s.vector[4 * t], 0, 1, 2, 3, 4);
      gpu::mbarrier_arrive_remote_release(s.barriers[1], 0);
    }
  });
}

TEST_F(Sm90, CtaThatEndsTooEarly) {
  int line = 0;
  expect_fault(Fault::cluster_misuse, line, 32, 2, [&](Shared& s) {
    init(s, 64);
    NEXT_LINE(line);
    if (gpu::cluster_rank() == 0) gpu::mbarrier_arrive_remote(s.barriers[0], 1);  // CTA 1 may be gone
  });
}

TEST_F(Sm90, ClusterSyncCarriesWhatWasWritten) {
  expect_clean(64, 2, [](Shared& s) {
    init(s, 1);
    const int me = gpu::cluster_rank();
    if (gpu::thread_index() == 0) gpu::write_remote(s.vector, 1 - me, 1, 2, 3, static_cast<float>(1 - me));
    if (gpu::warp_index() == 1 && me == 0) return;  // not waited for
    gpu::cluster_sync();
    expect(get(&s.vector[3]) == static_cast<float>(me));
  });
  int line = 0;
  expect_fault(Fault::cluster_misuse, line, 32, 2, [&](Shared& s) {
    init(s, 1);
    NEXT_LINE(line);
    if (gpu::thread_index() == 0) gpu::write_remote(s.vector, 1 - gpu::cluster_rank(), 1, 2, 3, 4);
    gpu::cluster_arrive();  // orders nothing: a CTA may end before it is written to
    gpu::cluster_wait();
  });
}

TEST_F(Sm90, ClusterMisused) {
  int line = 0;
  expect_fault(Fault::cluster_misuse, line, 32, 2, [&](Shared& s) {
    NEXT_LINE(line);
    if (gpu::cluster_rank() == 0) gpu::write_remote(s.vector, 1, 1, 2, 3, 4);  // CTA 1 may not have started
    gpu::cluster_arrive();
    gpu::cluster_wait();
  });
  expect_fault(Fault::cluster_misuse, line, 32, 2, [&](Shared& s) {
    init(s, 1);
    NEXT_LINE(line);
    gpu::mbarrier_arrive_remote(s.barriers[0], 2);
  });
  expect_fault(Fault::cluster_misuse, line, 32, 2, [&](Shared&) {
    gpu::cluster_arrive();
    NEXT_LINE(line);
    gpu::cluster_arrive();
    gpu::cluster_wait();
  });
  expect_fault(Fault::barrier_misuse, line, 32, 2, [&](Shared& s) {
    if (gpu::thread_index() == 0) gpu::mbarrier_init(s.barriers[0], 64);
    gpu::sync_threads();
    gpu::cluster_arrive();  // no mbarrier_init_fence()
    gpu::cluster_wait();
    NEXT_LINE(line);
    gpu::mbarrier_arrive_remote(s.barriers[0], 1 - gpu::cluster_rank());
    gpu::mbarrier_wait(s.barriers[0], 1);
  });
  expect_fault(Fault::deadlock, line = 0, 64, 2, [&](Shared&) {
    if (gpu::cluster_rank() == 1 && gpu::warp_index() == 0) gpu::sync_threads();  // the other warp is in the cluster's
    gpu::cluster_arrive();
    gpu::cluster_wait();
  });
}

// ---- TMA ----

// Where a byte of a box lies in shared memory.
int place(int row, int byte, int row_bytes, int swizzle) {
  const int offset = row * row_bytes + byte;
  return swizzle == 0 ? offset : offset ^ ((offset / 128 % 8 * 16) & (swizzle - 16));
}

TEST_F(Sm90, LoadsBoxesWithSwizzlesAndZeros) {
  struct At {
    int x, y;
  };
  // From multiples of 16 bytes on. Pairs of elements may be elements as well.
  for (const int pair : {1, 2})
    for (const int swizzle : {0, 32, 64, 128})
      for (const At at :
           {At{0, 0}, At{8, 32}, At{-8, -5}, At{(kRows - 1) / 8 * 8, kColumns - 3}, At{200, 3}, At{0, -100}}) {
        const int width = swizzle == 0 ? 8 : swizzle / 2, height = 16;
        const int rows = kRows / pair * pair, first = at.x / pair * pair;
        TensorBox map = box(width / pair, height, swizzle);
        map.extent_x = kRows / pair;
        map.stride_y = kPitch / pair;
        map.element_bytes = 2 * pair;
        expect_clean(32, 1, [&](Shared& s) {
          init(s, 1);
          if (gpu::thread_index() == 0) {
            gpu::mbarrier_arrive_expect(s.barriers[0], width * height * 2);
            gpu::tma_load(s.tile[0], map, s.barriers[0], first / pair, at.y, 0);
          }
          gpu::mbarrier_wait(s.barriers[0], 0);
          for (int i = gpu::thread_index(); i < width * height; i += 32) {
            const int row = i / width, column = i % width, x = first + column, y = at.y + row;
            const bool inside = x >= 0 && x < rows && y >= 0 && y < kColumns;
            const auto* const from = s.tile[0] + place(row, column * 2, width * 2, swizzle) / 2;
            expect(gpu::read<Space::shared>(from) == (inside ? matrix[static_cast<std::size_t>(y * kPitch + x)] : 0));
          }
        });
      }
}

TEST_F(Sm90, NothingIsKnownOfWhatLiesBeforeLines) {
  const auto poison = static_cast<std::uint16_t>(kPoison << 8 | kPoison);
  for (const int swizzle : {0, 128}) {
    const int width = swizzle == 0 ? 8 : 64, height = 16;
    TensorBox map = box(width, height, swizzle);
    map.before = 3;
    for (const int begin : {-8, 0, 8})
      expect_clean(32, 1, [&](Shared& s) {
        init(s, 1);
        if (gpu::thread_index() == 0) {
          gpu::mbarrier_arrive_expect(s.barriers[0], width * height * 2);
          gpu::tma_load(s.tile[0], map, s.barriers[0], begin, 0, 0);
        }
        gpu::mbarrier_wait(s.barriers[0], 0);
        for (int i = gpu::thread_index(); i < width * height; i += 32) {
          const int row = i / width, column = i % width, x = begin + column;
          const auto* const from = s.tile[0] + place(row, column * 2, width * 2, swizzle) / 2;
          const std::uint16_t known = x < 0 || x >= kRows ? 0 : matrix[static_cast<std::size_t>(row * kPitch + x)];
          expect(gpu::read<Space::shared>(from) == (x >= 0 && x < map.before ? poison : known));
        }
      });
  }
}

TEST_F(Sm90, MulticastReachesAllItsCtas) {
  const TensorBox map = box(64, 8, 128);
  expect_clean(32, 2, [&](Shared& s) {
    init(s, 1);
    const int rank = gpu::cluster_rank();
    if (gpu::thread_index() == 0) {  // each loads a half for both
      gpu::mbarrier_arrive_expect(s.barriers[0], 2 * 64 * 8 * 2);
      gpu::tma_load_multicast(s.tile[0] + rank * 512, map, s.barriers[0], 3, 0, 8 * rank, 0);
    }
    gpu::mbarrier_wait(s.barriers[0], 0);
    for (int row = 0; row < 16; ++row) {
      const int column = gpu::thread_index();
      expect(gpu::read<Space::shared>(s.tile[0] + place(row, column * 2, 128, 128) / 2) ==
             matrix[static_cast<std::size_t>(row * kPitch + column)]);
    }
  });
}

TEST_F(Sm90, LoadNotWaitedFor) {
  int line = 0;
  const TensorBox map = box(64, 8, 128);
  for (const bool write : {false, true}) {
    expect_fault(Fault::async_not_waited, line, 32, 1, [&](Shared& s) {
      init(s, 1);
      if (gpu::thread_index() == 0) {
        gpu::mbarrier_arrive_expect(s.barriers[0], 1024);
        gpu::tma_load(s.tile[0], map, s.barriers[0], 0, 0, 0);
      }
      gpu::sync_threads();
      std::uint16_t* const at = s.tile[0] + gpu::thread_index();
      NEXT_LINE(line);
      write ? gpu::write<Space::shared>(at, std::uint16_t{1}) : (void)gpu::read<Space::shared>(at);
      gpu::mbarrier_wait(s.barriers[0], 0);
    });
  }
}

TEST_F(Sm90, LoadOverWhatIsStillRead) {
  const TensorBox map = box(64, 8, 128);
  const auto body = [&](Shared& s) {
    init(s, 1);
    for (unsigned round = 0; round < 2; ++round) {
      if (gpu::thread_index() == 0) {
        gpu::mbarrier_arrive_expect(s.barriers[0], 1024);
        gpu::tma_load(s.tile[0], map, s.barriers[0], 0, 0, 0);  // nobody says that the others have read
      }
      gpu::mbarrier_wait(s.barriers[0], round & 1);
      if (gpu::warp_index() == 1) (void)gpu::read<Space::shared>(s.tile[0] + gpu::lane_index());
    }
  };
  for (const Options& options : schedules()) {  // either the load comes too early, or the read too late
    const Result result = launch(options, 64, 1, body);
    EXPECT_TRUE(result.has(Fault::shared_race) || result.has(Fault::async_not_waited)) << result.summary();
  }
}

TEST_F(Sm90, WrongBytes) {
  int line = 0;
  const TensorBox map = box(64, 8, 128);
  for (const int expected : {1024 - 16, 1024 + 16}) {
    expect_fault(expected < 1024 ? Fault::barrier_misuse : Fault::deadlock, line, 32, 1, [&](Shared& s) {
      init(s, 1);
      if (gpu::thread_index() == 0) {
        gpu::mbarrier_arrive_expect(s.barriers[0], expected);
        NEXT_LINE(line);
        gpu::tma_load(s.tile[0], map, s.barriers[0], 0, 0, 0);
      }
      if (expected > 1024) NEXT_LINE(line);
      gpu::mbarrier_wait(s.barriers[0], 0);
    });
  }
}

TEST_F(Sm90, MapsThatTheHardwareRefuses) {
  int line = 0;
  const auto refuse = [&](Fault fault, const TensorBox& map, int offset = 0, int x = 0) {
    expect_fault(fault, line, 32, 1, [&](Shared& s) {
      init(s, 1);
      NEXT_LINE(line);
      if (gpu::thread_index() == 0) gpu::tma_load(s.tile[0] + offset, map, s.barriers[0], x, 0, 0);
    });
  };
  TensorBox map = box(64, 8, 128);
  map.data = matrix.data() + 1;
  refuse(Fault::tensor_map, map);
  map = box(64, 8, 128);
  map.stride_y = kPitch + 1;
  refuse(Fault::tensor_map, map);
  refuse(Fault::tensor_map, box(128, 8, 128));
  refuse(Fault::tensor_map, box(64, 8, 96));
  refuse(Fault::tensor_map, box(64, 257, 128));
  refuse(Fault::tensor_map, box(4, 8, 0));
  refuse(Fault::tensor_map, box(64, 8, 128), 0, 4);
  refuse(Fault::misaligned, box(64, 8, 128), 64);
  refuse(Fault::misaligned, box(64, 8, 128), 256);
  refuse(Fault::misaligned, box(8, 8, 0), 8);
  map = box(64, 8, 128);
  map.extent_x = kPitch;  // more than the kernel may read
  refuse(Fault::global_bounds, map);
  map = box(64, 8, 128);
  map.anywhere = true;
  const auto entry = gpu::BoxEntry::at(matrix.data());
  expect_fault(Fault::tensor_map, line, 32, 1, [&](Shared& s) {
    init(s, 1);
    NEXT_LINE(line);
    if (gpu::thread_index() == 0) gpu::tma_load(s.tile[0], map, s.barriers[0], 0, kRows + kColumns, entry);
  });
}

// Writes a tile, in order, and stores it at (x, y). Without a step where it is asked for.
enum class Without { nothing, fence, barrier, wait_before_reuse, wait_before_end, commit };
void store(Shared& s, const TensorBox& map, int x, int y, Without without, int* line = nullptr) {
  const int t = gpu::thread_index(), elements = map.box_x * map.box_y;
  const auto fill = [&](int value) {
    for (int i = t; i < elements; i += 64) {
      const int at = place(i / map.box_x, i % map.box_x * 2, map.box_x * 2, map.swizzle_bytes) / 2;
      if (line != nullptr && without == Without::wait_before_reuse) *line = __LINE__ + 1;
      gpu::write<Space::shared>(s.tile[0] + at, static_cast<std::uint16_t>(value + i));
    }
  };
  fill(1);
  if (without != Without::fence) gpu::fence_async_shared();
  if (without != Without::barrier) gpu::sync_threads();
  if (t == 0) {
    if (line != nullptr && without != Without::wait_before_reuse) *line = __LINE__ + 1;
    gpu::tma_store(map, s.tile[0], x, y, 0);
    if (without != Without::commit) gpu::tma_store_commit();
    if (without != Without::wait_before_reuse && without != Without::wait_before_end) gpu::tma_store_wait_read<0>();
  }
  gpu::sync_threads();
  if (without == Without::wait_before_end) return;
  fill(1000);
  if (t == 0 && without == Without::wait_before_reuse) gpu::tma_store_wait_read<0>();
}

TEST_F(Sm90, StoresBoxesAndNothingOutside) {
  struct At {
    int x, y;
  };
  for (const int swizzle : {0, 32, 64, 128})
    for (const At at : {At{0, 0}, At{-8, -3}, At{kRows - 8, kColumns - 3}, At{8, 100}}) {
      const int width = swizzle == 0 ? 8 : swizzle / 2, height = 16;
      stored.fill(7);
      const TensorBox map = result_box(width, height, swizzle);
      expect_clean(64, 1, [&](Shared& s) { store(s, map, at.x, at.y, Without::nothing); });
      for (int y = 0; y < kColumns; ++y)
        for (int x = 0; x < kPitch; ++x) {
          const int column = x - at.x, row = y - at.y;
          const bool inside = x < kRows && column >= 0 && column < width && row >= 0 && row < height;
          EXPECT_EQ(stored[static_cast<std::size_t>(y * kPitch + x)], inside ? 1 + row * width + column : 7);
        }
    }
}

TEST_F(Sm90, StoresClipToSixteenBytes) {
  TensorBox map = result_box(64, 8, 128);
  map.extent_x = kRows - 3;  // the copy engine writes up to the next multiple of 8: inside the matrix
  expect_clean(64, 1, [&](Shared& s) { store(s, map, 0, 0, Without::nothing); });
  EXPECT_EQ(stored[kRows - 1], kRows);
  map.extent_x = kRows + 1;  // and here beyond it
  int line = 0;
  expect_fault(Fault::global_bounds, line, 64, 1, [&](Shared& s) { store(s, map, 0, 0, Without::nothing, &line); });
}

// The copy engine writes over what threads have written where these made the fence, or the thread that asks it to.
TEST_F(Sm90, LoadsOverWhatThreadsHaveWritten) {
  const TensorBox map = box(64, 8, 128);
  const auto load_over = [&](Shared& s, bool writer_fences, bool loader_fences, int* line) {
    const int t = gpu::thread_index();
    init(s, 1);
    gpu::write<Space::shared>(s.tile[0] + t, static_cast<std::uint16_t>(t));
    if (writer_fences) gpu::fence_async_shared();
    gpu::sync_threads();
    if (t == 0) {
      if (loader_fences) gpu::fence_async_shared();
      gpu::mbarrier_arrive_expect(s.barriers[0], 64 * 8 * 2);
      *line = __LINE__ + 1;
      gpu::tma_load(s.tile[0], map, s.barriers[0], 0, 0, 0);
    }
    gpu::mbarrier_wait(s.barriers[0], 0);
  };
  int line = 0;
  expect_clean(64, 1, [&](Shared& s) { load_over(s, true, false, &line); });
  expect_clean(64, 1, [&](Shared& s) { load_over(s, false, true, &line); });
  expect_fault(Fault::proxy_fence, line, 64, 1, [&](Shared& s) { load_over(s, false, false, &line); });
}

TEST_F(Sm90, StoresDoneWrongly) {
  int line = 0;
  const TensorBox map = result_box(64, 8, 128);
  const auto expect_store_fault = [&](Fault fault, Without without) {
    expect_fault(fault, line, 64, 1, [&](Shared& s) { store(s, map, 0, 0, without, &line); });
  };
  expect_store_fault(Fault::proxy_fence, Without::fence);
  for (const Options& options : schedules()) {  // others have written, or will
    const Result result = launch(options, 64, 1, [&](Shared& s) { store(s, map, 0, 0, Without::barrier); });
    EXPECT_TRUE(result.has(Fault::shared_race) || result.has(Fault::uninitialised_read)) << result.summary();
  }
  expect_store_fault(Fault::async_not_waited, Without::wait_before_reuse);
  expect_store_fault(Fault::async_not_waited, Without::commit);
  for (const Options& options : schedules()) {
    EXPECT_TRUE(launch(options, 64, 1, [&](Shared& s) {
                  store(s, map, 0, 0, Without::wait_before_end);
                }).has(Fault::left_in_flight));
  }
}

// ---- wgmma ----

// An operand of extent x 16 in shared memory, as wgmma.cuh describes the layouts.
struct Layout {
  Major major;
  int swizzle;

  int leading() const { return swizzle == 0 ? 8192 : major == Major::mn ? swizzle * 16 : 16; }
  int stride() const { return swizzle == 0 ? 128 : 8 * swizzle; }
  int offset(int mn, int k) const {
    if (swizzle == 0) {  // matrices of 8 x 8, each in one piece
      const int within = major == Major::k ? mn % 8 * 16 + k % 8 * 2 : k % 8 * 16 + mn % 8 * 2;
      return mn / 8 * stride() + k / 8 * leading() + within;
    }
    if (major == Major::k) return place(mn, k * 2, swizzle, swizzle);
    const int piece = mn * 2 / swizzle;
    return piece * leading() + place(k, mn * 2 % swizzle, swizzle, swizzle);
  }
};

template <class Element>
float value_of(std::uint16_t bits) {
  return gpu::to_float(Element{bits});
}

struct Operands {
  std::vector<std::uint16_t> x, y;  // 64 x 16, 16 x n: by (mn, k)
};

template <class Element>
Operands random_operands(int n) {
  std::mt19937 random(static_cast<unsigned>(n));
  Operands operands;
  for (auto* matrix : {&operands.x, &operands.y}) {
    matrix->resize(static_cast<std::size_t>((matrix == &operands.x ? 64 : n) * 16));
    for (auto& element : *matrix) {
      element = gpu::from_float<Element>(static_cast<float>(static_cast<int>(random() % 17)) - 8.0f).bits;
    }
  }
  return operands;
}

// By all threads; X in tile 0, Y in tile 1.
void fill(Shared& s, const Operands& o, Layout x, Layout y, int n) {
  for (int i = gpu::thread_index(); i < 64 * 16; i += 128) {
    gpu::write<Space::shared>(s.tile[0] + x.offset(i / 16, i % 16) / 2, o.x[static_cast<std::size_t>(i)]);
  }
  for (int i = gpu::thread_index(); i < n * 16; i += 128) {
    gpu::write<Space::shared>(s.tile[1] + y.offset(i / 16, i % 16) / 2, o.y[static_cast<std::size_t>(i)]);
  }
}

template <class Element, int kN, Major kX, Major kY>
void expect_products(int swizzle_x, int swizzle_y, auto&& run) {
  const Operands o = random_operands<Element>(kN);
  const Layout x{kX, swizzle_x}, y{kY, swizzle_y};
  run([&](Shared& s) {
    fill(s, o, x, y, kN);
    gpu::fence_async_shared();
    gpu::sync_threads();
    const auto dx = gpu::wgmma_descriptor(s.tile[0], x.swizzle, x.leading(), x.stride());
    const auto dy = gpu::wgmma_descriptor(s.tile[1], y.swizzle, y.leading(), y.stride());
    float d[kN / 2];
    for (float& f : d) f = 1.0f;
    gpu::wgmma_fence();
    gpu::wgmma<Element, kN, kX, kY>(d, dx, dy);
    gpu::wgmma<Element, kN, kX, kY>(d, dx, dy);
    gpu::wgmma_commit();
    gpu::wgmma_wait<0>();
    const int t = gpu::thread_index();
    for (int r = 0; r < kN / 2; ++r) {
      const int i = 16 * (t / 32) + t % 32 / 4 + r / 2 % 2 * 8, j = r / 4 * 8 + 2 * (t % 4) + r % 2;
      float sum = 0.0f;
      for (int k = 0; k < 16; ++k) {
        sum += value_of<Element>(o.x[static_cast<std::size_t>(i * 16 + k)]) *
               value_of<Element>(o.y[static_cast<std::size_t>(j * 16 + k)]);
      }
      expect(d[r] == 1.0f + 2 * sum);
    }
  });
}

template <class Element, int kN>
void expect_all_layouts(auto&& run) {
  for (const int swizzle_x : {0, 32, 64, 128})
    for (const int swizzle_y : {0, 32, 64, 128}) {
      if (kN * 2 % std::max(swizzle_y, 16) == 0) {
        expect_products<Element, kN, Major::k, Major::mn>(swizzle_x, swizzle_y, run);
        expect_products<Element, kN, Major::mn, Major::mn>(swizzle_x, swizzle_y, run);
      }
      expect_products<Element, kN, Major::k, Major::k>(swizzle_x, swizzle_y, run);
      expect_products<Element, kN, Major::mn, Major::k>(swizzle_x, swizzle_y, run);
    }
}

TEST_F(Sm90, WgmmaMultipliesInEveryLayout) {
  const auto run = [&](auto body) {
    const Result result = launch({}, 128, 1, body);
    EXPECT_TRUE(result.ok()) << result.summary();
    EXPECT_GT(result.counters.total(Traffic::shared_load).requests, 0);
    EXPECT_EQ(result.counters.total(Traffic::shared_load).excess(), 0);  // swizzles do away with conflicts
  };
  expect_all_layouts<half, 8>(run);
  expect_all_layouts<half, 64>(run);
  expect_all_layouts<bfloat16, 16>(run);
  expect_all_layouts<half, 256>(run);
}

// The upper 19 bits of fp32, whatever the others are.
TEST_F(Sm90, WgmmaTakesFp32AsTf32) {
  constexpr int kN = 24, kK = 8;
  const Layout layout{Major::k, 128};
  std::mt19937 random(3);
  std::vector<float> x(64 * kK), y(kN * kK);
  for (auto* operand : {&x, &y})
    for (float& element : *operand)  // from 0.5 to 2, and below 0
      element = std::bit_cast<float>((static_cast<std::uint32_t>(random()) & 0x80ffffffu) + 0x3f000000u);
  const auto cut = [](float f) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(f) & ~0x1fffu); };
  const Result result = launch({}, 128, 1, [&](Shared& s) {
    const auto fill = [&](std::uint16_t* tile, const std::vector<float>& from) {
      for (std::size_t i = static_cast<std::size_t>(gpu::thread_index()); i < from.size(); i += 128) {
        const auto bits = std::bit_cast<std::array<std::uint16_t, 2>>(from[i]);
        for (int half = 0; half < 2; ++half)
          gpu::write<Space::shared>(
              tile + layout.offset(static_cast<int>(i) / kK, 2 * (static_cast<int>(i) % kK) + half) / 2,
              bits[static_cast<std::size_t>(half)]);
      }
    };
    fill(s.tile[0], x);
    fill(s.tile[1], y);
    gpu::fence_async_shared();
    gpu::sync_threads();
    float d[kN / 2];
    for (float& f : d) f = 1.0f;
    gpu::wgmma_fence();
    gpu::wgmma<float, kN, Major::k, Major::k>(d, gpu::wgmma_descriptor(s.tile[0], 128, 16, 1024),
                                              gpu::wgmma_descriptor(s.tile[1], 128, 16, 1024));
    gpu::wgmma_commit();
    gpu::wgmma_wait<0>();
    const int t = gpu::thread_index();
    for (int r = 0; r < kN / 2; ++r) {
      const int i = 16 * (t / 32) + gpu::wgmma_row(t % 32, r), j = gpu::wgmma_column(t % 32, r);
      float sum = 1.0f;
      for (int k = 0; k < kK; ++k)
        sum += cut(x[static_cast<std::size_t>(i * kK + k)]) * cut(y[static_cast<std::size_t>(j * kK + k)]);
      expect(d[r] == sum);
    }
  });
  EXPECT_TRUE(result.ok()) << result.summary();
}

// X of TF32 in registers.
TEST_F(Sm90, WgmmaTakesTf32FromRegisters) {
  constexpr int kN = 16, kK = 8;
  enum class Wrong { nothing, no_fence, written_early };
  const auto run = [&](Wrong wrong) {
    return launch({}, 128, 1, [&](Shared& s) {
      const Layout layout{Major::k, 128};
      const auto x_of = [](int row, int k) { return static_cast<float>(row - 5 * k); };
      const auto y_of = [](int column, int k) { return static_cast<float>(3 * column + k); };
      const int t = gpu::thread_index(), lane = t % 32;
      {
        const auto bits = std::bit_cast<std::array<std::uint16_t, 2>>(y_of(t / kK, t % kK));
        for (int half = 0; half < 2; ++half)
          gpu::write<Space::shared>(s.tile[1] + layout.offset(t / kK, 2 * (t % kK) + half) / 2,
                                    bits[static_cast<std::size_t>(half)]);
      }
      gpu::fence_async_shared();
      gpu::sync_threads();
      const auto y = gpu::wgmma_descriptor(s.tile[1], 128, 16, 1024);
      float d[kN / 2], x[2][4];
      for (float& f : d) f = 1.0f;
      gpu::wgmma_fence();
      for (int i = 0; i < 2; ++i) {
        for (int r = 0; r < 4; ++r) x[i][r] = x_of(16 * (t / 32) + lane / 4 + r % 2 * 8, lane % 4 + r / 2 * 4);
        if (wrong != Wrong::no_fence) gpu::wgmma_fence();
        gpu::wgmma_tf32<kN>(d, x[i], y);
        gpu::wgmma_commit();
      }
      gpu::wgmma_wait<1>();
      x[0][2] = 0;  // the first one is over
      if (wrong == Wrong::written_early) x[1][2] = 0;
      gpu::wgmma_wait<0>();
      for (int r = 0; r < kN / 2; ++r) {
        const int i = 16 * (t / 32) + gpu::wgmma_row(lane, r), j = gpu::wgmma_column(lane, r);
        float sum = 0;
        for (int k = 0; k < kK; ++k) sum += x_of(i, k) * y_of(j, k);
        expect(d[r] == 1 + 2 * sum);
      }
    });
  };
  EXPECT_TRUE(run(Wrong::nothing).ok()) << run(Wrong::nothing).summary();
  EXPECT_TRUE(run(Wrong::no_fence).has(Fault::wgmma_misuse));
  EXPECT_TRUE(run(Wrong::written_early).has(Fault::wgmma_misuse));
}

// X of 16 bits in registers: a pair of neighbours along K in each.
TEST_F(Sm90, WgmmaTakesPairsFromRegisters) {
  constexpr int kN = 16, kK = 16;
  for (const bool writes_early : {false, true}) {
    const auto result = launch({}, 128, 1, [&](Shared& s) {
      const Layout layout{Major::k, 32};
      const auto x_of = [](int row, int k) { return static_cast<float>(row - 5 * k); };
      const auto y_of = [](int column, int k) { return static_cast<float>(3 * column + k); };
      const int t = gpu::thread_index(), lane = t % 32;
      for (int i = t; i < kN * kK; i += 128)
        gpu::write<Space::shared>(s.tile[1] + layout.offset(i / kK, i % kK) / 2,
                                  gpu::from_float<gpu::half>(y_of(i / kK, i % kK)).bits);
      gpu::fence_async_shared();
      gpu::sync_threads();
      float d[kN / 2];
      for (float& f : d) f = 1.0f;
      std::uint32_t x[4];
      for (int r = 0; r < 4; ++r) {
        const int row = 16 * (t / 32) + lane / 4 + r % 2 * 8, k = 2 * (lane % 4) + r / 2 * 8;
        x[r] = gpu::pack_pair<gpu::half>(x_of(row, k), x_of(row, k + 1));
      }
      gpu::wgmma_fence();
      gpu::wgmma_of_registers<gpu::half, kN>(d, x, gpu::wgmma_descriptor(s.tile[1], 32, 16, 256));
      gpu::wgmma_commit();
      if (writes_early) x[3] = 0;
      gpu::wgmma_wait<0>();
      for (int r = 0; r < kN / 2; ++r) {
        const int i = 16 * (t / 32) + gpu::wgmma_row(lane, r), j = gpu::wgmma_column(lane, r);
        float sum = 1;
        for (int k = 0; k < kK; ++k) sum += x_of(i, k) * y_of(j, k);
        expect(d[r] == sum);
      }
    });
    EXPECT_EQ(result.ok(), !writes_early) << result.summary();
    EXPECT_EQ(result.has(Fault::wgmma_misuse), writes_early);
  }
}

enum class Wrong {
  nothing,
  no_proxy_fence,
  no_barrier,
  no_fence,
  no_wait,
  used_early,
  overwritten_early,
  threads_disagree,
  off_the_atom,
  beyond_shared_memory,
};

void multiply(Shared& s, Wrong wrong, int& line) {
  constexpr int kN = 16;
  const Operands o = random_operands<half>(kN);
  const Layout layout{Major::k, 128};
  fill(s, o, layout, layout, kN);
  if (wrong != Wrong::no_proxy_fence) gpu::fence_async_shared();
  if (wrong != Wrong::no_barrier) gpu::sync_threads();
  auto x = gpu::wgmma_descriptor(s.tile[0], 128, 16, 1024), y = gpu::wgmma_descriptor(s.tile[1], 128, 16, 1024);
  if (wrong == Wrong::threads_disagree && gpu::thread_index() == 77) y = gpu::wgmma_advance(y, 32);
  if (wrong == Wrong::off_the_atom) x = gpu::wgmma_advance(x, 128);
  if (wrong == Wrong::beyond_shared_memory) x = gpu::wgmma_advance(x, sizeof(Shared) / 1024 * 1024);
  float d[kN / 2] = {};
  if (wrong != Wrong::no_fence) gpu::wgmma_fence();
  if (wrong != Wrong::used_early && wrong != Wrong::overwritten_early) NEXT_LINE(line);
  gpu::wgmma<half, kN, Major::k, Major::k>(d, x, y);
  gpu::wgmma_commit();
  if (wrong == Wrong::used_early) {
    NEXT_LINE(line);
    gpu::keep_register(d[3]);
  }
  if (wrong == Wrong::overwritten_early) {
    gpu::sync_threads();
    NEXT_LINE(line);
    gpu::write<Space::shared>(s.tile[0] + layout.offset(gpu::thread_index() / 16, gpu::thread_index() % 16) / 2,
                              std::uint16_t{1});
  }
  if (wrong != Wrong::no_wait) gpu::wgmma_wait<0>();
  gpu::sync_threads();
}

TEST_F(Sm90, WgmmaUsedWrongly) {
  int line = 0;
  expect_clean(128, 1, [&](Shared& s) { multiply(s, Wrong::nothing, line); });
  const auto expect_wgmma_fault = [&](Fault fault, Wrong wrong) {
    expect_fault(fault, line, 128, 1, [&](Shared& s) { multiply(s, wrong, line); });
  };
  expect_wgmma_fault(Fault::proxy_fence, Wrong::no_proxy_fence);
  for (const Options& options : schedules()) {
    EXPECT_TRUE(
        launch(options, 128, 1, [&](Shared& s) { multiply(s, Wrong::no_barrier, line); }).has(Fault::shared_race));
  }
  expect_wgmma_fault(Fault::wgmma_misuse, Wrong::no_fence);
  expect_wgmma_fault(Fault::left_in_flight, Wrong::no_wait);
  expect_wgmma_fault(Fault::wgmma_misuse, Wrong::used_early);
  expect_wgmma_fault(Fault::async_not_waited, Wrong::overwritten_early);
  expect_wgmma_fault(Fault::warp_divergence, Wrong::threads_disagree);
  expect_wgmma_fault(Fault::wgmma_misuse, Wrong::off_the_atom);
  expect_wgmma_fault(Fault::shared_bounds, Wrong::beyond_shared_memory);
}

TEST_F(Sm90, AccumulatorsArePoisonUntilTheWait) {
  expect_clean(128, 1, [](Shared& s) {
    const Layout layout{Major::k, 128};
    fill(s, random_operands<half>(8), layout, layout, 8);
    gpu::fence_async_shared();
    gpu::sync_threads();
    float d[4] = {};
    const auto x = gpu::wgmma_descriptor(s.tile[0], 128, 16, 1024), y = gpu::wgmma_descriptor(s.tile[1], 128, 16, 1024);
    gpu::wgmma_fence();
    gpu::wgmma<half, 8, Major::k, Major::k>(d, x, y);
    gpu::wgmma_commit();
    gpu::wgmma<half, 8, Major::k, Major::k>(d, x, y);
    gpu::wgmma_commit();
    gpu::wgmma_wait<1>();
    expect(std::isnan(d[0]));  // the second one still adds to it
    gpu::wgmma_wait<0>();
    expect(!std::isnan(d[0]));
  });
}

// ---- Registers, dependent launches ----

TEST_F(Sm90, RegistersChangeHands) {
  // 384 threads are launched with 168 each.
  expect_clean(384, 1, [](Shared&) {
    gpu::thread_index() < 128 ? gpu::release_registers<40>() : gpu::acquire_registers<232>();
  });
  int line = 0;
  expect_fault(Fault::deadlock, line, 384, 1, [&](Shared&) {
    NEXT_LINE(line);
    gpu::thread_index() < 128 ? gpu::release_registers<40>() : gpu::acquire_registers<240>();
  });
  expect_fault(Fault::registers, line, 384, 1, [&](Shared&) {
    NEXT_LINE(line);
    gpu::release_registers<20>();
  });
  expect_fault(Fault::registers, line, 384, 1, [&](Shared&) {
    NEXT_LINE(line);
    gpu::release_registers<176>();  // more than there are
  });
  expect_fault(Fault::registers, line, 384, 1, [&](Shared&) {
    NEXT_LINE(line);
    gpu::warp_index() % 2 == 0 ? gpu::release_registers<40>() : gpu::release_registers<48>();
  });
}

TEST_F(Sm90, DependentLaunchesWaitBeforeTheyUseGlobalMemory) {
  dependent = true;
  expect_clean(32, 1, [&](Shared&) {
    gpu::grid_launch_dependents();
    gpu::grid_wait_dependencies();
    (void)gpu::read<Space::global>(&matrix[0]);
  });
  int line = 0;
  expect_fault(Fault::grid_dependency, line, 32, 1, [&](Shared&) {
    NEXT_LINE(line);
    (void)gpu::read<Space::global>(&matrix[0]);
    gpu::grid_wait_dependencies();
  });
  const TensorBox map = box(64, 8, 128);
  expect_fault(Fault::grid_dependency, line, 32, 1, [&](Shared& s) {
    init(s, 1);
    if (gpu::thread_index() == 0) {
      gpu::mbarrier_arrive_expect(s.barriers[0], 1024);
      NEXT_LINE(line);
      gpu::tma_load(s.tile[0], map, s.barriers[0], 0, 0, 0);
    }
    gpu::mbarrier_wait(s.barriers[0], 0);
  });
}

// Named barriers of warpgroups, one after the other on the same id.
TEST_F(Sm90, NamedBarriersOfWarpgroups) {
  expect_clean(384, 1, [](Shared& s) {
    const int group = gpu::warp_index() / 4, t = gpu::thread_index() % 128;
    if (group == 0) return;
    for (int round = 0; round < 3; ++round) {
      put(&s.vector[(group - 1) * 128 + t], static_cast<float>(round));
      gpu::named_barrier_sync(group, 128);
      expect(get(&s.vector[(group - 1) * 128 + (t ^ 127)]) == static_cast<float>(round));
      gpu::named_barrier_sync(group, 128);
    }
  });
}

}  // namespace
}  // namespace xgemm::sim
