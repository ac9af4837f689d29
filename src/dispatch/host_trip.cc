// The two estimates. Measured on an H200 behind PCIe 5 with 16 cores, OpenBLAS, pageable operands (us):
//
//     SGEMM      CPU: measured, estimated     staged: measured, estimated
//     256^3           89         92
//     512^3          352        352                  350        306
//     1024^3        2139       2116                  950        633
//     4096^3   88000-106000  112800              5700-5900     6100
#include "dispatch/host_trip.h"

#include <algorithm>

namespace xgemm::dispatch {
namespace {

// GFLOP/s of a core. fp16 and bf16 are converted to fp32 blocks on the way, which costs about a fifth; a vector holds
// half as many doubles.
constexpr double cpu_gflops_per_core(DType type) {
  return type == DType::f32 ? 81 : type == DType::f64 ? 40.5 : 65;
}
// Packing of operands and traffic of C, GB/s: a core's, and the memory's.
constexpr double kCpuPackingPerCore = 5, kCpuPackingMost = 30;
// Waking the threads and waiting for the last.
constexpr double kCpuThreadsUs = 40;

// A staged call at least: streams, events, the first chunk's way and the last one's.
constexpr double kStagedCallUs = 200;
// GB/s of a thread that copies between pageable and page-locked memory.
constexpr double kCopyPerThread = 11;

// GB/s of the link, one way, for page-locked memory: 16 lanes of the PCIe that came with the GPU.
constexpr double link_rate(int compute_capability) {
  return compute_capability >= 90 ? 55 : compute_capability >= 80 ? 25 : 12;
}

constexpr double us(double bytes, double gbytes_per_s) {
  return bytes / gbytes_per_s * 1e-3;
}

template <class Matrix>
double matrix_bytes(const Problem& p, double rows, double cols, const Matrix& x) {
  return rows * cols * size_of(x.type) * (p.shares(x) ? 1.0 : static_cast<double>(p.batch_count));
}

// What the product reads and writes.
double operand_bytes(const Problem& p) {
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  return (p.reads_inputs() ? matrix_bytes(p, m, k, p.a) + matrix_bytes(p, k, n, p.b) : 0) + matrix_bytes(p, m, n, p.c);
}

}  // namespace

double cpu_time_us(const Problem& p, int cores) {
  const double rate = cpu_gflops_per_core(p.a.type);
  const double flops = p.reads_inputs() ? p.flops() : 0;
  return (cores > 1 ? kCpuThreadsUs : 0) + flops / (cores * rate) * 1e-3 +
         us(operand_bytes(p), std::min(cores * kCpuPackingPerCore, kCpuPackingMost));
}

double staged_time_us(const Problem& p, const transfer::StagingPlan& plan, double kernels_us, int compute_capability,
                      int cores) {
  // A byte is copied by a thread and then crosses the link. In transfers of a few MiB the two overlap little.
  const int threads = std::clamp(cores - 1, 1, transfer::kMaxCopyThreads);
  const double us_per_byte = us(1, threads * kCopyPerThread) + us(1, link_rate(compute_capability));
  const auto in_us = static_cast<double>(plan.bytes_in) * us_per_byte;
  const auto out_us = static_cast<double>(plan.bytes_out) * us_per_byte;
  // The first piece waits for its operands, and the last result for the link; between them copies and kernels overlap.
  const auto part = [&](const transfer::OperandSlots& slots) {
    return slots.count > 0 ? static_cast<double>(slots.bytes) * us_per_byte : 0;
  };
  const double first_in_us = std::min(in_us, part(plan.a) + part(plan.b) + (p.reads_c() ? part(plan.c) : 0));
  const double last_out_us = std::min(out_us, part(plan.c));
  const double one_kernel_us = kernels_us / static_cast<double>(plan.pieces);
  return kStagedCallUs + first_in_us +
         std::max({kernels_us, in_us - first_in_us + one_kernel_us, out_us - last_out_us + one_kernel_us}) +
         last_out_us;
}

}  // namespace xgemm::dispatch
