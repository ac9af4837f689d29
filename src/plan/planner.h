// From a problem, the facts about its operands and the GPU to a Plan. Pure: no CUDA call, no environment, so that every
// choice is a unit test on any machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/problem.h"
#include "core/status.h"
#include "device/device_info.h"
#include "layout/problem_facts.h"
#include "plan/plan.h"

namespace xgemm::plan {

using layout::gather_facts;
using layout::ProblemFacts;

// Why an instance cannot serve a problem on a device; "" when it can, with its operands as they lie or as copies
// (packing.h). One clause: "needs operands aligned to 16 bytes ...".
std::string why_not(const kernels::KernelInfo& kernel, const Problem& problem, const ProblemFacts& facts,
                    const device::DeviceInfo& device);

// Chooses the instance with the least estimated time among those that can serve, or among those that `force` names (an
// instance or a family; "" for all). XGEMM_KERNEL_NOT_USABLE with the reason when force leaves none. Of a product with
// an epilogue (kernels_may_finish()), an instance that computes it, or the plan of a product that a pass follows, as is
// faster.
Status make_plan(const Problem& problem, const ProblemFacts& facts, const device::DeviceInfo& device,
                 std::string_view force, Plan* chosen);

// The plan with the work shared out otherwise. For instances that can: they form such clusters, and split. problem: a
// block of it, where operands are packed.
Plan with_sharing(Plan plan, const Problem& problem, const device::DeviceInfo& device, const kernels::Sharing& sharing);

// The schedule of a block of C (packing.h) whose extents are those of plan.packing or smaller: the last ones, and all
// of them where there is less memory than the plan counts on.
kernels::Schedule schedule_of_block(const Plan& plan, const Problem& block, const device::DeviceInfo& device);

// What computes where the plan's kernel declines (Plan::fallback).
Plan fallback_of(const Plan& plan, const Problem& problem, const device::DeviceInfo& device);

// The plans of all instances that can serve, the least estimate first; in clusters of the given shape, those of
// instances that can form them. corrected: by FamilyCorrection.
std::vector<Plan> candidates(const Problem& problem, const ProblemFacts& facts, const device::DeviceInfo& device,
                             const kernels::ClusterShape* cluster = nullptr, bool corrected = true);

// One line per instance of the problem's types: its estimate, or why it cannot serve.
std::string explain_candidates(const Problem& problem, const ProblemFacts& facts, const device::DeviceInfo& device);

}  // namespace xgemm::plan
