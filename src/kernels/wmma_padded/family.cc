// wmma_padded, as the planner sees it.
#include "kernels/common/tile_family.h"
#include "kernels/wmma_padded/instances.h"

namespace xgemm::kernels {

constinit const FamilyInfo wmma_padded_family = tile_family<Family::wmma_padded>();

}  // namespace xgemm::kernels
