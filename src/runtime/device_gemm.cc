// Facts, plan, launch.
#include "runtime/device_gemm.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/finishing.h"
#include "core/pointer_batch.h"
#include "core/scattering.h"
#include "kernels/family.h"
#include "plan/blocks.h"
#include "plan/forced_kernel.h"
#include "plan/plan_cache.h"
#include "plan/planner.h"
#include "runtime/finish.h"
#include "runtime/launch.h"
#include "runtime/pointer_batch.h"
#include "runtime/prepared.h"
#include "runtime/scattered.h"

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
  if (problem.compute != Compute::fp32_emulated) return cached_plan(problem, device, chosen);
  plan::Blocks blocks(problem);
  blocks.next(first);
  *first = with_own_parts(*first);
  XGEMM_RETURN_IF_FAILED(cached_plan(*first, device, chosen));
  if (chosen->has_fallback || blocks.whole()) return kOk;
  *first = problem;
  first->compute = Compute::strict;
  return cached_plan(*first, device, chosen);
}

// A product with an epilogue that allows emulation, but is faster computed strictly: a strict one, whose kernels may
// finish it.
Problem settled(const Problem& problem, const device::DeviceInfo& device) {
  if (problem.compute != Compute::fp32_emulated || !problem.epilogue.any() || !problem.has_plain_c()) return problem;
  const std::optional<Problem> product = product_before(problem, nullptr);
  Problem first, strict = problem;
  plan::Plan chosen;
  if (!product || !plan_first(*product, device, &first, &chosen).ok() || chosen.has_fallback) return problem;
  strict.compute = Compute::strict;
  return strict;
}

// Whether a kernel computes the product with all of its epilogue: the plan, if so.
Status plan_finishing(const Problem& problem, const device::DeviceInfo& device, std::optional<plan::Plan>* finishing) {
  if (!kernels_may_finish(problem)) return kOk;
  plan::Plan chosen;
  XGEMM_RETURN_IF_FAILED(cached_plan(problem, device, &chosen));
  if (!chosen.needs_pass) *finishing = chosen;
  return kOk;
}

// Whether kernels may find the matrices of a batch by its pointers: on GPUs that have such for all sizes. With a C
// that is not plain, or a pass to finish it, they are copied (core/pointer_batch.h).
bool kernels_may_follow(const Problem& p, const device::DeviceInfo& device) {
  return kernels::kHasSm90a && device.compute_capability == 90 && p.has_plain_c() && !p.epilogue.any();
}

// Buffers are aligned, and any aligned address shows the planner the same facts.
void* any_buffer() {
  return reinterpret_cast<void*>(std::uintptr_t{1} << 30);
}

// The first part of a batch by pointers whose matrices are copied.
Problem first_copies(const Problem& p) {
  return copied_entries(p, 0, entries_at_once(p), any_buffer());
}

// us, estimated: copies of a batch's matrices, the product of these, and C back to where it belongs.
double copied_us(const Problem& p, const device::DeviceInfo& device) {
  // Measured on an H200: launches of a part of the batch, each matrix, and of what the memory sustains.
  constexpr double kPartUs = 8, kMatrixUs = 0.0033, kShareOfMemory = 0.9;
  const CopiedEntry entry(p);
  const double entries = double(p.batch_count), at_once = double(entries_at_once(p));
  const double moved = 2 * double(entry.a.bytes() + entry.b.bytes()) + (p.reads_c() ? 4 : 2) * double(entry.c.bytes());
  Problem first;
  plan::Plan chosen;
  if (!plan_first(first_copies(p), device, &first, &chosen).ok()) {
    clear_last_error();
    return std::numeric_limits<double>::infinity();
  }
  return std::ceil(entries / at_once) * (kPartUs + chosen.estimated_us) + 3 * entries * kMatrixUs +
         entries * moved * 1e-6 / (kShareOfMemory * completed(device).rates.memory_tbs);
}

// The product as kernels compute it that find its matrices, and their plan.
struct Following {
  Problem problem;
  plan::Plan plan;
};

// Those, if there are any. None is of tensor cores for fp32, or of the fastest ones for doubles: the choice is between
// them and copies.
std::optional<Following> plan_following(const Problem& problem, const device::DeviceInfo& device) {
  if (!kernels_may_follow(problem, device)) return std::nullopt;
  Following way = {problem, {}};
  way.problem.compute = Compute::strict;
  if (!cached_plan(way.problem, device, &way.plan).ok()) {
    clear_last_error();
    return std::nullopt;
  }
  const bool copies_have_more = problem.compute != Compute::strict || problem.a.type == DType::f64;
  if (copies_have_more && copied_us(problem, device) < way.plan.estimated_us) return std::nullopt;
  return way;
}

// What is planned of a product whose C is not plain: its first part. Of one with an epilogue that no kernel computes:
// the product before the pass, of the first panel, and where there is none, which only calls that look inside ask
// about, a product that leaves C as it is.
Problem planned(const Problem& problem, const device::DeviceInfo& device) {
  if (problem.by_pointers()) {
    if (const std::optional<Following> way = plan_following(problem, device)) return way->problem;
    return planned(first_copies(problem), device);
  }
  if (!problem.has_plain_c()) {
    std::optional<Problem> first;
    static_cast<void>(for_each_buffered_part(problem, kMostBufferedBytes, [&](const Problem& part) {
      first = first.value_or(part);
      return kOk;
    }));
    return planned(with_buffered_c(*first, any_buffer()), device);
  }
  if (!problem.epilogue.any()) return problem;
  const Problem own = settled(problem, device);
  std::optional<plan::Plan> finishing;
  if (plan_finishing(own, device, &finishing).ok() && finishing) return own;
  Problem panel;
  Panels(own).next(&panel);
  const std::optional<Problem> product = product_before(panel, any_buffer());
  panel.epilogue = {};
  return product.value_or(panel);
}

// What is prepared is for products on the GPU that has it. A handle without memory has no effect on any.
Status prepared_here(const Problem& problem, const device::DeviceInfo& device) {
  for (const xgemm_prepared* prepared : {problem.a.prepared, problem.b.prepared})
    if (prepared != nullptr && prepared->memory != nullptr && prepared->device != device.ordinal)
      return fail(XGEMM_UNSUPPORTED, format("an operand was prepared on GPU %d, but GPU %d computes the product",
                                            prepared->device, device.ordinal));
  return kOk;
}

}  // namespace

Status make_plan(const Problem& problem, const device::DeviceInfo& device, plan::Plan* chosen) {
  Problem first;
  return plan_first(planned(problem, device), device, &first, chosen);
}

Status device_gemm(const Problem& problem, const device::DeviceInfo& device, const LaunchSettings& settings) {
  XGEMM_RETURN_IF_FAILED(prepared_here(problem, device));
  if (problem.by_pointers()) {
    const std::optional<Following> way = plan_following(problem, device);
    return way ? launch(way->plan, way->problem, device, settings) : pointer_batch_gemm(problem, device, settings);
  }
  if (!problem.has_plain_c()) return scattered_gemm(problem, device, settings);
  if (problem.epilogue.any()) {
    const Problem own = settled(problem, device);
    std::optional<plan::Plan> finishing;
    XGEMM_RETURN_IF_FAILED(plan_finishing(own, device, &finishing));
    return finishing ? launch(*finishing, own, device, settings) : finished_gemm(own, device, settings);
  }
  Problem first;
  plan::Plan chosen;
  XGEMM_RETURN_IF_FAILED(plan_first(problem, device, &first, &chosen));
  if (!chosen.has_fallback) return launch(chosen, first, device, settings);
  plan::Blocks blocks(problem);
  bool begun = false;
  for (Problem block; blocks.next(&block); begun = true) {
    block = with_own_parts(block);
    XGEMM_RETURN_IF_FAILED(cached_plan(block, device, &chosen));
    XGEMM_RETURN_IF_FAILED(of_part(launch(chosen, block, device, settings), begun));
  }
  return kOk;
}

Status explain_plan(const Problem& problem, const device::DeviceInfo& device, std::string* text) {
  XGEMM_RETURN_IF_FAILED(prepared_here(problem, device));
  if (problem.by_pointers() && plan_following(problem, device))
    *text += "matrices: found by the kernel\n";
  else if (problem.by_pointers())
    *text += "matrices: copied, " + format("%lld", static_cast<long long>(entries_at_once(problem))) + " at once\n";
  else if (!problem.has_plain_c())
    *text += "C: computed in a buffer, from which its elements are scattered\n";
  const Problem product = planned(problem, device);
  if (problem.epilogue.any())
    *text += product.epilogue.any() ? "epilogue: in the kernel\n" : "epilogue: a pass over C after the product\n";
  Problem first;
  plan::Plan chosen;
  XGEMM_RETURN_IF_FAILED(plan_first(product, device, &first, &chosen));
  const plan::ProblemFacts facts = plan::gather_facts(first);
  if (first.m != problem.m || first.n != problem.n || first.k != problem.k || first.batch_count != problem.batch_count)
    *text += "first block: " + to_string(first) + "\n";
  *text += "op(A): " + layout::to_string(facts.a_facts) + "\nop(B): " + layout::to_string(facts.b_facts) +
           "\nC: " + layout::to_string(facts.c_facts) + "\n";
  *text += "plan: " + plan::to_string(chosen) + "\n" + plan::explain_candidates(first, facts, completed(device));
  return kOk;
}

}  // namespace xgemm::runtime
