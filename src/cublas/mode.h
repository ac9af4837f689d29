// XGEMM_CUBLAS: which calls of cuBLAS libxgemm serves.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace xgemm::cublas {

enum class Mode {
  automatic,  // auto: those that it is expected to serve better
  always,     // all that it can
  never,
  compare,  // none; what it can serve is computed by both, and told at the end of the process
};

// Read once; a value that is not allowed is reported and taken for auto.
Mode mode();

}  // namespace xgemm::cublas
