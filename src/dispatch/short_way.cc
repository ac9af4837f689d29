// Small plain products of host memory, straight to the CPU BLAS once nothing about the call is unusual.
#include "dispatch/short_way.h"

#include <cstdint>
#include <limits>

#include "core/environment.h"
#include "core/once.h"
#include "core/status.h"
#include "core/thread_state.h"
#include "dispatch/host_trip.h"
#include "host/cpu_blas.h"
#include "plan/forced_kernel.h"
#include "runtime/pointer_location.h"

namespace xgemm::dispatch {
namespace {

constexpr char upper(char flag) {
  return static_cast<char>(flag & ~0x20);
}

constexpr bool is_legal(char flag) {
  return flag == 'N' || flag == 'T' || flag == 'C';
}

// Whether a product is too small for a GPU to be looked for. Extents of 2^20 and more are not usual.
constexpr bool is_small(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  return m < kMost && n < kMost && k < kMost && 2 * m * n * k < static_cast<std::int64_t>(kMinFlopsForDevice);
}

// Of at least `extent` elements, and of the size that every BLAS takes.
constexpr bool is_usual(std::int64_t ld, std::int64_t extent) {
  return ld >= extent && ld <= std::numeric_limits<std::int32_t>::max();
}

// The environment asks for nothing that the short way does not give. What is wrong in it, a context says when it is
// made.
bool is_open() {
  static Once<bool> open;
  return open.get([] { return environment().verbose == 0 && !environment().summary && plan::forced_kernel().empty(); });
}

}  // namespace

template <class T>
bool take_short_way(char transa, char transb, host::Gemm<T> p) noexcept try {
  transa = upper(transa), transb = upper(transb);
  if (!is_legal(transa) || !is_legal(transb) || p.m <= 0 || p.n <= 0 || p.k <= 0) return false;
  if (!is_small(p.m, p.n, p.k)) return false;
  const bool a_plain = transa == 'N', b_plain = transb == 'N';
  if (!is_usual(p.lda, a_plain ? p.m : p.k) || !is_usual(p.ldb, b_plain ? p.k : p.n) || !is_usual(p.ldc, p.m))
    return false;
  if (p.a == nullptr || p.b == nullptr || p.c == nullptr || p.alpha == 0) return false;
  if (!is_open() || runtime::may_have_device_memory()) return false;
  ThreadState& mine = thread_state;
  if (mine.inside_library) return false;
  p.transa = a_plain ? Op::none : Op::transpose;
  p.transb = b_plain ? Op::none : Op::transpose;
  const auto call = [&](const auto& blas) {
    if (blas.function == nullptr || !blas.conduct.keeps_nan || !blas.conduct.spares_c) return false;
    blas.call(p);
    return true;
  };
  const host::CpuBlas& blas = host::cpu_blas();
  const host::InsideLibrary guard(mine);
  if (p.fill == Fill::full ? !call(blas.template gemm<T>())
                           : !host::SyrkRoutine<T>::takes(p) || !call(blas.template syrk<T>()))
    return false;
  if (mine.has_message) clear_last_error();
  return true;
} catch (...) {
  return false;
}

template bool take_short_way(char transa, char transb, host::Gemm<float> product) noexcept;
template bool take_short_way(char transa, char transb, host::Gemm<double> product) noexcept;

}  // namespace xgemm::dispatch
