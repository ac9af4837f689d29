// How each operand of a staged product gets to the kernel.
#pragma once

#include "core/problem.h"
#include "device/device_info.h"
#include "runtime/pointer_location.h"
#include "transfer/staging_plan.h"

namespace xgemm::transfer {

enum class Path {
  unused,
  in_place,
  direct,  // the copy engine reads or writes it: page-locked
  peer,    // the copy engine reads it from another GPU: never C, where C is on a GPU, that one computes
  packed,  // through page-locked memory, by threads
};

struct Paths {
  Path a = Path::unused, b = Path::unused, c = Path::unused;
  int a_device = -1, b_device = -1;  // of peers
};

const char* name_of(Path path);

// The operands that have to be copied.
StagedOperands staged_operands(const Paths& paths);

// Asks CUDA which host memory is page-locked.
Paths find_paths(const Problem& problem, const runtime::Placement& placement, const device::DeviceInfo& device);

}  // namespace xgemm::transfer
