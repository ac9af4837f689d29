// What the loads and stores of a TileConfig need of operands. Host code, pure.
#pragma once

#include <string>

#include "kernels/family.h"

namespace xgemm::kernels {

enum class Obstacle {
  none,
  type,
  compute,
  architecture,
  shared_memory,
  axis_a,
  axis_b,
  alignment_a,
  alignment_b,
  alignment_c,
  alignment_old_c
};

// Bytes of the slices of both operands, in kernels that hold both in shared memory.
constexpr int slices_bytes(const TileConfig& c) {
  return c.stages * c.cta_k * (c.cta_m + c.cta_n) * size_of(c.type);
}

Obstacle obstacle(const TileConfig& config, const Request& request);

// "" where there is none.
std::string to_string(Obstacle obstacle, const TileConfig& config, const Request& request);

// Bytes that divide the address of every vector of an operand along an axis.
int divisibility_along(const layout::StridedOperand& x, Axis axis);

// Whether each column of C starts, and ends, on so many bytes.
bool c_is_on(const Request& request, int bytes);

}  // namespace xgemm::kernels
