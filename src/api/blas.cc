// The BLAS symbols: what their arguments are, and their names, made from the rows of blas_names.def.
//
// The hidden arguments at the end of Fortran calls (the lengths of transa and transb) are not declared: callers that
// pass them do no harm.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "api/blas.h"

#include <algorithm>
#include <initializer_list>

#include "api/blas_errors.h"
#include "api/blas_groups.h"
#include "api/check.h"
#include "api/entry.h"
#include "core/environment.h"
#include "xgemm_blas.h"

namespace xgemm::api {
namespace {

// What a BLAS name gives for a code of ours: 0, or the number of an illegal argument. A failure at run time is reported
// here.
int number_of(const char* symbol, int code) noexcept {
  if (code < 0) return -code;
  if (code > 0) {
    try {
      print_line(format("%s: %s: %s; C does not hold the product", symbol, xgemm_status_string(code), last_error()));
    } catch (...) {
      print_line(symbol);
    }
  }
  return 0;
}

// The reference turns a row-major call into the column-major one of the transposed matrices, and that one's order of
// checks is the order in which errors are found. 0 where the order of our own checks is the same.
int illegal_in_row_major(const xgemm_args& call) noexcept {
  if (call.layout != XGEMM_ROW_MAJOR) return 0;
  const int own = transposed_argument(first_illegal_blas_argument(call.transb, call.transa, call.n, call.m, call.k,
                                                                  call.ldb, call.lda, call.ldc, XGEMM_COL_MAJOR));
  if (own != 0) guarded([&] { return illegal_blas_argument(own, call); });
  return own;
}

}  // namespace

int illegal_argument_of(const xgemm_args& call) noexcept {
  if (const int first = illegal_in_row_major(call)) return first;
  return std::max(0, -guarded([&] { return check(call, false); }));
}

int run_blas_call(const char* symbol, const xgemm_args& call) noexcept {
  if (const int first = illegal_in_row_major(call)) return first;
  return number_of(symbol, guarded([&] { return gemm(nullptr, call); }));
}

int position_in_syrk(int argument) {
  switch (argument) {
    case XGEMM_ARG_FILL:
      return 1;
    case XGEMM_ARG_TRANSA:
    case XGEMM_ARG_TRANSB:
      return 2;
    case XGEMM_ARG_M:
    case XGEMM_ARG_N:
      return 3;
    case XGEMM_ARG_K:
      return 4;
    case XGEMM_ARG_ALPHA:
      return 5;
    case XGEMM_ARG_A:
    case XGEMM_ARG_B:
      return 6;
    case XGEMM_ARG_LDA:
    case XGEMM_ARG_LDB:
      return 7;
    case XGEMM_ARG_BETA:
      return 8;
    case XGEMM_ARG_C:
      return 9;
    case XGEMM_ARG_LDC:
      return 10;
    default:
      return argument;
  }
}

namespace {

// ---- Arguments ------------------------------------------------------------------------------------------------------

int position_in_gemm(int argument) {
  return argument;
}

int position_in_gemm_batch_strided(int argument) {
  switch (argument) {
    case XGEMM_ARG_LDA:
      return 8;
    case XGEMM_ARG_STRIDE_A:
      return 9;
    case XGEMM_ARG_B:
      return 10;
    case XGEMM_ARG_LDB:
      return 11;
    case XGEMM_ARG_STRIDE_B:
      return 12;
    case XGEMM_ARG_BETA:
      return 13;
    case XGEMM_ARG_C:
      return 14;
    case XGEMM_ARG_LDC:
      return 15;
    case XGEMM_ARG_STRIDE_C:
      return 16;
    case XGEMM_ARG_BATCH_COUNT:
      return 17;
    default:
      return argument;
  }
}

// Arguments of gemm_batch that are those of no product.
constexpr int kGroupCount = XGEMM_ARG_LDC + 1001, kGroupSize = XGEMM_ARG_LDC + 1002;

int position_in_gemm_batch(int argument) {
  return argument == kGroupCount ? 14 : argument == kGroupSize ? 15 : argument;
}

struct NamedPointer {
  int argument;
  const char* name;
  const void* pointer;
};

// For an argument that no check of xgemm_args knows: records message(), returns the argument, for which there need not
// be memory.
template <class Message>
int illegal_argument(int argument, const Message& message) noexcept {
  guarded([&] { return fail(-argument, message()); });
  return argument;
}

// The first argument that is null, or 0. A, B and C may be null where they take no part, which the checks of the call
// know.
int null_argument(std::initializer_list<NamedPointer> arguments) {
  for (const NamedPointer& x : arguments)
    if (x.pointer == nullptr)
      return illegal_argument(x.argument, [&] { return format("%s = NULL, but it is read", x.name); });
  return 0;
}

template <class Types, class Int>
void fortran_gemm(const Routine& routine, const char* transa, const char* transb, const Int* m, const Int* n,
                  const Int* k, const typename Types::Scalar* alpha, const typename Types::Input* a, const Int* lda,
                  const typename Types::Input* b, const Int* ldb, const typename Types::Scalar* beta,
                  typename Types::Output* c, const Int* ldc, const Batch& batch = {}) {
  int number = 0;
  if (!transa || !transb || !m || !n || !k || !alpha || !lda || !ldb || !beta || !ldc) [[unlikely]]
    number = null_argument({{XGEMM_ARG_TRANSA, "transa", transa},
                            {XGEMM_ARG_TRANSB, "transb", transb},
                            {XGEMM_ARG_M, "m", m},
                            {XGEMM_ARG_N, "n", n},
                            {XGEMM_ARG_K, "k", k},
                            {XGEMM_ARG_ALPHA, "alpha", alpha},
                            {XGEMM_ARG_LDA, "lda", lda},
                            {XGEMM_ARG_LDB, "ldb", ldb},
                            {XGEMM_ARG_BETA, "beta", beta},
                            {XGEMM_ARG_LDC, "ldc", ldc}});
  else
    number = run_blas_call<Types>(routine.symbol, XGEMM_COL_MAJOR, *transa, *transb, *m, *n, *k, *alpha, a, *lda, b,
                                  *ldb, *beta, c, *ldc, batch);
  if (number != 0) report_fortran(routine, number);
}

// 0 for a value that is none of CBLAS's.
char flag_of(int transpose) {
  switch (transpose) {
    case CblasNoTrans:
      return 'N';
    case CblasTrans:
      return 'T';
    case CblasConjTrans:
      return 'C';
    default:
      return 0;
  }
}

// The layout of a CBLAS call, and what it reports. Of an enumeration's values, others than its own are reported here:
// false then.
class CblasCall {
 public:
  CblasCall(const Routine& routine, int layout) : routine_(routine), layout_(layout) {}

  bool has_layout() const {
    constexpr int kLayout = 0;
    return layout_ == CblasRowMajor || layout_ == CblasColMajor ||
           refuse(kLayout, "layout", layout_, "CblasRowMajor = 101, CblasColMajor = 102");
  }
  bool has_flag(xgemm_argument argument, const char* name, int value) const {
    return flag_of(value) != 0 ||
           refuse(argument, name, value, "CblasNoTrans = 111, CblasTrans = 112, CblasConjTrans = 113");
  }
  bool has_uplo(int value) const {
    return value == CblasUpper || value == CblasLower ||
           refuse(XGEMM_ARG_FILL, "uplo", value, "CblasUpper = 121, CblasLower = 122");
  }

  xgemm_layout layout() const { return is_row_major() ? XGEMM_ROW_MAJOR : XGEMM_COL_MAJOR; }

  // An xgemm_argument, or 0.
  void report(int argument) const {
    if (argument != 0) report_cblas(routine_, is_row_major(), argument);
  }

 private:
  bool is_row_major() const { return layout_ == CblasRowMajor; }
  bool refuse(int argument, const char* name, int value, const char* values) const {
    illegal_argument(argument, [&] { return format("%s = %d, but one of %s is required", name, value, values); });
    report_cblas(routine_, is_row_major(), argument, true);
    return false;
  }

  const Routine& routine_;
  int layout_;
};

template <class Types>
void cblas_gemm(const Routine& routine, int layout, int transa, int transb, std::int64_t m, std::int64_t n,
                std::int64_t k, typename Types::Scalar alpha, const typename Types::Input* a, std::int64_t lda,
                const typename Types::Input* b, std::int64_t ldb, typename Types::Scalar beta,
                typename Types::Output* c, std::int64_t ldc, const Batch& batch = {}) {
  const CblasCall call(routine, layout);
  if (!call.has_layout() || !call.has_flag(XGEMM_ARG_TRANSA, "transa", transa) ||
      !call.has_flag(XGEMM_ARG_TRANSB, "transb", transb))
    return;
  call.report(run_blas_call<Types>(routine.symbol, call.layout(), flag_of(transa), flag_of(transb), m, n, k, alpha, a,
                                   lda, b, ldb, beta, c, ldc, batch));
}

// An xgemm_argument, or 0.
template <class Types>
int run_syrk(const Routine& routine, xgemm_layout layout, char uplo, char trans, std::int64_t n, std::int64_t k,
             typename Types::Scalar alpha, const typename Types::Input* a, std::int64_t lda,
             typename Types::Scalar beta, typename Types::Output* c, std::int64_t ldc) {
  return number_of(routine.symbol, syrk<Types>(layout, uplo, trans, n, k, alpha, a, lda, beta, c, ldc));
}

template <class Types, class Int>
void fortran_syrk(const Routine& routine, const char* uplo, const char* trans, const Int* n, const Int* k,
                  const typename Types::Scalar* alpha, const typename Types::Input* a, const Int* lda,
                  const typename Types::Scalar* beta, typename Types::Output* c, const Int* ldc) {
  int number = 0;
  if (!uplo || !trans || !n || !k || !alpha || !lda || !beta || !ldc) [[unlikely]]
    number = null_argument({{XGEMM_ARG_FILL, "uplo", uplo},
                            {XGEMM_ARG_TRANSA, "trans", trans},
                            {XGEMM_ARG_N, "n", n},
                            {XGEMM_ARG_K, "k", k},
                            {XGEMM_ARG_ALPHA, "alpha", alpha},
                            {XGEMM_ARG_LDA, "lda", lda},
                            {XGEMM_ARG_BETA, "beta", beta},
                            {XGEMM_ARG_LDC, "ldc", ldc}});
  else
    number = run_syrk<Types>(routine, XGEMM_COL_MAJOR, *uplo, *trans, *n, *k, *alpha, a, *lda, *beta, c, *ldc);
  if (number != 0) report_fortran(routine, number);
}

template <class Types>
void cblas_syrk(const Routine& routine, int layout, int uplo, int trans, std::int64_t n, std::int64_t k,
                typename Types::Scalar alpha, const typename Types::Input* a, std::int64_t lda,
                typename Types::Scalar beta, typename Types::Output* c, std::int64_t ldc) {
  const CblasCall call(routine, layout);
  if (!call.has_layout() || !call.has_uplo(uplo) || !call.has_flag(XGEMM_ARG_TRANSA, "trans", trans)) return;
  call.report(run_syrk<Types>(routine, call.layout(), uplo == CblasUpper ? 'U' : 'L', flag_of(trans), n, k, alpha, a,
                              lda, beta, c, ldc));
}

// The first argument of groups that is illegal as an array or a number, or 0.
template <class Types, class Int, class Flag>
int illegal_groups(const Flag* transa, const Flag* transb, const Groups<Types, Int>& x) {
  const auto wide = [](Int value) { return static_cast<long long>(value); };
  if (x.count < 0)
    return illegal_argument(
        kGroupCount, [&] { return format("group_count = %lld, but group_count >= 0 is required", wide(x.count)); });
  if (x.count == 0) return 0;
  // Of empty groups no matrix is read.
  const bool empty = x.sizes != nullptr && std::all_of(x.sizes, x.sizes + x.count, [](Int size) { return size == 0; });
  const auto matrices = [&](const auto* array) -> const void* {
    return empty ? x.sizes : static_cast<const void*>(array);
  };
  if (const int number = null_argument({{XGEMM_ARG_TRANSA, "transa_array", transa},
                                        {XGEMM_ARG_TRANSB, "transb_array", transb},
                                        {XGEMM_ARG_M, "m_array", x.m},
                                        {XGEMM_ARG_N, "n_array", x.n},
                                        {XGEMM_ARG_K, "k_array", x.k},
                                        {XGEMM_ARG_ALPHA, "alpha_array", x.alpha},
                                        {XGEMM_ARG_A, "a_array", matrices(x.a)},
                                        {XGEMM_ARG_LDA, "lda_array", x.lda},
                                        {XGEMM_ARG_B, "b_array", matrices(x.b)},
                                        {XGEMM_ARG_LDB, "ldb_array", x.ldb},
                                        {XGEMM_ARG_BETA, "beta_array", x.beta},
                                        {XGEMM_ARG_C, "c_array", matrices(x.c)},
                                        {XGEMM_ARG_LDC, "ldc_array", x.ldc},
                                        {kGroupSize, "group_size", x.sizes}}))
    return number;
  for (Int g = 0; g < x.count; ++g)
    if (x.sizes[g] < 0)
      return illegal_argument(kGroupSize, [&] {
        return format("group_size[%lld] = %lld, but 0 or more is required", wide(g), wide(x.sizes[g]));
      });
  return 0;
}

template <class Types, class Int>
void fortran_gemm_batch(const Routine& routine, const char* transa, const char* transb, const Groups<Types, Int>& x) {
  int number = illegal_groups<Types, Int>(transa, transb, x);
  if (number == 0)
    number = run_groups<Types, Int>(
        routine.symbol, XGEMM_COL_MAJOR, x, [&](Int g) { return transa[g]; }, [&](Int g) { return transb[g]; });
  if (number != 0) report_fortran(routine, number);
}

template <class Types, class Int>
void cblas_gemm_batch(const Routine& routine, int layout, const int* transa, const int* transb,
                      const Groups<Types, Int>& x) {
  const CblasCall call(routine, layout);
  if (!call.has_layout()) return;
  int number = illegal_groups<Types, Int>(transa, transb, x);
  for (Int g = 0; number == 0 && g < x.count; ++g)
    if (!call.has_flag(XGEMM_ARG_TRANSA, "an element of transa_array", transa[g]) ||
        !call.has_flag(XGEMM_ARG_TRANSB, "an element of transb_array", transb[g]))
      return;
  if (number == 0)
    number = run_groups<Types, Int>(
        routine.symbol, call.layout(), x, [&](Int g) { return flag_of(transa[g]); },
        [&](Int g) { return flag_of(transb[g]); });
  call.report(number);
}

}  // namespace
}  // namespace xgemm::api

using namespace xgemm::api;

// ---- Functions: symbol is a name, flavour whose it is ---------------------------------------------------------------

#define XGEMM_FORTRAN_gemm(symbol, Int, flavour, stem, name, Types)                                                 \
  void symbol(const char* transa, const char* transb, const Int* m, const Int* n, const Int* k,                     \
              const Types::Scalar* alpha, const Types::Input* a, const Int* lda, const Types::Input* b,             \
              const Int* ldb, const Types::Scalar* beta, Types::Output* c, const Int* ldc) {                        \
    fortran_gemm<Types>({#symbol, name, "", Flavour::flavour, position_in_gemm}, transa, transb, m, n, k, alpha, a, \
                        lda, b, ldb, beta, c, ldc);                                                                 \
  }

#define XGEMM_CBLAS_gemm(symbol, Int, flavour, stem, name, Types)                                                     \
  void symbol(int layout, int transa, int transb, Int m, Int n, Int k, Types::Scalar alpha, const Types::Input* a,    \
              Int lda, const Types::Input* b, Int ldb, Types::Scalar beta, Types::Output* c, Int ldc) {               \
    cblas_gemm<Types>({#symbol, name, "cblas_" #stem, Flavour::flavour, position_in_gemm}, layout, transa, transb, m, \
                      n, k, alpha, a, lda, b, ldb, beta, c, ldc);                                                     \
  }

#define XGEMM_FORTRAN_syrk(symbol, Int, flavour, stem, name, Types)                                                 \
  void symbol(const char* uplo, const char* trans, const Int* n, const Int* k, const Types::Scalar* alpha,          \
              const Types::Input* a, const Int* lda, const Types::Scalar* beta, Types::Output* c, const Int* ldc) { \
    fortran_syrk<Types>({#symbol, name, "", Flavour::flavour, position_in_syrk}, uplo, trans, n, k, alpha, a, lda,  \
                        beta, c, ldc);                                                                              \
  }

#define XGEMM_CBLAS_syrk(symbol, Int, flavour, stem, name, Types)                                                     \
  void symbol(int layout, int uplo, int trans, Int n, Int k, Types::Scalar alpha, const Types::Input* a, Int lda,     \
              Types::Scalar beta, Types::Output* c, Int ldc) {                                                        \
    cblas_syrk<Types>({#symbol, name, "cblas_" #stem, Flavour::flavour, position_in_syrk}, layout, uplo, trans, n, k, \
                      alpha, a, lda, beta, c, ldc);                                                                   \
  }

#define XGEMM_FORTRAN_gemm_batch_strided(symbol, Int, flavour, stem, name, Types)                                      \
  void symbol(const char* transa, const char* transb, const Int* m, const Int* n, const Int* k,                        \
              const Types::Scalar* alpha, const Types::Input* a, const Int* lda, const Int* stride_a,                  \
              const Types::Input* b, const Int* ldb, const Int* stride_b, const Types::Scalar* beta, Types::Output* c, \
              const Int* ldc, const Int* stride_c, const Int* batch_count) {                                           \
    const Routine routine = {#symbol, name, "", Flavour::flavour, position_in_gemm_batch_strided};                     \
    if (const int number = null_argument({{XGEMM_ARG_STRIDE_A, "stride_a", stride_a},                                  \
                                          {XGEMM_ARG_STRIDE_B, "stride_b", stride_b},                                  \
                                          {XGEMM_ARG_STRIDE_C, "stride_c", stride_c},                                  \
                                          {XGEMM_ARG_BATCH_COUNT, "batch_count", batch_count}}))                       \
      return report_fortran(routine, number);                                                                          \
    fortran_gemm<Types>(routine, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc,                         \
                        {*stride_a, *stride_b, *stride_c, *batch_count});                                              \
  }

#define XGEMM_CBLAS_gemm_batch_strided(symbol, Int, flavour, stem, name, Types)                                    \
  void symbol(int layout, int transa, int transb, Int m, Int n, Int k, Types::Scalar alpha, const Types::Input* a, \
              Int lda, Int stride_a, const Types::Input* b, Int ldb, Int stride_b, Types::Scalar beta,             \
              Types::Output* c, Int ldc, Int stride_c, Int batch_count) {                                          \
    cblas_gemm<Types>({#symbol, name, "cblas_" #stem, Flavour::flavour, position_in_gemm_batch_strided}, layout,   \
                      transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc,                                \
                      {stride_a, stride_b, stride_c, batch_count});                                                \
  }

#define XGEMM_FORTRAN_gemm_batch(symbol, Int, flavour, stem, name, Types)                                           \
  void symbol(const char* transa, const char* transb, const Int* m, const Int* n, const Int* k,                     \
              const Types::Scalar* alpha, const Types::Input** a, const Int* lda, const Types::Input** b,           \
              const Int* ldb, const Types::Scalar* beta, Types::Output** c, const Int* ldc, const Int* group_count, \
              const Int* group_size) {                                                                              \
    const Routine routine = {#symbol, name, "", Flavour::flavour, position_in_gemm_batch};                          \
    if (group_count == nullptr)                                                                                     \
      return report_fortran(routine, null_argument({{kGroupCount, "group_count", group_count}}));                   \
    fortran_gemm_batch<Types, Int>(routine, transa, transb,                                                         \
                                   {m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, *group_count, group_size});       \
  }

#define XGEMM_CBLAS_gemm_batch(symbol, Int, flavour, stem, name, Types)                                             \
  void symbol(int layout, const int* transa, const int* transb, const Int* m, const Int* n, const Int* k,           \
              const Types::Scalar* alpha, const Types::Input** a, const Int* lda, const Types::Input** b,           \
              const Int* ldb, const Types::Scalar* beta, Types::Output** c, const Int* ldc, Int group_count,        \
              const Int* group_size) {                                                                              \
    cblas_gemm_batch<Types, Int>({#symbol, name, "cblas_" #stem, Flavour::flavour, position_in_gemm_batch}, layout, \
                                 transa, transb,                                                                    \
                                 {m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, group_count, group_size});          \
  }

// ---- Names: those of a stem, by flavour -----------------------------------------------------------------------------

#define XGEMM_NAMES_cblas(stem, name, routine, Types) XGEMM_CBLAS_##routine(cblas_##stem, int, plain, stem, name, Types)

#define XGEMM_NAMES_plain(stem, name, routine, Types)             \
  XGEMM_FORTRAN_##routine(stem##_, int, plain, stem, name, Types) \
      XGEMM_CBLAS_##routine(cblas_##stem, int, plain, stem, name, Types)

#define XGEMM_NAMES_plain_and_64(stem, name, routine, Types)                        \
  XGEMM_NAMES_plain(stem, name, routine, Types)                                     \
      XGEMM_FORTRAN_##routine(stem##_64_, int64_t, reference_64, stem, name, Types) \
          XGEMM_CBLAS_##routine(cblas_##stem##_64, int64_t, reference_64, stem, name, Types)

#define XGEMM_NAMES_everywhere(stem, name, routine, Types)                                           \
  XGEMM_NAMES_plain_and_64(stem, name, routine, Types)                                               \
      XGEMM_CBLAS_##routine(cblas_##stem##64_, int64_t, openblas_64, stem, name, Types)              \
          XGEMM_FORTRAN_##routine(scipy_##stem##_, int, wheels, stem, name, Types)                   \
              XGEMM_CBLAS_##routine(scipy_cblas_##stem, int, wheels, stem, name, Types)              \
                  XGEMM_FORTRAN_##routine(scipy_##stem##_64_, int64_t, wheels_64, stem, name, Types) \
                      XGEMM_CBLAS_##routine(scipy_cblas_##stem##64_, int64_t, wheels_64, stem, name, Types)

#define XGEMM_BLAS_ROUTINE(stem, name, routine, types, flavours) XGEMM_NAMES_##flavours(stem, name, routine, types)

extern "C" {
#include "api/blas_names.def"
}  // extern "C"
