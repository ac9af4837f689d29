// The runtime of a build without CUDA: no devices, so that nothing below the route is ever reached.
#include "runtime/device_info.h"
#include "runtime/launch.h"
#include "runtime/staging.h"

namespace xgemm::runtime {
namespace {

Status not_in_this_build() {
  return fail(XGEMM_NO_DEVICE, "this libxgemm was built without CUDA");
}

}  // namespace

class Stager {};

void StagerDeleter::operator()(Stager* stager) const noexcept {
  delete stager;
}

int device_count() {
  return 0;
}

const DeviceInfo* device_info(int) {
  return nullptr;
}

int current_device() {
  return 0;
}

const std::string& no_device_reason() {
  static const std::string reason = "this libxgemm was built without CUDA";
  return reason;
}

void synchronize(const DeviceInfo&, void*) {}

Status launch(const plan::Plan&, const Problem&, const DeviceInfo&, const LaunchSettings&) {
  return not_in_this_build();
}

Status staged_gemm(StagerHandle&, const Problem&, const Placement&, const DeviceInfo&, void*) {
  return not_in_this_build();
}

std::string explain_staging(const Problem&, const Placement&, const DeviceInfo&) {
  return {};
}

}  // namespace xgemm::runtime
