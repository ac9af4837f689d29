// The parameters of a wgmma_tma instance, and what follows from them. Host code reads it without any CUDA header.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>

#include "core/dtype.h"
#include "kernels/common/cluster_shapes.h"
#include "kernels/common/schedule.h"
#include "kernels/common/sm90/major.h"
#include "kernels/common/tile_config.h"
#include "kernels/wgmma_tma/mma_policy.h"
#include "layout/operand_facts.h"

namespace xgemm::kernels {

struct WgmmaTmaConfig {
  static constexpr int kMaxSharedBytes = 227 * 1024;
  static constexpr int kMostCtasPerSm = 4;

  DType type = DType::f16;                        // of A and B
  DType type_c = type;                            // of C
  int cta_m = 128, cta_n = 256;                   // CTA tile of C
  int stages = 4;                                 // slots of the ring; a slot holds cta_k() of K of both operands
  bool transposed = false;                        // rows of D, along M of wgmma, are the columns of C
  int groups_rows = 2, groups_columns = 1;        // how the consumer warpgroups divide the tile of D
  bool ping_pong = false;                         // two consumers that take whole tiles in turn; groups_* are 1
  layout::Axis a_contiguous = layout::Axis::row;  // op(A), m x k: row is along m (not transposed), col along k
  layout::Axis b_contiguous = layout::Axis::row;  // op(B), k x n: row is along k (not transposed), col along n
  bool finishes = false;                          // has a twin, which computes products that have an epilogue
  bool follows = false;                           // has one which finds the matrices of a batch by pointers

  // bulk: a thread loads by TMA. prefetch: warpgroups load operands that lie as they may, in teams that take the slots
  // in turn: through registers or, where all lines start on vectors of so many elements, by cp.async. Or, with
  // line_stages, only X lies as it may: it comes by TMA to so many stages, from which teams of two warps shift it to
  // the slots. Y comes by TMA to the slots themselves.
  Copy copy = Copy::bulk;
  int producers = 1, teams = 1;  // warpgroups, and teams of them
  int vector = 1;                // 1: through registers
  int line_stages = 0;

  // The MmaPolicy.
  DType element = type;
  int planes = 1;

  constexpr bool operator==(const WgmmaTmaConfig&) const = default;

  // Where C is in fp32, elements of 16 bits of either type are multiplied by the same kernel: it differs in an
  // instruction (mainloop.cuh). The config that it is compiled for.
  constexpr bool has_either_type() const { return size_of(type) == 2 && type_c == DType::f32; }
  constexpr WgmmaTmaConfig code() const {
    WgmmaTmaConfig c = *this;
    if (has_either_type()) c.type = c.element = DType::f16;
    return c;
  }

  constexpr MmaPolicy mma() const { return {element, planes}; }
  constexpr int cta_k() const { return mma().slice_k(); }
  constexpr int tile_groups() const { return groups_rows * groups_columns; }
  constexpr int consumers() const { return ping_pong ? 2 : tile_groups(); }
  constexpr int threads() const { return 128 * (producers + consumers()); }
  constexpr bool by_lines() const { return line_stages != 0; }
  // Producers that arrive: for a slot, in all.
  constexpr int fillers() const { return copy == Copy::bulk ? 1 : by_lines() ? 2 + 1 : 4 * producers / teams; }
  constexpr int all_fillers() const { return copy == Copy::bulk ? 1 : by_lines() ? 2 * teams + 1 : 4 * producers; }

  // The kernel computes D = X Y: C, or its transpose.
  constexpr int tile_rows() const { return transposed ? cta_n : cta_m; }
  constexpr int tile_columns() const { return transposed ? cta_m : cta_n; }
  constexpr bool a_along_k() const { return a_contiguous == layout::Axis::col; }
  constexpr bool b_along_k() const { return b_contiguous == layout::Axis::row; }
  constexpr bool x_along_k() const { return transposed ? b_along_k() : a_along_k(); }
  constexpr bool y_along_k() const { return transposed ? a_along_k() : b_along_k(); }
  constexpr gpu::Major major_x() const { return x_along_k() ? gpu::Major::k : gpu::Major::mn; }
  constexpr gpu::Major major_y() const { return y_along_k() ? gpu::Major::k : gpu::Major::mn; }
  // Tensor cores read fp32 in shared memory along k alone. An X along its rows reaches them through registers.
  constexpr bool x_through_registers() const { return element == DType::f32 && !x_along_k(); }

  // MN-major tiles are made of pieces, each so wide, with a row per k; K-major ones are a single piece. A width that
  // half of the widest does not divide is stored rounded up to whole ones: narrow pieces are slow to load and to read.
  constexpr int widest_piece() const { return MmaPolicy::kRowBytes / mma().element_bytes(); }
  constexpr int y_piece() const {
    const int columns = tile_columns() / groups_columns;
    const int widest = widest_piece();
    if (y_along_k() || columns % widest == 0) return widest;
    return columns % (widest / 2) == 0 ? widest / 2 : columns <= widest / 4 ? widest / 4 : widest;
  }
  constexpr int y_columns() const {  // as stored
    return y_along_k() ? tile_columns() : (tile_columns() + y_piece() - 1) / y_piece() * y_piece();
  }

  // Elements of 16 bits leave for C through shared memory: in a row of a fragment there are too few neighbours of them
  // for an access. Fragments of fp32 have sectors of 32 bytes: of large tiles they may leave so, others go straight to
  // C.
  constexpr bool c_through_shared() const {
    return size_of(type_c) == 2 || (planes == 1 && cta_m * cta_n >= 128 * 128);
  }
  // Elements that accesses to C need aligned: pairs along the rows of D or single ones. Of C in 16 bits the copy engine
  // stores what it can address, and brings what is old.
  constexpr int vector_c() const { return size_of(type_c) == 4 && transposed ? 2 : 1; }
  constexpr int vector_old_c() const { return size_of(type_c) == 2 ? 8 : vector_c(); }

  // Through shared memory C leaves in chunks of 64 rows of D: what a consumer has converted waits in a buffer for the
  // copy engine. The more of a tile the buffers hold, the fewer times the consumer waits. A chunk's rows (of D or, not
  // transposed, columns) are 32, 64 or 128 bytes in a swizzle, or an odd multiple of 16 bytes without: neither has bank
  // conflicts.
  constexpr int group_columns() const { return tile_columns() / groups_columns; }  // of a consumer
  constexpr int chunks(int chunk) const {
    return (ping_pong ? tile_rows() : tile_rows() / groups_rows) / 64 * (group_columns() / chunk);
  }
  constexpr int chunk() const {
    for (const int candidate : {64, 72, 56, 104, 48, 40, 32, 24, 16}) {
      const bool is_row = candidate % 16 == 8 || 64 % candidate == 0;
      if (group_columns() % candidate != 0 || (transposed && !is_row)) continue;
      if (candidate > 16 && is_small() && chunks(candidate) * tile_groups() < 4) continue;
      // A slot of the ring holds a chunk of old C for each consumer.
      if (64 * candidate * tile_groups() * size_of(type_c) > slot_bytes()) continue;
      const int wanted = chunks(candidate) < 2 ? 1 : 2;
      if (!c_through_shared() || buffers(candidate) >= wanted) return candidate;
    }
    return 8;
  }
  constexpr int buffers() const { return c_through_shared() ? buffers(chunk()) : 0; }  // of a consumer
  // A chunk is one or more boxes, each of so many elements of each of some columns of C: its row may be longer than a
  // swizzle is wide. Old C comes to the ring in the same boxes.
  constexpr int c_row() const {
    const int row = transposed ? chunk() : 64, widest = 128 / size_of(type_c);
    return row % widest == 0 ? widest : row;
  }
  constexpr int c_swizzle() const { return swizzle_of(c_row() * size_of(type_c)); }

  // Shared memory of a CTA: the ring, barriers, the buffers of the epilogue.
  constexpr int slot_bytes() const { return mma().slot_bytes(tile_rows(), y_columns()); }
  constexpr int lines_bytes() const {  // of X, each line with a vector more than its row has
    return !by_lines() ? 0 : line_stages * 64 * (MmaPolicy::kRowBytes + 16) + 1024;
  }
  constexpr int mainloop_bytes() const { return stages * slot_bytes() + lines_bytes() + 1024; }
  constexpr int shared_bytes() const { return mainloop_bytes() + buffers() * buffer_bytes(chunk()); }

  // With one consumer a CTA that computes many small tiles mostly waits: for slots, for the tensor cores, for the copy
  // engine to have read its buffers. Several of the plain kernel then share an SM, each with a part of the slots. As
  // many as there are registers for, and two slots for each:
  constexpr int most_ctas_per_sm() const {
    if (consumers() > 1 || copy != Copy::bulk || planes > 1 || accumulators() > 64) return 1;
    int most = size_of(type_c) == 2 && accumulators() <= 32 ? kMostCtasPerSm : 2;
    while (most > 1 && slots(most) < 2) --most;
    return most;
  }
  static constexpr int share_of_sm(int ctas_per_sm) { return kernels::share_of_sm(ctas_per_sm, kMaxSharedBytes); }
  constexpr int slots(int ctas_per_sm) const {
    const int fit = (share_of_sm(ctas_per_sm) - (shared_bytes() - stages * slot_bytes())) / slot_bytes();
    return fit < stages ? fit : stages;
  }
  // Of the ring, that old C of a tile takes.
  constexpr int old_c_slots() const {
    const int in_slot = slot_bytes() / (64 * chunk() * size_of(type_c)) / tile_groups();
    return (chunks(chunk()) + in_slot - 1) / in_slot;
  }

  // CTAs of a cluster that can share a tile's K. Their sums meet in the ring, in chunks, each of which one CTA adds up.
  // Tiles that are small enough to be shared out have chunks for up to four CTAs, as far as 16 columns go.
  constexpr int most_along_k() const {
    if (ping_pong || planes > 1) return 1;
    int most = 8;
    while (most > 1 && exchange_bytes(most) > stages * slot_bytes()) most /= 2;
    return most;
  }
  constexpr int exchange_chunks(int ctas) const {  // of a CTA, at most
    return (chunks(chunk()) * tile_groups() + ctas - 1) / ctas;
  }
  constexpr int exchange_bytes(int ctas) const { return (ctas - 1) * exchange_chunks(ctas) * 64 * chunk() * 4; }

  // Register budgets for setmaxnreg: 65536 registers among all warpgroups; 0 where the kernel's own limit is enough.
  constexpr int accumulators() const {                                  // of a thread
    return cta_m * cta_n / tile_groups() / 128 * (planes > 1 ? 3 : 1);  // sums, and those under way (mainloop.cuh)
  }
  constexpr bool many_accumulators() const { return accumulators() > 160; }
  // following: of the kernel that finds matrices by pointers, whose producers may have to bring lines.
  constexpr int producer_registers(bool following) const {
    if (consumers() == 1 || copy != Copy::bulk) return 0;
    if (following) return many_accumulators() ? 56 : 88;
    return consumers() == 3 ? 32 : many_accumulators() ? 24 : 40;
  }
  constexpr int consumer_registers(bool following) const {
    if (consumers() == 1 || copy != Copy::bulk) return 0;
    if (following) return many_accumulators() ? 224 : 208;
    return consumers() == 3 ? 160 : many_accumulators() ? 240 : 232;
  }

 private:
  constexpr bool is_small() const {
    return !ping_pong && planes == 1 && copy == Copy::bulk && cta_m * cta_n <= 128 * 128;
  }
  static constexpr int swizzle_of(int row_bytes) { return 128 % row_bytes == 0 && row_bytes > 16 ? row_bytes : 0; }
  constexpr int buffer_bytes(int chunk) const { return consumers() * 64 * chunk * size_of(type_c); }
  constexpr int buffers(int chunk) const {
    const int fit = (kMaxSharedBytes - mainloop_bytes()) / buffer_bytes(chunk);
    return fit < chunks(chunk) ? fit : chunks(chunk);
  }
};

// Adds an instance, and with one of either type the one for bf16, which has its code.
template <class Add>
constexpr void add_each_type(WgmmaTmaConfig c, const Add& add) {
  add(c);
  if (!c.has_either_type()) return;
  c.type = c.element = DType::bf16;
  add(c);
}

// The clusters that instances form, of as many CTAs as every GPU can hold, in the order of those along K.
inline constexpr ClusterShape kClusterShapes[] = {
    {1, 1},    {1, 2},    {2, 1},    {2, 2},    {1, 4},    {4, 1},    {2, 4},    {4, 2},    {1, 8},    {8, 1},  //
    {1, 1, 2}, {1, 2, 2}, {2, 1, 2}, {2, 2, 2}, {1, 4, 2}, {4, 1, 2}, {1, 1, 4}, {1, 2, 4}, {2, 1, 4}, {1, 1, 8}};

// Where TMA brings Y alone: CTAs that share it lie along the rows of D.
inline constexpr ClusterShape kClusterShapesAlongM[] = {{1, 1},    {2, 1},    {4, 1},    {8, 1},    {1, 1, 2},
                                                        {2, 1, 2}, {4, 1, 2}, {1, 1, 4}, {2, 1, 4}, {1, 1, 8}};
inline constexpr ClusterShape kClusterShapesAlongN[] = {{1, 1},    {1, 2},    {1, 4},    {1, 8},    {1, 1, 2},
                                                        {1, 2, 2}, {1, 4, 2}, {1, 1, 4}, {1, 2, 4}, {1, 1, 8}};

constexpr std::span<const ClusterShape> cluster_shapes(const WgmmaTmaConfig& c) {
  using Shapes = std::span<const ClusterShape>;
  // Only TMA brings what CTAs share.
  const Shapes all = c.copy == Copy::bulk ? Shapes(kClusterShapes)
                     : !c.by_lines()      ? Shapes(kClusterShapesAlongK)
                     : c.transposed       ? Shapes(kClusterShapesAlongN)
                                          : Shapes(kClusterShapesAlongM);
  return with_most_along_k(all, c.most_along_k());
}

// The instance as the kernel sees it: D = X Y.
template <WgmmaTmaConfig kConfig>
struct WgmmaTmaShape {
  static constexpr MmaPolicy kMma = kConfig.mma();
  static constexpr int kElementBytes = kMma.element_bytes();
  static constexpr int kRowBytes = MmaPolicy::kRowBytes;
  static constexpr int kTileK = kConfig.cta_k();
  static constexpr int kTileRows = kConfig.tile_rows();
  static constexpr int kTileColumns = kConfig.tile_columns();
  static constexpr int kTileGroups = kConfig.tile_groups();
  static constexpr int kGroupRows = kTileRows / kConfig.groups_rows;
  static constexpr int kGroupColumns = kTileColumns / kConfig.groups_columns;
  static_assert(kGroupColumns <= 256 && kGroupColumns % 8 == 0, "N of a wgmma");
  static_assert(!kConfig.ping_pong || kTileGroups == 1, "ping-pong consumers take whole tiles");
  static_assert(kTileColumns % kConfig.groups_columns == 0, "consumers store whole 8 x 8 matrices");

  static constexpr gpu::Major kMajorX = kConfig.major_x();
  static constexpr gpu::Major kMajorY = kConfig.major_y();

  static constexpr int kPieceX = kConfig.widest_piece();
  static constexpr int kPieceY = kConfig.y_piece();
  static constexpr int kYColumns = kConfig.y_columns();
  static_assert(kMajorY == gpu::Major::k || kGroupColumns % kPieceY == 0 || kConfig.groups_columns == 1,
                "consumers start on whole pieces");
  static constexpr int kXElements = kTileRows * kTileK;
  static constexpr int kYElements = kYColumns * kTileK;
  static constexpr int kSwizzleY = kPieceY * kElementBytes;

  // wgmma descriptors, in bytes: the next piece, the next 8 rows, and the K of an instruction further
  static constexpr int kLeadingX = kPieceX * kTileK * kElementBytes;
  static constexpr int kStrideX = 8 * kRowBytes;
  static constexpr int kStepX = kMajorX == gpu::Major::k ? MmaPolicy::kMmaBytes : kMma.mma_k() * kRowBytes;
  static constexpr int kLeadingY = kPieceY * kTileK * kElementBytes;
  static constexpr int kStrideY = 8 * kSwizzleY;
  static constexpr int kStepY = kMajorY == gpu::Major::k ? MmaPolicy::kMmaBytes : kMma.mma_k() * kSwizzleY;

  // Chunks of C: 64 rows of D x kChunk columns.
  static constexpr int kChunk = kConfig.chunk();
  static_assert(kTileRows <= 256 && kYColumns <= 256, "extent of a TMA box");
  static_assert(kMajorY == gpu::Major::k || kConfig.element != DType::f32, "no way to the tensor cores");
};

}  // namespace xgemm::kernels
