// Products of host operands on the GPU: copied over in pieces, so that copies and kernels overlap, with bounded device
// memory.
#pragma once

#include <memory>
#include <string>

#include "core/problem.h"
#include "core/status.h"
#include "device/device_info.h"
#include "runtime/pointer_location.h"

namespace xgemm::transfer {

// The page-locked and device buffers, streams and events that a context keeps between staged calls.
class Stager;
struct StagerDeleter {
  void operator()(Stager* stager) const noexcept;
};
using StagerHandle = std::unique_ptr<Stager, StagerDeleter>;

// Runs the product and returns when C is ready. Any mix of host, device and managed operands. Work that was enqueued on
// the user's stream before is waited for. Makes the stager on first use.
Status staged_gemm(StagerHandle& stager, const Problem& problem, const runtime::Placement& placement,
                   const device::DeviceInfo& device, void* stream);

// The pieces it would use, a line each.
std::string explain_staging(const Problem& problem, const runtime::Placement& placement,
                            const device::DeviceInfo& device);

}  // namespace xgemm::transfer
