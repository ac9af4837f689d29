// Runs a scheduled product as the launcher does: in pieces where the workspace is small, and with the reduction after
// each piece whose tiles are split along K.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/common/schedule_pieces.h"
#include "kernels/common/split_sum.cuh"
#include "sim/launch.h"

namespace xgemm::sim {

inline void append(Result& result, const Result& more) {
  result.reports.insert(result.reports.end(), more.reports.begin(), more.reports.end());
  result.counters.lines.insert(result.counters.lines.end(), more.counters.lines.begin(), more.counters.lines.end());
}

template <class Kernel>
Result launch_split_sum(const kernels::SplitSumParams& params, GlobalMemory& memory, const Options& options) {
  LaunchShape shape;
  shape.grid = params.ctas();
  shape.threads = Kernel::kThreads;
  shape.dynamic_shared_bytes = sizeof(typename Kernel::SharedStorage);
  shape.granule = 16;
  shape.dependent = true;
  return launch_body(shape, memory, options, [&params](unsigned char* shared) {
    Kernel::run(params, *reinterpret_cast<typename Kernel::SharedStorage*>(shared));
  });
}

// product(schedule, partials, memory) runs the kernel; layout(schedule) says where it leaves the sums of parts. also:
// what both kernels may look at beside the matrices, or null.
template <class Sum, class Layout, class Product>
Result run_scheduled(const kernels::GemmParams& params, const kernels::Schedule& all, int element_bytes,
                     int element_bytes_c, const Options& options, const Layout& layout, const Product& product,
                     const Region* also = nullptr) {
  Result result;
  const std::size_t room = options.workspace_bytes > 0 ? options.workspace_bytes : all.workspace_bytes;
  kernels::SchedulePieces pieces(all, room);
  for (kernels::Schedule piece; pieces.next(&piece);) {
    GlobalMemory memory = memory_of(params, element_bytes, element_bytes_c);
    if (also != nullptr) memory.add(*also);
    if (piece.split_tiles == 0) {
      append(result, product(piece, nullptr, memory));
      continue;
    }
    using Number = typename Sum::Sum;
    using Vector = typename Sum::Word;
    const auto count = static_cast<std::int64_t>(piece.workspace_bytes / sizeof(Number));
    Vector unset;
    for (Number& x : unset.data) x = std::numeric_limits<Number>::quiet_NaN();
    std::vector<Vector> sums(piece.workspace_bytes / sizeof(Vector), unset);
    Region region{"the workspace", sums.data(), sizeof(Number), count, 1, 1, 1, count, 0, Access::write};
    memory.add(region);
    append(result, product(piece, sums.data(), memory));

    GlobalMemory then = memory_of(params, element_bytes, element_bytes_c);
    if (also != nullptr) then.add(*also);
    region.access = Access::read;
    then.add(region);
    const auto sum = kernels::split_sum_params(params, piece, sums.data(), layout(piece));
    append(result, launch_split_sum<Sum>(sum, then, options));
  }
  return result;
}

}  // namespace xgemm::sim
