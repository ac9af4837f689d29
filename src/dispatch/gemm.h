// The way of a call below the API: locate the operands, choose a route, take it.
#pragma once

#include <cstddef>
#include <string>

#include "core/problem.h"
#include "core/status.h"
#include "transfer/staging.h"

namespace xgemm::dispatch {

// What a call takes from its context.
struct CallSettings {
  void* stream = nullptr;  // cudaStream_t
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  transfer::StagerHandle* stager = nullptr;  // made on first use
};

// The problem is checked and canonical.
Status gemm(const CallSettings& settings, const Problem& problem);

// Writes how gemm() would serve the problem, and why, without running it.
Status explain(const CallSettings& settings, const Problem& problem, std::string* text);

}  // namespace xgemm::dispatch
