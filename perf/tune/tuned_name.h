// How xgemm-tune names a plan: its kernel, with + and the operands that it gets as copies. SPDX-License-Identifier:
// BSD-3-Clause
#pragma once

#include <string>

#include "plan/plan.h"

namespace xgemm::perf {

inline std::string tuned_name(const plan::Plan& plan) {
  const plan::Packing& packing = plan.packing;
  std::string name = name_of(plan);
  if (packing.any())
    name += std::string("+") + (packing.a.used ? "A" : "") + (packing.b.used ? "B" : "") + (packing.c.used ? "C" : "");
  return name;
}

}  // namespace xgemm::perf
