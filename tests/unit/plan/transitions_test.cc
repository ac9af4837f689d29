// No cliffs: where an extent grows, the predicted time grows with it, and does not jump where one way to compute takes
// over from another.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/instances.h"
#include "plan/planner.h"
#include "unit/plan/devices.h"
#include "unit/plan/plans.h"
#include "unit/plan/problems.h"

namespace xgemm::test {
namespace {

using plan::Plan;

Plan plan_for(const Problem& p, const device::DeviceInfo& device) {
  Plan chosen;
  EXPECT_TRUE(plan::make_plan(p, plan::gather_facts(p), device, "", &chosen).ok());
  return chosen;
}

// Between neighbours, in either direction.
void expect_no_jump(const Problem& p, const Problem& next, double ratio) {
  const Plan x = plan_for(p, h200()), y = plan_for(next, h200());
  const double jump = std::max(x.estimated_us, y.estimated_us) / std::min(x.estimated_us, y.estimated_us);
  EXPECT_TRUE(jump <= ratio) << to_string(next) << ": " << x.estimated_us << " us by " << kernels::info(x.kernel).name
                             << ", then " << y.estimated_us << " us by " << kernels::info(y.kernel).name;
}

// Neighbours: extents one after another where they are small, else a sixteenth or less apart.
std::int64_t after(std::int64_t extent) {
  return extent + (extent < 300 ? 1 : extent < 1100 ? 8 : 64);
}

// Calls visit(problem before, problem) along m, n or k from 1 to 4608, with the other extents as given.
template <class Visit>
void sweep(DType type, int axis, std::int64_t other, std::int64_t last, const char* flags, const Visit& visit) {
  const auto problem = [&](std::int64_t x) {
    const std::int64_t m = axis == 0 ? x : other, n = axis == 1 ? x : axis == 0 ? other : last;
    return make_problem(type, flags[0], flags[1], m, n, axis == 2 ? x : last);
  };
  for (std::int64_t x = 1; x <= 4608; x = after(x)) visit(problem(x), problem(after(x)));
}

// On the tensor cores tiles are many and small enough that no border shows. On the others a row of C more than a round
// of tiles has is a second round: what it costs is the tile's, not the planner's.
TEST(Transitions, PredictedTimesDoNotJump) {
  struct Bound {
    DType type;
    double ratio;
  };
  for (const auto& [type, ratio] :
       {Bound{DType::f16, 1.3}, Bound{DType::bf16, 1.3}, Bound{DType::f32, 1.784}, Bound{DType::f64, 1.75}})
    for (const char* flags : {"NN", "TN"})
      for (int axis = 0; axis < 3; ++axis)
        for (const std::int64_t other : {16, 256, 1024, 4096})
          for (const std::int64_t last : {64, 4096})
            sweep(type, axis, other, last, flags,
                  [&](const Problem& p, const Problem& next) { expect_no_jump(p, next, ratio); });
}

// Leading dimensions an element longer than what TMA and vectors want. Small products of 16-bit types take as long
// again for a pass over their operands, large ones hardly notice it.
TEST(Transitions, AlignmentCostsAPassOverTheOperandsAtMost) {
  for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64})
    for (const char* flags : {"NN", "NT", "TN", "TT"})
      for (const std::int64_t extent : {64, 256, 512, 1024, 2048, 4096})
        for (const auto& [a, b, c] :
             {std::array{1, 0, 0}, std::array{0, 1, 0}, std::array{0, 0, 1}, std::array{1, 1, 1}})
          for (int pad = 0; pad < 8; ++pad) {
            const auto padded = [&](int elements) {
              return make_problem(type, flags[0], flags[1], extent, extent, extent,
                                  {.lda = a * elements, .ldb = b * elements, .ldc = c * elements});
            };
            expect_no_jump(padded(pad), padded(pad + 1), extent < 4096 ? 2.2 : 1.3);
          }
}

// A product with a vector is bound by reading the matrix, whichever operand that is and however it lies.
TEST(Transitions, AVectorCostsNoMoreThanReadingTheMatrix) {
  constexpr double kFixedUs = 10, kShare = 0.6;  // of the memory's rate
  for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64})
    for (const char* flags : {"NN", "NT", "TN", "TT"})
      for (const std::int64_t extent : {200, 1024, 4096, 16384})
        for (const std::int64_t k : {1024, 4096, 16384})
          for (const bool tall : {false, true})
            for (const int pad : {0, 1}) {
              const Problem p = make_problem(type, flags[0], flags[1], tall ? extent : 1, tall ? 1 : extent, k,
                                             {.lda = pad, .ldb = pad, .ldc = pad});
              const Plan chosen = plan_for(p, h200());
              const double bytes = double(extent) * double(k) * size_of(type);
              EXPECT_TRUE(chosen.estimated_us <= kFixedUs + bytes * 1e-6 / (kShare * h200().rates.memory_tbs))
                  << to_string(p) << ": " << chosen.estimated_us << " us by " << kernels::info(chosen.kernel).name;
            }
}

}  // namespace
}  // namespace xgemm::test
