// What a wgmma_tma kernel is told about a problem.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/params.h"
#include "kernels/common/schedule.h"
#include "kernels/common/sm90/tensor_map.h"

namespace xgemm::kernels {

// Floats that the factors of an entry's lines take: no tile reaches further.
constexpr std::int64_t factors_of_entry(std::int64_t lines) {
  constexpr std::int64_t kMultiple = 256;
  return (lines + kMultiple - 1) / kMultiple * kMultiple;
}

struct WgmmaTmaScalars : EpilogueArguments {
  void* c_data;
  std::int64_t c_ld;  // elements
  std::int64_t c_batch;
  int m;
  int n;
  int c_whole_m;  // rows of C that TMA stores: whole vectors of 16 bytes of m, as it clips the contiguous axis to them
                  // and not to elements; none of a C that is not aligned for it
  int k;          // 0 where A and B are not read
  int x_batch_step;  // 0 where all entries of the batch are the same matrix
  int y_batch_step;
  Condition condition;     // of instances whose operands are in parts
  const float* factors_x;  // of rows and columns of D, likewise
  const float* factors_y;
  std::int64_t factors_x_step;  // from entry to entry of the batch
  std::int64_t factors_y_step;
  float* partials;  // sums of the parts of split tiles: a tile of fp32 for each CTA of each unit
  BasicSchedule<unsigned> schedule;
};

// Map: TensorMap in the kernel, TensorBox before the maps are encoded.
template <class Map>
struct BasicWgmmaTmaParams : WgmmaTmaScalars {
  // Where k is not 0.
  Map x;  // rows: WgmmaTmaConfig::box_x()
  Map y;
  Map x_tail;  // of a K-major operand: the last rows, where they do not fill a box of x; otherwise as x
  Map y_tail;
  // Where C leaves through shared memory.
  Map c_old;  // where beta is not 0
  Map c;      // where c_whole_m is not 0, of those rows
};
using WgmmaTmaParams = BasicWgmmaTmaParams<TensorMap>;

}  // namespace xgemm::kernels
