// The CPU's BLAS as a candidate: the same library that libxgemm would use, called directly through its Fortran
// interface. BLAS has no fp16 or bf16 product; a program that has to have one converts, multiplies and converts back,
// and so does this. SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "bench/candidate.h"
#include "bench/dynamic_library.h"
#include "bench/element.h"

namespace xgemm::perf {
namespace {

// Integers are passed as 64-bit ones: a library with 32-bit integers reads the low half, which comes first on the
// little-endian machines that this runs on.
using Sgemm = void(const char*, const char*, const std::int64_t*, const std::int64_t*, const std::int64_t*,
                   const float*, const float*, const std::int64_t*, const float*, const std::int64_t*, const float*,
                   float*, const std::int64_t*, std::size_t, std::size_t);

struct Known {
  const char* name;
  std::vector<std::string> files;
};

const std::vector<Known>& known_libraries() {
  static const std::vector<Known> kKnown{
      {"openblas", {"libopenblas.so.0", "libopenblas.so", "libopenblasp.so.0"}},
      {"blis", {"libblis.so.4", "libblis.so.3", "libblis.so"}},
      {"mkl", {"libmkl_rt.so.2", "libmkl_rt.so.1", "libmkl_rt.so"}},
      {"blas", {"libblas.so.3", "libblas.so"}},
  };
  return kKnown;
}

std::vector<Known> libraries_to_try() {
  const char* const wanted = std::getenv("XGEMM_CPU_BLAS");
  const std::string name = wanted == nullptr ? "" : wanted;
  std::vector<Known> order;
  for (const Known& known : known_libraries())
    if (name == known.name) order.push_back(known);
  if (name.find(".so") != std::string::npos || name.find('/') != std::string::npos) order.push_back({"blas", {name}});
  order.insert(order.end(), known_libraries().begin(), known_libraries().end());
  return order;
}

using Widen = void (*)(const std::uint16_t*, float*, std::size_t);
using Narrow = void (*)(const float*, std::uint16_t*, std::size_t);

template <float (*kWiden)(std::uint16_t)>
void widen_portably(const std::uint16_t* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = kWiden(from[i]);
}

template <std::uint16_t (*kNarrow)(float)>
void narrow_portably(const float* from, std::uint16_t* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = kNarrow(from[i]);
}

struct Conversion {
  Widen widen;
  Narrow narrow;
};

#if defined(__x86_64__)
[[gnu::target("avx,f16c")]] void widen_f16c(const std::uint16_t* from, float* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  widen_portably<half_to_float>(from + i, to + i, count - i);
}

[[gnu::target("avx,f16c")]] void narrow_f16c(const float* from, std::uint16_t* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  narrow_portably<float_to_half>(from + i, to + i, count - i);
}

[[gnu::target("avx2")]] void widen_avx2(const std::uint16_t* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = bfloat16_to_float(from[i]);
}

[[gnu::target("avx2")]] void narrow_avx2(const float* from, std::uint16_t* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = float_to_bfloat16(from[i]);
}
#endif

/// From and to fp16 or bf16.
Conversion conversion_of(char type) {
#if defined(__x86_64__)
  if (type == 'h' && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("avx")) return {widen_f16c, narrow_f16c};
  if (type == 'b' && __builtin_cpu_supports("avx2")) return {widen_avx2, narrow_avx2};
#endif
  if (type == 'h') return {widen_portably<half_to_float>, narrow_portably<float_to_half>};
  return {widen_portably<bfloat16_to_float>, narrow_portably<float_to_bfloat16>};
}

class CpuBlasCandidate final : public Candidate {
 public:
  CpuBlasCandidate(std::string name, std::string description, Sgemm* sgemm)
      : name_(std::move(name)), description_(std::move(description)), sgemm_(sgemm) {}

  const std::string& name() const override { return name_; }
  std::string description() const override { return description_; }

  std::string prepare(const Case& one, const OperandSet&) override {
    if (one.location != "hhh") return "serves host memory only";
    if (one.type != 's') {
      convert_ = conversion_of(one.type);
      a_.resize(static_cast<std::size_t>(one.a_span()));
      b_.resize(static_cast<std::size_t>(one.b_span()));
      c_.resize(static_cast<std::size_t>(one.c_span()));
    }
    return "";
  }

  std::string run(const Case& one, const OperandSet& operands) override {
    if (one.type == 's') {
      multiply(one, operands);
      return "";
    }
    widen(operands.a, a_);
    widen(operands.b, b_);
    if (one.beta != 0) widen(operands.c, c_);
    multiply(one, {a_.data(), b_.data(), c_.data()});
    narrow_result(one, static_cast<std::uint16_t*>(operands.c));
    return "";
  }

  std::string kernel(const Case& one, const OperandSet&) override {
    return one.type == 's' ? "sgemm" : "conversions + sgemm";
  }

 private:
  void widen(const void* from, std::vector<float>& to) const {
    convert_.widen(static_cast<const std::uint16_t*>(from), to.data(), to.size());
  }

  void multiply(const Case& one, const OperandSet& operands) const {
    const ColumnMajorCall call = column_major(one, operands);
    for (std::int64_t i = 0; i < one.batch; ++i)
      sgemm_(&call.transa, &call.transb, &call.m, &call.n, &call.k, &one.alpha,
             static_cast<const float*>(call.a) + i * call.stride_a, &call.lda,
             static_cast<const float*>(call.b) + i * call.stride_b, &call.ldb, &one.beta,
             static_cast<float*>(call.c) + i * call.stride_c, &call.ldc, 1, 1);
  }

  void narrow_result(const Case& one, std::uint16_t* c) const {
    const Case::Extent extent = one.c_extent();
    for (std::int64_t batch = 0; batch < one.batch; ++batch)
      for (std::int64_t line = 0; line < extent.strided; ++line) {
        const std::int64_t start = batch * one.stride_c + line * one.ldc;
        convert_.narrow(c_.data() + start, c + start, static_cast<std::size_t>(extent.contiguous));
      }
  }

  std::string name_;
  std::string description_;
  Sgemm* sgemm_;
  Conversion convert_{};
  std::vector<float> a_, b_, c_;
};

std::string describe_library(const char* name, const DynamicLibrary& library) {
  std::string text = fmt::format("{} ({})", name, file_name(library.path()));
  char* (*config)() = nullptr;
  int (*threads)() = nullptr;
  if (library.load(config, "openblas_get_config") && library.load(threads, "openblas_get_num_threads"))
    text = fmt::format("{} ({}), {} threads", config(), file_name(library.path()), threads());
  return text;
}

}  // namespace

std::unique_ptr<Candidate> make_cpu_blas(Device&, std::string& why) {
  for (const Known& known : libraries_to_try()) {
    const DynamicLibrary library(known.files);
    Sgemm* sgemm = nullptr;
    if (library && library.load(sgemm, "sgemm_"))
      return std::make_unique<CpuBlasCandidate>(known.name, describe_library(known.name, library), sgemm);
    if (why.empty()) why = library ? library.path() + " has no sgemm_" : library.error();
  }
  return nullptr;
}

}  // namespace xgemm::perf
