// fp16x3, as the planner sees it: fp32 products that may be emulated, large enough to repay the pass before them.
#include <algorithm>

#include "core/status.h"
#include "kernels/common/cost_math.h"
#include "kernels/common/legality.h"
#include "kernels/family.h"
#include "kernels/fp16x3/instances.h"
#include "kernels/fp16x3/split.h"
#include "kernels/wgmma_tma/schedule.h"

namespace xgemm::kernels {
namespace {

const WgmmaTmaConfig& config_of(const KernelInfo& kernel) {
  return config_of<Family::fp16x3>(kernel);
}

constexpr std::int64_t kMost = SplitConstants::kMostExtent, kLeastK = SplitConstants::kLeastK;

SplitShape split_shape(const Problem& p) {
  const bool batched = p.batch_count > 1;
  return {.m = p.m,
          .n = p.n,
          .k = p.k,
          .batch = p.batch_count,
          .strided_a = batched && p.a.batch_stride != 0,
          .strided_b = batched && p.b.batch_stride != 0,
          .split_a = p.a.prepared == nullptr,
          .split_b = p.b.prepared == nullptr};
}

bool fits(const Problem& p) {
  return p.reads_inputs() && p.k >= kLeastK && std::max({p.m, p.n, p.k}) <= kMost &&
         p.batch_count <= SplitConstants::most_products(p.m, p.n, p.k, p.a.batch_stride, p.b.batch_stride);
}

bool serves(const KernelInfo& kernel, const Request& request) {
  return obstacle(kernel.config, request) == Obstacle::none && fits(request.problem) && request.device.has_memory_pools;
}

std::string why_not(const KernelInfo& kernel, const Request& request) {
  const Obstacle found = obstacle(kernel.config, request);
  if (found != Obstacle::none) return to_string(found, kernel.config, request);
  if (!fits(request.problem))
    return format("it is for k from %d on, extents up to %d, and as many of such operands in a batch",
                  static_cast<int>(kLeastK), static_cast<int>(kMost));
  return request.device.has_memory_pools ? "" : "this GPU has no stream-ordered memory";
}

// Of the kernels, on any GPU.
struct Constants {
  double launch_us = 4;          // of the product
  double clear_us = 1;           // of the kernel that clears the word, most of it beside the pass that follows
  double pass_us = 2.5;          // of the pass, and of the fallback that finds nothing to do, beside what they move
  double pass_rate = 0.8;        // of the memory's rate, of the pass
  double element_bytes = 4 + 4;  // read and written of an element
  double slice_cycles = 150;     // of a slice, beside its products
  double tensor = 1.1;           // cycles of products, against what the tensor cores' rate says
  double small = 1.3;            // the same where instructions are narrow
  double short_sums = 1.2;       // of slices, where sums are short (MmaPolicy::kShortSlices)
  double element_cycles = 0.05;  // of the epilogue, of an element
};

// Pairs along m for the large tile.
ClusterShape cluster_of(const WgmmaTmaConfig& c) {
  return c.cta_n == 128 ? ClusterShape{2, 1} : ClusterShape{1, 1};
}

Estimate estimate_of(const WgmmaTmaConfig& c, const Problem& p, const device::DeviceInfo& device) {
  constexpr Constants x;
  constexpr double kMultiplyAdds = 2048;  // of an SM's tensor cores, a cycle
  const double m = double(p.m), n = double(p.n), k = double(p.k), batch = double(p.batch_count);
  const ClusterShape cluster = cluster_of(c);
  const double all = cost::tiles(m, c.cta_m * cluster.m) * cost::tiles(n, c.cta_n * cluster.n) * batch;
  const double rounds = cost::ceil(all / device.clusters_of(cluster.size()));
  const double area = double(c.cta_m) * c.cta_n;
  const double slices = cost::ceil(k / c.cta_k());
  const double slice = 3 * area * c.cta_k() / kMultiplyAdds * (c.cta_n < 128 ? x.small : x.tensor) + x.slice_cycles;
  const double cycles = rounds * (slices * slice * (slices <= MmaPolicy::kShortSlices ? x.short_sums : 1) +
                                  area * x.element_cycles * (p.reads_c() ? 2 : 1));
  const double busy_us = cycles * 1e-3 / device.rates.sm_ghz;
  const double power_us = 6 * m * n * k * batch * 1e-6 / device.rates.tensor_tflops;
  const SplitShape shape = split_shape(p);
  const auto lines = [&](double mn, bool strided, bool split) { return split ? mn * (strided ? batch : 1) : 0; };
  const double all_lines = lines(m, shape.strided_a, shape.split_a) + lines(n, shape.strided_b, shape.split_b);
  const double pass_us = (all_lines > 0 ? 2 : 1) * x.pass_us + x.clear_us +
                         x.element_bytes * all_lines * k * 1e-6 / (x.pass_rate * device.rates.memory_tbs);
  return {x.launch_us + pass_us + std::max(busy_us, power_us), rounds, {.cluster = cluster}};
}

void estimate(const Request& request, const KernelInfo* const* kernels, int number, Estimate* estimates) {
  for (int i = 0; i < number; ++i) {
    estimates[i] = estimate_of(config_of(*kernels[i]), request.problem, request.device);
  }
}

bool splits(const KernelInfo&) {
  return false;
}

Schedule schedule(const KernelInfo& kernel, const Problem& p, const device::DeviceInfo& device,
                  const Sharing& sharing) {
  Schedule s = wgmma_tma_schedule(config_of(kernel), p.m, p.n, p.batch_count, sharing,
                                  device.clusters_of(sharing.cluster.size()), device.sm_count);
  s.workspace_bytes = SplitBlocks::all_bytes(split_shape(p));
  return s;
}

std::span<const ClusterShape> clusters(const KernelInfo& kernel) {
  return cluster_shapes(config_of(kernel));
}

}  // namespace

constinit const FamilyInfo fp16x3_family = {.instances = built_instances<Family::fp16x3>(),
                                            .serves = serves,
                                            .why_not = why_not,
                                            .estimate = estimate,
                                            .splits = splits,
                                            .schedule = schedule,
                                            .fallback = &ffma_tma_family,
                                            .clusters = clusters};

}  // namespace xgemm::kernels
