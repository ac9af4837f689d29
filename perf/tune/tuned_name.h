// How xgemm-tune names a plan: its kernel, with + and the operands that it gets as copies, and with @ and the CTAs that
// share an SM, where that is for the schedule to say. The model of wgmma_tma is fitted to those that have one each.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "plan/plan.h"

namespace xgemm::perf {

inline std::string tuned_name(const plan::Plan& plan) {
  const plan::Packing& packing = plan.packing;
  std::string name = name_of(plan);
  if (packing.any())
    name += std::string("+") + (packing.a.used ? "A" : "") + (packing.b.used ? "B" : "") + (packing.c.used ? "C" : "");
  if (plan.schedule.ctas_per_sm > 1) name += "@" + std::to_string(plan.schedule.ctas_per_sm);
  return name;
}

}  // namespace xgemm::perf
