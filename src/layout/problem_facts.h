// The operands of a problem as a kernel sees them: op(A), op(B) and C with their strides, and what is known of them. C
// is plain (core/problem.h): for others a kernel's C is a buffer.
#pragma once

#include "core/problem.h"
#include "layout/operand_facts.h"

namespace xgemm::layout {

struct ProblemFacts {
  StridedOperand a, b, c;
  StridedOperand old_c;  // C, or a copy of it that is read in its place
  OperandFacts a_facts, b_facts, c_facts;
};

// Matrices that are found by pointers are aligned to their elements: more is not known of them.
ProblemFacts gather_facts(const Problem& problem);

// What holds of these where all of them start on multiples of 16 bytes.
ProblemFacts facts_on_vectors(const Problem& problem);

}  // namespace xgemm::layout
