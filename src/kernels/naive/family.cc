// naive, as the planner sees it.
#include "kernels/common/tile_family.h"

namespace xgemm::kernels {

const FamilyInfo naive_family = tile_family("naive");

}  // namespace xgemm::kernels
