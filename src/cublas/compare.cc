// Both libraries on the same operands.
#include "cublas/compare.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "cublas/driver.h"
#include "cublas/library.h"
#include "cublas/report.h"
#include "xgemm/float16.hpp"

namespace xgemm::cublas {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

// C of a product: columns (or rows of a row-major one) of contiguous elements.
struct Output {
  int type;
  std::int64_t length, lines, ld, batch_count, stride;

  explicit Output(const Call& call)
      : type(call.c.type),
        length(call.row_major ? call.n : call.m),
        lines(call.row_major ? call.m : call.n),
        ld(call.c.ld),
        batch_count(call.batch_count),
        stride(call.batch_count > 1 ? call.c.stride : 0) {}

  bool empty() const { return length <= 0 || lines <= 0 || batch_count <= 0; }
  std::size_t element() const {
    return type == kReal64F ? sizeof(double) : type == kReal32F ? sizeof(float) : sizeof(std::uint16_t);
  }
  // From the first element to the last.
  std::size_t bytes() const {
    return static_cast<std::size_t>((batch_count - 1) * stride + (lines - 1) * ld + length) * element();
  }

  double at(const std::vector<std::byte>& memory, std::int64_t index) const {
    const std::byte* const place = memory.data() + static_cast<std::size_t>(index) * element();
    if (type == kReal64F) return *reinterpret_cast<const double*>(place);
    if (type == kReal32F) return *reinterpret_cast<const float*>(place);
    const std::uint16_t bits = *reinterpret_cast<const std::uint16_t*>(place);
    return type == kReal16F ? half_to_float(bits) : bfloat16_to_float(bits);
  }
};

double difference(const Output& c, const std::vector<std::byte>& ours, const std::vector<std::byte>& theirs) {
  double largest = 0, scale = 0;
  for (std::int64_t b = 0; b < c.batch_count; ++b)
    for (std::int64_t j = 0; j < c.lines; ++j)
      for (std::int64_t i = 0; i < c.length; ++i) {
        const std::int64_t at = b * c.stride + j * c.ld + i;
        const double x = c.at(ours, at), y = c.at(theirs, at);
        if (x == y || (std::isnan(x) && std::isnan(y))) {
          if (std::isfinite(y)) scale = std::max(scale, std::abs(y));
          continue;
        }
        if (!std::isfinite(x) || !std::isfinite(y)) return std::numeric_limits<double>::infinity();
        largest = std::max(largest, std::abs(x - y));
        scale = std::max(scale, std::abs(y));
      }
  return largest == 0 ? 0 : largest / scale;
}

}  // namespace

int compare(const Request& request, const Forward& forward) noexcept {
  const Output c(request.call);
  void* const stream = request.state.stream;
  if (request.call.pointer_arrays || c.empty() || !wants_comparison(request.call) || !wait_for(stream))
    return forward();
  const DeviceCopy copy(request.call.c.data, c.bytes(), stream);
  if (copy.get() == nullptr) return forward();

  // The first of several runs finds the processor's caches full of other things. Only where C is not read may cuBLAS
  // compute it again.
  const int runs = request.reads_c ? 1 : 3;
  Comparison best;
  best.xgemm_us = best.cublas_us = std::numeric_limits<double>::infinity();
  int status = kSuccess;
  for (int run = 0; run < runs; ++run) {
    const Clock::time_point start = Clock::now();
    const bool served = multiply(request, copy.get()) == 0 && wait_for(stream);
    const Clock::time_point between = Clock::now();
    status = forward();
    if (!served || status != kSuccess || !wait_for(stream)) return status;
    best.xgemm_us = std::min(best.xgemm_us, microseconds(between - start));
    best.cublas_us = std::min(best.cublas_us, microseconds(Clock::now() - between));
  }
  try {
    std::vector<std::byte> ours(c.bytes()), theirs(c.bytes());
    if (copy_to_host(ours.data(), copy.get(), c.bytes()) &&
        copy_to_host(theirs.data(), request.call.c.data, c.bytes())) {
      best.difference = difference(c, ours, theirs);
      count_comparison(request.call, best);
    }
  } catch (...) {  // without memory for it, the product is there all the same
  }
  return status;
}

}  // namespace xgemm::cublas
