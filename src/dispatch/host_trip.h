// When host data are worth the trip to a GPU: measured rates, used by the route.
#pragma once

#include "core/dtype.h"

namespace xgemm::dispatch {

// Estimated times: cpu = call + flops / (cores * cpu rate); staged = call + bytes / link rates + flops / gpu rate.
struct HostTripRow {
  DType type;
  int min_compute_capability;
  double cpu_gflops_per_core;
  double gpu_gflops;
  double link_in_gbytes;   // pageable host memory to the device, GB/s
  double link_out_gbytes;  // and back
  double staged_call_us;   // fixed cost of a staged call
  const char* measured_on;
};

// The row for a device, the most specific one first.
const HostTripRow& host_trip_row(DType type, int compute_capability);

// Below this many floating-point operations no GPU repays the trip: such calls do not even initialise CUDA.
inline constexpr double kMinFlopsForDevice = 1e7;

}  // namespace xgemm::dispatch
