// smem_tiled, as the planner sees it.
#include "kernels/common/tile_family.h"

namespace xgemm::kernels {

const FamilyInfo smem_tiled_family = tile_family("smem_tiled");

}  // namespace xgemm::kernels
