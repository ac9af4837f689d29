// setmaxnreg: warpgroups hand registers to each other. A CTA has what its threads were launched with; an acquisition
// waits until others have released enough.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sim/machine.h"

namespace xgemm::sim {

void release_registers(int registers, Loc loc);
void acquire_registers(int registers, Loc loc);

}  // namespace xgemm::sim
