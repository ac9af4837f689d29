// Problems for the planner: random ones that stress what it decides on, with operands at addresses that are never
// followed. All of them have passed the checks and been made canonical as a call's are.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "api/check.h"
#include "core/canonicalize.h"
#include "unit/core/args.h"

namespace xgemm::test {

struct Alignment {
  // Offsets of the pointers in elements, and what leading dimensions and strides exceed their least value by.
  std::int64_t a = 0, b = 0, c = 0, lda = 0, ldb = 0, ldc = 0, stride = 0;
};

// The types of A, B and C, or one type for all.
struct Types : ProductTypes {
  Types(DType type) : ProductTypes{type, type, type} {}
  Types(const ProductTypes& types) : ProductTypes(types) {}
};

inline Problem make_problem(const Types& types, char transa, char transb, std::int64_t m, std::int64_t n,
                            std::int64_t k, const Alignment& at = {}, std::int64_t batch_count = 1,
                            bool share_b = false) {
  const auto rounded = [](std::int64_t x) { return (x + 31) / 32 * 32; };
  const auto pointer = [&](std::int64_t base, std::int64_t offset, DType type) {
    return reinterpret_cast<void*>((std::int64_t{1} << 46) + (base << 44) + offset * size_of(type));
  };
  Problem p;
  p.m = m, p.n = n, p.k = k;
  p.batch_count = batch_count;
  p.alpha.value = 1.0f;
  p.a = {types.a, pointer(0, at.a, types.a), transa == 'N' ? Op::none : Op::transpose, 0, 0};
  p.b = {types.b, pointer(1, at.b, types.b), transb == 'N' ? Op::none : Op::transpose, 0, 0};
  p.c = {types.c, pointer(2, at.c, types.c), 0, 0};
  p.a.ld = rounded(p.a_rows()) + at.lda;
  p.b.ld = rounded(p.b_rows()) + at.ldb;
  p.c.ld = rounded(p.m) + at.ldc;
  if (batch_count > 1) {
    // What does not fit 64 bits is refused by the checks, and so is this.
    const auto stride = [&](std::int64_t ld, std::int64_t cols) {
      const __int128 exact = static_cast<__int128>(ld) * cols + at.stride;
      return static_cast<std::int64_t>(std::min<__int128>(exact, INT64_MAX));
    };
    p.a.batch_stride = stride(p.a.ld, p.a_cols());
    p.b.batch_stride = share_b ? 0 : stride(p.b.ld, p.b_cols());
    p.c.batch_stride = stride(p.c.ld, p.n);
  }
  return p;
}

// Whether the API would let it through: types that go together, and matrices that reach below 2^63 bytes.
inline bool passes_checks(const Problem& p) {
  if (p.b.type != p.a.type) return false;
  xgemm_args args = XGEMM_ARGS_INIT;
  args.type = static_cast<std::int32_t>(p.a.type);
  args.type_c = static_cast<std::int32_t>(p.c.type) + 1;
  args.transa = static_cast<char>(p.a.op), args.transb = static_cast<char>(p.b.op);
  args.m = p.m, args.n = p.n, args.k = p.k;
  args.a = p.a.data, args.lda = p.a.ld, args.stride_a = p.a.batch_stride;
  args.b = p.b.data, args.ldb = p.b.ld, args.stride_b = p.b.batch_stride;
  args.c = p.c.data, args.ldc = p.c.ld, args.stride_c = p.c.batch_stride;
  args.batch_count = p.batch_count;
  return api::check(args, false).ok();
}

// C in fp32 beside A and B of 16 bits now and then.
inline Types random_types(Random& random) {
  Types types = pick(random, {DType::f32, DType::f16, DType::bf16, DType::f64});
  if (random.integer(0, 3) == 0) types.c = sums_of(types.a);
  return types;
}

// As calls say it (core/canonicalize.cc).
inline void set_some_mode(Problem& p) {
  constexpr Compute kModes[] = {Compute::strict, Compute::fp32_emulated, Compute::tf32};
  if (p.a.type == DType::f32) p.compute = kModes[(p.m + p.n + p.k) % 3];
}

// Extents around every tile edge, thin, large and huge; aligned and not; batched and not.
inline Problem random_problem(Random& random) {
  constexpr std::int64_t kExtents[] = {1,
                                       2,
                                       3,
                                       4,
                                       5,
                                       7,
                                       8,
                                       9,
                                       15,
                                       16,
                                       17,
                                       31,
                                       32,
                                       33,
                                       48,
                                       63,
                                       64,
                                       65,
                                       96,
                                       127,
                                       128,
                                       129,
                                       192,
                                       255,
                                       256,
                                       257,
                                       511,
                                       512,
                                       777,
                                       1000,
                                       1024,
                                       2048,
                                       4096,
                                       8192,
                                       11008,
                                       14336,
                                       65536,
                                       1 << 20,
                                       (std::int64_t{1} << 31) - 1,
                                       std::int64_t{1} << 31};
  constexpr std::int64_t kHuge[] = {std::int64_t{1} << 32, (std::int64_t{1} << 40) - 1, std::int64_t{1} << 40,
                                    std::int64_t{1} << 58};
  constexpr std::int64_t kOffsets[] = {0, 0, 0, 0, 1, 2, 3, 4, 8, 16};
  constexpr float kScalars[] = {0.0f, 1.0f, 1.0f, 1.0f, -0.7f};
  for (;;) {
    const auto extent = [&] { return random.integer(0, 40) == 0 ? pick(random, kHuge) : pick(random, kExtents); };
    Alignment at;
    if (random.integer(0, 1) != 0)
      at = {pick(random, kOffsets), pick(random, kOffsets), pick(random, kOffsets), pick(random, kOffsets),
            pick(random, kOffsets), pick(random, kOffsets), pick(random, kOffsets)};
    const std::int64_t batch = random.integer(0, 3) != 0 ? 1 : pick(random, {2, 3, 64, 100000});
    Problem p = make_problem(random_types(random), pick(random, {'N', 'T'}), pick(random, {'N', 'T'}), extent(),
                             extent(), extent(), at, batch, random.integer(0, 2) == 0);
    // The least leading dimension, and degenerate ones of a single line.
    if (random.integer(0, 3) == 0) {
      p.a.ld = p.a_rows(), p.b.ld = p.b_rows(), p.c.ld = p.m;
    }
    p.alpha.value = pick(random, kScalars);
    p.beta.value = pick(random, kScalars);
    if (random.integer(0, 20) == 0) p.alpha = p.beta = {0.0f, static_cast<const float*>(nowhere())};
    if (random.integer(0, 20) == 0) p.k = 0;
    set_some_mode(p);
    if (!p.does_nothing() && passes_checks(p)) return p;
  }
}

// Problems on which the planner has much to choose: the random ones are mostly odd or huge.
inline Problem common_problem(Random& random) {
  constexpr std::int64_t kExtents[] = {16, 64, 128, 512, 1024, 4096, 14336};
  Types types = pick(random, {DType::f16, DType::f16, DType::bf16, DType::f32, DType::f64});
  if (random.integer(0, 3) == 0) types.c = sums_of(types.a);
  Problem p = make_problem(types, pick(random, {'N', 'T'}), pick(random, {'N', 'T'}), pick(random, kExtents),
                           pick(random, kExtents), pick(random, kExtents), {}, random.integer(0, 3) == 0 ? 3 : 1);
  p.beta.value = pick(random, {0.0f, 1.0f});
  set_some_mode(p);
  return p;
}

// Of both sorts.
inline Problem some_problem(Random& random) {
  return random.integer(0, 1) != 0 ? random_problem(random) : common_problem(random);
}

}  // namespace xgemm::test
