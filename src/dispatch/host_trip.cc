// The rows. OpenBLAS on 16 cores of the same machine stands for the CPU.
#include "dispatch/host_trip.h"

namespace xgemm::dispatch {
namespace {

constexpr HostTripRow kRows[] = {
    {DType::f32, 90, 81.0, 45e3, 8.9, 17.0, 60.0,
     "H200, PCIe 5, pageable memory; OpenBLAS SGEMM 4096^3 in 106 ms on 16 cores"},
    // The CPU engine converts 16-bit types to fp32 blocks on the way, which costs it about a fifth of its rate.
    {DType::f16, 90, 65.0, 45e3, 8.9, 17.0, 60.0, "H200, PCIe 5, pageable memory; the f32 row less the conversion"},
    {DType::bf16, 90, 65.0, 45e3, 8.9, 17.0, 60.0, "as fp16"},
    // Other GPUs: a PCIe 4 link and a mid-range FP32 rate; measured rows replace these.
    {DType::f32, 0, 81.0, 10e3, 6.0, 10.0, 80.0, "estimate, not measured"},
    {DType::f16, 0, 65.0, 10e3, 6.0, 10.0, 80.0, "estimate, not measured"},
    {DType::bf16, 0, 65.0, 10e3, 6.0, 10.0, 80.0, "estimate, not measured"},
};

constexpr bool fits(const HostTripRow& row, DType type, int compute_capability) {
  return row.type == type && compute_capability >= row.min_compute_capability;
}

}  // namespace

const HostTripRow& host_trip_row(DType type, int compute_capability) {
  const HostTripRow* row = kRows;
  while (!fits(*row, type, compute_capability)) ++row;  // each type has a row for any GPU
  return *row;
}

}  // namespace xgemm::dispatch
