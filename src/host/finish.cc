// The pass over C of a product with an epilogue, on the CPU.
#include "host/finish.h"

#include <algorithm>
#include <type_traits>

#include "core/activation.h"
#include "host/conversion.h"

namespace xgemm::host {
namespace {

using std::int64_t;
using std::uint16_t;

// Elements of C (Element: how they are stored) to the type of sums and back, a stretch of a column at a time.
template <class Element, class Sum>
void widen(DType type, const Element* from, Sum* to, int64_t count) {
  if constexpr (std::is_same_v<Element, Sum>) {
    std::copy_n(from, count, to);
  } else {
    conversion(type).widen(from, to, count);
  }
}
template <class Element, class Sum>
void narrow(DType type, const Sum* from, Element* to, int64_t count) {
  if constexpr (std::is_same_v<Element, Sum>) {
    std::copy_n(from, count, to);
  } else {
    conversion(type).narrow(from, to, count);
  }
}

// Whether numbers are 0 or more, in bits from the first one on.
template <class Sum>
void store_signs(const Sum* from, unsigned char* to, int64_t count) {
  for (int64_t first = 0; first < count; first += 8) {
    unsigned bits = 0;
    for (int64_t r = first; r < std::min(first + 8, count); ++r) bits |= (from[r] >= 0 ? 1u : 0u) << (r - first);
    to[first / 8] = static_cast<unsigned char>(bits);
  }
}

template <class Element, class Sum>
void finish_matrices(const Problem& p, const Sum* sums, int64_t ld_sums, int64_t stride_sums) {
  constexpr int64_t kMost = 512;
  const Epilogue& e = p.epilogue;
  const DType type = p.c.type;
  const auto alpha = static_cast<Sum>(p.alpha.value), beta = static_cast<Sum>(p.beta.value);
  const auto* bias = static_cast<const Element*>(e.bias);
  const auto* row_scales = static_cast<const Sum*>(e.row_scales);
  const auto* column_scales = static_cast<const Sum*>(e.column_scales);
  const bool combined = combines_in_place(p), has_product = p.reads_inputs(), reads_c = p.reads_c();
  Sum x[kMost], other[kMost];
  for (int64_t b = 0; b < p.batch_count; ++b)
    for (int64_t j = 0; j < p.n; ++j)
      for (int64_t i = 0; i < p.m; i += kMost) {
        const int64_t count = std::min(kMost, p.m - i);
        Element* const c = static_cast<Element*>(p.c.data) + b * p.c.batch_stride + j * p.c.ld + i;
        if (combined) {
          widen(type, c, x, count);
        } else {
          if (has_product) {
            const Sum* const from = sums + b * stride_sums + j * ld_sums + i;
            for (int64_t r = 0; r < count; ++r) x[r] = alpha * from[r];
          } else {
            std::fill_n(x, count, Sum{0});
          }
          if (reads_c) {
            const auto* const old =
                e.old_c == nullptr ? c : static_cast<const Element*>(e.old_c) + b * e.stride_old_c + j * e.ld_old_c + i;
            widen(type, old, other, count);
            for (int64_t r = 0; r < count; ++r) x[r] += beta * other[r];
          }
        }
        if (e.bias_along == Along::rows) {
          widen(type, bias + i, other, count);
          for (int64_t r = 0; r < count; ++r) x[r] += other[r];
        } else if (e.bias_along == Along::columns) {
          widen(type, bias + j, other, 1);
          for (int64_t r = 0; r < count; ++r) x[r] += other[0];
        }
        if (e.aux != nullptr) {
          const int64_t at = b * e.stride_aux + j * e.ld_aux + i;
          if (e.aux_is_bits()) {
            store_signs(x, static_cast<unsigned char*>(e.aux) + at / 8, count);
          } else {
            narrow(type, x, static_cast<Element*>(e.aux) + at, count);
          }
        }
        if (e.activation != Activation::none)
          for (int64_t r = 0; r < count; ++r) x[r] = activated(e.activation, x[r]);
        if (row_scales != nullptr)
          for (int64_t r = 0; r < count; ++r) x[r] *= row_scales[i + r];
        if (column_scales != nullptr)
          for (int64_t r = 0; r < count; ++r) x[r] *= column_scales[j];
        narrow(type, x, c, count);
      }
}

template <class Element, class Sum>
void finish_type(const Problem& p, const void* buffer) {
  if (needs_buffer(p)) {
    finish_matrices<Element, Sum>(p, static_cast<const Sum*>(buffer), p.m, p.m * p.n);
  } else {
    finish_matrices<Element, Sum>(p, static_cast<const Sum*>(p.c.data), p.c.ld, p.c.batch_stride);
  }
}

}  // namespace

void finish(const Problem& problem, const void* buffer) noexcept {
  switch (problem.c.type) {
    case DType::f32:
      return finish_type<float, float>(problem, buffer);
    case DType::f64:
      return finish_type<double, double>(problem, buffer);
    case DType::f16:
    case DType::bf16:
      return finish_type<uint16_t, float>(problem, buffer);
  }
}

}  // namespace xgemm::host
