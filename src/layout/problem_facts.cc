// Facts about the three operands of a problem.
#include "layout/problem_facts.h"

namespace xgemm::layout {
namespace {

// start: where the matrices of a batch that are found by pointers do, for what that says of their alignment; 0 of
// others.
template <class Matrix>
StridedOperand operand(const Matrix& x, std::int64_t rows, std::int64_t cols, std::int64_t row_stride,
                       std::int64_t col_stride, const Problem& p, std::uintptr_t start) {
  const bool by_pointers = p.by_pointers();
  return {by_pointers ? start : reinterpret_cast<std::uintptr_t>(x.data),
          rows,
          cols,
          row_stride,
          col_stride,
          size_of(x.type),
          p.batch_count,
          by_pointers ? 0 : x.batch_stride};
}

ProblemFacts gather(const Problem& p, std::uintptr_t start_a, std::uintptr_t start_b, std::uintptr_t start_c) {
  ProblemFacts f;
  f.a = operand(p.a, p.m, p.k, p.a.row_stride(), p.a.col_stride(), p, start_a);
  f.b = operand(p.b, p.k, p.n, p.b.row_stride(), p.b.col_stride(), p, start_b);
  f.c = operand(p.c, p.m, p.n, 1, p.c.ld, p, start_c);
  f.old_c = f.c;
  f.a_facts = gather_facts(f.a);
  f.b_facts = gather_facts(f.b);
  f.c_facts = gather_facts(f.c);
  return f;
}

}  // namespace

ProblemFacts gather_facts(const Problem& p) {
  const auto element = [](const auto& x) { return static_cast<std::uintptr_t>(size_of(x.type)); };
  return gather(p, element(p.a), element(p.b), element(p.c));
}

ProblemFacts facts_on_vectors(const Problem& p) {
  return gather(p, kMaxVectorBytes, kMaxVectorBytes, kMaxVectorBytes);
}

}  // namespace xgemm::layout
