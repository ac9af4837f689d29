// The layout of a matrix operand in shared memory, for host and device.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace xgemm::gpu {

// K contiguous; or M (of the left operand) or N (of the right one) contiguous.
enum class Major : int { k = 0, mn = 1 };

}  // namespace xgemm::gpu
