// Facts about the three operands of a problem.
#include "layout/problem_facts.h"

namespace xgemm::layout {
namespace {

StridedOperand as_op(const InputMatrix& x, std::int64_t stored_rows, std::int64_t stored_cols, const Problem& p) {
  const StridedOperand stored =
      column_major(x.data, stored_rows, stored_cols, x.ld, size_of(x.type), p.batch_count, x.batch_stride);
  return x.op == Op::none ? stored : transposed(stored);
}

}  // namespace

ProblemFacts gather_facts(const Problem& p) {
  ProblemFacts f;
  f.a = as_op(p.a, p.a_rows(), p.a_cols(), p);
  f.b = as_op(p.b, p.b_rows(), p.b_cols(), p);
  f.c = column_major(p.c.data, p.m, p.n, p.c.ld, size_of(p.c.type), p.batch_count, p.c.batch_stride);
  f.old_c = f.c;
  f.a_facts = gather_facts(f.a);
  f.b_facts = gather_facts(f.b);
  f.c_facts = gather_facts(f.c);
  return f;
}

}  // namespace xgemm::layout
