// double_buffered, as the planner sees it.
#include "kernels/common/tile_family.h"

namespace xgemm::kernels {

const FamilyInfo double_buffered_family = tile_family("double_buffered");

}  // namespace xgemm::kernels
