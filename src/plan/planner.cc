// The choice. What it goes by, the families say (kernels/family.h).
#include "plan/planner.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/finishing.h"
#include "kernels/family.h"
#include "plan/family_correction.h"
#include "plan/packing.h"

namespace xgemm::plan {
namespace {

using device::DeviceInfo;
using kernels::ClusterShape;
using kernels::Estimate;
using kernels::Family;
using kernels::FamilyInfo;
using kernels::KernelInfo;
using kernels::Request;

std::int64_t clamp_to_int64(double x) {
  return x < 9e18 ? static_cast<std::int64_t>(x) : std::numeric_limits<std::int64_t>::max();
}

// How instances walk A and B: along a pair of axes, or in any strides. Most are for others than a call's.
constexpr int kAxes = 5, kAnyStrides = 4;

constexpr int axes(kernels::Axis a, kernels::Axis b) {
  return 2 * static_cast<int>(a) + static_cast<int>(b);
}

bool may_walk(const Request& request, int its_axes) {
  if (its_axes == kAnyStrides || !request.problem.reads_inputs()) return true;
  return request.a.along(static_cast<kernels::Axis>(its_axes / 2)) &&
         request.b.along(static_cast<kernels::Axis>(its_axes % 2));
}

// The instances that compute a call's types, by family and axes: a call looks at no others.
using Ranges = std::array<std::array<std::vector<const KernelInfo*>, kAxes>, static_cast<std::size_t>(Family::count)>;

const Ranges& instances_for(const ProductTypes& types) {
  static const auto all = [] {
    std::vector<std::pair<ProductTypes, Ranges>> by_types;
    for (int i = 0; i < kernels::count(); ++i) {
      const KernelInfo& kernel = kernels::info(i);
      const kernels::TileConfig& c = kernel.config;
      auto found = std::find_if(by_types.begin(), by_types.end(), [&](const auto& x) { return x.first == c.types(); });
      if (found == by_types.end()) found = by_types.insert(found, {c.types(), Ranges{}});
      const int its_axes = c.any_strides ? kAnyStrides : axes(c.a_contiguous, c.b_contiguous);
      found->second[static_cast<std::size_t>(kernel.family)][static_cast<std::size_t>(its_axes)].push_back(&kernel);
    }
    return by_types;
  }();
  static const Ranges none;
  for (const auto& [its_types, ranges] : all)
    if (its_types == types) return ranges;
  return none;
}

bool serves(const FamilyInfo& family, const KernelInfo& kernel, const Request& request) {
  return (family.triangles || request.problem.fill == Fill::full) && family.serves(kernel, request);
}

bool forms(const FamilyInfo& family, const KernelInfo& kernel, const ClusterShape* cluster) {
  return cluster == nullptr || std::ranges::count(family.clusters(kernel), *cluster) > 0;
}

// A way for operands to reach a kernel: as they lie, or some of them as copies. Then the problem is a block of C.
struct Way {
  Packing packing;
  Problem problem;
  ProblemFacts facts = {};
  double blocks = 1, packing_us = 0;
};

// Calls visit(way) for each way. Kernels that find matrices by pointers look where each of them starts, and are weighed
// as what they will mostly find.
template <class Visit>
void for_each_way(const Problem& p, const ProblemFacts& facts, const DeviceInfo& device, const Visit& visit) {
  const ProblemFacts mostly = p.by_pointers() ? layout::facts_on_vectors(p) : facts;
  visit(Way{.packing = {}, .problem = p, .facts = mostly});
  for (const Packing& packing : packings_of(p, mostly, device)) {
    Way way = {.packing = packing,
               .problem = packed_problem(packing, p),
               .blocks = blocks_of(packing, p),
               .packing_us = packing_us(packing, p, device)};
    way.facts = packed_facts(packing, way.problem, p);
    visit(way);
  }
}

// Whether a family can take copies: those that make parts of the operands themselves read them as they lie.
bool takes(const FamilyInfo& family, const Way& way) {
  return !way.packing.any() || family.fallback == nullptr;
}

bool finds(const FamilyInfo& family, const KernelInfo& kernel, const Problem& p) {
  return !p.by_pointers() || family.follows(kernel);
}

// The families in the order in which they are weighed: first those whose estimates stand as they are, which are mostly
// the least, so that of many others a bound is enough. A family has to come after the one that it yields to.
const std::vector<Family>& weighing_order() {
  static const auto order = [] {
    std::vector<Family> all;
    for (const bool whole : {true, false})
      for (std::size_t f = 0; f < static_cast<std::size_t>(Family::count); ++f)
        if (corrected_as_a_whole(static_cast<Family>(f)) == whole) all.push_back(static_cast<Family>(f));
    return all;
  }();
  return order;
}

// Calls visit(instance, estimate) for the instances that can serve in a way, of those that `force` names. The estimate
// is of the whole product. to_beat: null, or in us what plans are compared with, which visit() lowers: those that
// cannot be faster may be left out. cluster: as in Request; corrected: by FamilyCorrection.
template <class Visit>
void weigh(const Way& way, const DeviceInfo& device, std::string_view force, const Visit& visit,
           const double* to_beat = nullptr, const ClusterShape* cluster = nullptr, bool corrected = true) {
  Request request(way.problem, way.facts, device);
  request.cluster = cluster;
  const FamilyCorrection correction(request, way.packing, way.packing_us);
  std::vector<const KernelInfo*> able;
  std::vector<Estimate> estimates;
  const Ranges& ranges = instances_for(request.problem.types());
  std::array<bool, kAxes> walked{};
  for (int i = 0; i < kAxes; ++i) walked[static_cast<std::size_t>(i)] = may_walk(request, i);
  const bool has_epilogue = request.problem.epilogue.any();
  std::array<bool, static_cast<std::size_t>(Family::count) + 1> serving{};
  for (const Family each : weighing_order()) {
    const auto f = static_cast<std::size_t>(each);
    const FamilyInfo& family = kernels::describe(each);
    if (!takes(family, way) || serving[static_cast<std::size_t>(family.yields_to)]) continue;
    able.clear();
    for (std::size_t i = 0; i < kAxes; ++i) {
      if (!walked[i]) continue;
      for (const KernelInfo* const kernel : ranges[f][i])
        if ((force.empty() || kernels::matches(*kernel, force)) && forms(family, *kernel, request.cluster) &&
            (!way.packing.any() || family.takes_copies(*kernel)) && finds(family, *kernel, request.problem) &&
            (!has_epilogue || (way.blocks == 1 && family.finishes(*kernel, request.problem))) &&
            serves(family, *kernel, request))
          able.push_back(kernel);
    }
    if (able.empty()) continue;
    serving[f] = force.empty();
    estimates.resize(able.size());
    if (to_beat != nullptr) {
      const double uncorrected_us = way.blocks == 1 ? correction.most_before(each, *to_beat) : *to_beat;
      request.to_beat = (uncorrected_us - way.packing_us) / way.blocks;
      if (*request.to_beat <= 0) continue;
    }
    family.estimate(request, able.data(), static_cast<int>(able.size()), estimates.data());
    for (std::size_t i = 0; i < able.size(); ++i) {
      if (request.to_beat && estimates[i].us > *request.to_beat) continue;
      const double factor = corrected && way.blocks == 1 ? correction(*able[i], estimates[i]) : 1;
      estimates[i].us = factor * (way.blocks * estimates[i].us + way.packing_us);
      visit(*able[i], estimates[i]);
    }
  }
}

// The fallback: the instance of its family that a strict call of the product would have, and its order of sums, which
// are as exact as that call's. It reads operands as they lie, also where the call would copy them.
void set_fallback(Plan* plan, const FamilyInfo& family, const Problem& p, const ProblemFacts& facts,
                  const DeviceInfo& device) {
  double least_us = 0;
  for_each_way(p, facts, device, [&](const Way& way) {
    if (way.blocks > 1) return;  // whose sharing is that of a block
    weigh(way, device, "", [&](const KernelInfo& kernel, const Estimate& estimate) {
      if (&kernels::describe(kernel.family) != &family || (plan->has_fallback && !(estimate.us < least_us))) return;
      plan->has_fallback = true;
      plan->fallback = kernel.id();
      plan->fallback_sharing = estimate.sharing;
      least_us = estimate.us;
    });
  });
}

Plan plan_of(const KernelInfo& kernel, const Estimate& estimate, const Way& way, const DeviceInfo& device) {
  const Problem& p = way.problem;
  const auto covered = [](std::int64_t extent, int tile) {
    return double(extent) / (double(extent / tile + (extent % tile != 0 ? 1 : 0)) * tile);
  };
  Plan plan;
  plan.kernel = kernel.id();
  plan.packing = way.packing;
  plan.waves = clamp_to_int64(estimate.waves);
  plan.tile_efficiency = covered(p.m, kernel.config.cta_m) * covered(p.n, kernel.config.cta_n);
  plan.estimated_us = estimate.us;
  const FamilyInfo& own = kernels::describe(kernel.family);
  if (own.fallback != nullptr) set_fallback(&plan, *own.fallback, p, way.facts, device);
  return with_sharing(plan, p, device, estimate.sharing);
}

std::string not_usable_text(std::string_view force, const Problem& p, const ProblemFacts& facts,
                            const DeviceInfo& device) {
  std::string reasons;
  for (int i = 0; i < kernels::count(); ++i) {
    const KernelInfo& kernel = kernels::info(i);
    if (kernels::matches(kernel, force) && (kernel.config.types() == p.types() || force == kernel.name))
      reasons += format("; %s: %s", kernel.name, why_not(kernel, p, facts, device).c_str());
  }
  if (reasons.empty()) reasons = format("; this build has no such kernel for %s", to_string(p.types()).c_str());
  return "XGEMM_FORCE_KERNEL=" + std::string(force) + " cannot serve this call" + reasons;
}

}  // namespace

std::string why_not(const KernelInfo& kernel, const Problem& p, const ProblemFacts& facts, const DeviceInfo& device) {
  std::string reason;
  const FamilyInfo& family = kernels::describe(kernel.family);
  for_each_way(p, facts, device, [&](const Way& way) {
    if (way.packing.any() && (reason.empty() || !family.takes_copies(kernel))) return;
    if (!takes(family, way)) return;
    std::string own = family.why_not(kernel, Request(way.problem, way.facts, device));
    if (own.empty() && p.fill != Fill::full && !family.triangles)
      own = "it computes all of C, and the call is for a triangle";
    if (!way.packing.any() || own.empty()) reason = own;
  });
  return reason;
}

namespace {

// False where no instance serves.
bool find_plan(const Problem& p, const ProblemFacts& facts, const DeviceInfo& device, std::string_view force,
               Plan* chosen) {
  double least_us = std::numeric_limits<double>::infinity();
  bool found = false;
  for_each_way(p, facts, device, [&](const Way& way) {
    const KernelInfo* best = nullptr;
    Estimate least;
    const auto compare = [&](const KernelInfo& kernel, const Estimate& estimate) {
      // Equal estimates keep the earlier, simpler kernel, and operands where they are.
      const bool is_simpler = best != nullptr && estimate.us == least_us && kernel.id() < best->id();
      if (found && !(estimate.us < least_us) && !is_simpler) return;
      found = true;
      least_us = estimate.us;
      best = &kernel;
      least = estimate;
    };
    weigh(way, device, force, compare, &least_us);
    if (best != nullptr) *chosen = plan_of(*best, least, way, device);
  });
  chosen->forced = !force.empty();
  return found;
}

// What the pass costs beside a kernel that finishes: it reads the sums and writes C. Where sums are wider than C they
// are written as well, and it is as if the pass wrote such.
double pass_us(const Problem& p, const DeviceInfo& device) {
  constexpr double kLaunchUs = 2.5;
  const double bytes = 2.0 * size_of(p.sums()) * double(p.m) * double(p.n) * double(p.batch_count);
  return kLaunchUs + bytes * 1e-6 / device.rates.memory_tbs;
}

}  // namespace

Status make_plan(const Problem& p, const ProblemFacts& facts, const DeviceInfo& device, std::string_view force,
                 Plan* chosen) {
  if (kernels_may_finish(p)) {
    // A buffer is aligned, and any aligned address has the same facts. There is a product: inputs are read, C is not.
    const Problem product = *product_before(p, reinterpret_cast<void*>(std::uintptr_t{1} << 30));
    const Status planned = make_plan(product, gather_facts(product), device, force, chosen);
    chosen->needs_pass = true;
    Plan finishing;
    if (!find_plan(p, facts, device, force, &finishing)) return planned;
    if (!planned.ok() || finishing.estimated_us < chosen->estimated_us + pass_us(p, device)) *chosen = finishing;
    if (!planned.ok()) clear_last_error();
    return kOk;
  }
  if (find_plan(p, facts, device, force, chosen)) return kOk;
  if (force.empty())
    return fail(XGEMM_INTERNAL_ERROR, "no kernel serves this call: " + to_string(p) + " on " + to_string(device));
  return fail(XGEMM_KERNEL_NOT_USABLE, not_usable_text(force, p, facts, device));
}

Plan with_sharing(Plan plan, const Problem& p, const DeviceInfo& device, const kernels::Sharing& sharing) {
  const KernelInfo& kernel = kernels::info(plan.kernel);
  plan.schedule = kernels::describe(kernel.family).schedule(kernel, p, device, sharing);
  return plan;
}

kernels::Schedule schedule_of_block(const Plan& plan, const Problem& block, const DeviceInfo& device) {
  const kernels::Schedule& own = plan.schedule;
  if (block.m == plan.packing.m && block.n == plan.packing.n && block.batch_count == plan.packing.batch) return own;
  // Elements are summed as in a whole block: in the same parts, added in the same order.
  const kernels::Sharing sharing = {own.whole_tiles, static_cast<int>(own.parts), own.cluster};
  kernels::Schedule schedule = with_sharing(plan, block, device, sharing).schedule;
  schedule.sum_lanes = own.sum_lanes;
  return schedule;
}

Plan fallback_of(const Plan& plan, const Problem& p, const DeviceInfo& device) {
  Plan fallback;
  fallback.kernel = plan.fallback;
  return with_sharing(fallback, p, device, plan.fallback_sharing);
}

std::vector<Plan> candidates(const Problem& p, const ProblemFacts& facts, const DeviceInfo& device,
                             const ClusterShape* cluster, bool corrected) {
  std::vector<Plan> plans;
  for_each_way(p, facts, device, [&](const Way& way) {
    const auto add = [&](const KernelInfo& kernel, const Estimate& estimate) {
      plans.push_back(plan_of(kernel, estimate, way, device));
    };
    const auto of_way = static_cast<std::ptrdiff_t>(plans.size());
    weigh(way, device, "", add, nullptr, cluster, corrected);
    std::ranges::sort(plans.begin() + of_way, plans.end(), {}, &Plan::kernel);  // the order of equals
  });
  std::stable_sort(plans.begin(), plans.end(),
                   [](const Plan& x, const Plan& y) { return x.estimated_us < y.estimated_us; });
  return plans;
}

std::string explain_candidates(const Problem& p, const ProblemFacts& facts, const DeviceInfo& device) {
  std::map<const KernelInfo*, std::string> texts;
  for_each_way(p, facts, device, [&](const Way& way) {
    weigh(way, device, "", [&](const KernelInfo& kernel, const Estimate& estimate) {
      texts[&kernel] += "  candidate: " + to_string(plan_of(kernel, estimate, way, device)) + "\n";
    });
  });
  std::string all;
  for (int i = 0; i < kernels::count(); ++i) {
    const KernelInfo& kernel = kernels::info(i);
    const std::string& text = texts[&kernel];
    if (kernel.config.types() != p.types()) continue;
    if (!text.empty()) {
      all += text;
      continue;
    }
    std::string reason = why_not(kernel, p, facts, device);
    if (reason.empty()) {
      const FamilyInfo& family = kernels::describe(kernel.family);
      if (!finds(family, kernel, p)) {
        reason = "it does not find matrices by pointers";
      } else if (p.epilogue.any() && !family.finishes(kernel, p)) {
        reason = "it leaves the epilogue to a pass over C";
      } else {
        reason = format("%s serves, and is never slower", name_of(family.yields_to));
      }
    }
    all += format("  not %s: %s\n", kernel.name, reason.c_str());
  }
  return all;
}

}  // namespace xgemm::plan
