// thread_tiled, as the planner sees it.
#include "kernels/common/tile_family.h"
#include "kernels/thread_tiled/instances.h"

namespace xgemm::kernels {

constinit const FamilyInfo thread_tiled_family = tile_family<Family::thread_tiled>();

}  // namespace xgemm::kernels
