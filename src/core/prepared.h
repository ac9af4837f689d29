// What xgemm_prepare() has made of an operand: the parts that a product would otherwise split it into first
// (kernels/fp16x3/), in device memory. Plain data: a product finds in it what it needs of the operand at hand, and
// nothing where that is another one.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace xgemm {

// A matrix of float by its lines: rows of op(A), columns of op(B). They are contiguous, or elements of the same k are.
struct OperandLines {
  const void* data = nullptr;
  std::int64_t lines = 0, k = 0;
  std::int64_t ld = 1;  // elements from one contiguous stretch to the next
  bool along_k = false;

  std::int64_t line_stride() const { return along_k ? ld : 1; }
  std::int64_t k_stride() const { return along_k ? 1 : ld; }
};

}  // namespace xgemm

// The object behind the handle.
struct xgemm_prepared {
  xgemm::OperandLines operand;
  // In blocks, as products are computed in (plan/blocks.h): those along the lines first.
  std::int64_t block_lines = 1, block_k = 1;
  std::int64_t block_bytes = 0;
  char* memory = nullptr;  // null where the GPU has no use for it
  int device = -1;

  std::int64_t blocks_of_lines() const { return (operand.lines + block_lines - 1) / block_lines; }
  std::int64_t blocks() const { return blocks_of_lines() * ((operand.k + block_k - 1) / block_k); }

  // What is there of a part of the operand; null where it is not one of the blocks.
  void* find(const xgemm::OperandLines& part) const {
    if (memory == nullptr || part.along_k != operand.along_k || part.ld != operand.ld) return nullptr;
    const std::int64_t bytes = static_cast<const char*>(part.data) - static_cast<const char*>(operand.data);
    const std::int64_t offset = bytes / static_cast<std::int64_t>(sizeof(float));
    const std::int64_t stretch = offset / operand.ld, place = offset % operand.ld;
    const std::int64_t line = operand.along_k ? stretch : place, k = operand.along_k ? place : stretch;
    const auto is_block = [](std::int64_t at, std::int64_t extent, std::int64_t all, std::int64_t block) {
      return at >= 0 && at < all && at % block == 0 && extent == (all - at < block ? all - at : block);
    };
    if (!is_block(line, part.lines, operand.lines, block_lines) || !is_block(k, part.k, operand.k, block_k))
      return nullptr;
    return memory + (k / block_k * blocks_of_lines() + line / block_lines) * block_bytes;
  }
};
