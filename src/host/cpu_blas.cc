// Finding and opening the CPU BLAS; see cpu_blas.h.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "host/cpu_blas.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "core/environment.h"
#include "core/once.h"
#include "host/loaded_objects.h"

namespace xgemm::host {
namespace {

static_assert(std::endian::native == std::endian::little, "integers are passed to libraries of either width");

struct Library {
  const char* name;  // a value of XGEMM_CPU_BLAS
  const char* part;  // of the file names that programs may have loaded it by; null: says too little
  std::array<const char*, 5> files;
};

// In the order in which they are tried.
constexpr Library kKnownLibraries[] = {
    {"openblas",
     "openblas",
     {"libopenblas.so.0", "libopenblas.so", "libopenblasp.so.0", "libopenblas64_.so.0", "libopenblas64_.so"}},
    {"blis", "libblis", {"libblis.so.4", "libblis.so.3", "libblis.so", "libblis-mt.so"}},
    {"mkl", "libmkl_rt", {"libmkl_rt.so.2", "libmkl_rt.so.1", "libmkl_rt.so"}},
    {"blas", nullptr, {"libblas.so.3", "libblas.so"}},
};

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

// The names that libraries have for it: the reference's, with 64-bit integers, and those of Python's wheels.
constexpr const char* kSgemmNames[] = {"sgemm_", "sgemm_64_", "scipy_sgemm_", "scipy_sgemm_64_"};

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
  for (const char* name : kSgemmNames)
    if (symbol == nullptr) symbol = dlsym(handle, name);
  if (symbol == nullptr) {
    *why = std::string(file) + " has no sgemm_";
    return false;
  }

  static const char here = 0;
  const LoadedObject origin = object_of(symbol);
  if (origin.base == object_of(&here).base) {
    *why = std::string(file) + " is libxgemm itself";
    return false;
  }
  const auto function = reinterpret_cast<CpuBlas::Function>(symbol);
  const CpuBlas::Conduct conduct = conduct_of(function);
  if (!conduct.right) {
    *why = std::string(origin.file) + " computes wrong products";
    return false;
  }
  blas->conduct = conduct;
  blas->sgemm = function;
  blas->file = origin.file;
  return true;
}

bool open_library(const Library& library, CpuBlas* blas, std::string* why) {
  std::string first;
  for (const char* file : library.files) {
    if (file == nullptr) break;
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
  for (std::int64_t j = 0; j < p.n; j += largest)
    for (std::int64_t i = 0; i < p.m; i += largest)
      for (std::int64_t l = 0; l < p.k; l += largest) {
        Sgemm part = p;
        part.m = std::min(largest, p.m - i);
        part.n = std::min(largest, p.n - j);
        part.k = std::min(largest, p.k - l);
        part.a += p.transa == Op::none ? i + l * p.lda : l + i * p.lda;
        part.b += p.transb == Op::none ? l + j * p.ldb : j + l * p.ldb;
        part.c += i + j * p.ldc;
        if (l > 0) part.beta = 1.0f;
        call(part);
      }
}

CpuBlas::Conduct conduct_of(CpuBlas::Function sgemm) {
  // Shapes that libraries have separate code for: vectors, dot products, edges of tiles, blocked ones.
  struct Shape {
    std::int64_t m, n, k;
  };
  constexpr Shape kShapes[] = {{1, 1, 1}, {7, 1, 5}, {1, 7, 5}, {7, 5, 1}, {3, 4, 5}, {37, 29, 33}};
  constexpr std::int64_t kLargest = 37;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto is_nan = [](float x) { return std::isnan(x); };
  // On the heap: the first product may be made by a thread with a small stack.
  const auto matrices = std::make_unique<float[]>(3 * kLargest * kLargest);
  float* const a = matrices.get();
  float* const b = a + kLargest * kLargest;
  float* const c = b + kLargest * kLargest;

  // op(A)(i, l) = f[i] + g[l] and op(B)(l, j) = p[l] + q[j]: an element of the product is then
  // k f[i] q[j] + f[i] sum(p) + q[j] sum(g) + sum(g p), in small integers, which every order of summing has exact.
  float f[kLargest], g[kLargest], p[kLargest], q[kLargest];
  for (int i = 0; i < kLargest; ++i) {
    f[i] = static_cast<float>(i * 3 % 7 - 3);
    g[i] = static_cast<float>(i * 5 % 8 - 3);
    p[i] = static_cast<float>(i * 2 % 5 - 2);
    q[i] = static_cast<float>(i * 3 % 11 - 5);
  }
  CpuBlas blas;
  blas.sgemm = sgemm;
  CpuBlas::Conduct conduct;

  for (const auto& [m, n, k] : kShapes)
    for (const Op transa : {Op::none, Op::transpose})
      for (const Op transb : {Op::none, Op::transpose}) {
        const bool a_plain = transa == Op::none, b_plain = transb == Op::none;
        const std::int64_t lda = a_plain ? m : k, ldb = b_plain ? k : n;
        float* const c_end = c + m * n;
        const Sgemm product = {transa, transb, m, n, k, 2.0f, a, lda, b, ldb, 0.0f, c, m};

        float sum_p = 0, sum_g = 0, sum_gp = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          for (std::int64_t i = 0; i < m; ++i) a[a_plain ? i + l * lda : l + i * lda] = f[i] + g[l];
          for (std::int64_t j = 0; j < n; ++j) b[b_plain ? l + j * ldb : j + l * ldb] = p[l] + q[j];
          sum_p += p[l], sum_g += g[l], sum_gp += g[l] * p[l];
        }
        std::fill(c, c_end, nan);
        blas.run(product);
        if (std::any_of(c, c_end, is_nan)) {
          conduct.spares_c = false;
          std::fill(c, c_end, 0.0f);
          blas.run(product);
        }
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = 0; i < m; ++i)
            if (!(c[i + j * m] == 2 * (static_cast<float>(k) * f[i] * q[j] + f[i] * sum_p + q[j] * sum_g + sum_gp)))
              conduct.right = false;

        // NaN in the last row of A against zeros in B, and in the last column of B against zeros in A.
        std::fill(a, a + m * k, 0.0f);
        std::fill(b, b + k * n, 0.0f);
        std::fill(c, c_end, 0.0f);
        a[m * k - 1] = nan;
        blas.run(product);
        for (std::int64_t j = 0; j < n; ++j) conduct.keeps_nan = conduct.keeps_nan && is_nan(c[m - 1 + j * m]);
        a[m * k - 1] = 0.0f;
        b[k * n - 1] = nan;
        std::fill(c, c_end, 0.0f);
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
    for (const Library& library : kKnownLibraries)
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

  // What the program has loaded already has its settings and its threads; a Python wheel brings its own under a name
  // that nobody could guess.
  for (const Library& library : kKnownLibraries) {
    if (library.part == nullptr) continue;
    for (const std::string& file : loaded_files(library.part))
      if (open_file(file.c_str(), &blas, &why)) {
        blas.name = library.name;
        blas.reason = "the program has loaded it";
        return blas;
      }
  }

  std::string tried;
  for (const Library& library : kKnownLibraries) {
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
  static Once<CpuBlas> opened;
  return opened.get([] {
    CpuBlas blas;
    if (forked_while_loading()) {
      blas.reason = "forked while a library was being loaded";
      return blas;
    }
    std::string complaint;
    blas = open_cpu_blas(environment().cpu_blas, &complaint);
    if (!complaint.empty()) print_line(complaint);
    return blas;
  });
}

}  // namespace xgemm::host
