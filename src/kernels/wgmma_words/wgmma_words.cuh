// wgmma_words: Hopper's tensor cores for 16-bit operands that start anywhere, in one kernel: wgmma_tma, whose slots are
// filled by warpgroups (wgmma_tma/word_producer.cuh). For products so small that a pass which makes aligned copies
// would take as long as the product; and, of any size, for those whose lines start on 8 bytes, which can be copied.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/wgmma_tma/wgmma_tma.cuh"
