// Launchers of the bf16 instances of mma_swizzled that copy by cp.async.
#include "kernels/mma_swizzled/mma_swizzled.cuh"

#include "kernels/common/launch_instance.cuh"

namespace xgemm::kernels {

#define XGEMM_MMA_SWIZZLED_ASYNC_BF16(name, ...) XGEMM_DEFINE_LAUNCHER(name, MmaSwizzled<__VA_ARGS__>)
#include "kernels/instances.def"

}  // namespace xgemm::kernels
