// Calling all element types through the C ABI in templates, and memory that faults when it should not be touched.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "support/oracle.h"
#include "xgemm.h"

namespace xgemm::test {

template <class T>
struct TypeOf;
template <>
struct TypeOf<float> {
  static constexpr xgemm_type value = XGEMM_F32;
};
template <>
struct TypeOf<double> {
  static constexpr xgemm_type value = XGEMM_F64;
};
template <>
struct TypeOf<Half> {
  static constexpr xgemm_type value = XGEMM_F16;
};
template <>
struct TypeOf<Bfloat16> {
  static constexpr xgemm_type value = XGEMM_BF16;
};

template <class T, class C>
inline constexpr std::int32_t kTypeC = std::is_same_v<T, C> ? XGEMM_C_SAME : TypeOf<C>::value + 1;

// xsgemm, xdgemm, xhgemm or xbgemm.
inline int simple_gemm(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                       const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
                       std::int64_t ldc) {
  return xsgemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
inline int simple_gemm(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                       const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c,
                       std::int64_t ldc) {
  return xdgemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
inline int simple_gemm(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                       const Half* a, std::int64_t lda, const Half* b, std::int64_t ldb, float beta, Half* c,
                       std::int64_t ldc) {
  return xhgemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
inline int simple_gemm(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                       const Bfloat16* a, std::int64_t lda, const Bfloat16* b, std::int64_t ldb, float beta,
                       Bfloat16* c, std::int64_t ldc) {
  return xbgemm(transa, transb, m, n, k, alpha, reinterpret_cast<const xgemm_bfloat16*>(a), lda,
                reinterpret_cast<const xgemm_bfloat16*>(b), ldb, beta, reinterpret_cast<xgemm_bfloat16*>(c), ldc);
}

// The general call's arguments for a column-major product whose result goes to c.
template <class T, class C>
xgemm_args args_of(const Product<T, C>& p, C* c) {
  xgemm_args args = XGEMM_ARGS_INIT;
  args.type = TypeOf<T>::value;
  args.type_c = kTypeC<T, C>;
  args.transa = p.transa;
  args.transb = p.transb;
  args.m = p.m;
  args.n = p.n;
  args.k = p.k;
  args.alpha = &p.alpha;
  args.a = p.a;
  args.lda = p.lda;
  args.b = p.b;
  args.ldb = p.ldb;
  args.beta = &p.beta;
  args.c = c;
  args.ldc = p.ldc;
  return args;
}

// And what stands for them where C has a type of its own.
template <class T>
int simple_gemm(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const T* a,
                std::int64_t lda, const T* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc) {
  const Product<T, float> product = {transa, transb, m, n, k, alpha, beta, a, lda, b, ldb, c, ldc};
  const xgemm_args args = args_of(product, c);
  return xgemm_gemm(nullptr, &args);
}

template <class T, class C>
int run(Case<T, C>& x) {
  const Product<T, C>& p = x.product;
  return simple_gemm(p.transa, p.transb, p.m, p.n, p.k, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, x.c.data(), p.ldc);
}

// Whole pages of memory with a page on either side that faults. `bytes` of it lie against one of the two.
class FencedMemory {
 public:
  enum class Against { start, end };

  FencedMemory(std::size_t bytes, Against against) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t inside = (bytes + page - 1) / page * page;
    size_ = inside + 2 * page;
    void* memory = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    base_ = static_cast<char*>(memory);
    if (inside > 0) mprotect(base_ + page, inside, PROT_READ | PROT_WRITE);
    data_ = base_ + page + (against == Against::end ? inside - bytes : 0);
    inside_ = inside;
    page_ = page;
  }
  FencedMemory(const FencedMemory&) = delete;
  FencedMemory& operator=(const FencedMemory&) = delete;
  ~FencedMemory() {
    if (base_ != nullptr) munmap(base_, size_);
  }

  void* data() const { return data_; }
  void make_read_only() { mprotect(base_ + page_, inside_, PROT_READ); }

 private:
  char* base_ = nullptr;
  char* data_ = nullptr;
  std::size_t size_ = 0, inside_ = 0, page_ = 0;
};

}  // namespace xgemm::test
