// The table of instances, put together from its families. SPDX-License-Identifier: BSD-3-Clause
#include "kernels.h"

#include "families/families.h"

namespace xgemm::sim {
namespace {

std::vector<SimKernel> collect() {
  std::vector<SimKernel> kernels;
  std::vector<SimKernel> (*const families[])() = {
#include "families.inc"
  };
  for (const auto family : families) {
    const std::vector<SimKernel> members = family();
    kernels.insert(kernels.end(), members.begin(), members.end());
  }
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
