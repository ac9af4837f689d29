// Printing a Plan.
#include "plan/plan.h"

#include "core/status.h"

namespace xgemm::plan {

const char* name_of(const Plan& plan) {
  return kernels::info(plan.kernel).name;
}

std::string to_string(const Plan& plan) {
  const kernels::TileConfig& c = kernels::info(plan.kernel).config;
  const std::string split = plan.parts == 1
                                ? std::string()
                                : format(" whole_tiles=%lld parts=%d workspace_bytes=%zu",
                                         static_cast<long long>(plan.whole_tiles), plan.parts, plan.workspace_bytes);
  return format(
      "kernel=%s tile=%dx%dx%d vector=%d stages=%d ctas=%lld waves=%lld%s tile_efficiency=%.2f estimated_us=%.1f%s",
      name_of(plan), c.cta_m, c.cta_n, c.cta_k, c.vector, c.stages, static_cast<long long>(plan.ctas),
      static_cast<long long>(plan.waves), split.c_str(), plan.tile_efficiency, plan.estimated_us,
      plan.forced ? " (forced)" : "");
}

}  // namespace xgemm::plan
