// No memory: every allocation of every call is made to fail in turn. The call returns a status, never an exception, and
// the next one works.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>

#include "api/calls.h"
#include "api/probe.h"

// The program's operator new is the library's too.
namespace {
thread_local long allocations_left = -1;  // -1: no limit

void* allocate(std::size_t size) {
  if (allocations_left == 0) return nullptr;
  if (allocations_left > 0) --allocations_left;
  return std::malloc(size == 0 ? 1 : size);
}
}  // namespace

void* operator new(std::size_t size) {
  if (void* memory = allocate(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}

namespace xgemm::test {
namespace {

// Runs call with 0, 1, 2, ... allocations before the first that fails, until it needs no more. Returns how many it
// needs, -1 when it did not behave.
long exhaust(const std::function<int()>& call, int expected) {
  for (long allowed = 0; allowed < 100000; ++allowed) {
    allocations_left = allowed;
    const int code = call();
    const bool ran_out = allocations_left == 0;
    allocations_left = -1;
    if (code == expected && !ran_out) return allowed;
    if (code != expected && code != XGEMM_OUT_OF_HOST_MEMORY) {
      std::fprintf(stderr, "%ld allocations: returned %d, %s\n", allowed, code, xgemm_last_error());
      return -1;
    }
    if (code == XGEMM_OUT_OF_HOST_MEMORY && *xgemm_last_error() == '\0') {
      std::fprintf(stderr, "%ld allocations: no message\n", allowed);
      return -1;
    }
  }
  return -1;
}

// In a process where nothing has been called before, so that first uses run out of memory too.
int starve(bool expect_allocations) {
  float a[256], b[256], c[256];
  for (int i = 0; i < 256; ++i) a[i] = b[i] = 1.0f;
  xgemm_half ha[256] = {}, hb[256] = {}, hc[256] = {};
  xgemm_context* ctx = nullptr;
  char text[1000];
  xgemm_args args = XGEMM_ARGS_INIT;
  args.m = args.n = args.k = args.lda = args.ldb = args.ldc = 16;
  args.a = a, args.b = b, args.c = c;
  xgemm_args bad = args;
  bad.lda = 3;

  long needed = 0;
  const auto check = [&](const char* what, int expected, const std::function<int()>& call) {
    const long n = exhaust(call, expected);
    std::printf("%s: %ld\n", what, n);
    needed += n;
    return n >= 0;
  };
  bool ok = check("create", 0, [&] {
    const int code = xgemm_create(&ctx);
    if (code == 0) xgemm_destroy(ctx);
    return code;
  });
  ok &= check("xsgemm", 0, [&] { return xsgemm('N', 'T', 16, 16, 16, 1.0f, a, 16, b, 16, 0.0f, c, 16); });
  for (float x : c) ok &= x == 16.0f;
  ok &= check("xhgemm", 0, [&] { return xhgemm('N', 'T', 16, 16, 16, 1.0f, ha, 16, hb, 16, 0.0f, hc, 16); });
  ok &= check("xgemm_gemm", 0, [&] { return xgemm_gemm(nullptr, &args); });
  ok &= check("xgemm_explain", 0, [&] { return xgemm_explain(nullptr, &args, text, sizeof text); });
  ok &= check("bad argument", -XGEMM_ARG_LDA, [&] { return xgemm_gemm(nullptr, &bad); });
  ok &= check("settings", 0, [&] { return xgemm_set_stream(nullptr, nullptr); });
  // Where the library does not come to the program's operator new, nothing has been tested.
  if (expect_allocations && needed == 0) return 3;
  return ok ? 0 : 1;
}

XGEMM_PROBE(starve) {
  return starve(true);
}

TEST(Allocation, FailuresAreStatuses) {
  for (const char* engine : {"", "builtin"})
    for (const char* verbose : {"", "2"}) {
      const ProbeResult r = run_probe("starve", {{"XGEMM_CPU_BLAS", engine}, {"XGEMM_VERBOSE", verbose}});
      EXPECT_TRUE(r.ok()) << describe(r);
    }
}

// ---- Address space --------------------------------------------------------------------------------------------------

#if !defined(__SANITIZE_ADDRESS__)
long address_space_bytes() {
  long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * sysconf(_SC_PAGESIZE);
}

// The scratch memory of a large fp16 product cannot be had.
XGEMM_PROBE(no_address_space) {
  const std::int64_t n = 1024;
  Matrix<Half> a(n, n), b(n, n), c(n, n);
  a.fill(from_double<Half>(1.0));
  b.fill(from_double<Half>(1.0));
  c.fill(from_double<Half>(3.0));
  const Matrix<Half> before = c;
  Matrix<Half> one(1, 1), out(1, 1);
  one.fill(from_double<Half>(1.0));
  if (xhgemm('N', 'N', 1, 1, 1, 1.0f, one.data(), 1, one.data(), 1, 0.0f, out.data(), 1) != 0) return 2;
  rlimit limit{};
  limit.rlim_cur = limit.rlim_max = static_cast<rlim_t>(address_space_bytes() + (1 << 20));
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
  const int code = xhgemm('N', 'N', n, n, n, 1.0f, a.data(), n, b.data(), n, 0.0f, c.data(), n);
  std::printf("code=%d\n%s\n", code, xgemm_last_error());
  if (code == 0) return to_double(c(n - 1, n - 1)) == 1024.0 ? 0 : 3;
  if (code != XGEMM_OUT_OF_HOST_MEMORY || *xgemm_last_error() == '\0' || !c.same_bits(before)) return 4;
  // Small ones still work.
  return xhgemm('N', 'N', 1, 1, 1, 1.0f, one.data(), 1, one.data(), 1, 0.0f, out.data(), 1);
}

TEST(Allocation, AddressSpaceThatEnds) {
  const ProbeResult r = run_probe("no_address_space", {{"XGEMM_CPU_BLAS", "builtin"}});
  EXPECT_TRUE(r.ok()) << describe(r);
  EXPECT_NE(r.out.find("code=1\n"), std::string::npos) << "the limit was not felt: " << describe(r);
}
#endif

}  // namespace
}  // namespace xgemm::test
