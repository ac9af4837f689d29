// Everything a kernel includes, and how kernels are written.
//
// A kernel is a struct template over a TileConfig, in a file named after its technique:
//
//   template <TileConfig kConfig, class Epilogue = LinearCombination>
//   struct SmemTiled {
//     using Element = gpu::ElementOf<kConfig.type>;        // of A and B
//     using ElementC = gpu::ElementOf<kConfig.type_c>;
//     static constexpr int kThreads = kConfig.threads();   // one-dimensional CTA, a multiple of 32
//     static constexpr int kMinBlocksPerSm = 2;            // for __launch_bounds__
//     static constexpr bool kStartsEarly = true;           // only of one that waits for the kernel before by itself
//     struct SharedStorage { ... };                        // sizeof is the least that a launch has
//     static constexpr TileConfig kInstance = kConfig;     // has a body where it runs_on()
//     XGEMM_DEVICE static void run(const TileParams& p, SharedStorage& smem);
//   };
//
// kernel_entry makes a __global__ function of it (kernel_entry.cuh), sim::launch<Kernel> runs it without a GPU.
//
// Rules
//  * Touch the machine through namespace gpu and MatrixView alone: no CUDA built-ins, no inline PTX, no raw
//    dereferencing of global or shared memory. Registers are ordinary C++ variables and arrays.
//  * Any number of CTAs computes the whole of C: loop with for_each_unit, and leave shared memory idle at the end of a
//    unit. A unit may be a part of a tile along K, whose sums store_unit() leaves in the workspace.
//  * Every m, n, k >= 1 (the host returns early for empty C), k = 0, and every alignment that the TileConfig allows:
//    `vector` elements of an operand start aligned wherever the index along the contiguous axis is a multiple of it.
//  * Nothing outside op(A), op(B), C is read or written: block(), load_or_zero() and store_inside() see to it. Zeros
//    stand in for elements outside; beyond k they stand in both operands, so they never meet an Inf.
//  * Loop to unit.depth, not to p.k: it is 0 where alpha is, and A and B may be null.
//  * Tile constraints are static_asserts that say why.
//  * What is written in shared memory by one thread is read by another only after a barrier (and what cp.async writes
//    only after copy_async_wait as well), and overwritten only after another: the simulator reports the line otherwise.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/dtype.cuh"
#include "kernels/common/epilogue.cuh"
#include "kernels/common/matrix_view.cuh"
#include "kernels/common/params.h"
#include "kernels/common/smem.cuh"
#include "kernels/common/swizzle.cuh"
#include "kernels/common/target.cuh"
#include "kernels/common/tile_config.h"
#include "kernels/common/tile_loader.cuh"
#include "kernels/common/units.cuh"
