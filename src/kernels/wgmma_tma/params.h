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

// What of an operand's tile each of the CTAs that share it loads, and multicasts to all: the part of CTA i begins i
// steps from the first. Where the tile does not divide into so many parts of whole swizzle atoms, the last CTAs have
// none.
struct OperandShare {
  int lines;    // of a box: rows of a K-major operand, otherwise k
  int pieces;   // of an MN-major one that a part has; 1 of a K-major one
  int step_mn;  // rows (K-major), pieces (MN-major); 0 where the parts lie along k
  int step_k;
};

// What a CTA reads before its first load, in as few lines of the constant cache as may be: the first access to each
// takes as long as one to the L2.
struct WgmmaTmaStart {
  int c_whole_m;  // rows of C that TMA stores: whole vectors of 16 bytes of m, as it clips the contiguous axis to them
                  // and not to elements; none of a C that is not aligned for it
  int k;          // 0 where A and B are not read
  // The cluster on D, of 2^row_bits x 2^column_bits CTAs: those of a row share X, those of a column Y. Of 2^split_bits
  // such groups each has a part of K.
  int sharers, row_bits, column_bits, split_bits;
  int row_mask, column_mask;  // the CTAs of its first row, of its first column
  int m;
  int n;
  int x_batch_step;  // 0 where all entries of the batch are the same matrix, -1 where pointers tell where they are
  int y_batch_step;
  OperandShare x_share, y_share;
  BasicSchedule<unsigned> schedule;

  // Whether the matrices of the batch are found by pointers.
  XGEMM_HOST_DEVICE bool follows() const { return x_batch_step < 0; }
};

// An operand that threads load: lines of neighbours, so many elements apart.
struct WordLines {
  const void* data;
  std::int64_t stride;
  std::int64_t batch_stride;

  XGEMM_HOST_DEVICE bool by_pointers() const { return is_of_pointers(batch_stride); }
};

struct WgmmaTmaScalars : EpilogueArguments, WgmmaTmaStart {
  void* c_data;
  std::int64_t c_ld;  // elements
  std::int64_t c_batch;
  bool c_old_by_tma;       // else threads bring it
  bool bf16;               // of kernels for either type of 16 bits
  int absent_slots;        // of the ring, for which a CTA has no memory
  Condition condition;     // of instances whose operands are in parts
  const float* factors_x;  // of rows and columns of D, of instances whose operands are in parts
  const float* factors_y;
  std::int64_t factors_x_step;  // from entry to entry of the batch
  std::int64_t factors_y_step;
  float* partials;      // sums of the parts of split tiles: a tile of fp32 for each CTA of each unit
  Finishing finishing;  // of kernels that finish
};

// Map: TensorMap in the kernel, TensorBox before the maps are encoded.
template <class Map>
struct BasicWgmmaTmaParams : WgmmaTmaScalars {
  // Where k is not 0.
  Map x;  // so many lines as x_share says
  Map y;
  Map x_tail;  // of a K-major operand: the last rows, where they do not fill a box of x; otherwise as x
  Map y_tail;
  Map c_old;  // where c_old_by_tma
  Map c;      // where c_whole_m is not 0, of those rows
  // In place of x, y and c_old where threads load them; beside them of matrices that are found by pointers.
  WordLines x_lines, y_lines, c_lines;
};
using WgmmaTmaParams = BasicWgmmaTmaParams<TensorMap>;

// Of kernels whose X has lines that start anywhere (line_stages.cuh).
template <class Map>
struct BasicWgmmaTmaLineParams : BasicWgmmaTmaParams<Map> {
  static constexpr int kClasses = 8;  // of lines
  int classes;                        // of which there are lines; 0 where k is 0
  Map x_classes[kClasses];
};
using WgmmaTmaLineParams = BasicWgmmaTmaLineParams<TensorMap>;

}  // namespace xgemm::kernels
