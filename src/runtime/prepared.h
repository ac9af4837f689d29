// Operands that are kept in parts for several products: what a handle has of the operand at hand, and how it is made.
#pragma once

#include "core/prepared.h"
#include "core/problem.h"
#include "core/status.h"
#include "device/device_info.h"
#include "runtime/device_gemm.h"

namespace xgemm::runtime {

inline OperandLines lines_of_a(const Problem& p) {
  return {p.a.data, p.m, p.k, p.a.ld, p.a.op == Op::transpose};
}
inline OperandLines lines_of_b(const Problem& p) {
  return {p.b.data, p.n, p.k, p.b.ld, p.b.op == Op::none};
}

// The parts of an operand; null where its handle, if it has one, has none of it.
inline void* parts_of(const InputMatrix& x, const OperandLines& lines) {
  return x.prepared == nullptr || x.batch_stride != 0 ? nullptr : x.prepared->find(lines);
}

// A problem without the handles that are of no use for it.
inline Problem with_own_parts(Problem p) {
  if (parts_of(p.a, lines_of_a(p)) == nullptr) p.a.prepared = nullptr;
  if (parts_of(p.b, lines_of_b(p)) == nullptr) p.b.prepared = nullptr;
  return p;
}

// Fills in *prepared, and enqueues the work. The operand has elements.
Status prepare(const OperandLines& operand, const device::DeviceInfo& device, const LaunchSettings& settings,
               xgemm_prepared* prepared);

// Frees what *prepared holds, after the work that uses it.
Status release(const xgemm_prepared& prepared);

}  // namespace xgemm::runtime
