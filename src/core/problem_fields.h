// The members of a Problem, each with what it means to a plan. Its text (core/problem.cc) and its key in the cache of
// plans (plan/plan_key.cc) are made from this list, and the members are bound by position, so that one which is added
// to a struct and not here does not compile.
#pragma once

#include "core/problem.h"

namespace xgemm {

// Calls for each member, with the key under which it is printed, one of
//   visitor.exact(name, x)      a plan depends on the value
//   visitor.step(name, x)       the same, of a number that is 1 but in matrices that BLAS does not describe
//   visitor.address(name, x)    a plan depends on the address's alignment alone
//   visitor.factor(name, x)     a plan depends on whether the factor is known to be zero
//   visitor.presence(name, x)   a plan depends on whether the pointer is null
//   visitor.unplanned(name, x)  no plan depends on it: what is planned of a product that has it is the product without
//                               (core/finishing.h)
// AnyProblem: Problem or const Problem.
template <class AnyProblem, class Visitor>
constexpr void visit_fields(AnyProblem& problem, Visitor& visitor) {
  auto& [m, n, k, batch_count, batch_kind, fill, compute, epilogue, alpha, beta, a, b, c] = problem;
  auto& [a_type, a_data, a_op, a_ld, a_stride, a_step, a_prepared] = a;
  auto& [b_type, b_data, b_op, b_ld, b_stride, b_step, b_prepared] = b;
  auto& [c_type, c_data, c_ld, c_stride, c_step] = c;
  auto& [activation, bias_along, bias, row_scales, column_scales, old_c, ld_old_c, stride_old_c, aux, ld_aux,
         stride_aux] = epilogue;

  visitor.exact("type", a_type);
  visitor.exact("type_b", b_type);
  visitor.exact("type_c", c_type);
  visitor.exact("transa", a_op);
  visitor.exact("transb", b_op);
  visitor.exact("batch_kind", batch_kind);
  visitor.exact("fill", fill);
  visitor.exact("compute", compute);
  visitor.exact("activation", activation);
  visitor.exact("bias_along", bias_along);
  visitor.address("bias", bias);
  visitor.presence("row_scales", row_scales);
  visitor.presence("column_scales", column_scales);
  visitor.unplanned("old_c", old_c);
  visitor.unplanned("ld_old_c", ld_old_c);
  visitor.unplanned("stride_old_c", stride_old_c);
  visitor.unplanned("aux", aux);
  visitor.unplanned("ld_aux", ld_aux);
  visitor.unplanned("stride_aux", stride_aux);
  visitor.factor("alpha", alpha);
  visitor.factor("beta", beta);
  visitor.presence("prepared_a", a_prepared);
  visitor.presence("prepared_b", b_prepared);
  visitor.address("a", a_data);
  visitor.address("b", b_data);
  visitor.address("c", c_data);
  visitor.exact("m", m);
  visitor.exact("n", n);
  visitor.exact("k", k);
  visitor.exact("lda", a_ld);
  visitor.exact("ldb", b_ld);
  visitor.exact("ldc", c_ld);
  visitor.exact("batch", batch_count);
  visitor.exact("stride_a", a_stride);
  visitor.exact("stride_b", b_stride);
  visitor.exact("stride_c", c_stride);
  visitor.step("step_a", a_step);
  visitor.step("step_b", b_step);
  visitor.step("step_c", c_step);
}

}  // namespace xgemm
