// What code shared by host and device needs to compile with either compiler.
//
// XGEMM_HOST_DEVICE marks functions that run on both sides. Under a plain C++ compiler it is empty, so that layouts and
// views are ordinary constexpr code in unit tests and in the simulator.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#if defined(__CUDACC__)
#define XGEMM_HOST_DEVICE __host__ __device__
#else
#define XGEMM_HOST_DEVICE
#endif
