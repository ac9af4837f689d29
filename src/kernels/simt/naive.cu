// Launchers of the naive instances.
#include "kernels/simt/naive.cuh"

#include "kernels/launch_instance.cuh"

namespace xgemm::kernels {

#define XGEMM_NAIVE(name, ...) XGEMM_DEFINE_LAUNCHER(name, Naive<__VA_ARGS__>)
#include "kernels/instances.def"

}  // namespace xgemm::kernels
