// Runs fp16x3 products in the simulator: the pass, the product and the fallback, as the library enqueues them.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "family.h"
#include "ffma_tma.h"
#include "kernels/fp16x3/fp16x3.cuh"
#include "kernels/fp16x3/instances.h"
#include "wgmma_tma.h"

namespace xgemm::sim {

template <class Kernel>
Result launch_split(const kernels::SplitParams& params, std::int64_t ctas, int cluster, GlobalMemory& memory,
                    const Options& options) {
  LaunchShape shape;
  shape.grid = ctas;
  shape.cluster = cluster;
  shape.agents = 1;
  shape.ctas_per_sm = Kernel::kMinBlocksPerSm;
  shape.threads = Kernel::kThreads;
  shape.dynamic_shared_bytes = sizeof(typename Kernel::SharedStorage);
  shape.granule = 4;
  shape.dependent = true;
  return launch_body(shape, memory, options, [&params](unsigned char* shared) {
    Kernel::run(params, *reinterpret_cast<typename Kernel::SharedStorage*>(shared));
  });
}

// All tiles in two parts: what adds them up has to know as well whether it shall.
inline Result run_fallback(const kernels::GemmParams& params, const Options& options, const Region* workspace) {
  static constexpr kernels::FfmaTmaConfig kConfig = kernels::kConfigs<kernels::Family::ffma_tma>.back();
  const kernels::Schedule schedule =
      kernels::ffma_tma_schedule(kConfig, params.m, params.n, params.batch_count, {0, 2}, 4, 132);
  Options own = options;
  own.workspace_bytes = 0;  // of the sums, which lie in memory of their own here
  return run_scheduled<kernels::SplitSum<float>>(
      params, schedule, 4, 4, own, [&](const kernels::Schedule& s) { return kernels::tile_sum_layout(kConfig, s); },
      [&](const kernels::Schedule& s, void* partials, GlobalMemory& memory) {
        return launch_ffma_tma<kernels::FfmaTma<kConfig>>(kernels::ffma_tma_arguments(kConfig, params, s, partials),
                                                          memory, own);
      },
      workspace);
}

// Memory of the GPU for what operands are split into, at first NaN in all types.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(bytes), storage_(bytes + kAlignment, 0xff) {}

  unsigned char* data() {
    return storage_.data() + (kAlignment - reinterpret_cast<std::uintptr_t>(storage_.data()) % kAlignment);
  }
  Region region(Access access) {
    const auto halves = static_cast<std::int64_t>(bytes_ / 2);
    return {"the workspace", data(), 2, halves, 1, 1, 1, halves, 0, access};
  }

 private:
  static constexpr std::size_t kAlignment = 256;
  std::size_t bytes_;
  std::vector<unsigned char> storage_;
};

// The pass, over the matrices of a product.
inline void run_pass(Result& result, const kernels::GemmParams& params, const kernels::SplitParams& pass,
                     const std::vector<Region>& others, const Options& options) {
  const auto all = [&] {
    GlobalMemory memory = memory_of(params, 4, 4);
    for (const Region& region : others) memory.add(region);
    return memory;
  };
  if (pass.clears) {
    GlobalMemory memory = all();
    append(result, launch_split<kernels::SplitClear>(pass, 1, 1, memory, options));
  }
  if (pass.clusters() == 0) return;
  GlobalMemory memory = all();
  append(result, launch_split<kernels::SplitPass>(pass, pass.clusters() * pass.ctas, pass.ctas, memory, options));
}

// *fell_back: whether the product was computed in fp32. prepared_a, prepared_b: memory of operands that were split
// before, or null.
template <kernels::WgmmaTmaConfig kConfig>
Result run_fp16x3(const kernels::GemmParams& params, const Options& options, bool* fell_back,
                  Memory* prepared_a = nullptr, Memory* prepared_b = nullptr) {
  const kernels::GemmParams own = kernels::in_parts(params, prepared_a == nullptr ? nullptr : prepared_a->data(),
                                                    prepared_b == nullptr ? nullptr : prepared_b->data());
  const kernels::SplitShape shape = kernels::split_shape(own);
  const std::size_t room =
      options.workspace_bytes > 0 ? options.workspace_bytes : kernels::SplitBlocks::all_bytes(shape);
  Memory workspace(room);
  const auto regions = [&](Access access) {
    std::vector<Region> all = {workspace.region(access)};
    for (Memory* prepared : {prepared_a, prepared_b})
      if (prepared != nullptr) all.push_back(prepared->region(Access::read));
    return all;
  };
  Result result;
  const auto split = [&](const kernels::SplitParams& pass) {
    run_pass(result, params, pass, regions(Access::read_write), options);
    return true;
  };
  const auto multiply = [&](const kernels::GemmParams& product) {
    GlobalMemory memory = memory_of(params, 4, 4);
    for (const Region& region : regions(Access::read)) memory.add(region);
    append(result,
           launch_wgmma_tma<kernels::WgmmaTma<kConfig>>(
               arguments_of<kConfig>(product, schedule_of(kConfig, product, options), nullptr), memory, options));
    return true;
  };
  kernels::run_split_product(own, room, workspace.data(), nullptr, split, multiply);
  kernels::GemmParams otherwise = params;
  otherwise.condition = {.word = reinterpret_cast<unsigned*>(workspace.data()), .value = 0, .equal = false};
  const Region words = workspace.region(Access::read);
  append(result, run_fallback(otherwise, options, &words));
  *fell_back = *otherwise.condition.word != 0;
  return result;
}

template <>
struct Simulated<kernels::Family::fp16x3> {
  template <kernels::WgmmaTmaConfig kConfig>
  static Result run(const kernels::GemmParams& params, const Options& options) {
    // What the planner leaves to fp32: short sums as well, of which only the shortest are left to it here, whose bound
    // in the tests is below what splitting costs.
    if (params.k < 4 || params.alpha.is_zero<float>() || params.a.data == nullptr)
      return run_fallback(params, options, nullptr);
    bool fell_back = false;
    return run_fp16x3<kConfig>(params, options, &fell_back);
  }
  template <kernels::WgmmaTmaConfig kConfig>
  static SimKernel kernel(const kernels::KernelInfo& info) {
    return {info.name, kernels::name_of(info.family), info.config,
            static_cast<int>(sizeof(typename kernels::WgmmaTma<kConfig>::SharedStorage)), run<kConfig>};
  }
};

}  // namespace xgemm::sim
