// Clusters that kernels choose from.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>

#include "kernels/common/schedule.h"

namespace xgemm::kernels {

// Of CTAs that share K alone.
inline constexpr ClusterShape kClusterShapesAlongK[] = {{1, 1}, {1, 1, 2}, {1, 1, 4}, {1, 1, 8}};

// Of shapes in the order of CTAs along K, those with at most so many.
constexpr std::span<const ClusterShape> with_most_along_k(std::span<const ClusterShape> shapes, int most) {
  std::size_t count = 0;
  for (const ClusterShape& shape : shapes) count += shape.k <= most;
  return shapes.first(count);
}

}  // namespace xgemm::kernels
