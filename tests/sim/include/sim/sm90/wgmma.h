// wgmma: the warpgroup's matrix product, D (64 x N, fp32 registers) += X (64 x 16) * Y (16 x N). X and Y have elements
// of 16 bits, or of TF32: the upper 19 bits of an fp32, and half as much K.
//
// From wgmma() to the wait for its group, D belongs to the tensor cores: the registers hold poison, the sums appear
// when their last product has been waited for. Shared memory is read in the meantime, so it may be overwritten only by
// those who know that the group is over. Sums are fp32 sums of exact products, in the order of K; or, where the options
// ask for it, cut off as the tensor cores of Hopper cut them off.
//
// A wgmma is of all 128 threads: they issue the same ones in the same order, with the same descriptors. The first one
// that uses some registers needs a wgmma_fence() since they were last the thread's own. One whose X is in registers
// needs it in its own group, and the registers have to be what they were, and where, until the wait.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/dtype.cuh"
#include "kernels/common/sm90/major.h"
#include "sim/machine.h"

namespace xgemm::sim {

struct WgmmaKind {
  int n = 0;
  gpu::Major major_x = gpu::Major::k, major_y = gpu::Major::k;
  DType type = DType::f16;  // of X and Y; fp32 is read as TF32
  bool adds = true;         // to what D holds
  bool x_in_registers = false;

  bool operator==(const WgmmaKind&) const = default;
};

// As descriptors have it.
unsigned shared_address(const void* shared);
void wgmma_fence(Loc loc);
void wgmma(const WgmmaKind& kind, float* d, std::uint64_t x, std::uint64_t y, Loc loc);
// X in registers: of each thread four words, of an element of TF32 or a pair of 16 bits.
void wgmma_of_registers(int n, DType type, float* d, const void* x, std::uint64_t y, Loc loc);
void wgmma_commit(Loc loc);
void wgmma_wait(int pending_groups, Loc loc);
// The thread uses this register now.
void keep_register(float& x, Loc loc);

}  // namespace xgemm::sim
