// What all families whose instances are a TileConfig say of themselves: they serve what their loads can walk, take as
// long as their row in tuning/ says, and give a CTA to each tile.
#pragma once

#include "kernels/family.h"

namespace xgemm::kernels {

bool tile_family_serves(const KernelInfo& kernel, const Request& request);
std::string tile_family_why_not(const KernelInfo& kernel, const Request& request);
void tile_family_estimate(const Request& request, const KernelInfo* const* kernels, int count, Estimate* estimates);
Schedule tile_family_schedule(const KernelInfo& kernel, const Problem& problem, const device::DeviceInfo& device,
                              const Sharing& sharing);

// Gives CTAs so much shared memory that each SM has as many of them (Schedule::shared_bytes).
void share_sms_evenly(Schedule* schedule, const device::DeviceInfo& device);

template <Family kFamily>
constexpr FamilyInfo tile_family() {
  return {.instances = built_instances<kFamily>(),
          .serves = tile_family_serves,
          .why_not = tile_family_why_not,
          .estimate = tile_family_estimate,
          .splits = [](const KernelInfo&) { return true; },
          .schedule = tile_family_schedule,
          .triangles = true};
}

}  // namespace xgemm::kernels
