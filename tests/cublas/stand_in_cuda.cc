// libcuda.so.1 without a GPU (stand_in.h): a device of compute capability 9.0, or of what STAND_IN_CAPABILITY says,
// whose memory is the host's.
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "stand_in.h"

namespace {

bool capturing = false;
int pointers_asked = 0;
void* last_copy_stream = nullptr;

struct Range {
  const char* begin = nullptr;
  const char* end = nullptr;
  bool has(const char* at) const { return at >= begin && at < end; }
};
Range device, host;
int ordinal_of_device = 0;

}  // namespace

extern "C" {

#pragma GCC visibility push(default)

int cuCtxGetDevice(int* device) {
  *device = 0;
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  const char* const set = std::getenv("STAND_IN_CAPABILITY");
  const int capability = set != nullptr ? std::atoi(set) : 90;
  *value = attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : attribute == 16 ? 132 : 0;
  return 0;
}
int cuStreamSynchronize(void*) {
  return 0;
}
int cuStreamIsCapturing(void*, int* is) {
  *is = capturing;
  return 0;
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
  static thread_local int known = 0;
  const int before = known;
  known = *mode;
  *mode = before;
  return 0;
}
int cuMemAlloc_v2(unsigned long long* pointer, std::size_t bytes) {
  *pointer = reinterpret_cast<std::uintptr_t>(std::malloc(bytes));
  return *pointer != 0 ? 0 : 2;
}
int cuMemFree_v2(unsigned long long pointer) {
  std::free(reinterpret_cast<void*>(static_cast<std::uintptr_t>(pointer)));
  return 0;
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, std::size_t bytes, void* stream) {
  last_copy_stream = stream;
  std::memcpy(reinterpret_cast<void*>(static_cast<std::uintptr_t>(to)),
              reinterpret_cast<const void*>(static_cast<std::uintptr_t>(from)), bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(from)), bytes);
  return 0;
}

// What libxgemm asks: memory type, whether it is managed, and the device.
int cuPointerGetAttributes(unsigned count, const int* attributes, void** values, unsigned long long pointer) {
  ++pointers_asked;
  const char* const at = reinterpret_cast<const char*>(static_cast<std::uintptr_t>(pointer));
  const bool on_device = device.has(at), managed = !on_device && !host.has(at);
  for (unsigned i = 0; i < count; ++i)
    if (attributes[i] == 2)
      *static_cast<unsigned*>(values[i]) = on_device || managed ? 2 : 1;
    else if (attributes[i] == 8)
      *static_cast<unsigned*>(values[i]) = managed;
    else if (attributes[i] == 9)
      *static_cast<int*>(values[i]) = on_device ? ordinal_of_device : -1;
  return 0;
}

void* stand_in_last_copy_stream() {
  return last_copy_stream;
}
int stand_in_pointers_asked() {
  return pointers_asked;
}
void stand_in_capture(bool is) {
  capturing = is;
}
void stand_in_device_memory(const void* begin, const void* end, int ordinal) {
  device = {static_cast<const char*>(begin), static_cast<const char*>(end)};
  ordinal_of_device = ordinal;
}
void stand_in_host_memory(const void* begin, const void* end) {
  host = {static_cast<const char*>(begin), static_cast<const char*>(end)};
}

#pragma GCC visibility pop

}  // extern "C"
