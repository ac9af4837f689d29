// Facts, plan, launch.
#include "runtime/device_gemm.h"

#include "plan/blocks.h"
#include "plan/forced_kernel.h"
#include "plan/plan_cache.h"
#include "plan/planner.h"
#include "runtime/launch.h"

namespace xgemm::runtime {
namespace {

Status cached_plan(const Problem& problem, const device::DeviceInfo& device, plan::Plan* chosen) {
  static plan::PlanCache& cache = *new plan::PlanCache;  // never destroyed: threads may outlive main()
  const plan::PlanKey key(problem, device.ordinal);
  if (cache.find(key, chosen)) return kOk;
  XGEMM_RETURN_IF_FAILED(
      plan::make_plan(problem, plan::gather_facts(problem), completed(device), plan::forced_kernel(), chosen));
  cache.insert(key, *chosen);
  return kOk;
}

// What is planned first of a product: all of it, or its first block where blocks of it are to be emulated.
Status plan_first(const Problem& problem, const device::DeviceInfo& device, Problem* first, plan::Plan* chosen) {
  *first = problem;
  if (problem.compute == Compute::strict) return cached_plan(problem, device, chosen);
  plan::Blocks blocks(problem);
  blocks.next(first);
  XGEMM_RETURN_IF_FAILED(cached_plan(*first, device, chosen));
  if (chosen->has_fallback || blocks.whole()) return kOk;
  *first = problem;
  first->compute = Compute::strict;
  return cached_plan(*first, device, chosen);
}

}  // namespace

Status make_plan(const Problem& problem, const device::DeviceInfo& device, plan::Plan* chosen) {
  Problem first;
  return plan_first(problem, device, &first, chosen);
}

Status device_gemm(const Problem& problem, const device::DeviceInfo& device, const LaunchSettings& settings) {
  Problem first;
  plan::Plan chosen;
  XGEMM_RETURN_IF_FAILED(plan_first(problem, device, &first, &chosen));
  if (!chosen.has_fallback) return launch(chosen, first, device, settings);
  plan::Blocks blocks(problem);
  for (Problem block; blocks.next(&block);) {
    XGEMM_RETURN_IF_FAILED(cached_plan(block, device, &chosen));
    XGEMM_RETURN_IF_FAILED(launch(chosen, block, device, settings));
  }
  return kOk;
}

Status explain_plan(const Problem& problem, const device::DeviceInfo& device, std::string* text) {
  Problem first;
  plan::Plan chosen;
  XGEMM_RETURN_IF_FAILED(plan_first(problem, device, &first, &chosen));
  const plan::ProblemFacts facts = plan::gather_facts(first);
  if (first.m != problem.m || first.n != problem.n || first.k != problem.k)
    *text += "first block: " + to_string(first) + "\n";
  *text += "op(A): " + layout::to_string(facts.a_facts) + "\nop(B): " + layout::to_string(facts.b_facts) +
           "\nC: " + layout::to_string(facts.c_facts) + "\n";
  *text += "plan: " + plan::to_string(chosen) + "\n" + plan::explain_candidates(first, facts, completed(device));
  return kOk;
}

}  // namespace xgemm::runtime
