// mma_swizzled, as the planner sees it.
#include "kernels/common/tile_family.h"
#include "kernels/mma_swizzled/instances.h"

namespace xgemm::kernels {
namespace {

// Of instances that the driver would have to compile: they are for who asks for them, and for what nothing else serves.
constexpr double kWhereNotAssembled = 16;

void estimate(const Request& request, const KernelInfo* const* kernels, int count, Estimate* estimates) {
  tile_family_estimate(request, kernels, count, estimates);
  if (request.device.compute_capability != 90 || request.device.architecture() != 90) return;
  for (int i = 0; i < count; ++i)
    if (is_for_sm80<Family::mma_swizzled>(config_of<Family::mma_swizzled>(*kernels[i])))
      estimates[i].us *= kWhereNotAssembled;
}

constexpr FamilyInfo described() {
  FamilyInfo family = tile_family<Family::mma_swizzled>();
  family.estimate = estimate;
  family.follows = [](const KernelInfo& kernel) { return Instances<Family::mma_swizzled>::follows(kernel.config); };
  return family;
}

}  // namespace

constinit const FamilyInfo mma_swizzled_family = described();

}  // namespace xgemm::kernels
