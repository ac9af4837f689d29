// What a DeviceInfo says, without a device; in every build.
#include "device/device_info.h"

#include <algorithm>

namespace xgemm::device {

int DeviceInfo::clusters_of(int size) const {
  const int known = resident_clusters[size <= 1 ? 0 : size <= 2 ? 1 : size <= 4 ? 2 : 3];
  return known > 0 ? known : std::max(1, static_cast<int>(sm_count * (size <= 2 ? 1.0 : 0.91) / size));
}

std::string to_string(const DeviceInfo& d) {
  return format(
      "%d: %s, sm_%d, %d SMs, %d KiB shared memory a block, %.0f MiB L2, %.0f GiB; sustains %.2f GHz, "
      "%.1f TB/s from L2, %.1f TB/s from memory, %.0f TFLOP/s",
      d.ordinal, d.name, d.compute_capability, d.sm_count, d.max_shared_bytes_per_block / 1024,
      static_cast<double>(d.l2_bytes) / 0x1p20, static_cast<double>(d.memory_bytes) / 0x1p30, d.rates.sm_ghz,
      d.rates.l2_tbs, d.rates.memory_tbs, d.rates.tensor_tflops);
}

}  // namespace xgemm::device
