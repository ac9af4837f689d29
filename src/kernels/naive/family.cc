// naive, as the planner sees it.
#include "kernels/common/tile_family.h"
#include "kernels/naive/instances.h"

namespace xgemm::kernels {

constinit const FamilyInfo naive_family = tile_family<Family::naive>();

}  // namespace xgemm::kernels
