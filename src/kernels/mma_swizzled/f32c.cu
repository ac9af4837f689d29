// Launchers of the fp16 instances of mma_swizzled for operands that start anywhere.
#include "kernels/mma_swizzled/mma_swizzled.cuh"

#include "kernels/common/launch_instance.cuh"

namespace xgemm::kernels {

#define XGEMM_MMA_SWIZZLED_F32C(name, ...) XGEMM_DEFINE_LAUNCHER(name, MmaSwizzled<__VA_ARGS__>)
#include "kernels/instances.def"

}  // namespace xgemm::kernels
