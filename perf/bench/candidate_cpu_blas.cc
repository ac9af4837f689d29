// The CPU's BLAS as a candidate: the same library that libxgemm would use, called directly through its Fortran
// interface. BLAS has no fp16 or bf16 product; a program that has to have one converts, multiplies and converts back,
// and so does this. SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "bench/candidate.h"
#include "bench/dynamic_library.h"
#include "host/conversion.h"

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

class CpuBlasCandidate final : public Candidate {
 public:
  CpuBlasCandidate(std::string name, std::string description, Sgemm* sgemm)
      : name_(std::move(name)), description_(std::move(description)), sgemm_(sgemm) {}

  const std::string& name() const override { return name_; }
  std::string description() const override { return description_; }

  std::string prepare(const Case& one, const OperandSet&) override {
    if (one.location != "hhh") return "serves host memory only";
    if (one.type != 's') {
      convert_ = &host::conversion(one.type == 'h' ? DType::f16 : DType::bf16);
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
    convert_->widen(static_cast<const std::uint16_t*>(from), to.data(), static_cast<std::int64_t>(to.size()));
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
        convert_->narrow(c_.data() + start, c + start, extent.contiguous);
      }
  }

  std::string name_;
  std::string description_;
  Sgemm* sgemm_;
  const host::Conversion* convert_ = nullptr;
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
