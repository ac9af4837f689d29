// The parameters of a wgmma_tma instance, and what follows from them. Host code reads it without any CUDA header.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/dtype.h"
#include "kernels/common/sm90/major.h"
#include "layout/operand_facts.h"

namespace xgemm::kernels {

struct WgmmaTmaConfig {
  static constexpr int kCtaK = 64;  // 128 bytes: the width of the swizzle

  DType type = DType::f16;
  int cta_m = 128, cta_n = 256;                   // CTA tile of C
  int stages = 4;                                 // slots of the ring; a slot holds 64 elements of K of both operands
  bool transposed = false;                        // rows of D, along M of wgmma, are the columns of C
  int groups_rows = 2, groups_columns = 1;        // how the consumer warpgroups divide the tile of D
  bool ping_pong = false;                         // two consumers that take whole tiles in turn; groups_* are 1
  int cluster_m = 1, cluster_n = 1;               // CTAs of a cluster along C: tiles that share operands by multicast
  int cluster_k = 1;                              // and along K: CTAs that share a tile's sum
  int epilogue_buffers = 2;                       // chunks of C of a consumer on their way to memory
  layout::Axis a_contiguous = layout::Axis::row;  // op(A), m x k: row is along m (not transposed), col along k
  layout::Axis b_contiguous = layout::Axis::row;  // op(B), k x n: row is along k (not transposed), col along n

  constexpr bool operator==(const WgmmaTmaConfig&) const = default;

  constexpr int tile_groups() const { return groups_rows * groups_columns; }
  constexpr int consumers() const { return ping_pong ? 2 : tile_groups(); }
  constexpr int threads() const { return 128 * (1 + consumers()); }
  constexpr int cluster_size() const { return cluster_m * cluster_n * cluster_k; }

  // Shared memory of a CTA, nearly: the ring, the epilogue's buffers, the sums from other CTAs.
  constexpr int shared_bytes() const {
    const int columns = (transposed ? cta_m : cta_n) / groups_columns / cluster_k;
    const int chunk = columns % 64 == 0 ? 64 : columns % 48 == 0 && !transposed ? 48 : columns % 32 == 0 ? 32 : 16;
    return stages * (cta_m + cta_n) * 128 + consumers() * epilogue_buffers * 64 * chunk * 2 +
           (cluster_k - 1) * cta_m * cta_n / cluster_k * 4 + 512;
  }

  // Register budgets for setmaxnreg: 65536 registers among all warpgroups; 0 where the kernel's own limit is enough.
  constexpr bool many_accumulators() const { return cta_m * cta_n / tile_groups() / 128 > 144; }
  constexpr int producer_registers() const {
    return consumers() == 1 ? 0 : consumers() == 3 ? 32 : many_accumulators() ? 24 : 40;
  }
  constexpr int consumer_registers() const {
    return consumers() == 1 ? 0 : consumers() == 3 ? 160 : many_accumulators() ? 240 : 232;
  }
};

namespace detail {
constexpr int largest_divisor(int extent, int a, int b, int c, int d, int e) {
  return extent % a == 0 ? a : extent % b == 0 ? b : extent % c == 0 ? c : extent % d == 0 ? d : e;
}
constexpr int piece(int columns) {
  return columns % 64 == 0 ? 64 : columns % 32 == 0 ? 32 : columns <= 16 ? 16 : 64;
}
}  // namespace detail

// The instance as the kernel sees it: D = X Y.
template <WgmmaTmaConfig kConfig>
struct WgmmaTmaShape {
  static constexpr int kTileK = WgmmaTmaConfig::kCtaK;
  static constexpr int kTileRows = kConfig.transposed ? kConfig.cta_n : kConfig.cta_m;
  static constexpr int kTileColumns = kConfig.transposed ? kConfig.cta_m : kConfig.cta_n;
  static constexpr int kClusterRows = kConfig.transposed ? kConfig.cluster_n : kConfig.cluster_m;
  static constexpr int kClusterColumns = kConfig.transposed ? kConfig.cluster_m : kConfig.cluster_n;
  static constexpr int kTileGroups = kConfig.tile_groups();
  static constexpr int kGroupRows = kTileRows / kConfig.groups_rows;
  static constexpr int kGroupColumns = kTileColumns / kConfig.groups_columns;
  static constexpr int kSplitColumns = kGroupColumns / kConfig.cluster_k;
  static_assert(kGroupColumns <= 256 && (kGroupColumns == 8 || kGroupColumns % 16 == 0),
                "N of a wgmma, of those that are wrapped");
  static_assert(!kConfig.ping_pong || kTileGroups == 1, "ping-pong consumers take whole tiles");
  static_assert(kTileColumns % kConfig.groups_columns == 0 && kGroupColumns % (8 * kConfig.cluster_k) == 0,
                "consumers and CTAs store whole 8 x 8 matrices");

  static constexpr gpu::Major major(bool mn_contiguous) { return mn_contiguous ? gpu::Major::mn : gpu::Major::k; }
  static constexpr gpu::Major kMajorA = major(kConfig.a_contiguous == layout::Axis::row);
  static constexpr gpu::Major kMajorB = major(kConfig.b_contiguous == layout::Axis::col);
  static constexpr gpu::Major kMajorX = kConfig.transposed ? kMajorB : kMajorA;
  static constexpr gpu::Major kMajorY = kConfig.transposed ? kMajorA : kMajorB;

  // MN-major tiles are made of pieces, each kPiece wide with a row per k; K-major ones are a single piece. A width that
  // only 16 divides is stored rounded up to whole pieces of 64: narrow pieces are slow to load and to read.
  static constexpr int kPieceY = kMajorY == gpu::Major::k ? kTileK : detail::piece(kGroupColumns);
  static constexpr int kYColumns =
      kMajorY == gpu::Major::mn ? (kTileColumns + kPieceY - 1) / kPieceY * kPieceY : kTileColumns;  // as stored
  static_assert(kMajorY == gpu::Major::k || kGroupColumns % kPieceY == 0 || kConfig.groups_columns == 1,
                "consumers start on whole pieces");
  static constexpr int kXElements = kTileRows * kTileK;
  static constexpr int kYElements = kYColumns * kTileK;
  static constexpr int kSwizzleY = kPieceY * 2;

  // wgmma descriptors, in bytes: the next piece, the next 8 rows, and 16 elements of K further
  static constexpr int kLeadingX = 64 * kTileK * 2;
  static constexpr int kStrideX = 8 * 128;
  static constexpr int kStepX = kMajorX == gpu::Major::k ? 32 : 16 * 128;
  static constexpr int kLeadingY = kPieceY * kTileK * 2;
  static constexpr int kStrideY = 8 * kSwizzleY;
  static constexpr int kStepY = kMajorY == gpu::Major::k ? 32 : 16 * kSwizzleY;

  // Chunks of C: 64 rows of D x kChunk columns.
  static constexpr int kChunk = kConfig.transposed ? detail::largest_divisor(kSplitColumns, 64, 32, 16, 16, 8)
                                                   : detail::largest_divisor(kSplitColumns, 64, 48, 32, 16, 8);

  // What a CTA loads of a shared tile and multicasts.
  static constexpr int box_y(gpu::Major m, int extent, int piece, int peers) {
    return m == gpu::Major::k ? extent / peers : extent / piece % peers == 0 ? kTileK : kTileK / peers;
  }
  static constexpr int kBoxX = box_y(kMajorX, kTileRows, 64, kClusterColumns);
  static constexpr int kBoxY = box_y(kMajorY, kYColumns, kPieceY, kClusterRows);
  static_assert(kBoxX % 8 == 0 && kBoxY % 8 == 0, "parts of a tile are whole swizzle atoms");
  static_assert(kBoxX <= 256 && kBoxY <= 256, "extent of a TMA box");
};

}  // namespace xgemm::kernels
