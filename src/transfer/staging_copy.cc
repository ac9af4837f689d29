// Chunked strided copies and the threads that run them.
#include "transfer/staging_copy.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>

namespace xgemm::transfer {
namespace {

// How long a thread looks for the next chunk before it sleeps: about the time in which the link moves a chunk, so that
// threads stay awake within a call and sleep between calls.
constexpr std::chrono::microseconds kStayAwake{50};

// Copies `columns` columns of `width` bytes between two pitches.
template <std::size_t kWidth>
void copy_narrow_columns(const std::byte* from, std::int64_t from_pitch, std::byte* to, std::int64_t to_pitch,
                         std::int64_t columns) {
  for (std::int64_t i = 0; i < columns; ++i) std::memcpy(to + i * to_pitch, from + i * from_pitch, kWidth);
}

void copy_columns(const std::byte* from, std::int64_t from_pitch, std::byte* to, std::int64_t to_pitch,
                  std::int64_t width, std::int64_t columns) {
  // Widths that occur with one or two rows: a call of memcpy for two bytes would cost more than the bytes.
  switch (width) {
    case 2:
      return copy_narrow_columns<2>(from, from_pitch, to, to_pitch, columns);
    case 4:
      return copy_narrow_columns<4>(from, from_pitch, to, to_pitch, columns);
    case 8:
      return copy_narrow_columns<8>(from, from_pitch, to, to_pitch, columns);
    default:
      break;
  }
  for (std::int64_t i = 0; i < columns; ++i)
    std::memcpy(to + i * to_pitch, from + i * from_pitch, static_cast<std::size_t>(width));
}

// Calls copy(host offset, packed offset, columns) for each run of columns within one matrix of the batch.
template <class Copy>
void for_each_run(const ColumnBlock& block, const Chunk& chunk, const Copy& copy) {
  std::int64_t done = 0;
  while (done < chunk.columns) {
    const std::int64_t column = chunk.first_column + done;
    const std::int64_t left_in_matrix = block.columns - (block.matrices == 1 ? column : column % block.columns);
    const std::int64_t run = std::min(chunk.columns - done, left_in_matrix);
    copy(block.host_offset(column) + chunk.offset, done * block.packed_pitch, run);
    done += run;
  }
}

// The same for columns of which a part belongs to a triangle.
template <class Copy>
void for_each_triangle_column(const ColumnBlock& block, const Chunk& chunk, const Copy& copy) {
  for (std::int64_t i = 0; i < chunk.columns; ++i) {
    const std::int64_t column = chunk.first_column + i;
    const std::int64_t diagonal = block.diagonal + column % block.columns * block.element;
    const std::int64_t begin = block.fill == Fill::lower ? std::max(chunk.offset, diagonal) : chunk.offset;
    const std::int64_t end = block.fill == Fill::upper ? std::min(chunk.offset + chunk.width, diagonal + block.element)
                                                       : chunk.offset + chunk.width;
    if (begin < end)
      copy(block.host_offset(column) + begin, i * block.packed_pitch + begin - chunk.offset,
           static_cast<std::size_t>(end - begin));
  }
}

}  // namespace

ColumnBlock merged(ColumnBlock b) {
  if (b.fill != Fill::full) return b;
  if (b.columns == 1 && b.matrices > 1) {
    b.pitch = b.matrix_pitch;
    b.columns = b.matrices;
    b.matrices = 1;
  }
  if (b.columns > 1 && b.pitch == b.width && b.packed_pitch == b.width) {
    b.width *= b.columns;
    b.packed_pitch = b.width;
    b.pitch = b.matrix_pitch;
    b.columns = b.matrices;
    b.matrices = 1;
    if (b.columns > 1 && b.pitch == b.width) {
      b.width *= b.columns;
      b.packed_pitch = b.width;
      b.columns = 1;
    }
  } else if (b.matrices > 1 && b.matrix_pitch == b.columns * b.pitch) {
    b.columns *= b.matrices;
    b.matrices = 1;
  }
  return b;
}

Chunking::Chunking(const ColumnBlock& block, std::int64_t bytes) : block_(block), bytes_(bytes) {
  if (block.all_columns() == 0 || block.width == 0) return;
  if (block.packed_pitch <= bytes) {
    columns_per_chunk_ = bytes / block.packed_pitch;
    count_ = (block.all_columns() + columns_per_chunk_ - 1) / columns_per_chunk_;
  } else {
    parts_per_column_ = (block.width + bytes - 1) / bytes;
    count_ = block.all_columns() * parts_per_column_;
  }
}

Chunk Chunking::operator[](std::int64_t index) const {
  Chunk c;
  if (columns_per_chunk_ > 0) {
    c.first_column = index * columns_per_chunk_;
    c.columns = std::min(columns_per_chunk_, block_.all_columns() - c.first_column);
    c.width = block_.width;
  } else {
    c.first_column = index / parts_per_column_;
    c.columns = 1;
    c.offset = index % parts_per_column_ * bytes_;
    c.width = std::min(bytes_, block_.width - c.offset);
  }
  c.packed_offset = c.first_column * block_.packed_pitch + c.offset;
  c.packed_bytes = (c.columns - 1) * block_.packed_pitch + c.width;
  return c;
}

void gather(const ColumnBlock& block, const Chunk& chunk, const std::byte* host, std::byte* packed) noexcept {
  if (block.fill != Fill::full)
    return for_each_triangle_column(block, chunk,
                                    [&](std::int64_t host_offset, std::int64_t packed_offset, std::size_t bytes) {
                                      std::memcpy(packed + packed_offset, host + host_offset, bytes);
                                    });
  for_each_run(block, chunk, [&](std::int64_t host_offset, std::int64_t packed_offset, std::int64_t columns) {
    copy_columns(host + host_offset, block.pitch, packed + packed_offset, block.packed_pitch, chunk.width, columns);
  });
}

void scatter(const ColumnBlock& block, const Chunk& chunk, const std::byte* packed, std::byte* host) noexcept {
  if (block.fill != Fill::full)
    return for_each_triangle_column(block, chunk,
                                    [&](std::int64_t host_offset, std::int64_t packed_offset, std::size_t bytes) {
                                      std::memcpy(host + host_offset, packed + packed_offset, bytes);
                                    });
  for_each_run(block, chunk, [&](std::int64_t host_offset, std::int64_t packed_offset, std::int64_t columns) {
    copy_columns(packed + packed_offset, block.packed_pitch, host + host_offset, block.pitch, chunk.width, columns);
  });
}

CopyPool::CopyPool(int threads, std::size_t capacity) : ring_(capacity) {
  threads_.reserve(static_cast<std::size_t>(std::max(0, threads)));
  try {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::exception&) {
    // The threads that have started, or the caller alone, do the copies.
  }
}

CopyPool::~CopyPool() {
  drain();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void CopyPool::submit(const CopyTask& task) noexcept {
  unfinished_.fetch_add(1, std::memory_order_relaxed);
  bool queued = false, wakes = false;
  {
    const std::lock_guard lock(mutex_);
    const std::size_t waiting = waiting_.load(std::memory_order_relaxed);
    if (waiting < ring_.size()) {
      ring_[(head_ + waiting) % ring_.size()] = task;
      waiting_.store(waiting + 1, std::memory_order_release);
      queued = true;
      wakes = sleepers_ > 0;
    }
  }
  if (!queued) return run(task);
  if (wakes) wake_.notify_one();
}

bool CopyPool::take(CopyTask* task) noexcept {
  if (waiting_.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard lock(mutex_);
  const std::size_t waiting = waiting_.load(std::memory_order_relaxed);
  if (waiting == 0) return false;
  *task = ring_[head_];
  head_ = (head_ + 1) % ring_.size();
  waiting_.store(waiting - 1, std::memory_order_release);
  return true;
}

void CopyPool::run(const CopyTask& task) noexcept {
  if (task.gathers) {
    gather(task.block, task.chunk, task.from, task.to);
  } else {
    scatter(task.block, task.chunk, task.from, task.to);
  }
  task.done->store(true, std::memory_order_release);
  unfinished_.fetch_sub(1, std::memory_order_release);
}

bool CopyPool::help() noexcept {
  CopyTask task;
  if (!take(&task)) return false;
  run(task);
  return true;
}

void CopyPool::drain() noexcept {
  while (help()) {
  }
  while (unfinished_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

void CopyPool::work() noexcept {
  for (;;) {
    const auto until = std::chrono::steady_clock::now() + kStayAwake;
    bool found = false;
    do {
      found = help();
      if (!found) std::this_thread::yield();
    } while (!found && std::chrono::steady_clock::now() < until);
    if (found) continue;
    std::unique_lock lock(mutex_);
    ++sleepers_;
    wake_.wait(lock, [this] { return stopping_ || waiting_.load(std::memory_order_relaxed) > 0; });
    --sleepers_;
    if (stopping_) return;
  }
}

}  // namespace xgemm::transfer
