// fp16x3: fp32 products on Hopper's tensor cores, for calls that ask for them (XGEMM_MATH_FP32_EMULATED).
//
//     split (split.cuh)        x = (high + low / 2^11) * a power of two of its line, both in fp16; and is that enough?
//     wgmma_tma                high * high + (high * low + low * high) / 2^11
//     ffma_tma                 all of it in fp32, where it was not enough
//
// All three are enqueued, and whether the second or the third computes is read on the device from the word that the
// first one leaves: no host waits, and a graph can hold it. What is kept of fp32, and for which elements, is derived
// in docs/numerics.md. Between them kernels start early (programmatic dependent launch).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/fp16x3/split.cuh"
#include "kernels/wgmma_tma/wgmma_tma.cuh"
