// Products of host operands on the GPU: copied over in pieces, so that copies and kernels overlap, with bounded device
// memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/problem.h"
#include "core/status.h"
#include "device/device_info.h"
#include "runtime/pointer_location.h"
#include "transfer/staging_plan.h"

namespace xgemm::transfer {

// The page-locked and device buffers, streams and events that a context keeps between staged calls.
class Stager;
struct StagerDeleter {
  void operator()(Stager* stager) const noexcept;
};
using StagerHandle = std::unique_ptr<Stager, StagerDeleter>;

// What a staged product that failed leaves of C.
struct Unfinished {
  std::vector<Piece> pieces;  // not computed: C still has its old values there
  bool torn = false;          // of some of C it is not known whether its values are old or new
};

// Runs the product and returns when C is ready. Any mix of host, device and managed operands. Work that was enqueued on
// the user's stream before is waited for. Makes the stager on first use. The problem computes something.
Status staged_gemm(StagerHandle& stager, const Problem& problem, const runtime::Placement& placement,
                   const device::DeviceInfo& device, void* stream, Unfinished* unfinished);

// Appends the cut, how operands get to the kernel, and the kernel of the first piece. Fails where no kernel serves it.
Status explain_staging(const Problem& problem, const runtime::Placement& placement, const device::DeviceInfo& device,
                       std::string* text);

}  // namespace xgemm::transfer
