// Memory for the sums of split tiles, from an allocator that has only so much.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/scratch.h"

#include <gtest/gtest.h>

#include "core/status.h"
#include "support/matrix.h"

namespace xgemm::test {
namespace {

using runtime::find_scratch;
using runtime::Scratch;

// Has `available` bytes in one piece, and `kept` more after it was trimmed.
struct FakePool {
  std::size_t available, kept;
  int asked = 0, trimmed = 0;
  char memory = 0;

  Scratch find(std::size_t wanted, std::size_t least, void* lent, std::size_t lent_bytes) {
    return find_scratch(
        wanted, least, lent, lent_bytes,
        [&](std::size_t bytes) -> void* {
          ++asked;
          return bytes <= available ? &memory : nullptr;
        },
        [&] {
          ++trimmed;
          available += kept;
          kept = 0;
        });
  }
};

TEST(Scratch, TakesWhatThereIs) {
  Random random(71);
  char lent = 0;
  for (int i = 0; i < 20000 && !HasFailure(); ++i) {
    const auto least = static_cast<std::size_t>(random.integer(1, 1000));
    const std::size_t wanted = least * static_cast<std::size_t>(random.integer(1, 1000));
    const auto up_to = [&](std::size_t most) {
      return random.integer(0, 2) == 0 ? 0
                                       : static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(most)));
    };
    const std::size_t lent_bytes = up_to(wanted + wanted / 2);
    FakePool pool{up_to(2 * wanted), up_to(2 * wanted)};
    const std::size_t available = pool.available, all = pool.available + pool.kept;
    const Scratch found = pool.find(wanted, least, &lent, lent_bytes);
    SCOPED_TRACE(format("%zu wanted, at least %zu; %zu lent, %zu available, %zu when trimmed", wanted, least,
                        lent_bytes, available, all));
    if (lent_bytes >= wanted) {
      EXPECT_TRUE(found.data == &lent && !found.allocated && found.bytes == lent_bytes);
      EXPECT_EQ(pool.asked, 0) << "lent memory comes first";
      continue;
    }
    EXPECT_EQ(pool.trimmed, available < wanted) << "only when it is needed";
    const std::size_t best = std::max(lent_bytes, all);
    if (best < least) {
      EXPECT_EQ(found.data, nullptr);
      continue;
    }
    ASSERT_NE(found.data, nullptr);
    EXPECT_EQ(found.data, found.allocated ? static_cast<void*>(&pool.memory) : &lent);
    EXPECT_LE(found.bytes, found.allocated ? std::max(all, available) : lent_bytes);
    EXPECT_GE(found.bytes, least);
    if (found.allocated) {
      EXPECT_EQ(found.bytes % least, 0u) << "whole tiles";
    }
    if (best >= wanted) {
      EXPECT_GE(found.bytes, wanted);
    } else {
      EXPECT_GT(4 * found.bytes, best / least * least) << "not much less than there is";
    }
    EXPECT_LE(pool.asked, 64);
  }
}

}  // namespace
}  // namespace xgemm::test
