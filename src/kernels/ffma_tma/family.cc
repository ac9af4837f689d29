// ffma_tma, as the planner sees it: any strides and alignment, on sm_90; a model of its tiles.
#include "kernels/family.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/finishing.h"
#include "core/status.h"
#include "kernels/common/cost_math.h"
#include "kernels/common/legality.h"
#include "kernels/common/shortlist.h"
#include "kernels/ffma_tma/arguments.h"
#include "kernels/ffma_tma/cost_correction.h"
#include "kernels/ffma_tma/instances.h"
#include "kernels/ffma_tma/schedule.h"

namespace xgemm::kernels {
namespace {

const FfmaTmaConfig& config_of(const KernelInfo& kernel) {
  return config_of<Family::ffma_tma>(kernel);
}

// Extents and tiles are counted in 32 bits.
bool extents_fit(const FfmaTmaConfig& c, const Problem& p) {
  constexpr std::int64_t kMaxExtent = (std::int64_t{1} << 31) - 4096;
  if (p.m > kMaxExtent || p.n > kMaxExtent || p.k > kMaxExtent) return false;
  return ffma_tma_tiles(c, {.fill = p.fill, .m = double(p.m), .n = double(p.n), .batch_count = double(p.batch_count)}) <
         0x1p31;
}

bool serves(const KernelInfo& kernel, const Request& request) {
  return obstacle(kernel.config, request) == Obstacle::none && extents_fit(config_of(kernel), request.problem);
}

std::string why_not(const KernelInfo& kernel, const Request& request) {
  const Obstacle found = obstacle(kernel.config, request);
  if (found != Obstacle::none) return to_string(found, kernel.config, request);
  if (extents_fit(config_of(kernel), request.problem)) return {};
  return "it needs m, n, k and the number of tiles to be below 2^31";
}

void estimate(const Request& request, const KernelInfo* const* kernels, int number, Estimate* estimates) {
  const Problem& p = request.problem;
  // As arguments.h decides it.
  const auto load = [&](const layout::StridedOperand& x, Axis mn) {
    const Axis along_k = layout::other(mn);
    if (!p.reads_inputs() || (x.stride(mn) == 1 && divisibility_along(x, mn) >= 16)) return PanelLoad::bulk;
    const bool lines = x.stride(along_k) == 1 && x.stride(mn) >= p.k;
    return lines && divisibility_along(x, along_k) >= 16 ? PanelLoad::turned : PanelLoad::words_k;
  };
  const FfmaTmaCostProblem cost_problem = {.fill = p.fill,
                                           .m = double(p.m),
                                           .n = double(p.n),
                                           .k = p.reads_inputs() ? double(p.k) : 0.0,
                                           .batch_count = double(p.batch_count),
                                           .load_a = load(request.facts.a, Axis::row),
                                           .load_b = load(request.facts.b, Axis::col),
                                           .reads_c = p.reads_c(),
                                           .misaligned_c = divisibility_along(request.facts.c, Axis::row) < 16};
  const CostDevice device = CostDevice::of(request.device);
  const int only = request.cluster != nullptr ? request.cluster->k : 0;  // CTAs of a cluster; 0: any number
  struct Candidate {
    FfmaTmaCost cost;
    FfmaTmaEstimate whole;
    double least_split_us, least_us;
    int place;
  };
  struct Weighed : FfmaTmaEstimate {
    int place;

    Estimate estimate(double of_us) const {
      if (split.in_cluster) return {of_us, rounds, {0, 1, {1, 1, split.parts}}};
      return {of_us, rounds, {static_cast<std::int64_t>(split.whole_tiles), split.parts}};
    }
  };
  std::vector<Candidate> candidates;
  candidates.reserve(static_cast<std::size_t>(number));
  for (int i = 0; i < number; ++i) {
    const FfmaTmaCost cost(config_of(*kernels[i]), cost_problem, device);
    const FfmaTmaEstimate whole = cost.whole();
    const double least_split_us = cost.least_split_us();
    candidates.push_back({cost, whole, least_split_us, std::min(whole.us, least_split_us), i});
  }
  const auto expand = [&](const Candidate& candidate, bool hopeless, const auto& bound, const auto& add) {
    const auto& [cost, whole, least_split_us, least_us, place] = candidate;
    if (only <= 1) add(Weighed{whole, place});
    if (only <= 1 && (hopeless || least_split_us >= bound())) return;
    if (only <= 1)
      if (const auto split = cost.best_split(workspace_limit(request.device))) add(Weighed{*split, place});
    if (only != 1)
      if (const auto shared = cost.best_in_cluster(only)) add(Weighed{*shared, place});
  };
  const auto correct = [&](const Weighed* const* some, int count, double* us) {
    for (int i = 0; i < count; ++i)
      us[i] = some[i]->us * ffma_tma_correction(kernels[some[i]->place]->index, cost_problem, *some[i]);
  };
  const auto finish = [](const auto&, const auto&) {};
  estimate_shortlisted<Weighed>(request, kFfmaTmaLeastCorrection, candidates, expand, finish, correct, estimates);
}

bool splits(const KernelInfo&) {
  return true;
}

Schedule schedule(const KernelInfo& kernel, const Problem& p, const device::DeviceInfo& device,
                  const Sharing& sharing) {
  Schedule s = ffma_tma_schedule(config_of(kernel), p.m, p.n, p.batch_count, sharing,
                                 device.sm_count * config_of(kernel).ctas_per_sm, device.sm_count, p.fill);
  const int together = device.clusters_of(s.cluster.size());  // clusters that have an SM for each of their CTAs
  s.shared_bytes = bytes_of_even_share(s.clusters, together, device.max_shared_bytes_per_block);
  return s;
}

bool finishes(const KernelInfo& kernel, const Problem& problem) {
  return config_of(kernel).finishes() && kernels_may_finish(problem);
}

}  // namespace

constinit const FamilyInfo ffma_tma_family = {
    .instances = built_instances<Family::ffma_tma>(),
    .serves = serves,
    .why_not = why_not,
    .estimate = estimate,
    .splits = splits,
    .schedule = schedule,
    .triangles = true,
    .clusters = [](const KernelInfo& kernel) { return cluster_shapes(config_of(kernel)); },
    .finishes = finishes,
    .follows = [](const KernelInfo& kernel) { return config_of(kernel).follows; }};

}  // namespace xgemm::kernels
