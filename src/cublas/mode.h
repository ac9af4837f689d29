// What the environment says: which calls of cuBLAS libxgemm serves, and whether TF32 is out of the question.
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

// NVIDIA_TF32_OVERRIDE=0: the libraries of CUDA compute no fp32 product in TF32, whatever the program allows.
bool forbids_tf32();

}  // namespace xgemm::cublas
