// The CPU's BLAS as a candidate: the same library that libxgemm would use, called directly through its Fortran
// interface. BLAS has no fp16 or bf16 product; a program that has to have one converts, multiplies and converts back,
// and so does this. SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <cstdlib>

#include "bench/candidate.h"
#include "bench/dynamic_library.h"
#include "host/conversion.h"
#include "host/cpu_blas.h"

namespace xgemm::perf {
namespace {

class CpuBlasCandidate final : public Candidate {
 public:
  CpuBlasCandidate(std::string name, std::string description, const host::CpuBlas& blas)
      : name_(std::move(name)), description_(std::move(description)), blas_(blas) {}

  const std::string& name() const override { return name_; }
  std::string description() const override { return description_; }

  std::string prepare(const Case& one, const OperandSet&) override {
    if (one.location != "hhh") return "serves host memory only";
    if (!one.epilogue.empty()) return "a BLAS knows no epilogues";
    if (one.type == 'd' && blas_.dgemm.function == nullptr) return "this BLAS has no dgemm_";
    if (one.input().size == 2) {
      convert_ = &host::conversion(one.input().letter == 'h' ? DType::f16 : DType::bf16);
      a_.resize(static_cast<std::size_t>(one.a_span()));
      b_.resize(static_cast<std::size_t>(one.b_span()));
      c_.resize(static_cast<std::size_t>(one.c_span()));
    }
    return "";
  }

  std::string run(const Case& one, const OperandSet& operands) override {
    if (one.type == 's') {
      multiply(one, operands, blas_.sgemm);
      return "";
    }
    if (one.type == 'd') {
      multiply(one, operands, blas_.dgemm);
      return "";
    }
    widen(operands.a, a_);
    widen(operands.b, b_);
    if (one.output().letter == 's') {
      multiply(one, {a_.data(), b_.data(), operands.c}, blas_.sgemm);
      return "";
    }
    if (one.beta != 0) widen(operands.c, c_);
    multiply(one, {a_.data(), b_.data(), c_.data()}, blas_.sgemm);
    narrow_result(one, static_cast<std::uint16_t*>(operands.c));
    return "";
  }

  std::string kernel(const Case& one, const OperandSet&) override {
    return one.type == 's' ? "sgemm" : one.type == 'd' ? "dgemm" : "conversions + sgemm";
  }

 private:
  void widen(const void* from, std::vector<float>& to) const {
    convert_->widen(static_cast<const std::uint16_t*>(from), to.data(), static_cast<std::int64_t>(to.size()));
  }

  template <class T>
  void multiply(const Case& one, const OperandSet& operands, const host::BlasRoutine<T>& routine) const {
    const ColumnMajorCall call = column_major(one, operands);
    const T alpha = one.alpha, beta = one.beta;
    for (std::int64_t i = 0; i < one.batch; ++i)
      routine.function(&call.transa, &call.transb, &call.m, &call.n, &call.k, &alpha,
                       static_cast<const T*>(call.a) + i * call.stride_a, &call.lda,
                       static_cast<const T*>(call.b) + i * call.stride_b, &call.ldb, &beta,
                       static_cast<T*>(call.c) + i * call.stride_c, &call.ldc, 1, 1);
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
  host::CpuBlas blas_;
  const host::Conversion* convert_ = nullptr;
  std::vector<float> a_, b_, c_;
};

std::string describe_library(const host::CpuBlas& blas) {
  const DynamicLibrary library({blas.file});
  const std::string file = file_name(blas.file);
  char* (*config)() = nullptr;
  int (*threads)() = nullptr;
  if (library.load(config, "openblas_get_config") && library.load(threads, "openblas_get_num_threads"))
    return fmt::format("{} ({}), {} threads", config(), file, threads());
  return fmt::format("{} ({})", blas.name, file);
}

}  // namespace

std::unique_ptr<Candidate> make_cpu_blas(Device&, std::string& why) {
  // Where libxgemm is to do without a library, there is still one to compare with.
  const char* const given = std::getenv("XGEMM_CPU_BLAS");
  const std::string wanted = given == nullptr ? "" : given;
  const host::CpuBlas blas = host::open_cpu_blas(wanted == "builtin" ? "" : wanted, &why);
  if (blas.sgemm.function != nullptr)
    return std::make_unique<CpuBlasCandidate>(file_name(blas.name), describe_library(blas), blas);
  if (why.empty()) why = blas.reason;
  return nullptr;
}

}  // namespace xgemm::perf
