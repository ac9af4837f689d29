// Printing a DeviceInfo; in every build.
#include "device/device_info.h"

namespace xgemm::device {

std::string to_string(const DeviceInfo& d) {
  return format("%d: %s, sm_%d, %d SMs, %d KiB shared memory a block, %.0f MiB L2, %.0f GiB", d.ordinal, d.name,
                d.compute_capability, d.sm_count, d.max_shared_bytes_per_block / 1024,
                static_cast<double>(d.l2_bytes) / 0x1p20, static_cast<double>(d.memory_bytes) / 0x1p30);
}

}  // namespace xgemm::device
