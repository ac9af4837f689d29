// What the planner and the launcher need to know of a GPU, read once per device. Without CUDA, without a driver or
// without a GPU there are no devices, and no_device_reason() says which of these it is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "core/status.h"
#include "device/rates.h"

namespace xgemm::device {

struct DeviceInfo {
  int ordinal = 0;
  char name[64] = "";
  int compute_capability = 0;  // 10 * major + minor: 90 on an H200
  int code_architecture = -1;  // what the library's code for it is made for, where that is older: 0 where there is none
  int sm_count = 0;
  int max_shared_bytes_per_block = 0;  // with opt-in
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
  bool has_memory_pools = true;  // without them no product is split along K: there would be no memory for its sums
  // Clusters of 1, 2, 4 and 8 CTAs that run at the same time where an SM holds one CTA; 0 where it was not asked.
  int resident_clusters[4] = {};
  Rates rates;

  // Whose instructions the library's code may have.
  int architecture() const { return code_architecture >= 0 ? code_architecture : compute_capability; }

  // The same for a size, known or as it is on the GPUs that were seen: clusters of four and eight do not fill the parts
  // of the GPU that they must fit in.
  int clusters_of(int size) const {
    const int known = resident_clusters[size <= 1 ? 0 : size <= 2 ? 1 : size <= 4 ? 2 : 3];
    return known > 0 ? known : std::max(1, static_cast<int>(sm_count * (size <= 2 ? 1.0 : 0.91) / size));
  }
};

// One line: "0: NVIDIA H200, sm_90, 132 SMs, 227 KiB shared memory a block, 60 MiB L2, 139 GiB; sustains ...", with the
// rates that estimates go by.
std::string to_string(const DeviceInfo& device);

// The first use initialises CUDA.
int device_count();

// Null when there is no such device.
const DeviceInfo* device_info(int ordinal);

// The calling thread's current device, 0 when there is none.
int current_device();

// One sentence, "" when there is a device.
const std::string& no_device_reason();

// Waits for the work in a stream of the device. A stream that is being captured is left alone: false.
bool synchronize(const DeviceInfo& device, void* stream);

}  // namespace xgemm::device
