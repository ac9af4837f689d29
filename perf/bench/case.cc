// Implementation of case.h. SPDX-License-Identifier: BSD-3-Clause
#include "bench/case.h"

#include <fmt/format.h>

#include <utility>

namespace xgemm::perf {
namespace {

Case::Extent stored_extent(std::int64_t rows, std::int64_t cols, char trans, bool row_major) {
  if (trans != 'N') std::swap(rows, cols);
  return row_major ? Case::Extent{cols, rows} : Case::Extent{rows, cols};
}

std::int64_t span(Case::Extent extent, std::int64_t ld, std::int64_t batch, std::int64_t stride) {
  return (batch - 1) * stride + (extent.strided - 1) * ld + extent.contiguous;
}

}  // namespace

Case::Extent Case::a_extent() const {
  return stored_extent(m, k, transa, row_major);
}
Case::Extent Case::b_extent() const {
  return stored_extent(k, n, transb, row_major);
}
Case::Extent Case::c_extent() const {
  return stored_extent(m, n, 'N', row_major);
}

void Case::set_dense_layout(std::int64_t pad) {
  lda = a_extent().contiguous + pad;
  ldb = b_extent().contiguous + pad;
  ldc = c_extent().contiguous + pad;
  stride_a = lda * a_extent().strided;
  stride_b = ldb * b_extent().strided;
  stride_c = ldc * c_extent().strided;
}

std::int64_t Case::a_span() const {
  return span(a_extent(), lda, batch, stride_a);
}
std::int64_t Case::b_span() const {
  return span(b_extent(), ldb, batch, stride_b);
}
std::int64_t Case::c_span() const {
  return span(c_extent(), ldc, batch, stride_c);
}

bool Case::is_representable() const {
  const auto small = [&](Extent extent, std::int64_t ld, std::int64_t stride) {
    const auto elements = static_cast<double>(batch) * static_cast<double>(stride) +
                          static_cast<double>(extent.strided) * static_cast<double>(ld);
    return elements < 0x1p58;
  };
  return small(a_extent(), lda, stride_a) && small(b_extent(), ldb, stride_b) && small(c_extent(), ldc, stride_c);
}

double Case::flops() const {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) * static_cast<double>(batch);
}

double Case::bytes() const {
  const auto area = [](std::int64_t rows, std::int64_t cols) {
    return static_cast<double>(rows) * static_cast<double>(cols);
  };
  const double batches = static_cast<double>(batch);
  const double a = area(m, k) * (stride_a == 0 ? 1 : batches);
  const double b = area(k, n) * (stride_b == 0 ? 1 : batches);
  const double c = area(m, n) * batches * (beta == 0 ? 1 : 2);
  return (a + b) * static_cast<double>(input().size) + c * static_cast<double>(output().size);
}

std::string Case::id() const {
  std::string text = fmt::format("{} {}{} {}x{}x{}", type, transa, transb, m, n, k);
  if (row_major) text += " row";
  Case dense = *this;
  dense.set_dense_layout(0);
  if (lda != dense.lda || ldb != dense.ldb || ldc != dense.ldc) text += fmt::format(" ld={},{},{}", lda, ldb, ldc);
  if (alpha != 1) text += fmt::format(" alpha={}", alpha);
  if (beta != 0) text += fmt::format(" beta={}", beta);
  if (!epilogue.empty()) text += " epilogue=" + epilogue;
  if (batch != 1) {
    text += fmt::format(" batch={}", batch);
    Case packed = *this;
    packed.stride_a = lda * a_extent().strided;
    packed.stride_b = ldb * b_extent().strided;
    packed.stride_c = ldc * c_extent().strided;
    if (packed != *this) text += fmt::format(" strides={},{},{}", stride_a, stride_b, stride_c);
  }
  if (by_pointers) text += " pointers";
  if (offset != 0) text += fmt::format(" offset={}", offset);
  if (!location.empty() && location != "ddd") text += " at=" + location;
  return text;
}

}  // namespace xgemm::perf
