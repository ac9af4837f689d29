// Values that are made once, by whichever thread comes first, and found by all others and by children of the process.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "core/once.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace xgemm {
namespace {

TEST(Once, MakesOneValueForAllThreads) {
  for (int round = 0; round < 200; ++round) {
    Once<std::string> once;
    std::atomic<int> made{0};
    std::atomic<bool> go{false};
    std::vector<const std::string*> found(8);
    std::vector<std::thread> threads;
    for (const std::string*& place : found)
      threads.emplace_back([&] {
        while (!go) {
        }
        place = &once.get([&] { return std::to_string(++made); });
      });
    go = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(made, 1);
    for (const std::string* place : found) {
      EXPECT_EQ(place, found[0]);
      EXPECT_EQ(*place, "1");
    }
    delete found[0];  // which a static Once keeps
  }
}

TEST(Once, AnotherValueMayBeMadeMeanwhile) {
  static Once<int> outer, inner;
  EXPECT_EQ(outer.get([] { return 1 + inner.get([] { return 2; }); }), 3);
  EXPECT_EQ(outer.get([] { return 0; }), 3);
}

TEST(Once, WhatFailedIsTriedAgain) {
  static Once<int> once;
  EXPECT_THROW(once.get([]() -> int { throw std::runtime_error("not now"); }), std::runtime_error);
  std::thread([] { EXPECT_EQ(once.get([] { return 5; }), 5); }).join();  // the lock is free again
}

// Children are forked while a value takes its time: each finds it made, none makes or misses it.
TEST(Once, AForkWaitsForAValue) {
  const std::uint32_t before = forks();
  static Once<int> once;
  std::atomic<bool> begun{false};
  std::thread maker([&] {
    once.get([&] {
      begun = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return 7;
    });
  });
  while (!begun) {
  }
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const bool found = once.get([] { return 8; }) == 7 && forks() == before + 1 && !forked_while_loading();
    std::thread([] { static_cast<void>(once.get([] { return 9; })); }).join();
    _exit(found ? 0 : 1);
  }
  maker.join();
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(forks(), before);
}

// A thread may fork while it makes a value, as CUDA does.
TEST(Once, ItsMakerMayFork) {
  static Once<int> once;
  int status = -1;
  EXPECT_EQ(once.get([&] {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      _exit(0);
    }
    waitpid(child, &status, 0);
    return 3;
  }),
            3);
  EXPECT_EQ(status, 0);
  static Once<int> other;
  std::thread([] { EXPECT_EQ(other.get([] { return 4; }), 4); }).join();
}

}  // namespace
}  // namespace xgemm
