// The choice. What it goes by, the families say (kernels/family.h).
#include "plan/planner.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "kernels/family.h"

namespace xgemm::plan {
namespace {

using device::DeviceInfo;
using kernels::Estimate;
using kernels::Family;
using kernels::FamilyInfo;
using kernels::KernelInfo;
using kernels::Request;

std::int64_t clamp_to_int64(double x) {
  return x < 9e18 ? static_cast<std::int64_t>(x) : std::numeric_limits<std::int64_t>::max();
}

// The instances that compute a call's types, by family: a call looks at no others.
using Ranges = std::array<std::vector<const KernelInfo*>, static_cast<std::size_t>(Family::count)>;

const Ranges& instances_for(const ProductTypes& types) {
  static const auto all = [] {
    std::vector<std::pair<ProductTypes, Ranges>> by_types;
    for (int i = 0; i < kernels::count(); ++i) {
      const KernelInfo& kernel = kernels::info(i);
      auto found = std::find_if(by_types.begin(), by_types.end(),
                                [&](const auto& x) { return x.first == kernel.config.types(); });
      if (found == by_types.end()) found = by_types.insert(found, {kernel.config.types(), Ranges{}});
      found->second[static_cast<std::size_t>(kernel.family)].push_back(&kernel);
    }
    return by_types;
  }();
  static const Ranges none;
  for (const auto& [its_types, ranges] : all)
    if (its_types == types) return ranges;
  return none;
}

// Calls visit(instance, estimate) for the instances that can serve, of those that `force` names, in the order of the
// ladder.
template <class Visit>
void weigh(const Request& request, std::string_view force, const Visit& visit) {
  std::vector<const KernelInfo*> able;
  std::vector<Estimate> estimates;
  const Ranges& ranges = instances_for(request.problem.types());
  for (std::size_t f = 0; f < ranges.size(); ++f) {
    const FamilyInfo& family = kernels::describe(static_cast<Family>(f));
    able.clear();
    for (const KernelInfo* kernel : ranges[f])
      if ((force.empty() || kernels::matches(*kernel, force)) && family.serves(*kernel, request))
        able.push_back(kernel);
    if (able.empty()) continue;
    estimates.resize(able.size());
    family.estimate(request, able.data(), static_cast<int>(able.size()), estimates.data());
    for (std::size_t i = 0; i < able.size(); ++i) visit(*able[i], estimates[i]);
  }
}

Plan plan_of(const KernelInfo& kernel, const Estimate& estimate, const Problem& p, const DeviceInfo& device) {
  const auto covered = [](std::int64_t extent, int tile) {
    return double(extent) / (double(extent / tile + (extent % tile != 0 ? 1 : 0)) * tile);
  };
  Plan plan;
  plan.kernel = kernel.id();
  plan.waves = clamp_to_int64(estimate.waves);
  plan.tile_efficiency = covered(p.m, kernel.config.cta_m) * covered(p.n, kernel.config.cta_n);
  plan.estimated_us = estimate.us;
  return with_split(plan, p, device, estimate.whole_tiles, estimate.parts);
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
  return kernels::describe(kernel.family).why_not(kernel, {p, facts, device});
}

Status make_plan(const Problem& p, const ProblemFacts& facts, const DeviceInfo& device, std::string_view force,
                 Plan* chosen) {
  const KernelInfo* best = nullptr;
  Estimate least;
  weigh({p, facts, device}, force, [&](const KernelInfo& kernel, const Estimate& estimate) {
    // Equal estimates keep the earlier, simpler kernel.
    if (best != nullptr && !(estimate.us < least.us)) return;
    best = &kernel;
    least = estimate;
  });
  if (best == nullptr && force.empty())
    return fail(XGEMM_INTERNAL_ERROR, "no kernel serves this call: " + to_string(p) + " on " + to_string(device));
  if (best == nullptr) return fail(XGEMM_KERNEL_NOT_USABLE, not_usable_text(force, p, facts, device));
  *chosen = plan_of(*best, least, p, device);
  chosen->forced = !force.empty();
  return kOk;
}

Plan with_split(Plan plan, const Problem& p, const DeviceInfo& device, std::int64_t whole_tiles, int parts) {
  const KernelInfo& kernel = kernels::info(plan.kernel);
  plan.schedule = kernels::describe(kernel.family).schedule(kernel, p, device, whole_tiles, parts);
  return plan;
}

std::vector<Plan> candidates(const Problem& p, const ProblemFacts& facts, const DeviceInfo& device) {
  std::vector<Plan> plans;
  weigh({p, facts, device}, "", [&](const KernelInfo& kernel, const Estimate& estimate) {
    plans.push_back(plan_of(kernel, estimate, p, device));
  });
  std::stable_sort(plans.begin(), plans.end(),
                   [](const Plan& x, const Plan& y) { return x.estimated_us < y.estimated_us; });
  return plans;
}

std::string explain_candidates(const Problem& p, const ProblemFacts& facts, const DeviceInfo& device) {
  std::map<const KernelInfo*, std::string> texts;
  weigh({p, facts, device}, "", [&](const KernelInfo& kernel, const Estimate& estimate) {
    texts[&kernel] = "  candidate: " + to_string(plan_of(kernel, estimate, p, device)) + "\n";
  });
  std::string all;
  for (int i = 0; i < kernels::count(); ++i) {
    const KernelInfo& kernel = kernels::info(i);
    const std::string& text = texts[&kernel];
    if (kernel.config.types() != p.types()) continue;
    all += !text.empty() ? text : format("  not %s: %s\n", kernel.name, why_not(kernel, p, facts, device).c_str());
  }
  return all;
}

}  // namespace xgemm::plan
