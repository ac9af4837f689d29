// Finding and opening the CPU BLAS; see cpu_blas.h.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "host/cpu_blas.h"

#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/environment.h"

namespace xgemm::host {
namespace {

static_assert(std::endian::native == std::endian::little, "integers are passed to libraries of either width");

struct Library {
  const char* name;  // a value of XGEMM_CPU_BLAS
  std::vector<const char*> files;
};

// In the order in which they are tried.
const std::vector<Library>& known_libraries() {
  static const std::vector<Library> libraries = {
      {"openblas",
       {"libopenblas.so.0", "libopenblas.so", "libopenblasp.so.0", "libopenblas64_.so.0", "libopenblas64_.so"}},
      {"blis", {"libblis.so.4", "libblis.so.3", "libblis.so", "libblis-mt.so"}},
      {"mkl", {"libmkl_rt.so.2", "libmkl_rt.so.1", "libmkl_rt.so"}},
      {"blas", {"libblas.so.3", "libblas.so"}},
  };
  return libraries;
}

constexpr const char* kAllowed =
    "openblas, blis, mkl, blas, builtin, the file name of a library (lib...so, or with a /)";

bool looks_like_a_file(const std::string& name) {
  return name.find('/') != std::string::npos || name.find(".so") != std::string::npos;
}

// RTLD_DEEPBIND makes a library prefer its own symbols to those of the program, ours included. Sanitizers refuse it; a
// sanitizer may be in the program alone, so that this is known at run time only.
int open_flags() {
  int flags = RTLD_NOW | RTLD_LOCAL;
#if defined(RTLD_DEEPBIND)
  bool sanitized = false;
  for (const char* symbol : {"__asan_init", "__tsan_init", "__msan_init", "__hwasan_init"})
    sanitized = sanitized || dlsym(RTLD_DEFAULT, symbol) != nullptr;
  if (!sanitized) flags |= RTLD_DEEPBIND;
#endif
  return flags;
}

// Opens file and takes its sgemm_ if it is fit for use; else says in *why what is wrong. A library once opened stays:
// it may have started threads.
bool open_file(const char* file, CpuBlas* blas, std::string* why) {
  void* const handle = dlopen(file, open_flags());
  if (handle == nullptr) {
    const char* error = dlerror();
    *why = error ? error : file;
    return false;
  }
  void* symbol = nullptr;
  for (const char* name : {"sgemm_", "sgemm_64_"})
    if (symbol == nullptr) symbol = dlsym(handle, name);
  if (symbol == nullptr) {
    *why = std::string(file) + " has no sgemm_";
    return false;
  }

  Dl_info theirs{}, ours{};
  static const char here = 0;
  if (dladdr(symbol, &theirs) == 0 || dladdr(&here, &ours) == 0) {
    *why = std::string(file) + ": the origin of its sgemm_ is unknown";
    return false;
  }
  if (theirs.dli_fbase == ours.dli_fbase) {
    *why = std::string(file) + " is libxgemm itself";
    return false;
  }
  const auto function = reinterpret_cast<CpuBlas::Function>(symbol);
  const CpuBlas::Conduct conduct = conduct_of(function);
  if (!conduct.right) {
    *why = std::string(theirs.dli_fname) + " computes wrong products";
    return false;
  }
  blas->conduct = conduct;
  blas->sgemm = function;
  blas->file = theirs.dli_fname;
  return true;
}

bool open_library(const Library& library, CpuBlas* blas, std::string* why) {
  std::string first;
  for (const char* file : library.files) {
    if (open_file(file, blas, why)) {
      blas->name = library.name;
      return true;
    }
    if (first.empty()) first = *why;
  }
  *why = first;  // about the name that the library usually has
  return false;
}

}  // namespace

void CpuBlas::run(const Sgemm& p, std::int64_t largest) const {
  const char transa = static_cast<char>(p.transa), transb = static_cast<char>(p.transb);
  for (std::int64_t j = 0; j < p.n; j += largest)
    for (std::int64_t i = 0; i < p.m; i += largest)
      for (std::int64_t l = 0; l < p.k; l += largest) {
        const std::int64_t m = std::min(largest, p.m - i);
        const std::int64_t n = std::min(largest, p.n - j);
        const std::int64_t k = std::min(largest, p.k - l);
        const float* const a = p.a + (p.transa == Op::none ? i + l * p.lda : l + i * p.lda);
        const float* const b = p.b + (p.transb == Op::none ? l + j * p.ldb : j + l * p.ldb);
        const float beta = l == 0 ? p.beta : 1.0f;
        sgemm(&transa, &transb, &m, &n, &k, &p.alpha, a, &p.lda, b, &p.ldb, &beta, p.c + i + j * p.ldc, &p.ldc, 1, 1);
      }
}

CpuBlas::Conduct conduct_of(CpuBlas::Function sgemm) {
  // Shapes that libraries have separate code for: vectors, dot products, edges of tiles, blocked ones.
  struct Shape {
    std::int64_t m, n, k;
  };
  constexpr Shape kShapes[] = {{1, 1, 1}, {7, 1, 5}, {1, 7, 5}, {7, 5, 1}, {3, 4, 5}, {37, 29, 33}};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CpuBlas blas;
  blas.sgemm = sgemm;
  CpuBlas::Conduct conduct;

  for (const auto& [m, n, k] : kShapes)
    for (const Op transa : {Op::none, Op::transpose})
      for (const Op transb : {Op::none, Op::transpose}) {
        std::vector<float> a(m * k), b(k * n), c(m * n, nan);
        const std::int64_t lda = transa == Op::none ? m : k, ldb = transb == Op::none ? k : n;
        const auto at_a = [&](std::int64_t i, std::int64_t l) {
          return transa == Op::none ? i + l * lda : l + i * lda;
        };
        const auto at_b = [&](std::int64_t l, std::int64_t j) {
          return transb == Op::none ? l + j * ldb : j + l * ldb;
        };
        const auto is_nan = [](float x) { return std::isnan(x); };
        const Sgemm product = {transa, transb, m, n, k, 2.0f, a.data(), lda, b.data(), ldb, 0.0f, c.data(), m};

        // Small integers: every order of summing them is exact.
        for (std::int64_t l = 0; l < k; ++l) {
          for (std::int64_t i = 0; i < m; ++i) a[at_a(i, l)] = static_cast<float>((i * 3 + l * 5) % 7 - 3);
          for (std::int64_t j = 0; j < n; ++j) b[at_b(l, j)] = static_cast<float>((l * 2 + j * 3) % 5 - 2);
        }
        blas.run(product);
        if (std::any_of(c.begin(), c.end(), is_nan)) {
          conduct.spares_c = false;
          std::fill(c.begin(), c.end(), 0.0f);
          blas.run(product);
        }
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = 0; i < m; ++i) {
            float sum = 0;
            for (std::int64_t l = 0; l < k; ++l) sum += a[at_a(i, l)] * b[at_b(l, j)];
            if (!(c[i + j * m] == 2 * sum)) conduct.right = false;
          }

        // NaN in the last row of A against zeros in B, and in the last column of B against zeros in A.
        std::fill(a.begin(), a.end(), 0.0f);
        std::fill(b.begin(), b.end(), 0.0f);
        std::fill(c.begin(), c.end(), 0.0f);
        a[at_a(m - 1, k - 1)] = nan;
        blas.run(product);
        for (std::int64_t j = 0; j < n; ++j) conduct.keeps_nan = conduct.keeps_nan && is_nan(c[m - 1 + j * m]);
        a[at_a(m - 1, k - 1)] = 0.0f;
        b[at_b(k - 1, n - 1)] = nan;
        std::fill(c.begin(), c.end(), 0.0f);
        blas.run(product);
        for (std::int64_t i = 0; i < m; ++i) conduct.keeps_nan = conduct.keeps_nan && is_nan(c[i + (n - 1) * m]);
      }
  return conduct;
}

CpuBlas open_cpu_blas(const std::string& wanted, std::string* complaint) {
  CpuBlas blas;
  std::string why;
  complaint->clear();
  if (wanted == "builtin") {
    blas.reason = "XGEMM_CPU_BLAS";
    return blas;
  }
  if (!wanted.empty()) {
    const Library* named = nullptr;
    for (const Library& library : known_libraries())
      if (wanted == library.name) named = &library;
    bool opened = false;
    if (named != nullptr) {
      opened = open_library(*named, &blas, &why);
    } else if (looks_like_a_file(wanted)) {
      opened = open_file(wanted.c_str(), &blas, &why);
      if (opened) blas.name = wanted;
    } else {
      why = "not a name that is known";
    }
    if (opened) {
      blas.reason = "XGEMM_CPU_BLAS";
      return blas;
    }
    *complaint = "XGEMM_CPU_BLAS=" + wanted + " is ignored: " + why + "; it takes one of: " + kAllowed;
  }

  std::string tried;
  for (const Library& library : known_libraries()) {
    if (open_library(library, &blas, &why)) {
      blas.reason = tried.empty() ? "first choice" : "no " + tried;
      return blas;
    }
    tried += (tried.empty() ? "" : ", ") + std::string(library.name);
  }
  blas.reason = "no " + tried;
  return blas;
}

const CpuBlas& cpu_blas() {
  // Never destroyed: products may be asked for while the process ends.
  static const CpuBlas& blas = *[] {
    std::string complaint;
    const CpuBlas* opened = new CpuBlas(open_cpu_blas(environment().cpu_blas, &complaint));
    if (!complaint.empty()) print_line(complaint);
    return opened;
  }();
  return blas;
}

}  // namespace xgemm::host
