// Launchers of the smem_tiled instances.
#include "kernels/simt/smem_tiled.cuh"

#include "kernels/launch_instance.cuh"

namespace xgemm::kernels {

#define XGEMM_SMEM_TILED(name, ...) XGEMM_DEFINE_LAUNCHER(name, SmemTiled<__VA_ARGS__>)
#include "kernels/instances.def"

}  // namespace xgemm::kernels
