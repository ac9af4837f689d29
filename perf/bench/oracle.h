// How wrong a result is: against float64 (for float64: long double) on the same data, and whether it is all there.
//
// The float64 product is computed for all of a small C and for the crossings of sampled rows and columns of a large one
// (corners and edges always among them). Whether every element was written, and nothing beside C, is looked at in full.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/case.h"
#include "bench/operands.h"

namespace xgemm::perf {

/// The float64 result and sum of magnitudes of the sampled elements.
struct Reference {
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> cols;
  std::vector<std::int64_t> batches;
  std::vector<double> value;      // batch by batch, row by row
  std::vector<double> magnitude;  // |alpha||A||B| + |beta||C|
};

Reference make_reference(const Case& one, const OperandValues& a, const OperandValues& b, const OperandValues& c);

struct Accuracy {
  double normwise = 0;     // |C - reference| / |reference| in the Frobenius norm, over the samples
  double bound_share = 0;  // largest error over its bound (2 u (k+2) + 2 v) (|alpha||A||B| + |beta||C|), u of the sums,
                           // v of the operands, after what one rounding to the element type may add; more than 1, or
                           // NaN, is a failure
  std::int64_t samples = 0;
  bool pass = false;
  bool complete = false;  // every element was written, nothing beside C was, and no sample is NaN
  std::string problem;    // what is wrong in words; empty when it passes
};

/// `output`: the bytes of C from its first element on, as they were after the call. operand_unit: as a Candidate's.
Accuracy judge(const Case& one, const Reference& reference, const OperandValues& initial_c,
               const std::vector<std::uint8_t>& output, double operand_unit = 0);

}  // namespace xgemm::perf
