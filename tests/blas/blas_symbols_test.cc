// The BLAS symbols of libxgemm.so, from a program that brings its own xerbla_ and cblas_xerbla: results against the
// fp64 oracle, error numbers in the reference's order, null pointers, threads.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/oracle.h"
#include "xgemm.h"
#include "xgemm_blas.h"

namespace {

struct Reported {
  std::string name;
  std::int64_t number = 0;
  int count = 0;
  bool row_major = false;
  std::string text = {};  // that a CBLAS handler is to print
};
thread_local Reported reported;

}  // namespace

// The program's own handlers, as the netlib testers have them.
extern "C" {
__attribute__((visibility("default"))) int RowMajorStrg = 0;

__attribute__((visibility("default"))) void xerbla_(const char* name, const int* number, std::size_t length) {
  reported = {std::string(name, length), *number, reported.count + 1, false};
}

// In place of the one that a Python wheel brings.
__attribute__((visibility("default"))) void scipy_xerbla_(const char* name, const int* number, std::size_t length) {
  reported = {"scipy " + std::string(name, length), *number, reported.count + 1, false};
}

__attribute__((visibility("default"))) void scipy_xerbla_64_(const char* name, const std::int64_t* number,
                                                             std::size_t length) {
  reported = {"scipy 64 " + std::string(name, length), *number, reported.count + 1, false};
}

__attribute__((visibility("default"))) void cblas_xerbla(int number, const char* routine, const char* form, ...) {
  va_list values;
  va_start(values, form);
  char text[200];
  std::vsnprintf(text, sizeof text, form, values);
  va_end(values);
  reported = {routine, number, reported.count + 1, RowMajorStrg != 0, text};
}
}

namespace {

using namespace xgemm;
using test::Bfloat16;
using test::Half;

// ---- Every symbol behind one interface, with the sizes of the widest
// -------------------------------------------------

// openblas: CBLAS, whose errors go to xerbla_ as those of the column-major call.
enum class Style { fortran, cblas, openblas };

struct Call {
  int layout = CblasColMajor;
  int transa = 'N', transb = 'N';  // characters, or CBLAS's numbers
  std::int64_t m = 0, n = 0, k = 0;
  double alpha = 1;
  const void* a = nullptr;
  std::int64_t lda = 1;
  const void* b = nullptr;
  std::int64_t ldb = 1;
  double beta = 0;
  void* c = nullptr;
  std::int64_t ldc = 1;
};

// A product to check, and how it is called.
struct Shape {
  bool row_major;
  char transa, transb;
  int m, n, k;
  double alpha, beta;
  int ld_pad;
};

struct Symbol {
  const char* symbol;
  const char* name;  // what the handler is told
  Style style;
  void (*run)(const Call&);
  void (*check)(const Symbol&, const Shape&);
};

// An element in the type that the symbol's declaration has: bf16 numbers are passed as their bits.
template <class T>
T passed(T value) {
  return value;
}
std::uint16_t passed(Bfloat16 value) {
  return value.bits;
}

// T: of A and B. C: of C, alpha and beta.
template <class Int, class T, class C, auto function>
void run_fortran(const Call& call) {
  const char transa = static_cast<char>(call.transa), transb = static_cast<char>(call.transb);
  const Int m = static_cast<Int>(call.m), n = static_cast<Int>(call.n), k = static_cast<Int>(call.k);
  const Int lda = static_cast<Int>(call.lda), ldb = static_cast<Int>(call.ldb), ldc = static_cast<Int>(call.ldc);
  const auto alpha = passed(test::from_double<C>(call.alpha)), beta = passed(test::from_double<C>(call.beta));
  using P = decltype(passed(T{}));
  using Q = std::remove_const_t<decltype(alpha)>;
  function(&transa, &transb, &m, &n, &k, &alpha, static_cast<const P*>(call.a), &lda, static_cast<const P*>(call.b),
           &ldb, &beta, static_cast<Q*>(call.c), &ldc);
}

template <class Int, class T, class C, auto function>
void run_cblas(const Call& call) {
  const auto alpha = passed(test::from_double<C>(call.alpha)), beta = passed(test::from_double<C>(call.beta));
  using P = decltype(passed(T{}));
  using Q = std::remove_const_t<decltype(alpha)>;
  function(call.layout, call.transa, call.transb, static_cast<Int>(call.m), static_cast<Int>(call.n),
           static_cast<Int>(call.k), alpha, static_cast<const P*>(call.a), static_cast<Int>(call.lda),
           static_cast<const P*>(call.b), static_cast<Int>(call.ldb), beta, static_cast<Q*>(call.c),
           static_cast<Int>(call.ldc));
}

int cblas_flag(char flag) {
  return flag == 'N' || flag == 'n' ? CblasNoTrans : flag == 'T' || flag == 't' ? CblasTrans : CblasConjTrans;
}

// A row-major product is the column-major one of the transposed matrices: the case is made for the latter.
template <class T, class C>
void check_product(const Symbol& symbol, const Shape& x) {
  test::Case<T, C> c(x.row_major ? x.transb : x.transa, x.row_major ? x.transa : x.transb, x.row_major ? x.n : x.m,
                     x.row_major ? x.m : x.n, x.k, x.alpha, x.beta, x.ld_pad);
  const auto& a = x.row_major ? c.b : c.a;
  const auto& b = x.row_major ? c.a : c.b;
  Call call = {x.row_major ? CblasRowMajor : CblasColMajor,
               x.transa,
               x.transb,
               x.m,
               x.n,
               x.k,
               x.alpha,
               a.data(),
               a.ld(),
               b.data(),
               b.ld(),
               x.beta,
               c.c.data(),
               c.c.ld()};
  if (symbol.style != Style::fortran) call.transa = cblas_flag(x.transa), call.transb = cblas_flag(x.transb);
  symbol.run(call);
  ASSERT_EQ(reported.count, 0) << reported.name << ' ' << reported.number;
  const test::Verdict verdict = c.check();
  ASSERT_TRUE(verdict.ok) << symbol.symbol << (x.row_major ? " row-major: " : ": ") << verdict.message;
}

template <class Int, class T, class C, auto function>
constexpr Symbol fortran(const char* symbol, const char* name) {
  return {symbol, name, Style::fortran, run_fortran<Int, T, C, function>, check_product<T, C>};
}
template <class Int, class T, class C, auto function>
constexpr Symbol openblas(const char* symbol, const char* name) {
  return {symbol, name, Style::openblas, run_cblas<Int, T, C, function>, check_product<T, C>};
}
template <class Int, class T, class C, auto function>
constexpr Symbol cblas(const char* symbol, const char* name) {
  return {symbol, name, Style::cblas, run_cblas<Int, T, C, function>, check_product<T, C>};
}

const Symbol kSymbols[] = {
    fortran<int, float, float, sgemm_>("sgemm_", "SGEMM "),
    fortran<int, double, double, dgemm_>("dgemm_", "DGEMM "),
    fortran<std::int64_t, float, float, sgemm_64_>("sgemm_64_", "SGEMM "),
    fortran<std::int64_t, double, double, dgemm_64_>("dgemm_64_", "DGEMM "),
    fortran<int, Half, Half, hgemm_>("hgemm_", "HGEMM "),
    fortran<int, Bfloat16, Bfloat16, bgemm_>("bgemm_", "BGEMM "),
    fortran<int, Bfloat16, float, sbgemm_>("sbgemm_", "SBGEMM"),
    fortran<std::int64_t, Bfloat16, float, sbgemm_64_>("sbgemm_64_", "SBGEMM"),
    cblas<int, float, float, cblas_sgemm>("cblas_sgemm", "cblas_sgemm"),
    cblas<int, double, double, cblas_dgemm>("cblas_dgemm", "cblas_dgemm"),
    cblas<std::int64_t, float, float, cblas_sgemm_64>("cblas_sgemm_64", "cblas_sgemm"),
    cblas<std::int64_t, double, double, cblas_dgemm_64>("cblas_dgemm_64", "cblas_dgemm"),
    cblas<int, Half, Half, cblas_hgemm>("cblas_hgemm", "cblas_hgemm"),
    cblas<int, Bfloat16, Bfloat16, cblas_bgemm>("cblas_bgemm", "cblas_bgemm"),
    cblas<int, Bfloat16, float, cblas_sbgemm>("cblas_sbgemm", "cblas_sbgemm"),
    cblas<std::int64_t, Bfloat16, float, cblas_sbgemm_64>("cblas_sbgemm_64", "cblas_sbgemm"),
    cblas<int, Bfloat16, float, cblas_gemm_bf16bf16f32>("cblas_gemm_bf16bf16f32", "cblas_gemm_bf16bf16f32"),
    cblas<int, Half, float, cblas_gemm_f16f16f32>("cblas_gemm_f16f16f32", "cblas_gemm_f16f16f32"),
    openblas<std::int64_t, float, float, cblas_sgemm64_>("cblas_sgemm64_", "SGEMM "),
    openblas<std::int64_t, double, double, cblas_dgemm64_>("cblas_dgemm64_", "DGEMM "),
    fortran<int, float, float, scipy_sgemm_>("scipy_sgemm_", "scipy SGEMM "),
    fortran<int, double, double, scipy_dgemm_>("scipy_dgemm_", "scipy DGEMM "),
    fortran<std::int64_t, float, float, scipy_sgemm_64_>("scipy_sgemm_64_", "scipy 64 SGEMM "),
    fortran<std::int64_t, double, double, scipy_dgemm_64_>("scipy_dgemm_64_", "scipy 64 DGEMM "),
    openblas<int, float, float, scipy_cblas_sgemm>("scipy_cblas_sgemm", "scipy SGEMM "),
    openblas<int, double, double, scipy_cblas_dgemm>("scipy_cblas_dgemm", "scipy DGEMM "),
    openblas<std::int64_t, float, float, scipy_cblas_sgemm64_>("scipy_cblas_sgemm64_", "scipy 64 SGEMM "),
    openblas<std::int64_t, double, double, scipy_cblas_dgemm64_>("scipy_cblas_dgemm64_", "scipy 64 DGEMM "),
};

class BlasSymbol : public testing::TestWithParam<Symbol> {
 protected:
  void SetUp() override { reported = {}; }
};

std::string symbol_name(const testing::TestParamInfo<Symbol>& info) {
  return info.param.symbol;
}
INSTANTIATE_TEST_SUITE_P(All, BlasSymbol, testing::ValuesIn(kSymbols), symbol_name);

// ---- Results
// ---------------------------------------------------------------------------------------------------------

TEST_P(BlasSymbol, ProductsWithAllFlagsLayoutsAndScalars) {
  const Symbol& symbol = GetParam();
  for (const bool row_major : {false, true}) {
    if (row_major && symbol.style == Style::fortran) continue;
    for (const char transa : {'N', 'T', 'C', 'n', 't', 'c'})
      for (const char transb : {'N', 'T', 'C'})
        for (const int m : {0, 1, 7, 31})
          for (const int n : {0, 1, 8, 33})
            for (const int k : {0, 1, 16, 65})
              // Scalars that fp16 and bf16 hold exactly.
              for (const float alpha : {0.0f, 1.0f, -0.75f})
                for (const float beta : {0.0f, 1.0f, 1.25f}) {
                  symbol.check(symbol, {row_major, transa, transb, m, n, k, alpha, beta, (m + n + k) % 4});
                  if (HasFatalFailure()) return;
                }
  }
}

TEST_P(BlasSymbol, LargerProducts) {
  const Symbol& symbol = GetParam();
  const bool row_major = symbol.style != Style::fortran;
  for (const auto& [m, n, k] : {std::array{200, 130, 700}, {1, 1100, 40}, {1100, 1, 40}, {3, 5, 5000}}) {
    symbol.check(symbol, {row_major, 'N', 'T', m, n, k, 1.0f, 0.5f, 3});
  }
}

// ---- Error numbers
// ---------------------------------------------------------------------------------------------------

struct Wrong {
  const char* what;
  std::int64_t number;  // that the handler gets, in the numbering of sgemm_; cblas_xerbla gets one more
  int row_major;        // 1: for a row-major call
  std::int64_t m, n, k, lda, ldb, ldc;
  char transa = 'N', transb = 'N';
};

// In row major the handler gets the number that the argument has in the column-major call of the swapped matrices, and
// finds RowMajorStrg set: m and n, lda and ldb change places, in the numbers and in the order of the checks.
const Wrong kWrong[] = {
    {"m", 3, 0, -1, 2, 2, 2, 2, 2},
    {"n", 4, 0, 2, -1, 2, 2, 2, 2},
    {"k", 5, 0, 2, 2, -1, 2, 2, 2},
    {"lda, N", 8, 0, 3, 2, 2, 2, 2, 3},
    {"lda, T", 8, 0, 2, 2, 3, 2, 3, 2, 'T', 'N'},
    {"lda = 0 although A is empty", 8, 0, 0, 0, 0, 0, 1, 1},
    {"ldb, N", 10, 0, 2, 2, 3, 2, 2, 2},
    {"ldb, T", 10, 0, 2, 3, 2, 2, 2, 2, 'N', 'T'},
    {"ldb = 0", 10, 0, 0, 0, 0, 1, 0, 1},
    {"ldc", 13, 0, 3, 2, 2, 3, 2, 2},
    {"ldc = 0", 13, 0, 0, 0, 0, 1, 1, 0},
    {"m before n", 3, 0, -1, -1, -1, 0, 0, 0},
    {"n before k", 4, 0, 1, -1, -1, 0, 0, 0},
    {"k before ld", 5, 0, 1, 1, -1, 0, 0, 0},
    {"lda before ldb", 8, 0, 1, 1, 1, 0, 0, 0},
    {"ldb before ldc", 10, 0, 1, 1, 1, 1, 0, 0},
    {"checks before the quick return", 13, 0, 5, 0, 0, 5, 1, 4},

    {"row-major m", 4, 1, -1, 2, 2, 2, 2, 2},
    {"row-major n", 3, 1, 2, -1, 2, 2, 2, 2},
    {"row-major k", 5, 1, 2, 2, -1, 2, 2, 2},
    {"row-major lda, N", 10, 1, 2, 2, 3, 2, 2, 2},
    {"row-major lda, T", 10, 1, 3, 2, 2, 2, 2, 2, 'T', 'N'},
    {"row-major ldb, N", 8, 1, 2, 3, 2, 2, 2, 3},
    {"row-major ldb, T", 8, 1, 2, 2, 3, 3, 2, 2, 'N', 'T'},
    {"row-major ldc", 13, 1, 2, 3, 2, 2, 3, 2},
    {"row-major n before m", 3, 1, -1, -1, -1, 0, 0, 0},
    {"row-major m before k", 4, 1, -1, 1, -1, 0, 0, 0},
    {"row-major ldb before lda", 8, 1, 1, 1, 1, 0, 0, 0},
    {"row-major lda before ldc", 10, 1, 1, 1, 1, 0, 1, 0},
};

TEST_P(BlasSymbol, IllegalArgumentsReachTheHandlerAndNothingIsWritten) {
  const Symbol& symbol = GetParam();
  const bool cblas = symbol.style != Style::fortran;
  std::vector<float> storage(64, 42.0f);
  for (const Wrong& wrong : kWrong) {
    if (wrong.row_major && !cblas) continue;
    SCOPED_TRACE(wrong.what);
    reported = {};
    Call call = {wrong.row_major ? CblasRowMajor : CblasColMajor,
                 wrong.transa,
                 wrong.transb,
                 wrong.m,
                 wrong.n,
                 wrong.k,
                 1,
                 storage.data(),
                 wrong.lda,
                 storage.data(),
                 wrong.ldb,
                 0,
                 storage.data(),
                 wrong.ldc};
    if (cblas) call.transa = cblas_flag(wrong.transa), call.transb = cblas_flag(wrong.transb);
    symbol.run(call);
    EXPECT_EQ(reported.count, 1);
    EXPECT_EQ(reported.name, symbol.name);
    EXPECT_EQ(reported.number, wrong.number + (symbol.style == Style::cblas ? 1 : 0));
    EXPECT_EQ(reported.row_major, symbol.style == Style::cblas && wrong.row_major != 0);
    EXPECT_EQ(RowMajorStrg, 0);
    EXPECT_STRNE(xgemm_last_error(), "");
  }
  for (const float value : storage) EXPECT_EQ(value, 42.0f);
}

TEST_P(BlasSymbol, IllegalFlags) {
  const Symbol& symbol = GetParam();
  float value = 1;
  const auto number_for = [&](int layout, int transa, int transb, std::int64_t m) {
    reported = {};
    symbol.run({layout, transa, transb, m, 1, 1, 1, &value, 1, &value, 1, 0, &value, 1});
    return reported.number;
  };
  if (symbol.style == Style::fortran) {
    for (const char flag : {'X', '\0', ' ', 'M', 'O', '1'}) {
      EXPECT_EQ(number_for(0, flag, 'N', -1), 1) << flag;
      EXPECT_EQ(number_for(0, 'T', flag, -1), 2) << flag;
    }
    EXPECT_EQ(number_for(0, '?', '?', 1), 1);
  } else if (symbol.style == Style::openblas) {
    for (const int layout : {CblasColMajor, CblasRowMajor})
      for (const int flag : {0, 110, 114, -1, int{'N'}, int{'T'}}) {
        EXPECT_EQ(number_for(layout, flag, CblasTrans, -1), layout == CblasColMajor ? 1 : 2) << flag;
        EXPECT_EQ(number_for(layout, CblasNoTrans, flag, -1), layout == CblasColMajor ? 2 : 1) << flag;
      }
    for (const int layout : {0, 100, 103, -1, int{'C'}}) EXPECT_EQ(number_for(layout, 0, 0, -1), 0) << layout;
  } else {
    for (const int layout : {CblasColMajor, CblasRowMajor})
      for (const int flag : {0, 110, 114, -1, int{'N'}, int{'T'}}) {
        EXPECT_EQ(number_for(layout, flag, CblasTrans, -1), 2) << flag;
        EXPECT_EQ(number_for(layout, CblasNoTrans, flag, -1), 3) << flag;
        EXPECT_EQ(number_for(layout, flag, flag, -1), 2) << flag;
        EXPECT_EQ(reported.text.find("transa = " + std::to_string(flag) + ","), 0u) << reported.text;
      }
    for (const int layout : {0, 100, 103, -1, int{'C'}}) EXPECT_EQ(number_for(layout, 0, 0, -1), 1) << layout;
  }
  EXPECT_EQ(value, 1);
}

TEST_P(BlasSymbol, NullPointersThatWouldBeUsedAreIllegal) {
  const Symbol& symbol = GetParam();
  const bool cblas = symbol.style != Style::fortran;
  const int none = cblas ? int{CblasNoTrans} : int{'N'};
  float memory[4] = {};
  const auto number_for = [&](std::int64_t m, std::int64_t k, double alpha, const void* a, const void* b, double beta,
                              void* c) {
    reported = {};
    symbol.run({CblasColMajor, none, none, m, 1, k, alpha, a, 1, b, 1, beta, c, 1});
    return reported.count == 0 ? 0 : reported.number - (symbol.style == Style::cblas ? 1 : 0);
  };
  EXPECT_EQ(number_for(1, 1, 1, nullptr, memory, 0, memory), 7);
  EXPECT_EQ(number_for(1, 1, 1, memory, nullptr, 0, memory), 9);
  EXPECT_EQ(number_for(1, 1, 1, memory, memory, 0, nullptr), 12);
  EXPECT_EQ(number_for(1, 1, 0, nullptr, nullptr, 0, memory), 0);   // alpha = 0 reads neither
  EXPECT_EQ(number_for(1, 0, 1, nullptr, nullptr, 0, memory), 0);   // nor does k = 0
  EXPECT_EQ(number_for(0, 1, 1, nullptr, nullptr, 0, nullptr), 0);  // nothing at all
}

TEST(BlasFortran, NullScalarsAndSizesAreIllegal) {
  reported = {};
  const int one = 1;
  const float x = 1;
  float y = 1;
  sgemm_(nullptr, "N", &one, &one, &one, &x, &x, &one, &x, &one, &x, &y, &one);
  EXPECT_EQ(reported.number, 1);
  sgemm_("N", "N", &one, &one, nullptr, &x, &x, &one, &x, &one, &x, &y, &one);
  EXPECT_EQ(reported.number, 5);
  sgemm_("N", "N", &one, &one, &one, nullptr, &x, &one, &x, &one, &x, &y, &one);
  EXPECT_EQ(reported.number, 6);
  sgemm_("N", "N", &one, &one, &one, &x, &x, &one, &x, &one, nullptr, &y, &one);
  EXPECT_EQ(reported.number, 11);
  EXPECT_EQ(y, 1);
}

// ---- Rank-k updates ------------------------------------------------------------------------------------------------

struct Update {
  int layout = CblasColMajor;
  int uplo = 'U', trans = 'N';  // characters, or CBLAS's numbers
  std::int64_t n = 0, k = 0;
  double alpha = 1;
  const void* a = nullptr;
  std::int64_t lda = 1;
  double beta = 0;
  void* c = nullptr;
  std::int64_t ldc = 1;
};

struct UpdateSymbol {
  const char* symbol;
  const char* name;  // what the handler is told
  Style style;
  bool is_double;
  void (*run)(const Update&);
};

template <class Int, class T, auto function>
void run_fortran_update(const Update& x) {
  const char uplo = static_cast<char>(x.uplo), trans = static_cast<char>(x.trans);
  const Int n = static_cast<Int>(x.n), k = static_cast<Int>(x.k);
  const Int lda = static_cast<Int>(x.lda), ldc = static_cast<Int>(x.ldc);
  const T alpha = static_cast<T>(x.alpha), beta = static_cast<T>(x.beta);
  function(&uplo, &trans, &n, &k, &alpha, static_cast<const T*>(x.a), &lda, &beta, static_cast<T*>(x.c), &ldc);
}
template <class Int, class T, auto function>
void run_cblas_update(const Update& x) {
  function(x.layout, x.uplo, x.trans, static_cast<Int>(x.n), static_cast<Int>(x.k), static_cast<T>(x.alpha),
           static_cast<const T*>(x.a), static_cast<Int>(x.lda), static_cast<T>(x.beta), static_cast<T*>(x.c),
           static_cast<Int>(x.ldc));
}

using Wide = std::int64_t;
const UpdateSymbol kUpdates[] = {
    {"ssyrk_", "SSYRK ", Style::fortran, false, run_fortran_update<int, float, ssyrk_>},
    {"dsyrk_", "DSYRK ", Style::fortran, true, run_fortran_update<int, double, dsyrk_>},
    {"ssyrk_64_", "SSYRK ", Style::fortran, false, run_fortran_update<Wide, float, ssyrk_64_>},
    {"dsyrk_64_", "DSYRK ", Style::fortran, true, run_fortran_update<Wide, double, dsyrk_64_>},
    {"cblas_ssyrk", "cblas_ssyrk", Style::cblas, false, run_cblas_update<int, float, cblas_ssyrk>},
    {"cblas_dsyrk", "cblas_dsyrk", Style::cblas, true, run_cblas_update<int, double, cblas_dsyrk>},
    {"cblas_ssyrk_64", "cblas_ssyrk", Style::cblas, false, run_cblas_update<Wide, float, cblas_ssyrk_64>},
    {"cblas_dsyrk_64", "cblas_dsyrk", Style::cblas, true, run_cblas_update<Wide, double, cblas_dsyrk_64>},
    {"cblas_ssyrk64_", "SSYRK ", Style::openblas, false, run_cblas_update<Wide, float, cblas_ssyrk64_>},
    {"cblas_dsyrk64_", "DSYRK ", Style::openblas, true, run_cblas_update<Wide, double, cblas_dsyrk64_>},
    {"scipy_ssyrk_", "scipy SSYRK ", Style::fortran, false, run_fortran_update<int, float, scipy_ssyrk_>},
    {"scipy_dsyrk_", "scipy DSYRK ", Style::fortran, true, run_fortran_update<int, double, scipy_dsyrk_>},
    {"scipy_ssyrk_64_", "scipy 64 SSYRK ", Style::fortran, false, run_fortran_update<Wide, float, scipy_ssyrk_64_>},
    {"scipy_dsyrk_64_", "scipy 64 DSYRK ", Style::fortran, true, run_fortran_update<Wide, double, scipy_dsyrk_64_>},
    {"scipy_cblas_ssyrk", "scipy SSYRK ", Style::openblas, false, run_cblas_update<int, float, scipy_cblas_ssyrk>},
    {"scipy_cblas_dsyrk", "scipy DSYRK ", Style::openblas, true, run_cblas_update<int, double, scipy_cblas_dsyrk>},
    {"scipy_cblas_ssyrk64_", "scipy 64 SSYRK ", Style::openblas, false,
     run_cblas_update<Wide, float, scipy_cblas_ssyrk64_>},
    {"scipy_cblas_dsyrk64_", "scipy 64 DSYRK ", Style::openblas, true,
     run_cblas_update<Wide, double, scipy_cblas_dsyrk64_>},
};

class BlasUpdate : public testing::TestWithParam<UpdateSymbol> {
 protected:
  void SetUp() override { reported = {}; }

  // In the symbol's own values of uplo and trans.
  Update call(bool row_major, char uplo, char trans) const {
    Update x{.layout = row_major ? CblasRowMajor : CblasColMajor, .uplo = uplo, .trans = trans};
    if (GetParam().style != Style::fortran) {
      x.uplo = uplo == 'U' || uplo == 'u' ? CblasUpper : CblasLower;
      x.trans = cblas_flag(trans);
    }
    return x;
  }

  template <class T>
  void check(bool row_major, char uplo, char trans, int n, int k, double alpha, double beta) {
    // The column-major product that it is, of A and its transpose.
    const bool plain = (trans == 'N' || trans == 'n') != row_major;
    test::Case<T> c(plain ? 'N' : 'T', plain ? 'T' : 'N', n, n, k, static_cast<T>(alpha), static_cast<T>(beta));
    c.product.b = c.product.a;
    Update x = call(row_major, uplo, trans);
    x.n = n, x.k = k, x.alpha = alpha, x.a = c.a.data(), x.lda = c.a.ld(), x.beta = beta, x.c = c.c.data();
    x.ldc = c.c.ld();
    const test::Matrix<T> before = c.c;
    GetParam().run(x);
    ASSERT_EQ(reported.count, 0) << reported.name << ' ' << reported.number;
    ASSERT_EQ(c.c.guards_intact(), "");
    const bool lower = (uplo == 'L' || uplo == 'l') != row_major;
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i)
        if (i != j && (i < j) == lower) {
          ASSERT_EQ(std::memcmp(&c.c(i, j), &before(i, j), sizeof(T)), 0) << i << ' ' << j;
          const auto expected = test::expected_element(c.product, i, j);  // for the oracle, which judges all of C
          c.c(i, j) = static_cast<T>(expected.value);
        }
    const test::Verdict verdict = test::check_result(c.product, c.c.data());
    ASSERT_TRUE(verdict.ok) << GetParam().symbol << (row_major ? " row-major: " : ": ") << verdict.message;
  }
};
INSTANTIATE_TEST_SUITE_P(All, BlasUpdate, testing::ValuesIn(kUpdates),
                         [](const auto& row) { return row.param.symbol; });

TEST_P(BlasUpdate, IsTheProductOfAMatrixAndItsTranspose) {
  for (const bool row_major : {false, true}) {
    if (row_major && GetParam().style == Style::fortran) continue;
    for (const char uplo : {'U', 'L', 'u', 'l'})
      for (const char trans : {'N', 'T', 'C', 'n', 't'})
        for (const int n : {0, 1, 9, 40})
          for (const int k : {0, 1, 17})
            for (const double alpha : {0.0, 1.0, -0.75})
              for (const double beta : {0.0, 1.0, 1.25}) {
                GetParam().is_double ? check<double>(row_major, uplo, trans, n, k, alpha, beta)
                                     : check<float>(row_major, uplo, trans, n, k, alpha, beta);
                if (HasFatalFailure()) return;
              }
  }
}

// The numbers of the reference's ssyrk_, in its order; cblas_xerbla gets one more. In row major they are the same.
TEST_P(BlasUpdate, IllegalArgumentsReachTheHandlerAndNothingIsWritten) {
  const UpdateSymbol& symbol = GetParam();
  std::vector<double> storage(64, 42.0);
  const auto number = [&](bool row_major, const auto& spoil) {
    reported = {};
    Update x = call(row_major, 'U', 'N');
    x.n = x.k = 2, x.lda = x.ldc = 2, x.a = x.c = storage.data();
    spoil(x);
    symbol.run(x);
    EXPECT_EQ(reported.count, 1);
    EXPECT_EQ(reported.name, symbol.name);
    EXPECT_STRNE(xgemm_last_error(), "");
    return reported.number - (symbol.style == Style::cblas ? 1 : 0);
  };
  for (const bool row_major : {false, true}) {
    if (row_major && symbol.style == Style::fortran) continue;
    EXPECT_EQ(number(row_major, [](Update& x) { x.uplo = 'X', x.trans = 'X', x.n = -1; }), 1);
    EXPECT_EQ(number(row_major, [](Update& x) { x.trans = 'X', x.n = -1; }), 2);
    EXPECT_EQ(number(row_major, [](Update& x) { x.n = x.k = -1, x.lda = 0; }), 3);
    EXPECT_EQ(number(row_major, [](Update& x) { x.k = -1, x.lda = 0; }), 4);
    EXPECT_EQ(number(row_major, [](Update& x) { x.lda = 1, x.ldc = 1; }), 7);
    EXPECT_EQ(number(row_major, [](Update& x) { x.ldc = 1; }), 10);
    EXPECT_EQ(number(row_major, [](Update& x) { x.a = nullptr; }), 6);
    EXPECT_EQ(number(row_major, [](Update& x) { x.c = nullptr; }), 9);
  }
  for (const double value : storage) EXPECT_EQ(value, 42.0);
}

// Each tells of the update's own argument, not of the product's that stands for it.
TEST(BlasUpdates, MessagesNameTheirOwnArguments) {
  const float a[4] = {};
  float c[4] = {};
  const auto message = [&](char uplo, char trans, int n, int k, int lda, int ldc) {
    EXPECT_LT(xssyrk(uplo, trans, n, k, 1, a, lda, 1, c, ldc), 0);
    return std::string(xgemm_last_error());
  };
  EXPECT_EQ(message('X', 'N', 2, 2, 2, 2), "uplo = 'X', but one of U, L (either case) is required");
  EXPECT_EQ(message('L', 'X', 2, 2, 2, 2), "trans = 'X', but one of N, T, C (either case) is required");
  EXPECT_EQ(message('L', 'N', -2, 2, 2, 2), "n = -2, but n >= 0 is required");
  EXPECT_EQ(message('L', 'N', 2, -2, 2, 2), "k = -2, but k >= 0 is required");
  EXPECT_EQ(message('L', 'N', 2, 2, 1, 2), "lda = 1, but lda >= max(1, n) = 2 is required");
  EXPECT_EQ(message('L', 'T', 2, 3, 2, 2), "lda = 2, but lda >= max(1, k) = 3 is required");
  EXPECT_EQ(message('L', 'N', 2, 2, 2, 1), "ldc = 1, but ldc >= max(1, n) = 2 is required");
}

// OpenBLAS 0.3.21 takes beta = NaN for 0 in fp32.
TEST(BlasUpdates, NanInBetaIsInAllOfTheTriangle) {
  for (const int n : {1, 2, 40, 200})
    for (const char uplo : {'L', 'U'}) {
      std::vector<float> a(static_cast<std::size_t>(n), 1), c(static_cast<std::size_t>(n * n), 2);
      std::vector<double> wide_a(a.begin(), a.end()), wide_c(c.begin(), c.end());
      ASSERT_EQ(xssyrk(uplo, 'N', n, 1, 1, a.data(), n, std::nanf(""), c.data(), n), 0);
      ASSERT_EQ(xdsyrk(uplo, 'N', n, 1, 1, wide_a.data(), n, std::nan(""), wide_c.data(), n), 0);
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) {
          const auto at = static_cast<std::size_t>(i + j * n);
          const bool inside = uplo == 'L' ? i >= j : i <= j;
          ASSERT_TRUE(inside ? std::isnan(c[at]) : c[at] == 2) << n << uplo << i << " " << j;
          ASSERT_TRUE(inside ? std::isnan(wide_c[at]) : wide_c[at] == 2) << n << uplo << i << " " << j;
        }
    }
}

TEST(BlasUpdates, NullScalarsAndSizesAreIllegal) {
  const int one = 1;
  const float x = 1;
  float y = 1;
  const auto number = [](const auto& call) {
    reported = {};
    call();
    return reported.number;
  };
  EXPECT_EQ(number([&] { ssyrk_(nullptr, "N", &one, &one, &x, &x, &one, &x, &y, &one); }), 1);
  EXPECT_EQ(number([&] { ssyrk_("L", nullptr, &one, &one, &x, &x, &one, &x, &y, &one); }), 2);
  EXPECT_EQ(number([&] { ssyrk_("L", "N", nullptr, &one, &x, &x, &one, &x, &y, &one); }), 3);
  EXPECT_EQ(number([&] { ssyrk_("L", "N", &one, nullptr, &x, &x, &one, &x, &y, &one); }), 4);
  EXPECT_EQ(number([&] { ssyrk_("L", "N", &one, &one, nullptr, &x, &one, &x, &y, &one); }), 5);
  EXPECT_EQ(number([&] { ssyrk_("L", "N", &one, &one, &x, &x, nullptr, &x, &y, &one); }), 7);
  EXPECT_EQ(number([&] { ssyrk_("L", "N", &one, &one, &x, &x, &one, nullptr, &y, &one); }), 8);
  EXPECT_EQ(number([&] { ssyrk_("L", "N", &one, &one, &x, &x, &one, &x, &y, nullptr); }), 10);
  EXPECT_EQ(y, 1);
}

// Under their own names, with the place of an argument as its number.
TEST(Updates, OfTheLibrarysOwnNames) {
  const double a[] = {1, 2, 3, 4};
  double c[] = {10, 10, 10, 10};
  EXPECT_EQ(xdsyrk('L', 'N', 2, 2, 1.0, a, 2, 1.0, c, 2), 0);
  const double expected[] = {20, 24, 10, 30};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(c[i], expected[i]);
  EXPECT_EQ(xdsyrk('X', 'N', 2, 2, 1.0, a, 2, 1.0, c, 2), -1);
  EXPECT_EQ(xdsyrk('L', 'X', 2, 2, 1.0, a, 2, 1.0, c, 2), -2);
  EXPECT_EQ(xdsyrk('L', 'N', -2, 2, 1.0, a, 2, 1.0, c, 2), -3);
  EXPECT_EQ(xdsyrk('L', 'N', 2, 2, 1.0, a, 1, 1.0, c, 2), -7);
  EXPECT_EQ(xssyrk('L', 'N', 2, 2, 1.0f, nullptr, 2, 1.0f, nullptr, 1), -10);
  EXPECT_STRNE(xgemm_last_error(), "");
}

// Batches by every name, against products one by one.
TEST(BlasBatch, StridedBatchesAreTheirProducts) {
  const int m = 5, n = 4, k = 3, count = 6;
  const float alpha = 1.5f, beta = -0.5f;
  for (const bool row_major : {false, true})
    for (const int gap : {0, 7})
      for (const bool same_b : {false, true}) {
        const int lda = row_major ? k : m, ldb = row_major ? n : k, ldc = row_major ? n : m;
        const int stride_a = m * k + gap, stride_b = same_b ? 0 : k * n + gap, stride_c = m * n + gap;
        test::Random random(static_cast<std::uint64_t>(gap) + 2 * row_major + same_b);
        const auto drawn = [&](int size) {
          std::vector<float> x(static_cast<std::size_t>(size));
          for (float& value : x) value = static_cast<float>(random.integer(-9, 9));
          return x;
        };
        const std::vector<float> a = drawn(stride_a * count), b = drawn((k * n + gap) * count),
                                 c = drawn(stride_c * count);
        std::vector<float> expected = c;
        const int layout = row_major ? CblasRowMajor : CblasColMajor;
        for (int i = 0; i < count; ++i)
          cblas_sgemm(layout, CblasNoTrans, CblasNoTrans, m, n, k, alpha, a.data() + i * stride_a, lda,
                      b.data() + i * stride_b, ldb, beta, expected.data() + i * stride_c, ldc);
        std::vector<float> got = c;
        cblas_sgemm_batch_strided(layout, CblasNoTrans, CblasNoTrans, m, n, k, alpha, a.data(), lda, stride_a, b.data(),
                                  ldb, stride_b, beta, got.data(), ldc, stride_c, count);
        EXPECT_EQ(got, expected);
        got = c;
        cblas_sgemm_batch_strided_64(layout, CblasNoTrans, CblasNoTrans, m, n, k, alpha, a.data(), lda, stride_a,
                                     b.data(), ldb, stride_b, beta, got.data(), ldc, stride_c, count);
        EXPECT_EQ(got, expected);
        if (row_major) continue;
        got = c;
        sgemm_batch_strided_("N", "N", &m, &n, &k, &alpha, a.data(), &lda, &stride_a, b.data(), &ldb, &stride_b, &beta,
                             got.data(), &ldc, &stride_c, &count);
        EXPECT_EQ(got, expected);
        const std::int64_t m64 = m, n64 = n, k64 = k, lda64 = lda, ldb64 = ldb, ldc64 = ldc, sa64 = stride_a,
                           sb64 = stride_b, sc64 = stride_c, count64 = count;
        got = c;
        sgemm_batch_strided_64_("N", "N", &m64, &n64, &k64, &alpha, a.data(), &lda64, &sa64, b.data(), &ldb64, &sb64,
                                &beta, got.data(), &ldc64, &sc64, &count64);
        EXPECT_EQ(got, expected);
      }
}

TEST(BlasBatch, ArgumentsHaveTheNumbersOfTheirPlaces) {
  const int one = 1, minus = -1;
  const float x = 1;
  float y[2] = {1, 1};
  const auto fortran = [&](const int* lda, const int* stride_a, const int* ldb, const int* stride_b, const int* ldc,
                           const int* stride_c, const int* count) {
    reported = {};
    sgemm_batch_strided_("N", "N", &one, &one, &one, &x, &x, lda, stride_a, &x, ldb, stride_b, &x, y, ldc, stride_c,
                         count);
    return reported.number;
  };
  const int two = 2;
  EXPECT_EQ(fortran(&minus, &one, &one, &one, &one, &one, &two), 8);
  EXPECT_EQ(fortran(&one, &minus, &one, &one, &one, &one, &two), 9);
  EXPECT_EQ(fortran(&one, nullptr, &one, &one, &one, &one, &two), 9);
  EXPECT_EQ(fortran(&one, &one, &minus, &one, &one, &one, &two), 11);
  EXPECT_EQ(fortran(&one, &one, &one, &minus, &one, &one, &two), 12);
  EXPECT_EQ(fortran(&one, &one, &one, &one, &minus, &one, &two), 15);
  EXPECT_EQ(fortran(&one, &one, &one, &one, &one, &minus, &two), 16);
  EXPECT_EQ(fortran(&one, &one, &one, &one, &one, &one, &minus), 17);
  // Of row-major calls as the reference's handler makes it of what it is told: by the places of gemm.
  const auto cblas = [&](int layout, int m, int n, const float* a, int lda, int stride_a, const float* b, int ldb,
                         int stride_b, int ldc, int stride_c, int count) {
    reported = {};
    cblas_sgemm_batch_strided(layout, CblasNoTrans, CblasNoTrans, m, n, 1, 1, a, lda, stride_a, b, ldb, stride_b, 1, y,
                              ldc, stride_c, count);
    const int told = reported.number;
    if (!reported.row_major) return told;
    return told == 4 ? 5 : told == 5 ? 4 : told == 9 ? 11 : told == 11 ? 9 : told;
  };
  for (const int layout : {CblasColMajor, CblasRowMajor}) {
    EXPECT_EQ(cblas(layout, -1, 1, &x, 1, 1, &x, 1, 1, 1, 1, 2), 4);
    EXPECT_EQ(cblas(layout, 1, -1, &x, 1, 1, &x, 1, 1, 1, 1, 2), 5);
    EXPECT_EQ(cblas(layout, 1, 1, nullptr, 1, 1, &x, 1, 1, 1, 1, 2), 8);
    EXPECT_EQ(cblas(layout, 1, 1, &x, -1, 1, &x, 1, 1, 1, 1, 2), 9);
    EXPECT_EQ(cblas(layout, 1, 1, &x, 1, -1, &x, 1, 1, 1, 1, 2), 10);
    EXPECT_EQ(cblas(layout, 1, 1, &x, 1, 1, nullptr, 1, 1, 1, 1, 2), 11);
    EXPECT_EQ(cblas(layout, 1, 1, &x, 1, 1, &x, -1, 1, 1, 1, 2), 12);
    EXPECT_EQ(cblas(layout, 1, 1, &x, 1, 1, &x, 1, -1, 1, 1, 2), 13);
    EXPECT_EQ(cblas(layout, 1, 1, &x, 1, 1, &x, 1, 1, -1, 1, 2), 16);
    EXPECT_EQ(cblas(layout, 1, 1, &x, 1, 1, &x, 1, 1, 1, -1, 2), 17);
    EXPECT_EQ(cblas(layout, 1, 1, &x, 1, 1, &x, 1, 1, 1, 1, -1), 18);
  }
  EXPECT_EQ(y[0], 1);
}

// Groups of products by pointers, at equal distances in runs and scattered, by every name, against products one by one.
TEST(BlasBatch, GroupsAreTheirProducts) {
  test::Random random(31);
  const auto pick = [&](int low, int high) { return static_cast<int>(random.integer(low, high)); };
  for (int round = 0; round < 200; ++round) {
    const bool row_major = pick(0, 1) != 0;
    const int groups = pick(0, 4), layout = row_major ? CblasRowMajor : CblasColMajor;
    std::vector<int> transa, transb, m, n, k, lda, ldb, ldc, sizes;
    std::vector<float> alpha, beta;
    std::vector<const float*> a, b;
    std::vector<std::size_t> places;  // of C
    std::vector<float> memory(200000);
    for (float& value : memory) value = static_cast<float>(pick(-4, 4));
    std::size_t used = 0;
    const auto take = [&](int size) {
      used += static_cast<std::size_t>(pick(0, 1) * pick(0, 9));  // equally spaced now and then
      const std::size_t place = used;
      used += static_cast<std::size_t>(size);
      return place;
    };
    for (int g = 0; g < groups; ++g) {
      transa.push_back(pick(0, 1) != 0 ? CblasNoTrans : CblasTrans);
      transb.push_back(pick(0, 1) != 0 ? CblasNoTrans : CblasConjTrans);
      m.push_back(pick(0, 6)), n.push_back(pick(0, 6)), k.push_back(pick(0, 6)), sizes.push_back(pick(0, 5));
      alpha.push_back(static_cast<float>(pick(-2, 2))), beta.push_back(static_cast<float>(pick(-1, 1)));
      lda.push_back(6 + pick(0, 2)), ldb.push_back(6 + pick(0, 2)), ldc.push_back(6 + pick(0, 2));
      const bool one_b = pick(0, 1) != 0;
      for (int i = 0; i < sizes.back(); ++i) {
        a.push_back(memory.data() + take(8 * 6));
        b.push_back(one_b && i > 0 ? b.back() : memory.data() + take(8 * 6));
        places.push_back(take(8 * 6));
      }
    }
    std::vector<float> c(used + 1), expected;
    for (float& value : c) value = static_cast<float>(pick(-4, 4));
    expected = c;
    std::size_t product = 0;
    for (int g = 0; g < groups; ++g)
      for (int i = 0; i < sizes[g]; ++i, ++product)
        cblas_sgemm(layout, transa[g], transb[g], m[g], n[g], k[g], alpha[g], a[product], lda[g], b[product], ldb[g],
                    beta[g], expected.data() + places[product], ldc[g]);
    const auto check = [&](auto call) {
      std::vector<float> got = c;
      std::vector<float*> pointers;
      for (const std::size_t place : places) pointers.push_back(got.data() + place);
      call(pointers.data());
      EXPECT_EQ(got, expected) << "round " << round;
    };
    const auto wide = [](const std::vector<int>& x) { return std::vector<std::int64_t>(x.begin(), x.end()); };
    const auto m64 = wide(m), n64 = wide(n), k64 = wide(k), lda64 = wide(lda), ldb64 = wide(ldb), ldc64 = wide(ldc),
               sizes64 = wide(sizes);
    const std::int64_t groups64 = groups;
    check([&](float** pointers) {
      cblas_sgemm_batch(layout, transa.data(), transb.data(), m.data(), n.data(), k.data(), alpha.data(), a.data(),
                        lda.data(), b.data(), ldb.data(), beta.data(), pointers, ldc.data(), groups, sizes.data());
    });
    check([&](float** pointers) {
      cblas_sgemm_batch_64(layout, transa.data(), transb.data(), m64.data(), n64.data(), k64.data(), alpha.data(),
                           a.data(), lda64.data(), b.data(), ldb64.data(), beta.data(), pointers, ldc64.data(),
                           groups64, sizes64.data());
    });
    if (row_major) continue;
    std::string flags_a, flags_b;
    for (int g = 0; g < groups; ++g) {
      flags_a += transa[g] == CblasNoTrans ? 'n' : 'T';
      flags_b += transb[g] == CblasNoTrans ? 'N' : 'c';
    }
    check([&](float** pointers) {
      sgemm_batch_(flags_a.data(), flags_b.data(), m.data(), n.data(), k.data(), alpha.data(), a.data(), lda.data(),
                   b.data(), ldb.data(), beta.data(), pointers, ldc.data(), &groups, sizes.data());
    });
    check([&](float** pointers) {
      sgemm_batch_64_(flags_a.data(), flags_b.data(), m64.data(), n64.data(), k64.data(), alpha.data(), a.data(),
                      lda64.data(), b.data(), ldb64.data(), beta.data(), pointers, ldc64.data(), &groups64,
                      sizes64.data());
    });
  }
}

// In the second of two groups, whose first is not computed either.
TEST(BlasBatch, IllegalGroupsAreReportedBeforeAnythingIsComputed) {
  const float one[] = {1, 1};
  float y[] = {1, 1};
  const float* inputs[] = {one, one};
  float* outputs[] = {y, y + 1};
  const int ones[] = {1, 1}, bad[] = {1, -1}, two = 2, minus = -1;
  const auto number_of = [&](int place) {
    const auto pass = [&](int its_place) { return its_place == place ? bad : ones; };
    reported = {};
    sgemm_batch_(place == 1 ? "NX" : "NN", place == 2 ? "NX" : "NN", pass(3), pass(4), pass(5), one, inputs, pass(8),
                 inputs, pass(10), one, outputs, pass(13), place == 14 ? &minus : &two, pass(15));
    return reported.number;
  };
  for (const int place : {1, 2, 3, 4, 5, 8, 10, 13, 14, 15}) EXPECT_EQ(number_of(place), place);
  EXPECT_STREQ(xgemm_last_error(), "group_size[1] = -1, but 0 or more is required");
  EXPECT_EQ(number_of(14), 14);
  EXPECT_STREQ(xgemm_last_error(), "group_count = -1, but group_count >= 0 is required");
  for (const int place : {3, 4, 8, 10, 13}) {
    const auto pass = [&](int its_place) { return its_place == place ? bad : ones; };
    const int flags[] = {CblasNoTrans, CblasNoTrans};
    for (const int layout : {CblasColMajor, CblasRowMajor}) {
      reported = {};
      cblas_sgemm_batch(layout, flags, flags, pass(3), pass(4), ones, one, inputs, pass(8), inputs, pass(10), one,
                        outputs, pass(13), 2, ones);
      EXPECT_EQ(reported.count, 1);
    }
  }
  const int wrong[] = {CblasNoTrans, 7};
  reported = {};
  cblas_sgemm_batch(CblasColMajor, wrong, wrong, ones, ones, ones, one, inputs, ones, inputs, ones, one, outputs, ones,
                    2, ones);
  EXPECT_EQ(reported.number, 2);
  reported = {};
  cblas_sgemm_batch(3, wrong, wrong, ones, ones, ones, one, inputs, ones, inputs, ones, one, outputs, ones, 2, ones);
  EXPECT_EQ(reported.number, 1);
  reported = {};
  sgemm_batch_("NN", "NN", ones, nullptr, ones, one, inputs, ones, inputs, ones, one, outputs, ones, &two, ones);
  EXPECT_EQ(reported.number, 4);
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], 1);
}

TEST(BlasBatch, EmptyGroupsNeedNoMatrices) {
  const float one[] = {1, 1};
  const int ones[] = {1, 1}, sizes[] = {0, 0}, two = 2;
  reported = {};
  sgemm_batch_("NN", "NN", ones, ones, ones, one, nullptr, ones, nullptr, ones, one, nullptr, ones, &two, sizes);
  EXPECT_EQ(reported.count, 0);
}

// As a matrix of a later product or group that is null; one that takes no part may be.
TEST(BlasBatch, NullMatricesOfAnyGroupAreReportedBeforeAnythingIsComputed) {
  const float x[] = {3, 5}, one[] = {1, 1}, zero[] = {0, 0};
  float y[] = {1, 1, 1};
  const int ones[] = {1, 1}, sizes[] = {1, 2}, two = 2;
  const auto number_of = [&](int operand, int product, const float* alpha, const float* beta) {
    const float *a[] = {x, x, x}, *b[] = {x, x, x};
    float* c[] = {y, y + 1, y + 2};
    if (operand == 7) a[product] = nullptr;
    if (operand == 9) b[product] = nullptr;
    if (operand == 12) c[product] = nullptr;
    reported = {};
    sgemm_batch_("NN", "NN", ones, ones, ones, alpha, a, ones, b, ones, beta, c, ones, &two, sizes);
    return reported.number;
  };
  for (const int operand : {7, 9, 12})
    for (const int product : {0, 1, 2}) EXPECT_EQ(number_of(operand, product, one, one), operand) << product;
  for (const float value : y) EXPECT_EQ(value, 1);
  EXPECT_EQ(number_of(7, 2, zero, one), 0);
  EXPECT_EQ(number_of(12, 2, zero, one), 0);
  EXPECT_EQ(number_of(12, 2, zero, zero), 12);
  for (const float value : y) EXPECT_EQ(value, 1);
}

// Of two that are illegal, row major reports the one that the column-major call finds first, and tells of the same.
TEST(BlasCblas, MessagesAreOfTheArgumentThatIsReported) {
  const float x = 1;
  float y = 1;
  reported = {};
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, -1, -2, 1, 1, &x, 1, &x, 1, 1, &y, 1);
  EXPECT_EQ(reported.number, 4);  // m of the column-major call, to which the handler counts the layout
  EXPECT_STREQ(xgemm_last_error(), "n = -2, but n >= 0 is required");
  reported = {};
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 2, 2, 5, 1, &x, 3, &x, 4, 1, &y, 1);
  EXPECT_EQ(reported.number, 9);  // lda there
  EXPECT_STREQ(xgemm_last_error(), "ldb = 4, but ldb >= max(1, k) = 5 is required");
}

TEST(BlasFortran, HiddenLengthsDoNoHarm) {
  // As a Fortran compiler calls it.
  const auto with_lengths =
      reinterpret_cast<void (*)(const char*, const char*, const int*, const int*, const int*, const float*,
                                const float*, const int*, const float*, const int*, const float*, float*, const int*,
                                std::size_t, std::size_t)>(reinterpret_cast<void*>(sgemm_));
  const int one = 1;
  const float two = 2, zero = 0;
  float c = std::numeric_limits<float>::quiet_NaN();
  with_lengths("Transposed", "No", &one, &one, &one, &two, &two, &one, &two, &one, &zero, &c, &one, 10, 2);
  EXPECT_EQ(c, 8);
}

TEST(Blas64, SizesPastIntAreNotCutOff) {
  reported = {};
  const std::int64_t past = (std::int64_t{1} << 32) + 1, one = 1;
  const float x = 1;
  float y = 1;
  // Cut to 32 bits, ldc would be legal and m would be 1.
  sgemm_64_("N", "N", &past, &one, &one, &x, &x, &past, &x, &one, &x, &y, &one);
  EXPECT_EQ(reported.number, 13);
  cblas_sgemm_64(CblasColMajor, CblasNoTrans, CblasNoTrans, one, one, past, 1, &x, one, &x, one, 0, &y, one);
  EXPECT_EQ(reported.number, 11);
  EXPECT_EQ(y, 1);
}

// ---- Threads
// ---------------------------------------------------------------------------------------------------------

TEST(BlasThreads, ThreadsAndContextsDoNotDisturbEachOther) {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([t, &failures] {
      xgemm_context* context = nullptr;
      if (xgemm_create(&context) != 0) ++failures;
      for (int round = 0; round < 20; ++round) {
        const int m = 20 + 7 * t, n = 33 + round, k = 40 + t;
        test::Case<float> s('N', 'T', m, n, k, 1.0f, 0.5f, t, static_cast<std::uint64_t>(t * 100 + round));
        const int lda = static_cast<int>(s.a.ld()), ldb = static_cast<int>(s.b.ld()), ldc = static_cast<int>(s.c.ld());
        const float alpha = 1.0f, beta = 0.5f;
        sgemm_("N", "T", &m, &n, &k, &alpha, s.a.data(), &lda, s.b.data(), &ldb, &beta, s.c.data(), &ldc);
        if (!s.check()) ++failures;

        test::Case<Half> h('T', 'N', m, n, k, 1.0f, 0.0f, t, static_cast<std::uint64_t>(t * 100 + round));
        xgemm_args args = XGEMM_ARGS_INIT;
        args.type = XGEMM_F16;
        args.transa = 'T';
        args.m = m, args.n = n, args.k = k;
        args.a = h.a.data(), args.lda = h.a.ld();
        args.b = h.b.data(), args.ldb = h.b.ld();
        args.c = h.c.data(), args.ldc = h.c.ld();
        if (xgemm_gemm(context, &args) != 0 || !h.check()) ++failures;

        // An error here is this thread's alone.
        reported = {};
        const int wrong = -t - 1;
        sgemm_("N", "T", &wrong, &n, &k, &alpha, nullptr, &lda, nullptr, &ldb, &beta, nullptr, &ldc);
        if (reported.number != 3 || std::string(xgemm_last_error()).find(std::to_string(wrong)) == std::string::npos)
          ++failures;
      }
      if (xgemm_destroy(context) != 0) ++failures;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

// The batches of doubles, by each of their names; integers, whose products are exact.
TEST(BatchesOfDoubles, AreRightByEveryName) {
  constexpr int m = 5, n = 4, k = 3, count = 2;
  constexpr std::int64_t m64 = m, n64 = n, k64 = k, count64 = count;
  const double alpha = 2, beta = -1;
  const int stride_a = m * k, stride_b = k * n, stride_c = m * n, one_group = 1;
  const std::int64_t stride_a64 = stride_a, stride_b64 = stride_b, stride_c64 = stride_c, one_group64 = 1;
  std::vector<double> a(count * stride_a), b(count * stride_b), old(count * stride_c), expected(old.size());
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i * 5 % 11) - 5;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i * 7 % 13) - 6;
  for (std::size_t i = 0; i < old.size(); ++i) old[i] = static_cast<double>(i % 9) + 0x1p-40;
  for (int x = 0; x < count; ++x)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) {
        double sum = 0;
        for (int l = 0; l < k; ++l) sum += a[x * stride_a + l * m + i] * b[x * stride_b + j * k + l];
        const int at = x * stride_c + j * m + i;
        expected[at] = alpha * sum + beta * old[at];
      }
  const int none = CblasNoTrans;
  for (int name = 0; name < 8; ++name) {
    std::vector<double> c = old;
    const double* as[] = {a.data(), a.data() + stride_a};
    const double* bs[] = {b.data(), b.data() + stride_b};
    double* cs[] = {c.data(), c.data() + stride_c};
    if (name == 0)
      cblas_dgemm_batch_strided(CblasColMajor, none, none, m, n, k, alpha, a.data(), m, stride_a, b.data(), k, stride_b,
                                beta, c.data(), m, stride_c, count);
    if (name == 1)
      cblas_dgemm_batch_strided_64(CblasColMajor, none, none, m, n, k, alpha, a.data(), m, stride_a, b.data(), k,
                                   stride_b, beta, c.data(), m, stride_c, count);
    if (name == 2)
      dgemm_batch_strided_("N", "N", &m, &n, &k, &alpha, a.data(), &m, &stride_a, b.data(), &k, &stride_b, &beta,
                           c.data(), &m, &stride_c, &count);
    if (name == 3)
      dgemm_batch_strided_64_("N", "N", &m64, &n64, &k64, &alpha, a.data(), &m64, &stride_a64, b.data(), &k64,
                              &stride_b64, &beta, c.data(), &m64, &stride_c64, &count64);
    if (name == 4)
      cblas_dgemm_batch(CblasColMajor, &none, &none, &m, &n, &k, &alpha, as, &m, bs, &k, &beta, cs, &m, 1, &count);
    if (name == 5)
      cblas_dgemm_batch_64(CblasColMajor, &none, &none, &m64, &n64, &k64, &alpha, as, &m64, bs, &k64, &beta, cs, &m64,
                           1, &count64);
    if (name == 6) dgemm_batch_("N", "N", &m, &n, &k, &alpha, as, &m, bs, &k, &beta, cs, &m, &one_group, &count);
    if (name == 7)
      dgemm_batch_64_("N", "N", &m64, &n64, &k64, &alpha, as, &m64, bs, &k64, &beta, cs, &m64, &one_group64, &count64);
    EXPECT_EQ(c, expected) << "name " << name;
  }
}

}  // namespace
