// Runs a kernel struct (src/kernels/common/kernel.cuh) in the simulator: what kernel_entry<<<...>>> is on the GPU.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "kernels/common/kernel.cuh"
#include "kernels/common/tile_schedule.h"
#include "sim/machine.h"

#if !defined(XGEMM_SIM)
#error "compile with XGEMM_SIM defined (link xgemm_sim)"
#endif

namespace xgemm::sim {

// The three matrices of a problem, as far as the kernel may touch them: A and B not at all when they must not be read,
// C write-only when beta is 0.
inline GlobalMemory memory_of(const kernels::GemmParams& p, int element_bytes, int element_bytes_c) {
  GlobalMemory memory;
  // Of doubles where elements are: no other type keeps its sums in them.
  const bool wide = element_bytes == sizeof(double);
  const auto is_zero = [wide](const kernels::Factor& x) {
    if (wide) return (x.device ? *static_cast<const double*>(x.device) : x.f64) == 0;
    return (x.device ? *static_cast<const float*>(x.device) : x.f32) == 0;
  };
  const Access ab = !is_zero(p.alpha) ? Access::read : Access::none;
  const auto add = [&](const char* name, const auto& x, int bytes, std::int64_t rows, std::int64_t cols,
                       Access access) {
    if (!x.by_pointers()) {
      memory.add({name, x.data, bytes, rows, cols, p.batch_count, x.row_stride, x.col_stride, x.batch_stride, access});
      return;
    }
    const auto* const pointers = static_cast<const void* const*>(static_cast<const void*>(x.data));
    memory.add(
        {std::string("pointers to ") + name, pointers, 8, p.batch_count, 1, 1, 1, p.batch_count, 0, Access::read});
    for (std::int64_t entry = 0; entry < p.batch_count; ++entry)
      memory.add({name, pointers[entry], bytes, rows, cols, 1, x.row_stride, x.col_stride, 0, access});
  };
  add("A", p.a, element_bytes, p.m, p.k, ab);
  add("B", p.b, element_bytes, p.k, p.n, ab);
  add("C", p.c, element_bytes_c, p.m, p.n, !is_zero(p.beta) ? Access::read_write : Access::write);
  if (p.c_copy.data) {
    memory.add({"the copy of C", p.c_copy.data, element_bytes_c, p.m, p.n, p.batch_count, p.c_copy.row_stride,
                p.c_copy.col_stride, p.c_copy.batch_stride, Access::read});
  }
  if (const kernels::Finishing& f = p.finishing; f.bias != nullptr) {
    const std::int64_t length = f.bias_of_rows ? p.m : p.n;
    memory.add({"the bias", f.bias, element_bytes_c, length, 1, 1, 1, length, 0, Access::read});
  }
  for (const auto& [name, scales, length] : {std::tuple{"the rows' scales", p.finishing.row_scales, p.m},
                                             std::tuple{"the columns' scales", p.finishing.column_scales, p.n}})
    if (scales != nullptr) memory.add({name, scales, 4, length, 1, 1, 1, length, 0, Access::read});
  if (p.c.by_pointers() && p.condition.word != nullptr)
    memory.add({"the condition", p.condition.word, 4, 1, 1, 1, 1, 1, 0, Access::read_write});
  for (const auto& [name, factor] : {std::pair{"alpha", p.alpha}, std::pair{"beta", p.beta}})
    if (factor.device) memory.add({name, factor.device, wide ? 8 : 4, 1, 1, 1, 1, 1, 0, Access::read});
  return memory;
}

// Any function of the CTA's shared memory as a kernel: body(unsigned char*) runs in each thread.
template <class Body>
Result launch_body(const LaunchShape& shape, GlobalMemory& memory, const Options& options, Body&& body) {
  return Machine(shape, memory, options, std::forward<Body>(body)).run();
}

// A kernel of a TileConfig, by a schedule.
template <class Kernel>
Result launch(const kernels::TileParams& params, GlobalMemory& memory, const Options& options) {
  LaunchShape shape;
  shape.cluster = params.schedule.cluster.size();
  shape.grid = std::int64_t{params.schedule.clusters} * shape.cluster;
  shape.threads = Kernel::kThreads;
  shape.dynamic_shared_bytes = kernels::kSharedBytes<Kernel>;
  shape.granule = std::min<int>(sizeof(typename Kernel::Element), 4);
  if constexpr (requires { Kernel::kWarpgroups; }) shape.agents = Kernel::kWarpgroups;  // that issue wgmma
  return launch_body(shape, memory, options, [&params](unsigned char* shared) {
    Kernel::run(params, *reinterpret_cast<typename Kernel::SharedStorage*>(shared));
  });
}

// On as many CTAs as it has tiles, or as the options say.
template <class Kernel>
kernels::Schedule schedule_of(const kernels::GemmParams& params, const Options& options) {
  kernels::Schedule schedule =
      kernels::tile_schedule(Kernel::kInstance, params.m, params.n, params.batch_count,
                             {options.whole_tiles, options.parts, options.cluster}, 132, params.fill);
  if (options.max_grid_x > 0)
    schedule.clusters = std::min(schedule.clusters, static_cast<unsigned>(options.max_grid_x));
  return schedule;
}

template <class Kernel>
Result launch(const kernels::GemmParams& params, const Options& options = {}) {
  GlobalMemory memory = memory_of(params, sizeof(typename Kernel::Element), sizeof(typename Kernel::ElementC));
  return launch<Kernel>({params, schedule_of<Kernel>(params, options), nullptr}, memory, options);
}

}  // namespace xgemm::sim
