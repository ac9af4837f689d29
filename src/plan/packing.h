// Operands that reach a kernel as copies: which, in what layout, and how much of a product at a time. Pure.
//
// The fast kernels want operands that start at multiples of 16 bytes and are contiguous along an axis, those of fp32
// along the one that they share with C, or, as TF32, one or both along k. Others are copied first, at the speed of the
// memory (kernels/pack/), where the copies and the product take less time together than the product takes with operands
// as they lie: the planner weighs the ways. The copies' memory is bounded: a large product is computed in blocks of C,
// each from copies of the rows of op(A) and columns of op(B) that it needs; of a batch by pointers, whose blocks are
// whole products, the pass that copies also writes an array of pointers to the copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/problem.h"
#include "device/device_info.h"
#include "layout/problem_facts.h"

namespace xgemm::plan {

// The copy of an operand, in the workspace.
struct PackedOperand {
  bool used = false;  // else the operand is read as it lies
  layout::Axis contiguous = layout::Axis::row;
  std::int64_t ld = 0, batch_stride = 0;  // elements; both multiples of 16 bytes
  std::size_t offset = 0;                 // bytes, in the workspace
  std::size_t pointers = 0;               // the same, of the array of pointers to its matrices

  bool operator==(const PackedOperand&) const = default;
};

struct Packing {
  PackedOperand a, b, c;                 // c: what C holds before the product
  std::int64_t m = 0, n = 0, batch = 0;  // of a block of C; the last ones may be smaller
  std::size_t bytes = 0;                 // of all copies of a block

  bool any() const { return a.used || b.used || c.used; }
  bool operator==(const Packing&) const = default;
};

// Bytes that the copies may take: a 128th of the device's memory, and no more than this.
inline constexpr std::size_t kMostPackedBytes = std::size_t{512} << 20;
std::size_t packing_limit(const device::DeviceInfo& device);

// The ways to copy what lies badly that may pay: all of it, each input alone, and what TF32 needs. None where
// everything lies well, or where the least block does not fit. Matrices that are found by pointers count as aligned as
// the facts say.
std::vector<Packing> packings_of(const Problem& problem, const layout::ProblemFacts& facts,
                                 const device::DeviceInfo& device);

// The same with smaller blocks: whole products where there are several, else half of the longer extent of a block, in
// multiples of tile_m or tile_n. Empty where a block is a tile.
std::optional<Packing> in_smaller_blocks(const Packing& packing, const Problem& problem, std::int64_t tile_m,
                                         std::int64_t tile_n);

// A block as the kernel sees it: its extents, and copies in place of the operands that are copied. Their addresses are
// offsets in the workspace.
Problem packed_problem(const Packing& packing, const Problem& problem);
// Of all blocks: what is not copied steps from entry to entry of the whole batch. Of a batch by pointers, what kernels
// will mostly find.
layout::ProblemFacts packed_facts(const Packing& packing, const Problem& block, const Problem& problem);

// The time of the copies, of all blocks.
double packing_us(const Packing& packing, const Problem& problem, const device::DeviceInfo& device);

// The number of blocks.
double blocks_of(const Packing& packing, const Problem& problem);

// " packed=AC block=4096x4096x1 packed_bytes=33554432"; "" where nothing is copied.
std::string to_string(const Packing& packing);

}  // namespace xgemm::plan
