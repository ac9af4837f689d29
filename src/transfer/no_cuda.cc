// Staging in a build without CUDA, which the route never leads to.
#include "transfer/staging.h"

namespace xgemm::transfer {

class Stager {};

void StagerDeleter::operator()(Stager* stager) const noexcept {
  delete stager;
}

Status staged_gemm(StagerHandle&, const Problem&, const runtime::Placement&, const device::DeviceInfo&, void*,
                   Unfinished*) {
  return fail(XGEMM_NO_DEVICE, "this libxgemm was built without CUDA");
}

std::string explain_staging(const Problem&, const runtime::Placement&, const device::DeviceInfo&) {
  return {};
}

}  // namespace xgemm::transfer
