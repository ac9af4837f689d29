// thread_tiled, as the planner sees it.
#include "kernels/common/tile_family.h"

namespace xgemm::kernels {

const FamilyInfo thread_tiled_family = tile_family("thread_tiled");

}  // namespace xgemm::kernels
