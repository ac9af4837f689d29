// Staging in a build without CUDA, which the route never leads to.
#include "transfer/peer_gemm.h"
#include "transfer/staging.h"

namespace xgemm::transfer {

namespace {

Status not_in_this_build() {
  return fail(XGEMM_NO_DEVICE, "this libxgemm was built without CUDA");
}

}  // namespace

class Stager {};

void StagerDeleter::operator()(Stager* stager) const noexcept {
  delete stager;
}

Status staged_gemm(StagerHandle&, const Problem&, const runtime::Placement&, const device::DeviceInfo&, void*,
                   Unfinished*) {
  return not_in_this_build();
}

Status peer_gemm(const Problem&, const runtime::Placement&, const device::DeviceInfo&, const runtime::LaunchSettings&) {
  return not_in_this_build();
}

Status explain_staging(const Problem&, const runtime::Placement&, const device::DeviceInfo&, std::string*) {
  return not_in_this_build();
}

}  // namespace xgemm::transfer
