// How a product with an epilogue is computed where no kernel applies it: as a product without one, and a pass over its
// results (kernels/finish/ on a GPU, host/finish.cc on the CPU). Every kernel can thus serve every epilogue. Pure.
//
//   C has the type in which sums are kept, and is what beta multiplies: the product leaves alpha * AB + beta * C in C,
//   and the pass turns it into the result, in place.
//   Otherwise, and where beta is known to be 0, the product leaves AB in the type of sums: in C where that has this
//   type, else in a buffer, whose size is bounded by computing panels of C one after the other. The pass reads old C.
//   On a GPU it rounds alpha * AB + bias once, as kernels do that finish it themselves.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/problem.h"

namespace xgemm {

// Whether the product leaves more than its sums.
inline bool combines_in_place(const Problem& p) {
  return p.c.type == p.sums() && p.epilogue.old_c == nullptr && p.reads_c();
}

inline bool needs_buffer(const Problem& p) {
  return p.c.type != p.sums() && p.reads_inputs();
}

// Whether there may be kernels that compute all of the epilogue themselves (FamilyInfo::finishes): what needs no other
// matrix. Those that emulate fp32 do not; what they leave to strict ones is a strict product (runtime/device_gemm.cc).
inline bool kernels_may_finish(const Problem& p) {
  const Epilogue& e = p.epilogue;
  return e.any() && p.has_plain_c() && p.reads_inputs() && !p.reads_c() && e.old_c == nullptr && e.aux == nullptr &&
         p.compute != Compute::fp32_emulated;
}

// The product that comes before the pass; empty where the pass alone is left.
// buffer: where its sums go if it needs_buffer(), column after column, entry after entry.
inline std::optional<Problem> product_before(const Problem& p, void* buffer) {
  Problem product = p;
  product.epilogue = {};
  if (combines_in_place(p)) return product.does_nothing() ? std::nullopt : std::optional(product);
  if (!p.reads_inputs()) return std::nullopt;
  product.alpha = {1, nullptr};
  product.beta = {0, nullptr};
  if (needs_buffer(p)) product.c = {p.sums(), buffer, p.m, p.m * p.n};
  return product;
}

// Some of a product's columns, of some entries of its batch.
inline Problem columns_of(const Problem& all, std::int64_t column, std::int64_t columns, std::int64_t entry,
                          std::int64_t entries) {
  Problem p = all;
  p.n = std::min(columns, all.n - column);
  p.batch_count = std::min(entries, all.batch_count - entry);
  p.a.data = moved(all.a.data, entry * all.a.batch_stride, all.a.type);
  p.b.data = moved(all.b.data, entry * all.b.batch_stride + all.b.offset(0, column), all.b.type);
  p.c.data = moved(all.c.data, entry * all.c.batch_stride + all.c.offset(0, column), all.c.type);
  Epilogue& e = p.epilogue;
  e.old_c = moved(e.old_c, entry * e.stride_old_c + column * e.ld_old_c, all.c.type);
  const std::int64_t aux = entry * e.stride_aux + column * e.ld_aux;
  if (e.aux != nullptr) e.aux = static_cast<char*>(e.aux) + (e.aux_is_bits() ? aux / 8 : aux * size_of(all.c.type));
  if (e.bias_along == Along::columns) e.bias = moved(e.bias, column, all.c.type);
  e.column_scales = moved(e.column_scales, column, all.sums());
  return p;
}

// The most that a buffer for sums or for copies of C takes, but for a single column.
inline constexpr std::int64_t kMostBufferedBytes = std::int64_t{256} << 20;

// The entries and columns of a product that are computed together, one panel after the other: all of them, or as many
// as a buffer of kMostBufferedBytes holds.
class Panels {
 public:
  explicit Panels(const Problem& all) : all_(all), columns_(all.n), entries_(all.batch_count) {
    if (!needs_buffer(all)) return;
    const std::int64_t column = all.m * size_of(all.sums());
    columns_ = std::clamp<std::int64_t>(kMostBufferedBytes / column, 1, all.n);
    if (columns_ < all.n && columns_ > 128) columns_ = columns_ / 128 * 128;
    entries_ = columns_ < all.n ? 1 : std::clamp<std::int64_t>(kMostBufferedBytes / column / all.n, 1, all.batch_count);
  }

  std::int64_t buffer_bytes() const {
    return needs_buffer(all_) ? all_.m * columns_ * entries_ * size_of(all_.sums()) : 0;
  }

  // False after the last one.
  bool next(Problem* panel) {
    if (entry_ >= all_.batch_count) return false;
    *panel = columns_of(all_, column_, columns_, entry_, entries_);
    if ((column_ += columns_) >= all_.n) column_ = 0, entry_ += entries_;
    return true;
  }

 private:
  const Problem& all_;
  std::int64_t columns_, entries_;
  std::int64_t column_ = 0, entry_ = 0;
};

}  // namespace xgemm
