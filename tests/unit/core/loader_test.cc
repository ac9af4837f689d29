// Who asks the loader excludes nobody but forks.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "core/loader.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>

namespace xgemm {
namespace {

// The status of a child that returns what body() does.
int status_of_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST(Loader, NobodyWaitsForAThreadThatAsks) {
  static Loaded<int> loaded;
  static Once<int> once;
  std::atomic<bool> begun{false}, done{false};
  int found = 0, settled = 0;
  std::thread first([&] {
    found = loaded.get(
        [&] {
          begun = true;
          while (!done) std::this_thread::yield();
          return 1;
        },
        [&](int) { ++settled; });
  });
  while (!begun) std::this_thread::yield();
  EXPECT_EQ(once.get([] { return 3; }), 3);
  EXPECT_EQ(loaded.get([] { return 2; }, [&](int) { ++settled; }), 2);
  done = true;
  first.join();
  EXPECT_EQ(found, 2) << "the value that was there first";
  EXPECT_EQ(settled, 1);
}

TEST(Loader, AForkWaitsForWhoAsks) {
  std::atomic<bool> begun{false}, asked{false};
  std::thread asks([&] {
    const AskingLoader asking;
    begun = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const Making making;  // which the fork leaves alone meanwhile
    asked = true;
  });
  while (!begun) std::this_thread::yield();
  EXPECT_EQ(status_of_child([&] {
              const AskingLoader asking;
              return asked && !forked_while_loading();
            }),
            0);
  asks.join();
}

// As CUDA does, and whoever comes back to us from a constructor.
TEST(Loader, WhoAsksMayForkAndAskAgain) {
  for (const bool makes : {false, true}) {
    const AskingLoader asking;
    const auto ask_again = [] {
      const AskingLoader again;
      return !forked_while_loading();
    };
    if (makes) {
      const Making making;
      EXPECT_EQ(status_of_child(ask_again), 0);
    } else {
      EXPECT_EQ(status_of_child(ask_again), 0);
    }
  }
  const Making making;
  const AskingLoader asking;
  EXPECT_EQ(status_of_child([] { return !forked_while_loading(); }), 0);
  std::thread([] { const AskingLoader others; }).join();
}

// A child asks as its parent did, and later children find nothing held.
TEST(Loader, ChildrenOfChildren) {
  EXPECT_EQ(status_of_child([] {
              { const AskingLoader asking; }
              return status_of_child([] {
                       std::thread([] { const AskingLoader asking; }).join();
                       return !forked_while_loading();
                     }) == 0;
            }),
            0);
}

}  // namespace
}  // namespace xgemm
