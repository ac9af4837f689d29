// What a DeviceInfo says, without a device; in every build.
#include "device/device_info.h"

namespace xgemm::device {

std::string to_string(const DeviceInfo& d) {
  return format(
      "%d: %s, sm_%d, %d SMs, %d KiB shared memory a block, %.0f MiB L2, %.0f GiB; sustains %.2f GHz, "
      "%.1f TB/s from L2, %.1f TB/s from memory, %.0f TFLOP/s",
      d.ordinal, d.name, d.compute_capability, d.sm_count, d.max_shared_bytes_per_block / 1024,
      static_cast<double>(d.l2_bytes) / 0x1p20, static_cast<double>(d.memory_bytes) / 0x1p30, d.rates.sm_ghz,
      d.rates.l2_tbs, d.rates.memory_tbs, d.rates.tensor_tflops);
}

}  // namespace xgemm::device
