// Facts, plan, launch.
#include "runtime/device_gemm.h"

#include "plan/forced_kernel.h"
#include "plan/plan_cache.h"
#include "plan/planner.h"
#include "runtime/launch.h"

namespace xgemm::runtime {

Status make_plan(const Problem& problem, const device::DeviceInfo& device, plan::Plan* chosen) {
  static plan::PlanCache& cache = *new plan::PlanCache;  // never destroyed: threads may outlive main()
  const plan::PlanKey key(problem, device.ordinal);
  if (cache.find(key, chosen)) return kOk;
  XGEMM_RETURN_IF_FAILED(
      plan::make_plan(problem, plan::gather_facts(problem), completed(device), plan::forced_kernel(), chosen));
  cache.insert(key, *chosen);
  return kOk;
}

Status device_gemm(const Problem& problem, const device::DeviceInfo& device, const LaunchSettings& settings) {
  plan::Plan chosen;
  XGEMM_RETURN_IF_FAILED(make_plan(problem, device, &chosen));
  return launch(chosen, problem, device, settings);
}

Status explain_plan(const Problem& problem, const device::DeviceInfo& device, std::string* text) {
  const plan::ProblemFacts facts = plan::gather_facts(problem);
  *text += "op(A): " + layout::to_string(facts.a_facts) + "\nop(B): " + layout::to_string(facts.b_facts) +
           "\nC: " + layout::to_string(facts.c_facts) + "\n";
  const device::DeviceInfo& known = completed(device);
  plan::Plan chosen;
  XGEMM_RETURN_IF_FAILED(plan::make_plan(problem, facts, known, plan::forced_kernel(), &chosen));
  *text += "plan: " + plan::to_string(chosen) + "\n" + plan::explain_candidates(problem, facts, known);
  return kOk;
}

}  // namespace xgemm::runtime
