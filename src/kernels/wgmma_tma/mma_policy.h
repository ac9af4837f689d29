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

  // Of low parts, against what they stand for: as many bits as an fp16 of the high part holds.
  static constexpr float kLowScale = 0x1p11f;

  // Of the tiles. Elements of fp32 are multiplied as TF32, with 11 significant bits: the copy engine rounds them.
  DType element = DType::f16;
  // Matrices that an operand is made of: itself, or a high and a low part, X = high + low / kLowScale. A slot of the
  // ring holds a tile of each. The products of two low parts are left out.
  int planes = 1;

  // Sums over so many slots, 1536 of K, are short: beside them are fp32 sums that lose less than tensor cores do
  // over 64.
  static constexpr int kShortSlices = 24;

  constexpr bool operator==(const MmaPolicy&) const = default;

  constexpr int element_bytes() const { return size_of(element); }
  constexpr int mma_k() const { return kMmaBytes / element_bytes(); }
  constexpr int slice_k() const { return kRowBytes / element_bytes(); }  // K of a slot
  constexpr int slot_bytes(int rows, int columns) const { return planes * (rows + columns) * kRowBytes; }
};

}  // namespace xgemm::kernels
