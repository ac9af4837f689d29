// Copies between strided host matrices and packed buffers, in chunks, by a few threads. No CUDA.
//
// A ColumnBlock is what staging moves: columns of `width` bytes, `pitch` apart on the host and `packed_pitch` apart in
// the packed form, which is the form on the device. Only the bytes of the columns are read or written on the host, and
// of a triangle only those of its elements: what lies between belongs to the caller.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "core/fill.h"

namespace xgemm::transfer {

struct ColumnBlock {
  std::int64_t width = 0;         // bytes of a column
  std::int64_t columns = 0;       // of a matrix
  std::int64_t pitch = 0;         // bytes from column to column on the host
  std::int64_t matrices = 1;      // of a batch
  std::int64_t matrix_pitch = 0;  // bytes from matrix to matrix on the host
  std::int64_t packed_pitch = 0;  // bytes from column to column in the packed form; >= width
  // Of a triangle of C: where, in the first column of a matrix, the element on the diagonal begins, and its bytes.
  Fill fill = Fill::full;
  std::int64_t diagonal = 0, element = 0;

  std::int64_t all_columns() const { return columns * matrices; }
  std::int64_t packed_bytes() const { return all_columns() == 0 ? 0 : (all_columns() - 1) * packed_pitch + width; }
  std::int64_t host_offset(std::int64_t column) const {
    return matrices == 1 ? column * pitch : column / columns * matrix_pitch + column % columns * pitch;
  }
};

// The same bytes with fewer, longer columns where neighbours touch, and one matrix where the matrices are evenly
// spaced.
ColumnBlock merged(ColumnBlock block);

// A run of whole columns, or a part of one column.
struct Chunk {
  std::int64_t first_column = 0, columns = 0;
  std::int64_t offset = 0;         // bytes into the column
  std::int64_t width = 0;          // bytes of each column
  std::int64_t packed_offset = 0;  // bytes into the packed form
  std::int64_t packed_bytes = 0;
};

// The cut of a block into chunks of at most `bytes` packed bytes each.
class Chunking {
 public:
  Chunking() = default;
  Chunking(const ColumnBlock& block, std::int64_t bytes);
  std::int64_t count() const { return count_; }
  Chunk operator[](std::int64_t index) const;

 private:
  ColumnBlock block_;
  std::int64_t bytes_ = 0;
  std::int64_t columns_per_chunk_ = 0;  // 0: chunks are parts of a column
  std::int64_t parts_per_column_ = 0;
  std::int64_t count_ = 0;
};

// host is the address of the block; packed is the address of the chunk.
void gather(const ColumnBlock& block, const Chunk& chunk, const std::byte* host, std::byte* packed) noexcept;
void scatter(const ColumnBlock& block, const Chunk& chunk, const std::byte* packed, std::byte* host) noexcept;

struct CopyTask {
  ColumnBlock block;
  Chunk chunk;
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  bool gathers = true;                // host to packed; else packed to host
  std::atomic<bool>* done = nullptr;  // set when the bytes are there
};

// One thread copies 11 GB/s where the link moves 55: five keep it busy one way, eight serve both.
inline constexpr int kMaxCopyThreads = 8;

// Threads that run copy tasks. Without threads, or when some could not be started, whoever waits helps.
class CopyPool {
 public:
  // Room for `capacity` waiting tasks. Starts fewer threads than asked for, or none, when the system refuses.
  CopyPool(int threads, std::size_t capacity);
  ~CopyPool();
  CopyPool(const CopyPool&) = delete;
  CopyPool& operator=(const CopyPool&) = delete;

  int threads() const { return static_cast<int>(threads_.size()); }

  // Runs the task itself when there is no room.
  void submit(const CopyTask& task) noexcept;

  // Runs a waiting task in the calling thread; false when none waits.
  bool help() noexcept;

  // Returns when all tasks are done.
  void drain() noexcept;

 private:
  void work() noexcept;
  bool take(CopyTask* task) noexcept;
  void run(const CopyTask& task) noexcept;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<CopyTask> ring_;
  std::size_t head_ = 0;
  std::atomic<std::size_t> waiting_{0};  // written under the mutex, read without
  std::atomic<std::size_t> unfinished_{0};
  int sleepers_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace xgemm::transfer
