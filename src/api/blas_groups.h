// Groups of products, as gemm_batch of MKL and OpenBLAS has them: a group has its flags, extents and factors, and its
// matrices by pointers. Matrices that turn out to lie at equal distances in the memory of the same processor are
// computed as one strided batch.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

#include "api/blas.h"
#include "runtime/pointer_location.h"

namespace xgemm::api {

// Arrays with an element for each group; those of matrices with one for each product.
template <class Types, class Int>
struct Groups {
  const Int *m, *n, *k;
  const typename Types::Scalar* alpha;
  const typename Types::Input* const* a;
  const Int* lda;
  const typename Types::Input* const* b;
  const Int* ldb;
  const typename Types::Scalar* beta;
  typename Types::Output* const* c;
  const Int* ldc;
  Int count;
  const Int* sizes;
};

// From a pointer to the next one, in elements; false if that is no whole number of them.
template <class T>
bool distance(const T* from, const T* to, std::int64_t* elements) {
  const auto bytes =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from));
  *elements = bytes / static_cast<std::int64_t>(sizeof(T));
  return bytes % static_cast<std::int64_t>(sizeof(T)) == 0;
}

// Whether matrices lie where the first ones of a batch do, which alone are located by who computes it. Without CUDA all
// are on the host. A page is one processor's: small matrices share the question, which takes as long as they do.
class Locations {
 public:
  Locations(const void* a, const void* b, const void* c) : asks_(runtime::may_have_device_memory()) {
    if (asks_) operands_ = {Operand(a), Operand(b), Operand(c)};
  }
  bool are_of(const void* a, const void* b, const void* c) {
    return !asks_ || (operands_[0].has(a) && operands_[1].has(b) && operands_[2].has(c));
  }

 private:
  class Operand {
   public:
    Operand() = default;
    explicit Operand(const void* first) : page_(page_of(first)), location_(runtime::locate(first)) {}
    bool has(const void* pointer) {
      if (page_of(pointer) == page_) return true;
      page_ = page_of(pointer);
      return runtime::locate(pointer) == location_;
    }

   private:
    static std::uintptr_t page_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) / 4096; }

    std::uintptr_t page_ = 0;
    runtime::PointerLocation location_;
  };

  bool asks_;
  std::array<Operand, 3> operands_;
};

// The first products of so many as a strided batch, which may be one.
template <class Input, class Output>
Batch leading_batch(const Input* const* a, const Input* const* b, Output* const* c, std::int64_t products) {
  Batch batch;
  if (products < 2 || !distance(a[0], a[1], &batch.stride_a) || !distance(b[0], b[1], &batch.stride_b) ||
      !distance<Output>(c[0], c[1], &batch.stride_c) || batch.stride_a < 0 || batch.stride_b < 0 || batch.stride_c <= 0)
    return {};
  Locations locations(a[0], b[0], c[0]);
  if (!locations.are_of(a[1], b[1], c[1])) return {};
  for (batch.count = 2; batch.count < products; ++batch.count) {
    const std::int64_t i = batch.count;
    std::int64_t to_a = 0, to_b = 0, to_c = 0;
    if (!distance(a[i - 1], a[i], &to_a) || !distance(b[i - 1], b[i], &to_b) ||
        !distance<Output>(c[i - 1], c[i], &to_c) || to_a != batch.stride_a || to_b != batch.stride_b ||
        to_c != batch.stride_c || !locations.are_of(a[i], b[i], c[i]))
      break;
  }
  return batch;
}

// flag_a(i), flag_b(i): those of a group. 0, or the number of the first illegal argument of the first group that has
// one, before anything is computed.
template <class Types, class Int, class FlagA, class FlagB>
int run_groups(const char* symbol, xgemm_layout layout, const Groups<Types, Int>& x, FlagA flag_a, FlagB flag_b) {
  const auto illegal_argument = [&](Int g, const auto* a, const auto* b, auto* c, std::int64_t products) {
    return with_args<Types>(layout, flag_a(g), flag_b(g), x.m[g], x.n[g], x.k[g], x.alpha[g], a, x.lda[g], b, x.ldb[g],
                            x.beta[g], c, x.ldc[g], {0, 0, 0, products}, illegal_argument_of);
  };
  std::int64_t first = 0;
  for (Int g = 0; g < x.count; first += x.sizes[g], ++g) {
    constexpr typename Types::Input* kNone = nullptr;
    constexpr typename Types::Output* kNoC = nullptr;
    if (x.sizes[g] == 0)
      if (const int number = illegal_argument(g, kNone, kNone, kNoC, 0)) return number;
    // Products of a group differ in their pointers alone, and those in being null.
    for (std::int64_t i = first; i < first + x.sizes[g]; ++i)
      if (i == first || x.a[i] == nullptr || x.b[i] == nullptr || x.c[i] == nullptr)
        if (const int number = illegal_argument(g, x.a[i], x.b[i], x.c[i], 1)) return number;
  }
  first = 0;
  for (Int g = 0; g < x.count; ++g)
    for (std::int64_t left = x.sizes[g]; left > 0;) {
      const Batch batch = leading_batch(x.a + first, x.b + first, x.c + first, left);
      if (const int number =
              run_blas_call<Types>(symbol, layout, flag_a(g), flag_b(g), x.m[g], x.n[g], x.k[g], x.alpha[g], x.a[first],
                                   x.lda[g], x.b[first], x.ldb[g], x.beta[g], x.c[first], x.ldc[g], batch))
        return number;
      first += batch.count;
      left -= batch.count;
    }
  return 0;
}

}  // namespace xgemm::api
