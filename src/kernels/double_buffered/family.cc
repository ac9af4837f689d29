// double_buffered, as the planner sees it.
#include "kernels/common/tile_family.h"
#include "kernels/double_buffered/instances.h"

namespace xgemm::kernels {

constinit const FamilyInfo double_buffered_family = tile_family<Family::double_buffered>();

}  // namespace xgemm::kernels
