// Products of matrices in host memory that are not plain (core/problem.h): of plain copies of them.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include "core/problem.h"
#include "core/status.h"
#include "host/aligned_buffer.h"

namespace xgemm::host {

// Operands of a problem.
struct Operands {
  bool a = false, b = false, c = false;
};

// Those that are not plain. A and B that are not read count as plain.
Operands not_plain(const Problem& problem);

// Some operands of a problem as plain copies, C as it was where it is read.
class PlainCopies {
 public:
  PlainCopies(const Problem& problem, Operands copied);

  bool ok() const { return a_.ok() && b_.ok() && c_.ok(); }  // else there is no memory, and no problem
  const Problem& problem() const { return plain_; }

  // Writes the copy of C to C, of the elements that the product computes.
  void write_back() const noexcept;

 private:
  const Problem& original_;
  Problem plain_;
  const bool copies_c_;
  AlignedBuffer<std::byte> a_, b_, c_;
};

// combine(problem): of a product whose operands are plain but for those beyond `copied`. C is as it was where it fails.
template <class Combine>
Status gemm_of_copies(const Problem& problem, Operands copied, const Combine& combine) {
  if (problem.does_nothing() || !(copied.a || copied.b || copied.c)) return combine(problem);
  const PlainCopies copies(problem, copied);
  if (!copies.ok()) return fail_without_memory();
  XGEMM_RETURN_IF_FAILED(combine(copies.problem()));
  copies.write_back();
  return kOk;
}

}  // namespace xgemm::host
