// Words for operand facts. The facts themselves are constexpr and live in the header.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "layout/operand_facts.h"

namespace xgemm::layout {

const char* to_string(Axis axis) {
  return axis == Axis::row ? "the row index" : "the column index";
}

const char* to_string(ContiguityReason reason) {
  switch (reason) {
    case ContiguityReason::unit_stride:
      return "unit stride";
    case ContiguityReason::both_unit:
      return "both strides are 1, the longer axis";
    case ContiguityReason::single_line:
      return "a single line, strided";
    case ContiguityReason::single_element:
      return "at most one element along either axis";
    case ContiguityReason::no_unit_stride:
      return "no unit stride, the shorter one";
  }
  return "?";
}

std::string to_string(const OperandFacts& facts) {
  std::string text = std::to_string(facts.extent[0]) + " x " + std::to_string(facts.extent[1]) + " of " +
                     std::to_string(facts.element_bytes) + " bytes, fastest along " + to_string(facts.contiguous) +
                     " (" + to_string(facts.reason) + "), contiguous for " +
                     std::to_string(facts.contiguity[static_cast<int>(facts.contiguous)]) + ", divisible by " +
                     std::to_string(facts.divisibility) + " bytes, vectors of " +
                     std::to_string(max_vector_width(facts));
  return text;
}

}  // namespace xgemm::layout
