// What the loads and stores of a TileConfig need of operands. Host code, pure.
#pragma once

#include <string>

#include "kernels/family.h"

namespace xgemm::kernels {

enum class Obstacle {
  none,
  type,
  architecture,
  axis_a,
  axis_b,
  alignment_a,
  alignment_b,
  alignment_c,
  alignment_old_c
};

Obstacle obstacle(const TileConfig& config, const Request& request);

// "" where there is none.
std::string to_string(Obstacle obstacle, const TileConfig& config, const Request& request);

// Bytes that divide the address of every vector of an operand along an axis.
int divisibility_along(const layout::StridedOperand& x, Axis axis);

}  // namespace xgemm::kernels
