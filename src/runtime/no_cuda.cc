// Launching in a build without CUDA, which the route never leads to.
#include "runtime/finish.h"
#include "runtime/launch.h"
#include "runtime/pointer_batch.h"
#include "runtime/prepared.h"
#include "runtime/scattered.h"

namespace xgemm::runtime {

const device::DeviceInfo& completed(const device::DeviceInfo& device) {
  return device;
}

Status launch(const plan::Plan&, const Problem&, const device::DeviceInfo&, const LaunchSettings&) {
  return fail(XGEMM_NO_DEVICE, "this libxgemm was built without CUDA");
}

Status scattered_gemm(const Problem&, const device::DeviceInfo&, const LaunchSettings&) {
  return fail(XGEMM_NO_DEVICE, "this libxgemm was built without CUDA");
}

Status pointer_batch_gemm(const Problem&, const device::DeviceInfo&, const LaunchSettings&) {
  return fail(XGEMM_NO_DEVICE, "this libxgemm was built without CUDA");
}

Status finished_gemm(const Problem&, const device::DeviceInfo&, const LaunchSettings&) {
  return fail(XGEMM_NO_DEVICE, "this libxgemm was built without CUDA");
}

Status prepare(const OperandLines&, const device::DeviceInfo&, const LaunchSettings&, xgemm_prepared*) {
  return fail(XGEMM_NO_DEVICE, "this libxgemm was built without CUDA");
}

Status release(const xgemm_prepared&) {
  return kOk;
}

}  // namespace xgemm::runtime
