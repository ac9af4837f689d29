// Finding and opening the CPU BLAS; see cpu_blas.h.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "host/cpu_blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "core/environment.h"
#include "core/loader.h"
#include "core/once.h"
#include "host/loaded_objects.h"

namespace xgemm::host {
namespace {

static_assert(std::endian::native == std::endian::little, "integers are passed to libraries of either width");

struct Library {
  const char* name;  // a value of XGEMM_CPU_BLAS
  const char* part;  // of the names of files that it is in; null: says too little
  std::array<const char*, 5> files;
};

// In the order in which they are tried.
constexpr Library kKnownLibraries[] = {
    {"openblas",
     "openblas",
     {"libopenblas.so.0", "libopenblas.so", "libopenblasp.so.0", "libopenblas64_.so.0", "libopenblas64_.so"}},
    {"blis", "blis", {"libblis.so.4", "libblis.so.3", "libblis.so", "libblis-mt.so"}},
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

// The names that libraries have for them: the reference's, with 64-bit integers, and those of Python's wheels.
constexpr const char* kSgemmNames[] = {"sgemm_", "sgemm_64_", "scipy_sgemm_", "scipy_sgemm_64_"};
constexpr const char* kDgemmNames[] = {"dgemm_", "dgemm_64_", "scipy_dgemm_", "scipy_dgemm_64_"};
constexpr const char* kSsyrkNames[] = {"ssyrk_", "ssyrk_64_", "scipy_ssyrk_", "scipy_ssyrk_64_"};
constexpr const char* kDsyrkNames[] = {"dsyrk_", "dsyrk_64_", "scipy_dsyrk_", "scipy_dsyrk_64_"};

// Of threads: OpenBLAS's, as Python's wheels have them too, and BLIS's, whose integer is read by its low half.
constexpr const char* kThreadsNames[] = {"openblas_get_num_threads", "openblas_get_num_threads64_",
                                         "scipy_openblas_get_num_threads", "scipy_openblas_get_num_threads64_",
                                         "bli_thread_get_num_threads"};

// Takes the function of one of these names, if it is fit for use; else says in *why what is wrong.
template <class Routine, std::size_t kNumber>
bool take_function(void* handle, const char* file, const char* const (&names)[kNumber], Routine* routine,
                   std::string* found_in, std::string* why) {
  void* symbol = nullptr;
  for (const char* name : names)
    if (symbol == nullptr) symbol = dlsym(handle, name);
  if (symbol == nullptr) {
    *why = std::string(file) + " has no " + names[0];
    return false;
  }
  static const char here = 0;
  const LoadedObject origin = object_of(symbol);
  if (origin.base == object_of(&here).base) {
    *why = std::string(file) + " is libxgemm itself";
    return false;
  }
  routine->function = reinterpret_cast<typename Routine::Function>(symbol);
  routine->try_out();
  if (!routine->conduct.right) {
    *routine = {};
    *why = std::string(origin.file) + " computes wrong products";
    return false;
  }
  *found_in = origin.file;
  return true;
}

// Opens file and takes its functions. One that has sgemm_ is taken whatever else it lacks: the built-in loop serves
// doubles, and products of rectangles serve rank-k updates. A library once opened stays: it may have started threads.
bool open_file(const char* file, CpuBlas* blas, std::string* why) {
  void* const handle = dlopen(file, open_flags());
  if (handle == nullptr) {
    const char* error = dlerror();
    *why = error ? error : file;
    return false;
  }
  if (!take_function(handle, file, kSgemmNames, &blas->sgemm, &blas->file, why)) return false;
  find_function(handle, "blas_thread_shutdown_", &blas->before_fork);
  for (const char* name : kThreadsNames)
    if (blas->threads == nullptr) find_function(handle, name, &blas->threads);
  std::string ignored;
  take_function(handle, file, kDgemmNames, &blas->dgemm, &blas->file, &ignored);
  take_function(handle, file, kSsyrkNames, &blas->ssyrk, &blas->file, &ignored);
  take_function(handle, file, kDsyrkNames, &blas->dsyrk, &blas->file, &ignored);
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

template <class T>
void BlasRoutine<T>::run(const Gemm<T>& p, std::int64_t largest) const {
  for (std::int64_t j = 0; j < p.n; j += largest)
    for (std::int64_t i = 0; i < p.m; i += largest)
      for (std::int64_t l = 0; l < p.k; l += largest) {
        Gemm<T> part = p;
        part.m = std::min(largest, p.m - i);
        part.n = std::min(largest, p.n - j);
        part.k = std::min(largest, p.k - l);
        part.a += p.transa == Op::none ? i + l * p.lda : l + i * p.lda;
        part.b += p.transb == Op::none ? l + j * p.ldb : j + l * p.ldb;
        part.c += i + j * p.ldc;
        if (l > 0) part.beta = 1;
        call(part);
      }
}

template <class T>
void BlasRoutine<T>::try_out() {
  // Shapes that libraries have separate code for: vectors, dot products, edges of tiles, blocked ones.
  struct Shape {
    std::int64_t m, n, k;
  };
  constexpr Shape kShapes[] = {{1, 1, 1}, {7, 1, 5}, {1, 7, 5}, {7, 5, 1}, {3, 4, 5}, {37, 29, 33}};
  constexpr std::int64_t kLargest = 37;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const auto is_nan = [](T x) { return std::isnan(x); };
  // On the heap: the first product may be made by a thread with a small stack.
  const auto matrices = std::make_unique<T[]>(3 * kLargest * kLargest);
  T* const a = matrices.get();
  T* const b = a + kLargest * kLargest;
  T* const c = b + kLargest * kLargest;

  // op(A)(i, l) = f[i] + g[l] and op(B)(l, j) = p[l] + q[j]: an element of the product is then
  // k f[i] q[j] + f[i] sum(p) + q[j] sum(g) + sum(g p), in small integers, which every order of summing has exact.
  T f[kLargest], g[kLargest], p[kLargest], q[kLargest];
  for (int i = 0; i < kLargest; ++i) {
    f[i] = static_cast<T>(i * 3 % 7 - 3);
    g[i] = static_cast<T>(i * 5 % 8 - 3);
    p[i] = static_cast<T>(i * 2 % 5 - 2);
    q[i] = static_cast<T>(i * 3 % 11 - 5);
  }
  conduct = {};

  for (const auto& [m, n, k] : kShapes)
    for (const Op transa : {Op::none, Op::transpose})
      for (const Op transb : {Op::none, Op::transpose}) {
        const bool a_plain = transa == Op::none, b_plain = transb == Op::none;
        const std::int64_t lda = a_plain ? m : k, ldb = b_plain ? k : n;
        T* const c_end = c + m * n;
        const Gemm<T> product = {transa, transb, m, n, k, 2, a, lda, b, ldb, 0, c, m};

        T sum_p = 0, sum_g = 0, sum_gp = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          for (std::int64_t i = 0; i < m; ++i) a[a_plain ? i + l * lda : l + i * lda] = f[i] + g[l];
          for (std::int64_t j = 0; j < n; ++j) b[b_plain ? l + j * ldb : j + l * ldb] = p[l] + q[j];
          sum_p += p[l], sum_g += g[l], sum_gp += g[l] * p[l];
        }
        std::fill(c, c_end, nan);
        run(product);
        if (std::any_of(c, c_end, is_nan)) {
          conduct.spares_c = false;
          std::fill(c, c_end, T{0});
          run(product);
        }
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = 0; i < m; ++i)
            if (!(c[i + j * m] == 2 * (static_cast<T>(k) * f[i] * q[j] + f[i] * sum_p + q[j] * sum_g + sum_gp)))
              conduct.right = false;

        // NaN in the last row of A against zeros in B, and in the last column of B against zeros in A.
        std::fill(a, a + m * k, T{0});
        std::fill(b, b + k * n, T{0});
        std::fill(c, c_end, T{0});
        a[m * k - 1] = nan;
        run(product);
        for (std::int64_t j = 0; j < n; ++j) conduct.keeps_nan = conduct.keeps_nan && is_nan(c[m - 1 + j * m]);
        a[m * k - 1] = T{0};
        b[k * n - 1] = nan;
        std::fill(c, c_end, T{0});
        run(product);
        for (std::int64_t i = 0; i < m; ++i) conduct.keeps_nan = conduct.keeps_nan && is_nan(c[i + (n - 1) * m]);
      }
}

template <class T>
void SyrkRoutine<T>::try_out() {
  constexpr std::int64_t kLargest = 37;
  constexpr struct { std::int64_t n, k; } kShapes[] = {{1, 1}, {5, 7}, {8, 1}, {kLargest, 33}};
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const auto matrices = std::make_unique<T[]>(2 * kLargest * kLargest);
  T* const a = matrices.get();
  T* const c = a + kLargest * kLargest;
  // op(A)(i, l) = f(i) + g(l), as in BlasRoutine::try_out().
  const auto f = [](std::int64_t i) { return static_cast<T>(i * 3 % 7 - 3); };
  const auto g = [](std::int64_t l) { return static_cast<T>(l * 5 % 8 - 3); };
  conduct = {};

  for (const auto& shape : kShapes)
    for (const Fill fill : {Fill::lower, Fill::upper})
      for (const Op trans : {Op::none, Op::transpose}) {
        const std::int64_t n = shape.n, k = shape.k;
        const bool plain = trans == Op::none;
        const std::int64_t lda = plain ? n : k;
        const Gemm<T> update = {trans, plain ? Op::transpose : Op::none, n, n, k, 2, a, lda, a, lda, 0, c, n, fill};
        T sum_g = 0, sum_gg = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          for (std::int64_t i = 0; i < n; ++i) a[plain ? i + l * lda : l + i * lda] = f(i) + g(l);
          sum_g += g(l), sum_gg += g(l) * g(l);
        }
        const auto any_nan = [&] {
          for (std::int64_t j = 0; j < n; ++j)
            for (std::int64_t i = 0; i < n; ++i)
              if (contains(fill, i, j) && std::isnan(c[i + j * n])) return true;
          return false;
        };
        std::fill(c, c + n * n, nan);
        call(update);
        if (any_nan()) {
          conduct.spares_c = false;
          for (std::int64_t j = 0; j < n; ++j)
            for (std::int64_t i = 0; i < n; ++i) c[i + j * n] = contains(fill, i, j) ? T{0} : nan;
          call(update);
        }
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = 0; i < n; ++i) {
            const T x = c[i + j * n];
            const T expected = 2 * (static_cast<T>(k) * f(i) * f(j) + (f(i) + f(j)) * sum_g + sum_gg);
            if (contains(fill, i, j) ? !(x == expected) : !std::isnan(x)) conduct.right = false;
          }

        // NaN in the last row of op(A), zeros in the others.
        std::fill(a, a + n * k, T{0});
        a[n * k - 1] = nan;
        std::fill(c, c + n * n, T{0});
        call(update);
        for (std::int64_t j = 0; j < n; ++j)
          conduct.keeps_nan =
              conduct.keeps_nan && std::isnan(fill == Fill::lower ? c[n - 1 + j * n] : c[j + (n - 1) * n]);
      }
}

template struct BlasRoutine<float>;
template struct BlasRoutine<double>;
template struct SyrkRoutine<float>;
template struct SyrkRoutine<double>;

namespace {

constexpr int kForkPatienceMs = 200, kPatienceMs = 2 * kForkPatienceMs;

// Whether it came true in time.
template <class Condition>
bool wait_until(const Condition& holds, int most_ms) {
  constexpr timespec kMoment = {.tv_sec = 0, .tv_nsec = 50'000};
  for (int moments = 20 * most_ms; moments > 0; --moments) {
    if (holds()) return true;
    nanosleep(&kMoment, nullptr);
  }
  return holds();
}

constinit thread_local int closed = 0;  // by this thread's fork

// What OpenBLAS does before a fork: it ends its threads, as a child would not have them but would wait for them.
// Null: no library, or one that does nothing of the kind.
constinit std::atomic<void (*)()> library_before_fork{nullptr};

void close_door() {
  library_door.close(thread_state.past_door);
  ++closed;
}

// A fork that began before the library was opened, and waited for that, passed by the library's own handler.
void close_door_last() {
  const auto before_fork = library_before_fork.load();
  const bool passed_by = before_fork != nullptr && closed == 0;
  close_door();
  if (passed_by) before_fork();
}

void open_door() {
  if (closed == 0) return;  // forks that had begun when these were registered
  --closed;
  library_door.open();
}

void open_door_in_child() {
  library_door.open_in_child(thread_state.past_door);
  closed = 0;
}

// Handlers before a fork run last in, first out. With our library, before those of core/once.cc are registered: the
// last of all, a fork that waited while a library was opened finds the door.
[[gnu::constructor(1000)]] void watch_forks_first() {
  pthread_atfork(close_door_last, open_door, open_door_in_child);
}

// After the library's own, so that these find nobody inside.
void watch_forks_again() {
  pthread_atfork(close_door, open_door, open_door_in_child);
}

}  // namespace

constinit LibraryDoor library_door;

void LibraryDoor::close(bool mine) noexcept {
  forks_.fetch_add(1, std::memory_order_seq_cst);
  wait_until([&] { return inside_.load(std::memory_order_seq_cst) <= (mine ? 1 : 0); }, kForkPatienceMs);
}

void LibraryDoor::open_in_child(bool mine) noexcept {
  inside_.store(mine ? 1 : 0, std::memory_order_relaxed);
  forks_.store(0, std::memory_order_relaxed);
}

void LibraryDoor::wait_for_forks() noexcept {
  const auto no_fork = [&] { return forks_.load(std::memory_order_seq_cst) == 0; };
  for (bool in_time = true; in_time && !no_fork();) {
    leave();
    in_time = wait_until(no_fork, kPatienceMs);
    inside_.fetch_add(1, std::memory_order_seq_cst);
  }
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
  for (const auto loaded : {loaded_files, loaded_files_behind_links})
    for (const Library& library : kKnownLibraries) {
      if (library.part == nullptr) continue;
      for (const std::string& file : loaded(library.part))
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
  struct Choice {
    CpuBlas blas;
    std::string complaint;
  };
  static Loaded<Choice> opened;
  const auto open = [] {
    Choice choice;
    if (forked_while_loading()) {
      choice.blas.reason = "forked while a library was being loaded";
      return choice;
    }
    // Forks wait for who asks the loader (core/loader.h), so that nobody needs to be past the door.
    struct Opening {
      Opening() { thread_state.inside_library = true; }
      ~Opening() { thread_state.inside_library = false; }
    } const opening;
    choice.blas = open_cpu_blas(environment().cpu_blas, &choice.complaint);
    return choice;
  };
  const auto settle = [](const Choice& choice) {
    if (!choice.complaint.empty()) print_line(choice.complaint);
    library_before_fork = choice.blas.before_fork;
    if (choice.blas.sgemm.function != nullptr || choice.blas.dgemm.function != nullptr) watch_forks_again();
  };
  return opened.get(open, settle).blas;
}

}  // namespace xgemm::host
