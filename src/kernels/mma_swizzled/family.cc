// mma_swizzled, as the planner sees it.
#include "kernels/common/tile_family.h"
#include "kernels/mma_swizzled/instances.h"

namespace xgemm::kernels {

constinit const FamilyInfo mma_swizzled_family = tile_family<Family::mma_swizzled>();

}  // namespace xgemm::kernels
