// Printing a Plan.
#include "plan/plan.h"

#include "core/status.h"

namespace xgemm::plan {

const char* name_of(const Plan& plan) {
  return kernels::info(plan.kernel).name;
}

std::string to_string(const kernels::Schedule& s) {
  const std::string split = s.split_tiles == 0 ? std::string()
                                               : format(" whole_tiles=%lld parts=%u sum_lanes=%u",
                                                        static_cast<long long>(s.whole_tiles), s.parts, s.sum_lanes);
  const std::string workspace =
      s.workspace_bytes == 0 ? std::string() : format(" workspace_bytes=%zu", s.workspace_bytes);
  const char* const triangle = s.triangle.fill == Fill::full ? "" : " of a triangle";
  const std::string shared = s.ctas_per_sm == 1 ? std::string() : format(" ctas_per_sm=%d", s.ctas_per_sm);
  return format("tiles=%lldx%lld%s raster=%c%u units=%lld cluster=%s clusters=%u%s%s%s",
                static_cast<long long>(s.tiles_m), static_cast<long long>(s.tiles_n), triangle, s.raster_n ? 'n' : 'm',
                s.raster_group, static_cast<long long>(s.units), kernels::to_string(s.cluster).c_str(), s.clusters,
                shared.c_str(), split.c_str(), workspace.c_str());
}

std::string to_string(const Plan& plan) {
  const kernels::TileConfig& c = kernels::info(plan.kernel).config;
  const std::string fallback =
      plan.has_fallback ? format(" fallback=%s", kernels::info(plan.fallback).name) : std::string();
  return format(
      "kernel=%s tile=%dx%dx%d vector=%d stages=%d %s%s waves=%lld tile_efficiency=%.2f estimated_us=%.1f%s%s%s",
      name_of(plan), c.cta_m, c.cta_n, c.cta_k, c.vector, c.stages, to_string(plan.schedule).c_str(),
      to_string(plan.packing).c_str(), static_cast<long long>(plan.waves), plan.tile_efficiency, plan.estimated_us,
      fallback.c_str(), plan.needs_pass ? " then=finish" : "", plan.forced ? " (forced)" : "");
}

}  // namespace xgemm::plan
