// Facts about the three operands of a problem.
#include "layout/problem_facts.h"

namespace xgemm::layout {
namespace {

StridedOperand as_op(const InputMatrix& x, std::int64_t rows, std::int64_t cols, const Problem& p) {
  return {reinterpret_cast<std::uintptr_t>(x.data),
          rows,
          cols,
          x.row_stride(),
          x.col_stride(),
          size_of(x.type),
          p.batch_count,
          x.batch_stride};
}

}  // namespace

ProblemFacts gather_facts(const Problem& p) {
  ProblemFacts f;
  f.a = as_op(p.a, p.m, p.k, p);
  f.b = as_op(p.b, p.k, p.n, p);
  f.c = column_major(p.c.data, p.m, p.n, p.c.ld, size_of(p.c.type), p.batch_count, p.c.batch_stride);
  f.old_c = f.c;
  f.a_facts = gather_facts(f.a);
  f.b_facts = gather_facts(f.b);
  f.c_facts = gather_facts(f.c);
  return f;
}

}  // namespace xgemm::layout
