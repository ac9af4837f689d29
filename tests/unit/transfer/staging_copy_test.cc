// Blocks cut into chunks arrive whole, touch nothing between columns, and survive any number of threads.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/staging_copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>

namespace xgemm::transfer {
namespace {

constexpr std::byte kGuard{0xa5};

// Widths, columns, gaps on both sides, matrices, gaps between them.
std::vector<ColumnBlock> blocks() {
  std::vector<ColumnBlock> all;
  for (std::int64_t width : {1, 2, 4, 8, 12, 100, 4096}) {
    for (std::int64_t columns : {1, 2, 7, 64}) {
      for (std::int64_t gap : {0, 4}) {
        for (std::int64_t packed_gap : {0, 12}) {
          for (std::int64_t matrices : {1, 3}) {
            for (std::int64_t matrix_gap : {0, 8}) {
              const std::int64_t pitch = width + gap;
              all.push_back({width, columns, pitch, matrices, columns * pitch + matrix_gap, width + packed_gap});
            }
          }
        }
      }
    }
  }
  return all;
}

std::int64_t host_bytes(const ColumnBlock& b) {
  return (b.matrices - 1) * b.matrix_pitch + (b.columns - 1) * b.pitch + b.width;
}

std::vector<std::byte> numbered(std::int64_t bytes) {
  std::vector<std::byte> data(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 31 + i / 251);
  return data;
}

// The packed form by the definition.
std::vector<std::byte> packed_by_definition(const ColumnBlock& b, const std::vector<std::byte>& host) {
  std::vector<std::byte> packed(static_cast<std::size_t>(b.packed_bytes()), kGuard);
  for (std::int64_t x = 0; x < b.matrices; ++x)
    for (std::int64_t j = 0; j < b.columns; ++j)
      std::memcpy(&packed[static_cast<std::size_t>((x * b.columns + j) * b.packed_pitch)],
                  &host[static_cast<std::size_t>(x * b.matrix_pitch + j * b.pitch)], static_cast<std::size_t>(b.width));
  return packed;
}

// Of a triangle its elements alone are read and written, whatever the chunks.
TEST(StagingCopy, TrianglesLeaveTheRestAlone) {
  constexpr std::int64_t kElement = 4, kRows = 23, kColumns = 19, kMatrices = 2;
  for (const Fill fill : {Fill::lower, Fill::upper})
    for (const std::int64_t first_row : {-12, 0, 5})  // of the block, less its first column
      for (const std::int64_t chunk_bytes : {4, 36, 100, 1000, 100000}) {
        const std::int64_t pitch = (kRows + 2) * kElement;
        const ColumnBlock block = {
            kRows * kElement,      kColumns, pitch, kMatrices, kColumns * pitch + 8, (kRows + 1) * kElement, fill,
            -first_row * kElement, kElement};
        EXPECT_EQ(merged(block).columns, kColumns);
        const std::vector<std::byte> host = numbered(host_bytes(block));
        std::vector<std::byte> packed(static_cast<std::size_t>(block.packed_bytes()), kGuard);
        std::vector<std::byte> back(host.size(), kGuard), expected = back;
        const Chunking chunks(block, chunk_bytes);
        for (std::int64_t i = 0; i < chunks.count(); ++i)
          gather(block, chunks[i], host.data(), packed.data() + chunks[i].packed_offset);
        for (std::int64_t i = 0; i < chunks.count(); ++i)
          scatter(block, chunks[i], packed.data() + chunks[i].packed_offset, back.data());
        std::vector<std::byte> expected_packed(packed.size(), kGuard);
        for (std::int64_t x = 0; x < kMatrices; ++x)
          for (std::int64_t j = 0; j < kColumns; ++j)
            for (std::int64_t i = 0; i < kRows; ++i) {
              if (!contains(fill, first_row + i, j)) continue;
              const auto from = static_cast<std::size_t>(x * block.matrix_pitch + j * pitch + i * kElement);
              std::memcpy(&expected[from], &host[from], kElement);
              std::memcpy(
                  &expected_packed[static_cast<std::size_t>((x * kColumns + j) * block.packed_pitch + i * kElement)],
                  &host[from], kElement);
            }
        ASSERT_EQ(back, expected);
        ASSERT_EQ(packed, expected_packed);
      }
}

TEST(StagingCopy, GathersAndScattersEveryBlockInEveryChunkSize) {
  for (const ColumnBlock& original : blocks()) {
    const ColumnBlock block = merged(original);
    ASSERT_EQ(block.packed_bytes(), original.packed_bytes());
    ASSERT_EQ(host_bytes(block), host_bytes(original));
    const std::vector<std::byte> host = numbered(host_bytes(block));
    const std::vector<std::byte> expected = packed_by_definition(original, host);
    for (std::int64_t chunk_bytes : {5, 64, 1000, 1 << 20}) {
      const Chunking chunking(block, chunk_bytes);
      std::vector<std::byte> packed(expected.size(), kGuard);
      std::vector<std::byte> back(host.size(), kGuard);
      for (std::int64_t i = 0; i < chunking.count(); ++i) {
        const Chunk chunk = chunking[i];
        ASSERT_LE(chunk.packed_bytes, chunk_bytes);
        ASSERT_GT(chunk.packed_bytes, 0);
        std::vector<std::byte> buffer(static_cast<std::size_t>(chunk.packed_bytes), kGuard);
        gather(block, chunk, host.data(), buffer.data());
        std::memcpy(&packed[static_cast<std::size_t>(chunk.packed_offset)], buffer.data(), buffer.size());
        scatter(block, chunk, buffer.data(), back.data());
      }
      ASSERT_EQ(packed, expected) << "width " << block.width << " columns " << block.columns;
      // Scattered back: the columns and nothing else.
      std::vector<std::byte> expected_back(host.size(), kGuard);
      for (std::int64_t x = 0; x < original.matrices; ++x)
        for (std::int64_t j = 0; j < original.columns; ++j) {
          const auto at = static_cast<std::size_t>(x * original.matrix_pitch + j * original.pitch);
          std::memcpy(&expected_back[at], &host[at], static_cast<std::size_t>(original.width));
        }
      ASSERT_EQ(back, expected_back);
    }
  }
}

TEST(StagingCopy, MergesWhatTouches) {
  EXPECT_EQ(merged({16, 10, 16, 1, 0, 16}).columns, 1);
  EXPECT_EQ(merged({16, 10, 16, 1, 0, 16}).width, 160);
  EXPECT_EQ(merged({16, 10, 16, 4, 160, 16}).width, 640);
  EXPECT_EQ(merged({16, 10, 16, 4, 200, 16}).columns, 4);
  EXPECT_EQ(merged({16, 10, 20, 4, 200, 16}).columns, 40);
  EXPECT_EQ(merged({16, 10, 20, 4, 240, 16}).matrices, 4);
}

TEST(StagingCopy, NothingToCopyMakesNoChunk) {
  EXPECT_EQ(Chunking({0, 5, 8, 1, 0, 0}, 64).count(), 0);
  EXPECT_EQ(Chunking({8, 0, 8, 1, 0, 8}, 64).count(), 0);
}

TEST(CopyPool, RunsEveryTaskWithAnyNumberOfThreads) {
  for (int threads : {0, 1, 3}) {
    CopyPool pool(threads, 4);  // little room: some tasks run at once in submit()
    const ColumnBlock block = merged({1000, 64, 1024, 1, 0, 1000});
    const std::vector<std::byte> host = numbered(host_bytes(block));
    for (int round = 0; round < 20; ++round) {
      const Chunking chunking(block, 3000);
      std::vector<std::byte> packed(static_cast<std::size_t>(block.packed_bytes()), kGuard);
      std::deque<std::atomic<bool>> done(static_cast<std::size_t>(chunking.count()));
      for (std::int64_t i = 0; i < chunking.count(); ++i) {
        const Chunk chunk = chunking[i];
        pool.submit(
            {block, chunk, host.data(), packed.data() + chunk.packed_offset, true, &done[static_cast<std::size_t>(i)]});
      }
      if (round % 2 == 0) {
        while (pool.help()) {
        }
      }
      pool.drain();
      for (const std::atomic<bool>& flag : done) EXPECT_TRUE(flag.load());
      EXPECT_EQ(packed, packed_by_definition(block, host));
    }
  }
}

}  // namespace
}  // namespace xgemm::transfer
