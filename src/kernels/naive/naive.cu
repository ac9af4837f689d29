// Launchers of the naive instances.
#include "kernels/naive/naive.cuh"

#include "kernels/common/launch_instance.cuh"

namespace xgemm::kernels {

#define XGEMM_NAIVE(name, ...) XGEMM_DEFINE_LAUNCHER(name, Naive<__VA_ARGS__>)
#include "kernels/instances.def"

}  // namespace xgemm::kernels
