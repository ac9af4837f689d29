// What the packing pass is told: matrices to copy into memory that a product's kernel reads well, or results out of
// such memory. Plain data and pure host code.
//
// A job copies the lines of a matrix, for every entry of a batch, to lines that start at multiples of 16 bytes and
// whose last vector of 16 bytes is filled up with zeros. The source may lie anywhere, with any strides, also of 0 and
// below. One that scatters copies the other way: contiguous lines to elements that lie anywhere, and writes nothing
// else.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/fill.h"

namespace xgemm::kernels {

struct PackJob {
  const void* source;
  void* destination;
  std::int64_t length, lines, batch_count;
  std::int64_t step, line_stride, batch_stride;  // of the source, in elements: along a line, between lines, entries
  std::int64_t ld, ld_batch;                     // of the destination: between lines, between entries
  // The source, or what is scattered to, is an array: of an entry, the pointer to its first element. All jobs of a
  // launch are alike in this.
  bool pointers = false;
  void** found = nullptr;  // then gets a pointer to the copy of each entry
  // Then `step` is the destination's along a line, and the source's this. Of the destination, whose columns the lines
  // are, these elements are copied, and of the source no others read.
  bool scatters = false;
  std::int64_t source_step = 1;
  Fill fill = Fill::full;
};

struct PackParams {
  static constexpr int kThreads = 256;    // of a CTA
  static constexpr int kLinesAtOnce = 4;  // of a thread
  static constexpr int kMaxJobs = 3;
  static constexpr int kVectorBytes = 16;

  static constexpr int kTurned = 64;  // elements of as many lines: a tile that is turned

  // A CTA's tile: 2^width vectors of each of so many lines; or a square that is turned in shared memory, where words
  // of 32 bits are neighbours across the source's lines. One that scatters has elements in place of vectors.
  struct Job : PackJob {
    std::int64_t vectors;  // of a line
    int width;
    bool turned;
    unsigned tiles_line, tiles_across;  // along the lines; across them
    unsigned end;                       // the tiles of this job and of those before it
  };
  Job jobs[kMaxJobs] = {};
  int count = 0;
  int element_bytes = 2;

  static constexpr std::int64_t tile_lines(int width) { return std::int64_t{kThreads >> width} * kLinesAtOnce; }
  static constexpr std::int64_t tiles(std::int64_t extent, std::int64_t tile) { return (extent + tile - 1) / tile; }
  // Of so many lines of so many vectors.
  static constexpr std::int64_t tiles(std::int64_t vectors, std::int64_t lines, int width) {
    return tiles(vectors, std::int64_t{1} << width) * tiles(lines, tile_lines(width));
  }
  // With the fewest tiles, which have the fewest threads without work; a warp goes along a line where it can. Half a
  // line of the L2 at least, of those that are as long.
  static constexpr int width_of(std::int64_t vectors, std::int64_t lines) {
    constexpr int kWarp = 5, kLeast = 2, kMost = 8;
    static_assert(1 << kMost == kThreads);
    int best = kWarp;
    for (int width : {4, 3, 2, 6, 7, 8})
      if (tiles(vectors, lines, width) < tiles(vectors, lines, best)) best = width;
    for (int width = kLeast - 1; width >= 0 && vectors <= std::int64_t{1} << width; --width) best = width;
    return best;
  }

  // Jobs of nothing are left out.
  void add(const PackJob& job) {
    if (job.length == 0 || job.lines == 0 || job.batch_count == 0) return;
    const std::int64_t vectors =
        job.scatters ? job.length : (job.length * element_bytes + kVectorBytes - 1) / kVectorBytes;
    const int width = width_of(vectors, job.lines);
    Job& own = jobs[count];
    static_cast<PackJob&>(own) = job;
    own.vectors = vectors;
    own.width = width;
    own.turned = !job.scatters && element_bytes == 4 && job.step != 1 && job.line_stride == 1 && job.length > 1;
    const std::int64_t along = own.turned ? tiles(job.length, kTurned) : tiles(vectors, std::int64_t{1} << width);
    own.tiles_line = static_cast<unsigned>(along);
    own.tiles_across = static_cast<unsigned>(tiles(job.lines, own.turned ? kTurned : tile_lines(width)));
    own.end = ctas() + own.tiles_line * own.tiles_across * static_cast<unsigned>(job.batch_count);
    ++count;
  }

  unsigned ctas() const { return count == 0 ? 0 : jobs[count - 1].end; }
};

}  // namespace xgemm::kernels
