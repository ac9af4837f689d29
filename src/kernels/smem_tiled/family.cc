// smem_tiled, as the planner sees it.
#include "kernels/common/tile_family.h"
#include "kernels/smem_tiled/instances.h"

namespace xgemm::kernels {

constinit const FamilyInfo smem_tiled_family = tile_family<Family::smem_tiled>();

}  // namespace xgemm::kernels
