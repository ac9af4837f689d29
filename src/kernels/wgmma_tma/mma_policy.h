// How the tensor cores multiply a slice of K: the part of a wgmma_tma instance that knows the type of what lies in
// shared memory. Host code reads it without any CUDA header.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/dtype.h"

namespace xgemm::kernels {

struct MmaPolicy {
  static constexpr int kRowBytes = 128;  // of a tile's row in shared memory: the width of the swizzle
  static constexpr int kMmaBytes = 32;   // of K that one instruction multiplies

  DType element = DType::f16;  // of the tiles
  // Matrices that an operand is the sum of, each smaller than the one before it. A slot of the ring holds a tile of
  // each.
  int planes = 1;
  // The tensor cores add in fewer bits than fp32 has: after so much of K their sums are added to sums in registers. A
  // multiple of slice_k(); 0: never.
  int promotion_k = 0;

  constexpr bool operator==(const MmaPolicy&) const = default;

  constexpr int element_bytes() const { return size_of(element); }
  constexpr int mma_k() const { return kMmaBytes / element_bytes(); }
  constexpr int slice_k() const { return kRowBytes / element_bytes(); }  // K of a slot
  constexpr int slot_bytes(int rows, int columns) const { return planes * (rows + columns) * kRowBytes; }

  // Of the products of plane i of X and plane j of Y those that matter beside the first: they are as small as plane i +
  // j of an operand.
  static constexpr bool multiplies(int planes, int i, int j) { return i + j < planes; }
};

}  // namespace xgemm::kernels
