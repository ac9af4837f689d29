// The functions of names.def, as tests call them: all take what they need of the same arguments.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "cublas/forms.h"
#include "cublas/request.h"
#include "stand_in.h"

extern "C" {
#define XGEMM_CUBLAS_ROUTINE(name, form, type, compute) \
  int name XGEMM_PARAMETERS_##form(int);                \
  int name##_64 XGEMM_PARAMETERS_##form(std::int64_t);
#include "cublas/names.def"

int cublasCreate_v2(xgemm::cublas::Handle*);
int cublasDestroy_v2(xgemm::cublas::Handle);
int cublasSetStream_v2(xgemm::cublas::Handle, void*);
int cublasSetPointerMode_v2(xgemm::cublas::Handle, int);
int cublasSetMathMode(xgemm::cublas::Handle, int);
int cublasSetSmCountTarget(xgemm::cublas::Handle, int);
int cublasSetWorkspace_v2(xgemm::cublas::Handle, void*, std::size_t);
}

namespace xgemm::test {

struct Arguments {
  cublas::Handle handle = nullptr;
  int transa = 0, transb = 0;
  std::int64_t m = 0, n = 0, k = 0;
  const void* alpha = nullptr;
  const void* a = nullptr;
  int type_a = 0;
  std::int64_t lda = 1;
  long long stride_a = 0;
  const void* b = nullptr;
  int type_b = 0;
  std::int64_t ldb = 1;
  long long stride_b = 0;
  const void* beta = nullptr;
  void* c = nullptr;
  int type_c = 0;
  std::int64_t ldc = 1;
  long long stride_c = 0;
  std::int64_t batch_count = 1;
  int compute_type = cublas::kCompute32F;
  int algorithm = cublas::kDefaultAlgorithm;
};

struct Routine {
  const char* name;
  int type, compute;  // of the product where its arguments don't say
  bool typed, batched, pointer_arrays;
  int (*call)(const Arguments&);
  std::string (*text)(const Arguments&);  // of that call, as the stand-in remembers it
  cublas::Call (*description)(const Arguments&);
};

// The arguments under the names that the forms have for them.
#define XGEMM_TEST_UNPACK(Int)                                                                                         \
  [[maybe_unused]] const auto& [handle, transa, transb, m_, n_, k_, alpha, a, type_a, lda_, stride_a, b, type_b, ldb_, \
                                stride_b, beta, c, type_c, ldc_, stride_c, batch_count_, compute_type, algorithm] = x; \
  [[maybe_unused]] const Int m = static_cast<Int>(m_), n = static_cast<Int>(n_), k = static_cast<Int>(k_),             \
                             lda = static_cast<Int>(lda_), ldb = static_cast<Int>(ldb_), ldc = static_cast<Int>(ldc_), \
                             batch_count = static_cast<Int>(batch_count_);

#define XGEMM_TEST_ROUTINE(symbol, form, type, compute, Int) \
  {#symbol,                                                  \
   type,                                                     \
   compute,                                                  \
   contains(#form, "typed") || contains(#form, "ex"),        \
   contains(#form, "strided"),                               \
   contains(#form, "batched"),                               \
   [](const Arguments& x) {                                  \
     XGEMM_TEST_UNPACK(Int)                                  \
     return symbol(XGEMM_NAMES_##form);                      \
   },                                                        \
   [](const Arguments& x) {                                  \
     XGEMM_TEST_UNPACK(Int)                                  \
     return text_of_call(#symbol, XGEMM_NAMES_##form);       \
   },                                                        \
   [](const Arguments& x) {                                  \
     XGEMM_TEST_UNPACK(Int)                                  \
     return XGEMM_CALL_##form(#symbol, type, compute);       \
   }},

inline bool contains(const char* text, const char* part) {
  return std::string(text).find(part) != std::string::npos;
}

using namespace cublas;  // the numbers in names.def
inline const Routine kRoutines[] = {
#define XGEMM_CUBLAS_ROUTINE(name, form, type, compute) \
  XGEMM_TEST_ROUTINE(name, form, type, compute, int)    \
  XGEMM_TEST_ROUTINE(name##_64, form, type, compute, std::int64_t)
#include "cublas/names.def"
};

inline const Routine& routine(const std::string& name) {
  for (const Routine& r : kRoutines)
    if (name == r.name) return r;
  std::abort();
}

}  // namespace xgemm::test
