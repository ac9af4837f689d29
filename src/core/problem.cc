// Printing a Problem.
#include "core/problem.h"

#include "core/status.h"

namespace xgemm {
namespace {

// Nine significant digits bring every float back exactly.
std::string to_string(const Scalar& scalar) {
  return scalar.known() ? format("%.9g", static_cast<double>(scalar.value)) : std::string("device");
}

}  // namespace

std::string to_string(const Problem& p) {
  return format(
      "type=%c layout=col transa=%c transb=%c m=%lld n=%lld k=%lld alpha=%s lda=%lld ldb=%lld beta=%s ldc=%lld "
      "batch=%lld "
      "stride_a=%lld stride_b=%lld stride_c=%lld",
      letter_of(p.type), static_cast<char>(p.a.op), static_cast<char>(p.b.op), static_cast<long long>(p.m),
      static_cast<long long>(p.n), static_cast<long long>(p.k), to_string(p.alpha).c_str(),
      static_cast<long long>(p.a.ld), static_cast<long long>(p.b.ld), to_string(p.beta).c_str(),
      static_cast<long long>(p.c.ld), static_cast<long long>(p.batch_count), static_cast<long long>(p.a.batch_stride),
      static_cast<long long>(p.b.batch_stride), static_cast<long long>(p.c.batch_stride));
}

}  // namespace xgemm
