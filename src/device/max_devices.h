// For how many GPUs something is kept each: a process that has more does without for the others.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace xgemm::device {

inline constexpr int kMaxDevices = 64;

}  // namespace xgemm::device
