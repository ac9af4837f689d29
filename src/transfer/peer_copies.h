// Operands on several GPUs: copies of what the computing one cannot reach. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/problem.h"
#include "runtime/pointer_location.h"
#include "transfer/staging_plan.h"

namespace xgemm::transfer {

// One block of memory for all of them.
struct PeerCopies {
  StagedOperands operands;  // never C: the GPU that has C computes
  bool alpha = false, beta = false;
  std::int64_t a_offset = 0, b_offset = 0, alpha_offset = 0, beta_offset = 0;
  std::int64_t bytes = 0;
};

PeerCopies peer_copies(const Problem& problem, const runtime::Placement& placement, int ordinal);

// The problem on the copies, which lie at memory.
Problem on_copies(const Problem& problem, const PeerCopies& copies, std::byte* memory);

std::string to_string(const PeerCopies& copies);

}  // namespace xgemm::transfer
