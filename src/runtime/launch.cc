// GemmParams from a Problem, and the launches of a plan.
#include "runtime/launch.h"

#include <array>
#include <mutex>

#include "device/cuda_status.h"
#include "kernels/common/schedule_pieces.h"
#include "kernels/launchers.h"
#include "runtime/workspace.h"

namespace xgemm::runtime {
namespace {

kernels::ConstMatrixArg input_arg(const InputMatrix& x) {
  const std::int64_t row_stride = x.op == Op::none ? 1 : x.ld;
  const std::int64_t col_stride = x.op == Op::none ? x.ld : 1;
  return {x.data, row_stride, col_stride, x.batch_stride};
}

// Of the type in which sums are kept.
kernels::Factor factor_of(const Scalar& x) {
  return kernels::Factor::of(static_cast<float>(x.value), x.device);
}

kernels::GemmParams params_of(const Problem& p) {
  return {{factor_of(p.alpha), factor_of(p.beta)},
          input_arg(p.a),
          input_arg(p.b),
          {p.c.data, 1, p.c.ld, p.c.batch_stride},
          p.m,
          p.n,
          p.k,
          p.batch_count};
}

}  // namespace

const device::DeviceInfo& completed(const device::DeviceInfo& device) {
#if !defined(XGEMM_NO_SM90A)
  constexpr int kMaxDevices = 64;
  static std::array<std::once_flag, kMaxDevices> once;
  static std::array<device::DeviceInfo, kMaxDevices> known;
  if (device.compute_capability != 90 || device.ordinal < 0 || device.ordinal >= kMaxDevices) return device;
  device::DeviceInfo& own = known[static_cast<std::size_t>(device.ordinal)];
  std::call_once(once[static_cast<std::size_t>(device.ordinal)], [&] {
    own = device;
    const device::DeviceGuard guard(device.ordinal);
    if (guard.status() != cudaSuccess || kernels::ask_resident_clusters(own) != cudaSuccess) {
      own = device;
      cudaGetLastError();  // the caller's own CUDA code must not find this error
    }
  });
  return own;
#else
  return device;
#endif
}

Status launch(const plan::Plan& plan, const Problem& problem, const device::DeviceInfo& device,
              const LaunchSettings& settings) {
  const device::DeviceGuard guard(device.ordinal);
  XGEMM_RETURN_IF_FAILED(device::cuda_status(guard.status(), "cudaSetDevice"));
  const kernels::Launcher launcher = kernels::launcher_of(plan.kernel);
  const auto enqueue = [&](const kernels::Schedule& schedule, void* workspace) {
    return device::cuda_status(
        launcher(params_of(problem), schedule, workspace, static_cast<cudaStream_t>(settings.stream)),
        plan::name_of(plan));
  };
  if (plan.schedule.split_tiles == 0) return enqueue(plan.schedule, nullptr);
  // With less memory than all sums need the same sums are made in several launches: the bits of a product do not depend
  // on what is free.
  const std::size_t least = kernels::least_workspace(plan.schedule);
  const Workspace workspace(device.ordinal, settings, plan.schedule.workspace_bytes, least);
  if (workspace.data() == nullptr)
    return fail(XGEMM_OUT_OF_DEVICE_MEMORY,
                format("no %zu bytes of device memory for the sums of a split tile", least));
  kernels::SchedulePieces pieces(plan.schedule, workspace.bytes());
  for (kernels::Schedule piece; pieces.next(&piece);) XGEMM_RETURN_IF_FAILED(enqueue(piece, workspace.data()));
  return kOk;
}

}  // namespace xgemm::runtime
