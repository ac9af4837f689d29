// Processes that fork while their threads multiply: no child hangs, and products in children are right. Above all at
// the first products of a process, when the environment is read and the CPU BLAS is opened.
//
// SPDX-License-Identifier: BSD-3-Clause
#if !defined(__SANITIZE_ADDRESS__)
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "api/calls.h"
#include "api/probe.h"
#include "xgemm_blas.h"

namespace xgemm::test {
namespace {

constexpr unsigned kPatienceSeconds = 60;  // of a child, which then has hung

// One product of each way through the library; what is wrong, or "".
std::string multiply(Random& random) {
  const auto extent = [&] { return random.integer(1, random.integer(0, 9) == 0 ? 40 : 8); };
  const auto product = [&](auto type, bool general) -> std::string {
    Case<decltype(type)> x('N', 'T', extent(), extent(), extent(), 0.75f, -0.5f, 1, random.bits());
    const xgemm_args args = args_of(x.product, x.c.data());
    if ((general ? xgemm_gemm(nullptr, &args) : run(x)) != 0) return xgemm_last_error();
    const Verdict verdict = x.check();
    return verdict ? "" : verdict.message;
  };
  switch (random.integer(0, 3)) {
    case 0:
      return product(float{}, true);
    case 1:
      return product(Half{}, false);
    case 2:
      return product(Bfloat16{}, true);
    default:
      return product(float{}, false);
  }
}

// Ends the process: 0 if some products were right.
[[noreturn]] void multiply_and_exit(std::uint64_t seed, int products) {
  alarm(kPatienceSeconds);
  Random random(seed);
  for (int i = 0; i < products; ++i)
    if (const std::string wrong = multiply(random); !wrong.empty()) {
      std::fprintf(stderr, "a child's product: %s\n", wrong.c_str());
      _exit(1);
    }
  _exit(0);
}

bool ends_well(pid_t child) {
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  if (WIFSIGNALED(status))
    std::fprintf(stderr, WTERMSIG(status) == SIGALRM ? "a child hangs\n" : "a child died of signal %d\n",
                 WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void wait_some_time(Random& random, std::int64_t most_us) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(random.integer(0, most_us));
  while (std::chrono::steady_clock::now() < end) {
  }
}

// A process that has never multiplied: its threads start to, and it forks some times meanwhile. A child's child, too.
[[noreturn]] void fork_while_multiplying(std::uint64_t seed, int forks) {
  alarm(2 * kPatienceSeconds);
  Random random(seed);
  std::atomic<bool> stop{false}, failed{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, own = random.bits()] {
      Random its(own);
      while (!stop.load(std::memory_order_relaxed))
        if (const std::string wrong = multiply(its); !wrong.empty()) {
          std::fprintf(stderr, "a parent's product: %s\n", wrong.c_str());
          failed = true;
          return;
        }
    });
  for (int i = 0; i < forks; ++i) {
    wait_some_time(random, i == 0 ? 3000 : 500);
    const std::uint64_t its = random.bits();
    const pid_t child = fork();
    if (child == 0) {
      alarm(kPatienceSeconds);
      if (its % 4 == 0) {
        const pid_t grandchild = fork();
        if (grandchild == 0) multiply_and_exit(its, 2);
        if (!ends_well(grandchild)) _exit(1);
      }
      multiply_and_exit(its, 3);
    }
    if (!ends_well(child)) failed = true;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  _exit(failed ? 1 : 0);
}

// Many such processes, from one that does nothing itself.
XGEMM_PROBE(fork_at_random_moments) {
  const int processes = std::atoi(std::getenv("FORK_TEST_PROCESSES"));
  int failures = 0;
  for (int i = 0; i < processes && failures < 3; ++i) {
    const pid_t process = fork();
    if (process == 0) fork_while_multiplying(static_cast<std::uint64_t>(i), 4);
    if (!ends_well(process)) {
      std::fprintf(stderr, "process %d\n", i);
      ++failures;
    }
  }
  return failures == 0 ? 0 : 1;
}

// Some 2000 forks of both kinds.
TEST(Fork, AtRandomMoments) {
  const char* const blas = std::getenv("XGEMM_CPU_BLAS");
  const ProbeResult r =
      run_probe("fork_at_random_moments", {{"FORK_TEST_PROCESSES", "400"}, {"XGEMM_CPU_BLAS", blas ? blas : ""}});
  EXPECT_TRUE(r.ok()) << describe(r);
}

// In threads that themselves fork at the same time.
XGEMM_PROBE(fork_in_threads) {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&failures, t] {
      Random random(static_cast<std::uint64_t>(t) + 77);
      for (int i = 0; i < 50; ++i) {
        if (!multiply(random).empty()) ++failures;
        const pid_t child = fork();
        if (child == 0) multiply_and_exit(static_cast<std::uint64_t>(i), 1);
        if (!ends_well(child)) ++failures;
      }
    });
  for (std::thread& thread : threads) thread.join();
  return failures == 0 ? 0 : 1;
}

TEST(Fork, OfSeveralThreadsAtOnce) {
  const ProbeResult r = run_probe("fork_in_threads");
  EXPECT_TRUE(r.ok()) << describe(r);
}

}  // namespace
}  // namespace xgemm::test

#endif
