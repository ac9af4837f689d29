// What a cuBLAS handle says about its calls.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include "cublas/abi.h"

namespace xgemm::cublas {

// Device memory that may be used as scratch space, from the first address that libxgemm takes.
struct Workspace {
  void* memory = nullptr;
  std::size_t bytes = 0;
};
Workspace aligned(void* memory, std::size_t bytes);

struct HandleState {
  void* stream = nullptr;  // cudaStream_t
  int pointer_mode = kScalarsOnHost;
  int math_mode = kDefaultMath;
  int sm_count_target = 0;
  Workspace workspace;
};

// Asks the cuBLAS of that version. False for what it does not take for a handle.
bool read_state(int version, Handle handle, HandleState* state);

// cuBLAS has no function that tells a handle's workspace, so that the ones which set it are watched: a stream that is
// set takes it back.
void remember_workspace(Handle handle, void* memory, std::size_t bytes) noexcept;
void forget_workspace(Handle handle) noexcept;
void forget_handle(Handle handle) noexcept;

}  // namespace xgemm::cublas
