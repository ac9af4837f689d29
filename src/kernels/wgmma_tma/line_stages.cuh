// X of a tile, of which lines start anywhere: on its way through shared memory, a slice at a time.
//
// TMA wants lines a multiple of 16 bytes apart, and of any matrix every eighth ones are. So a slice comes as eight
// boxes, each of the lines of one class and with a map of its own, which begins at the vector of 16 bytes that the
// first of them begins in. A line of a class lies as far behind its vector as the others; threads shift it to where TMA
// would have put an aligned one.
//
//     stage  | . . a b c d e f | g h i j k l m n | o p . . . . . . |
//     tile   | a b c d e f g h | i j k l m n o p |
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/sm90/tma.cuh"
#include "kernels/common/swizzle.cuh"
#include "kernels/common/target.cuh"
#include "kernels/wgmma_tma/config.h"
#include "kernels/wgmma_tma/line_loader.cuh"
#include "kernels/wgmma_tma/params.h"

namespace xgemm::kernels {

template <WgmmaTmaConfig kConfig>
class WgmmaTmaLines {
  using Shape = WgmmaTmaShape<kConfig>;
  using Element = gpu::ElementOf<kConfig.element>;
  using Vector = gpu::Vector<std::uint32_t, 4>;
  static constexpr int kClasses = WgmmaTmaLineParams::kClasses;
  static constexpr bool kAlongK = Shape::kMajorX == gpu::Major::k;
  static constexpr int kElements = sizeof(Vector) / sizeof(Element);
  static constexpr int kLineChunks = Shape::kRowBytes / static_cast<int>(sizeof(Vector));
  static constexpr int kLines = 64 / kClasses;  // of a class
  static_assert(sizeof(Element) == 2 && Shape::kTileRows == 64 && Shape::kTileK == 64);

 public:
  static constexpr int kThreads = kClasses * kLineChunks;  // that shift a slice together: each a chunk of each line

  struct alignas(128) Stage {
    Vector vectors[kClasses][kLines][kLineChunks + 1];
  };

  // Starts the copies of a slice of a tile whose rows begin so far along X, by one thread.
  XGEMM_DEVICE static void load(const WgmmaTmaLineParams& p, Stage& stage, gpu::Mbarrier& full, int row, int k,
                                int matrix) {
    constexpr int kBytes = sizeof(Stage) / kClasses;
    gpu::mbarrier_arrive_expect(full, p.classes * kBytes);
    XGEMM_UNROLL
    for (int i = 0; i < kClasses; ++i) {
      if (i < p.classes)
        gpu::tma_load(stage.vectors[i], p.x_classes[i], full, kAlongK ? k : row, (kAlongK ? row : k) / kClasses,
                      matrix);
    }
  }

  XGEMM_DEVICE static WgmmaTmaLines make(const WgmmaTmaLineParams& p, int thread) {
    WgmmaTmaLines lines;
    lines.class_ = thread / kLineChunks;
    lines.chunk_ = thread % kLineChunks;
    const auto* const line = static_cast<const Element*>(p.x_lines.data) + lines.class_ * p.x_lines.stride;
    lines.before_ = static_cast<int>(reinterpret_cast<std::uintptr_t>(line) / sizeof(Element) % kElements);
    lines.exists_ = lines.class_ < p.classes;
    return lines;
  }

  // Shifts a slice that has arrived to where it belongs.
  XGEMM_DEVICE void deposit(Element* tile, const Stage& stage) const {
    constexpr int kTogether = 4;  // under way
    const int offset = class_ * Shape::kRowBytes + chunk_ * static_cast<int>(sizeof(Vector));
    char* const place = reinterpret_cast<char*>(tile) + tma_swizzled<Shape::kRowBytes>(offset);
    XGEMM_UNROLL
    for (int first = 0; first < kLines; first += kTogether) {
      std::uint32_t words[kTogether][8];
      XGEMM_UNROLL
      for (int i = 0; i < kTogether; ++i) {
        const Vector* const from = &stage.vectors[class_][first + i][chunk_];
        const Vector low = exists_ ? gpu::read<gpu::Space::shared>(from) : Vector{};
        const Vector high = exists_ && before_ != 0 ? gpu::read<gpu::Space::shared>(from + 1) : Vector{};
        XGEMM_UNROLL
        for (int w = 0; w < 4; ++w) {
          words[i][w] = low[w];
          words[i][4 + w] = high[w];
        }
      }
      XGEMM_UNROLL
      for (int i = 0; i < kTogether; ++i)
        gpu::write<gpu::Space::shared>(reinterpret_cast<Vector*>(place + (first + i) * kClasses * Shape::kRowBytes),
                                       shifted(words[i], before_));
    }
  }

 private:
  int class_, chunk_;
  int before_;  // elements of a vector that lie before a line of the class
  bool exists_;
};

}  // namespace xgemm::kernels
