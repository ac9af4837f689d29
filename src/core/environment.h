// The environment variables that libxgemm reads, once per process, with the values they allow.
#pragma once

#include <string>

namespace xgemm {

struct Environment {
  int verbose = 0;           // XGEMM_VERBOSE: 0, 1 (a line a call) or 2 (with its time; synchronises)
  bool summary = false;      // or "summary": a table at the end of the process
  bool compare = false;      // or "compare": the same, with how long the CPU takes for what a GPU computes
  std::string summary_file;  // XGEMM_SUMMARY_FILE: where the table is appended; "" for stderr
  // Names that the layer which knows them checks: plan/forced_kernel.h and host/cpu_blas.h.
  std::string force_kernel;  // XGEMM_FORCE_KERNEL: a kernel or a family of kernels; "" leaves the choice to the planner
  std::string
      cpu_blas;  // XGEMM_CPU_BLAS: openblas, blis, mkl, blas, builtin or the path of a library; "" tries in turn
  std::string gpu_rates;  // XGEMM_GPU_RATES: a file of rates of GPUs (device/rates.h); "" where there is no such place
  int math_mode = 0;      // XGEMM_MATH: the initial enum xgemm_math_mode of every context
};

// Values that are not allowed are reported on stderr, one line each, and replaced by the default.
const Environment& environment();

// The report of such a value.
void complain(const char* variable, const std::string& value, const std::string& allowed);

// One line on stderr (or another file), "xgemm: ...": what XGEMM_VERBOSE and XGEMM_CUBLAS ask for, complaints about the
// environment, and what cannot reach the caller otherwise, as failures of calls under BLAS names. It stays whole where
// other threads and processes write to the same pipe.
void print_line(const std::string& text, int to = 2) noexcept;

}  // namespace xgemm
