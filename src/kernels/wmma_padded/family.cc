// wmma_padded, as the planner sees it.
#include "kernels/common/tile_family.h"

namespace xgemm::kernels {

const FamilyInfo wmma_padded_family = tile_family("wmma_padded");

}  // namespace xgemm::kernels
