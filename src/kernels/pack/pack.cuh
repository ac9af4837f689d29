// pack: copies matrices that lie badly (lines that start anywhere, elements that are no neighbours) into lines that
// start at multiples of 16 bytes, at the speed of the memory. Several matrices in one launch.
//
// A thread writes a vector of 16 bytes of each of a few lines. Where the source's elements are neighbours it reads the
// two aligned vectors that its bytes lie in, and shifts:
//
//     source      | . . a b c d e f | g h . . . . . . |
//     destination | a b c d e f g h |
//
// Vectors that would reach beyond a line are read element by element, as are elements that are no neighbours: nothing
// outside of the matrix is read. All loads of a thread are under way before the first of them is used.
//
// Words of 32 bits that are neighbours across lines, those of a matrix that is transposed, go through shared memory in
// squares: a warp reads an element of each of 32 lines, and writes eight vectors of each of four. Lines lie one word
// more than a multiple of the banks apart, so that neither has conflicts.
//
// Of entries that are found by pointers the first thread of each leaves a pointer to the copy.
//
// Results that are scattered are moved element by element, neighbours by neighbouring threads.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/dtype.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/target.cuh"
#include "kernels/pack/params.h"

namespace xgemm::kernels {

// Word: an unsigned integer as large as an element. kPointers: the jobs are of entries that are found by pointers,
// which other passes have no registers for.
template <class Word, bool kPointers = false>
struct Pack {
  static constexpr int kThreads = PackParams::kThreads;
  static constexpr int kMinBlocksPerSm = 4;
  static constexpr int kLines = PackParams::kLinesAtOnce;
  static constexpr int kElements = PackParams::kVectorBytes / static_cast<int>(sizeof(Word));  // of a vector
  using Params = PackParams;
  using Vector = gpu::Vector<std::uint32_t, 4>;

  static constexpr bool kTurns = sizeof(Word) == 4;
  static constexpr int kTurned = PackParams::kTurned;

  struct SharedStorage {
    Word square[kTurns ? kTurned : 1][kTurns ? kTurned + 1 : 1];  // by line, by element
  };

  XGEMM_DEVICE static void run(const Params& p, SharedStorage& smem) {
    gpu::grid_launch_dependents();
    const auto block = static_cast<unsigned>(gpu::block_x());
    int job = 0;
    unsigned begin = 0;
    while (block >= p.jobs[job].end) begin = p.jobs[job++].end;
    if constexpr (kTurns) {
      if (p.jobs[job].turned) return turn_tile(p.jobs[job], block - begin, smem);
    }
    p.jobs[job].scatters ? scatter_tile(p.jobs[job], block - begin) : copy_tile(p.jobs[job], block - begin);
  }

 private:
  // What a thread has of a tile: vectors (elements) of kLines lines, so many lines apart.
  struct Place {
    std::int64_t batch, line, vector;
    int lines_apart;
  };
  XGEMM_DEVICE static Place place_of(const Params::Job& job, unsigned tile) {
    const unsigned tile_line = tile % job.tiles_line, rest = tile / job.tiles_line;
    const int width = 1 << job.width;
    const int lines_apart = kThreads >> job.width;
    return {rest / job.tiles_across,
            std::int64_t{rest % job.tiles_across} * (lines_apart * kLines) + (gpu::thread_index() >> job.width),
            std::int64_t{tile_line} * width + gpu::thread_index() % width, lines_apart};
  }

  template <class Pointer>
  XGEMM_DEVICE static Pointer pointer(const void* array, std::int64_t entry) {
    return gpu::read<gpu::Space::global>(static_cast<const Pointer*>(array) + entry);
  }
  // Of an entry.
  XGEMM_DEVICE static const Word* source_of(const Params::Job& job, std::int64_t batch) {
    if constexpr (kPointers) return pointer<const Word*>(job.source, batch);
    return static_cast<const Word*>(job.source) + batch * job.batch_stride;
  }

  // A thread that has the first element of an entry's copy tells where it is.
  XGEMM_DEVICE static void tell(const Params::Job& job, std::int64_t batch, bool is_first) {
    if constexpr (kPointers) {
      if (is_first && job.found != nullptr)
        gpu::write<gpu::Space::global>(job.found + batch,
                                       static_cast<void*>(static_cast<Word*>(job.destination) + batch * job.ld_batch));
    }
  }

  // What was read for a vector: where its elements are neighbours, the two aligned vectors in which it begins at byte
  // `offset`; else its elements, each in a word of 32 bits or in two.
  struct Piece {
    std::uint32_t words[8];
    int offset;
    bool shifted;
  };

  XGEMM_DEVICE static void copy_tile(const Params::Job& job, unsigned tile) {
    const auto [batch, line, vector, lines_apart] = place_of(job, tile);
    if (vector >= job.vectors) return;
    gpu::grid_wait_dependencies();
    const std::int64_t element = vector * kElements;
    tell(job, batch, line == 0 && element == 0);
    const Word* source = source_of(job, batch) + line * job.line_stride + element * job.step;
    auto* destination = static_cast<Word*>(job.destination) + batch * job.ld_batch + line * job.ld + element;

    Piece pieces[kLines];
    XGEMM_UNROLL
    for (int i = 0; i < kLines; ++i)
      pieces[i] = read(job, source + i * lines_apart * job.line_stride, element, line + i * lines_apart < job.lines);
    XGEMM_UNROLL
    for (int i = 0; i < kLines; ++i) {
      if (line + i * lines_apart < job.lines) {
        gpu::write<gpu::Space::global>(reinterpret_cast<Vector*>(destination + i * lines_apart * job.ld),
                                       finish(pieces[i]));
      }
    }
  }

  XGEMM_DEVICE static void scatter_tile(const Params::Job& job, unsigned tile) {
    const auto [batch, line, element, lines_apart] = place_of(job, tile);
    gpu::grid_wait_dependencies();
    const Word* source = static_cast<const Word*>(job.source) + batch * job.batch_stride + line * job.line_stride +
                         element * job.source_step;
    Word* const entry =
        kPointers ? pointer<Word*>(job.destination, batch) : static_cast<Word*>(job.destination) + batch * job.ld_batch;
    Word* const destination = entry + line * job.ld + element * job.step;
    Word words[kLines];
    bool inside[kLines];
    XGEMM_UNROLL
    for (int i = 0; i < kLines; ++i) {
      inside[i] = element < job.length && line + i * lines_apart < job.lines &&
                  contains(job.fill, element, line + i * lines_apart);
      words[i] = inside[i] ? gpu::read<gpu::Space::global>(source + i * lines_apart * job.line_stride) : Word{0};
    }
    XGEMM_UNROLL
    for (int i = 0; i < kLines; ++i)
      if (inside[i]) gpu::write<gpu::Space::global>(destination + i * lines_apart * job.ld, words[i]);
  }

  XGEMM_DEVICE static void turn_tile(const Params::Job& job, unsigned tile, SharedStorage& smem) {
    constexpr int kWarps = kThreads / gpu::kWarpSize;
    const unsigned tile_across = tile % job.tiles_across, rest = tile / job.tiles_across;
    const std::int64_t batch = rest / job.tiles_line;
    const std::int64_t first_line = std::int64_t{tile_across} * kTurned;
    const std::int64_t first_element = std::int64_t{rest % job.tiles_line} * kTurned;
    const auto left = [](std::int64_t all) { return static_cast<int>(all < kTurned ? all : kTurned); };
    const int lines = left(job.lines - first_line), elements = left(job.length - first_element);
    const int warp = gpu::warp_index(), lane = gpu::lane_index();
    gpu::grid_wait_dependencies();
    tell(job, batch, first_line == 0 && first_element == 0 && gpu::thread_index() == 0);

    const Word* source = source_of(job, batch) + first_line + first_element * job.step;
    constexpr int kHalves = kTurned / gpu::kWarpSize, kSteps = kTurned / kWarps;
    Word words[kSteps][kHalves];
    XGEMM_UNROLL
    for (int i = 0; i < kSteps; ++i) {
      const int element = warp + i * kWarps;
      XGEMM_UNROLL
      for (int h = 0; h < kHalves; ++h) {
        const int line = lane + h * gpu::kWarpSize;
        words[i][h] = element < elements && line < lines
                          ? gpu::read<gpu::Space::global>(source + element * job.step + line)
                          : Word{0};
      }
    }
    XGEMM_UNROLL
    for (int i = 0; i < kSteps; ++i) {
      XGEMM_UNROLL
      for (int h = 0; h < kHalves; ++h)
        gpu::write<gpu::Space::shared>(&smem.square[lane + h * gpu::kWarpSize][warp + i * kWarps], words[i][h]);
    }
    gpu::sync_threads();

    auto* destination =
        static_cast<Word*>(job.destination) + batch * job.ld_batch + first_line * job.ld + first_element;
    constexpr int kAcross = 4, kAlong = gpu::kWarpSize / kAcross;  // lines and vectors of a warp
    XGEMM_UNROLL
    for (int l = 0; l < kTurned; l += kAcross * kWarps) {
      const int line = l + warp * kAcross + lane / kAlong;
      XGEMM_UNROLL
      for (int v = 0; v < kTurned / kElements; v += kAlong) {
        const int element = (v + lane % kAlong) * kElements;
        if (line >= lines || element >= elements) continue;
        Vector vector;
        XGEMM_UNROLL
        for (int e = 0; e < kElements; ++e) vector[e] = gpu::read<gpu::Space::shared>(&smem.square[line][element + e]);
        gpu::write<gpu::Space::global>(reinterpret_cast<Vector*>(destination + line * job.ld + element), vector);
      }
    }
  }

  // element: of the line, from which on the vector's are wanted.
  XGEMM_DEVICE static Piece read(const Params::Job& job, const Word* source, std::int64_t element, bool inside) {
    Piece piece{};
    const std::int64_t left = inside ? job.length - element : 0;
    piece.offset = static_cast<int>(reinterpret_cast<std::uintptr_t>(source) % PackParams::kVectorBytes);
    const int before = piece.offset / static_cast<int>(sizeof(Word));
    const bool two = before != 0;
    piece.shifted = job.step == 1 && (two ? element >= before && left >= 2 * kElements - before : left >= kElements);
    if (piece.shifted) {
      const auto* vectors = reinterpret_cast<const Vector*>(source - before);
      const Vector low = gpu::read<gpu::Space::global>(vectors);
      const Vector high = two ? gpu::read<gpu::Space::global>(vectors + 1) : Vector{};
      XGEMM_UNROLL
      for (int i = 0; i < 4; ++i) {
        piece.words[i] = low[i];
        piece.words[4 + i] = high[i];
      }
    } else {
      XGEMM_UNROLL
      for (int e = 0; e < kElements; ++e) {
        const Word value = e < left ? gpu::read<gpu::Space::global>(source + e * job.step) : Word{0};
        piece.words[sizeof(Word) == 8 ? 2 * e : e] = static_cast<std::uint32_t>(value);
        if constexpr (sizeof(Word) == 8) piece.words[2 * e + 1] = static_cast<std::uint32_t>(value >> 32);
      }
    }
    return piece;
  }

  XGEMM_DEVICE static Vector finish(Piece& piece) {
    std::uint32_t(&words)[8] = piece.words;
    Vector result;
    if (piece.shifted) {
      // By 8 bytes, by 4, by 2.
      XGEMM_UNROLL
      for (int i = 0; i < 6; ++i) words[i] = piece.offset & 8 ? words[i + 2] : words[i];
      XGEMM_UNROLL
      for (int i = 0; i < 5; ++i) words[i] = piece.offset & 4 ? words[i + 1] : words[i];
      const int bits = piece.offset % 4 * 8;
      XGEMM_UNROLL
      for (int i = 0; i < 4; ++i)
        result[i] = static_cast<std::uint32_t>((std::uint64_t{words[i + 1]} << 32 | words[i]) >> bits);
    } else {
      XGEMM_UNROLL
      for (int i = 0; i < 4; ++i) result[i] = sizeof(Word) == 2 ? words[2 * i] | words[2 * i + 1] << 16 : words[i];
    }
    return result;
  }
};

}  // namespace xgemm::kernels
