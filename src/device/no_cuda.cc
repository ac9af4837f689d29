// The devices of a build without CUDA: none, so that the route never leads to one.
#include "core/once.h"
#include "device/device_info.h"
#include "device/fallback_counter.h"
#include "device/health.h"

namespace xgemm::device {

int device_count() {
  return 0;
}

const DeviceInfo* device_info(int) {
  return nullptr;
}

int current_device() {
  return 0;
}

const std::string& no_device_reason() {
  static constinit Once<std::string> reason;
  return reason.get([] { return std::string("this libxgemm was built without CUDA"); });
}

bool synchronize(const DeviceInfo&, void*) {
  return false;
}

std::int64_t fallbacks() {
  return 0;
}

void check_health(int) {}

bool is_healthy(int) {
  return true;
}

}  // namespace xgemm::device
