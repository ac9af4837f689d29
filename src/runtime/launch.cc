// The launch table, and GemmParams from a Problem.
#include "runtime/launch.h"

#include "device/cuda_status.h"
#include "kernels/launchers.h"
#include "runtime/workspace.h"

namespace xgemm::runtime {
namespace {

constexpr kernels::Launcher kLaunchers[] = {
#define XGEMM_INSTANCE(family, name, ...) kernels::launch_##name,
#include "kernels/instances.def"
};

kernels::ConstMatrixArg input_arg(const InputMatrix& x) {
  const std::int64_t row_stride = x.op == Op::none ? 1 : x.ld;
  const std::int64_t col_stride = x.op == Op::none ? x.ld : 1;
  return {x.data, row_stride, col_stride, x.batch_stride};
}

kernels::GemmParams params_of(const Problem& p) {
  return {{p.alpha.value, p.beta.value, p.alpha.device, p.beta.device},
          input_arg(p.a),
          input_arg(p.b),
          {p.c.data, 1, p.c.ld, p.c.batch_stride},
          p.m,
          p.n,
          p.k,
          p.batch_count};
}

}  // namespace

Status launch(const plan::Plan& plan, const Problem& problem, const device::DeviceInfo& device,
              const LaunchSettings& settings) {
  const device::DeviceGuard guard(device.ordinal);
  XGEMM_RETURN_IF_FAILED(device::cuda_status(guard.status(), "cudaSetDevice"));
  const kernels::Launcher launcher = kLaunchers[static_cast<int>(plan.kernel)];
  const auto enqueue = [&](const kernels::SplitK& split) {
    return device::cuda_status(launcher(params_of(problem), split, static_cast<cudaStream_t>(settings.stream)),
                               plan::name_of(plan));
  };
  if (plan.parts == 1) return enqueue({});
  const Workspace workspace(device.ordinal, settings, plan.workspace_bytes);
  if (workspace.data() == nullptr) return enqueue({});  // slower, but right
  return enqueue({plan.whole_tiles, plan.parts, static_cast<float*>(workspace.data())});
}

}  // namespace xgemm::runtime
