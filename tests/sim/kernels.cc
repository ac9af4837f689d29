// The table of instances, put together from the compilation units of its families. SPDX-License-Identifier:
// BSD-3-Clause
#include "kernels.h"

#include <utility>

#include "kernels/instances.h"

namespace xgemm::sim {

template <kernels::Family kFamily, int kPart>
void set_kernels(std::vector<SimKernel>& of_family);

namespace {

template <kernels::Family kFamily, int... kPart>
void add_family(std::vector<SimKernel>* kernels, std::integer_sequence<int, kPart...>) {
  std::vector<SimKernel> of_family;
  (set_kernels<kFamily, kPart>(of_family), ...);
  kernels->insert(kernels->end(), of_family.begin(), of_family.end());
}

std::vector<SimKernel> collect() {
  std::vector<SimKernel> kernels;
#define XGEMM_FAMILY(name, parts) add_family<kernels::Family::name>(&kernels, std::make_integer_sequence<int, parts>{});
#include "families.inc"
  return kernels;
}

}  // namespace

const std::vector<SimKernel>& all_kernels() {
  static const std::vector<SimKernel> kernels = collect();
  return kernels;
}

const SimKernel* find_kernel(std::string_view name) {
  for (const SimKernel& kernel : all_kernels())
    if (kernel.name == name) return &kernel;
  return nullptr;
}

}  // namespace xgemm::sim
