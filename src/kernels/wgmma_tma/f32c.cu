// Launchers of the wgmma_tma instances with C in fp32.
#include "kernels/launchers.h"
#include "kernels/wgmma_tma/launch.cuh"

namespace xgemm::kernels {

#define XGEMM_WGMMA_TMA_F32C(name, ...) XGEMM_DEFINE_WGMMA_TMA_LAUNCHER(name, __VA_ARGS__)
#include "kernels/instances.def"

}  // namespace xgemm::kernels
