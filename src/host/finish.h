// Epilogues of products in host memory (core/finishing.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/finishing.h"
#include "core/problem.h"
#include "core/status.h"
#include "host/aligned_buffer.h"

namespace xgemm::host {

// Computes the epilogue of what product_before() left, in C or in the buffer. The scalars must be known.
void finish(const Problem& problem, const void* buffer) noexcept;

// The product with its epilogue. combine(problem): of a product without one, which is there when it returns.
template <class Combine>
Status finished_gemm(const Problem& problem, const Combine& combine) {
  if (!problem.epilogue.any()) return combine(problem);
  if (problem.does_nothing()) return kOk;
  Panels panels(problem);
  const AlignedBuffer<std::byte> buffer(panels.buffer_bytes());
  if (!buffer.ok()) return fail_without_memory();
  for (Problem panel; panels.next(&panel);) {
    if (const std::optional<Problem> product = product_before(panel, buffer.data()))
      XGEMM_RETURN_IF_FAILED(combine(*product));
    finish(panel, buffer.data());
  }
  return kOk;
}

}  // namespace xgemm::host
