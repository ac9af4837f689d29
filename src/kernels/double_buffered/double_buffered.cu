// Launchers of the double_buffered instances that go through registers.
#include "kernels/double_buffered/double_buffered.cuh"

#include "kernels/common/launch_instance.cuh"

namespace xgemm::kernels {

#define XGEMM_DOUBLE_BUFFERED(name, ...) XGEMM_DEFINE_LAUNCHER(name, DoubleBuffered<__VA_ARGS__>)
#define XGEMM_DOUBLE_BUFFERED_ASYNC(name, ...)
#include "kernels/instances.def"

}  // namespace xgemm::kernels
