// Launchers of the medium wgmma_tma instances.
#include "kernels/launchers.h"
#include "kernels/wgmma_tma/launch.cuh"

namespace xgemm::kernels {

#define XGEMM_WGMMA_TMA_MEDIUM(name, ...) XGEMM_DEFINE_WGMMA_TMA_LAUNCHER(name, __VA_ARGS__)
#include "kernels/instances.def"

}  // namespace xgemm::kernels
