// The judge of results: C recomputed in fp64 (doubles: in long double) and compared componentwise,
//
//     |err| <= kConstant * u * (k + 2) * (|alpha| |A| |B| + |beta| |C|)        u = 2^-24, 2^-53
//
// and for C in fp16 or bf16, whose result is the fp32 sum rounded once, half an ulp of theirs more. Where the reference
// holds a NaN or an infinity, the result has to hold it too. Comparisons are written so that a NaN fails.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "matrix.h"

namespace xgemm::test {

// The product that was asked for, with A and B of type T and C of type C. Column-major; c is what C held before the
// call.
template <class T, class C = T>
struct Product {
  char transa = 'N', transb = 'N';
  std::int64_t m = 0, n = 0, k = 0;
  ScalarOf<T> alpha = 1, beta = 0;
  const T* a = nullptr;
  std::int64_t lda = 1;
  const T* b = nullptr;
  std::int64_t ldb = 1;
  const C* c = nullptr;
  std::int64_t ldc = 1;
};

struct Expected {
  double value = 0;      // alpha op(A) op(B) + beta C
  double magnitude = 0;  // |alpha| |op(A)| |op(B)| + |beta| |C|
};

// One element by the rules of the reference BLAS: alpha = 0 or k = 0 reads neither A nor B, beta = 0 does not read C.
template <class T, class C>
Expected expected_element(const Product<T, C>& product, std::int64_t i, std::int64_t j);

struct Verdict {
  bool ok = true;
  double worst = 0;     // largest error as a fraction of its bound
  std::string message;  // the first element that failed: place, value, reference, bound
  explicit operator bool() const { return ok; }
};

// Compares result (with product.ldc) with the oracle: all elements, or `samples` of them where that is fewer, corners
// among them. Cost: k for each element.
template <class T, class C>
Verdict check_result(const Product<T, C>& product, const C* result, std::int64_t samples = 1 << 22);

// The fixed factor in the bound: 1 holds for sums in any order with correct rounding, tensor cores truncate.
inline constexpr double kConstant = 2.0;

// A product with its matrices: makes them, keeps C as it was, and judges what a call left in c. For tests that do not
// care how the operands came to be.
template <class T, class C = T>
struct Case {
  Product<T, C> product;
  Matrix<T> a, b;
  Matrix<C> c, c_before;

  // ld_pad: elements that the leading dimensions exceed their least value by. C is NaN poison where beta is 0.
  Case(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, ScalarOf<T> alpha, ScalarOf<T> beta,
       std::int64_t ld_pad = 3, std::uint64_t seed = 1);

  // Copies of the members would leave product with the pointers of the original.
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  // Result within bounds, guards of all three intact, A and B as they were.
  Verdict check() const;

 private:
  Matrix<T> a_before_, b_before_;
};

}  // namespace xgemm::test
