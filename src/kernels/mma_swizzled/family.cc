// mma_swizzled, as the planner sees it.
#include "kernels/common/tile_family.h"

namespace xgemm::kernels {

const FamilyInfo mma_swizzled_family = tile_family("mma_swizzled");

}  // namespace xgemm::kernels
