// What is compared: libxgemm, cuBLAS, the CPU's BLAS, other builds of libxgemm, each behind the same few calls.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/case.h"
#include "bench/device.h"
#include "bench/operands.h"

namespace xgemm::perf {

class Candidate {
 public:
  virtual ~Candidate() = default;

  /// As in tables and files: "xgemm", "cublas-ws32", "xgemm:double_buffered".
  virtual const std::string& name() const = 0;
  /// What it is, with its version and file; one line.
  virtual std::string description() const = 0;
  /// Whether a wrong result is ours to answer for.
  virtual bool is_xgemm() const { return false; }
  /// Whether it has to serve every case, so that a refusal is a failure.
  virtual bool serves_all() const { return false; }

  /// Half a unit of the numbers, below 1, that it may round A and B to; 0: it takes them as they are.
  virtual double operand_unit(const Case&) const { return 0; }

  /// Gets ready for the calls of a case. An empty text, or why this candidate cannot serve it.
  virtual std::string prepare(const Case& one, const OperandSet& example) = 0;
  /// Before the first call on a set of operands: what is made once of an operand that many calls share.
  virtual std::string prepare_operands(const Case&, const OperandSet&) { return ""; }
  /// Makes the call; on a GPU it may only enqueue. An empty text, or what went wrong.
  virtual std::string run(const Case& one, const OperandSet& operands) = 0;

  /// What computes ("double_buffered_f32_128x64x8_s2_v4_nn"), and all that the candidate can say about how.
  virtual std::string kernel(const Case&, const OperandSet&) { return ""; }
  virtual std::string plan(const Case&, const OperandSet&) { return ""; }
};

/// The library that this program is linked with. prepared: operands that are prepared before calls, "", "A", "B", "AB".
std::unique_ptr<Candidate> make_xgemm(Device& device, int math_mode, const std::string& prepared);
/// Another library with the same C interface. Throws InputError.
std::unique_ptr<Candidate> make_against(const std::string& path, Device& device, int math_mode);
/// libxgemm with one kernel or family of kernels forced. The library reads its environment once, so this loads a copy
/// of it.
std::unique_ptr<Candidate> make_forced(const std::string& kernel, Device& device, int math_mode);

/// How cuBLAS may compute fp32: the values of cublasMath_t.
enum class CublasMath { kDefault = 0, kTf32 = 3 };

/// Null when it cannot be used; `why` says which. `path`: a file to try before the usual names; may be empty.
/// workspace_bytes 0 leaves cuBLAS its default.
std::unique_ptr<Candidate> make_cublas(Device& device, const std::string& path, std::size_t workspace_bytes,
                                       CublasMath math, std::string& why);
/// Likewise; it alone of the libraries of NVIDIA knows epilogues.
std::unique_ptr<Candidate> make_cublaslt(Device& device, std::string& why);
std::unique_ptr<Candidate> make_cpu_blas(Device& device, std::string& why);

/// Names that make_forced() takes: families in the order of the ladder, or all instances.
std::vector<std::string> kernel_families();
std::vector<std::string> kernel_instances();
/// "double_buffered_f32_128x64x8_s2_v4_nn" → "double_buffered".
std::string family_of(const std::string& instance);

/// The call as a column-major library without a layout flag takes it: row-major products are their transposes.
struct ColumnMajorCall {
  char transa, transb;
  std::int64_t m, n, k;
  const void* a;
  std::int64_t lda, stride_a;
  const void* b;
  std::int64_t ldb, stride_b;
  void* c;
  std::int64_t ldc, stride_c;
  const void* const* a_pointers;  // as of OperandSet
  const void* const* b_pointers;
  void* const* c_pointers;
};
ColumnMajorCall column_major(const Case& one, const OperandSet& operands);

}  // namespace xgemm::perf
