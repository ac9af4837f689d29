// Launchers of the thread_tiled instances.
#include "kernels/thread_tiled/thread_tiled.cuh"

#include "kernels/common/launch_instance.cuh"

namespace xgemm::kernels {

#define XGEMM_THREAD_TILED(name, ...) XGEMM_DEFINE_LAUNCHER(name, ThreadTiled<__VA_ARGS__>)
#include "kernels/instances.def"

}  // namespace xgemm::kernels
