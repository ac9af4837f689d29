// Pointer locations through the driver, if the process has it loaded.
//
// The driver is asked directly rather than through the CUDA runtime: the runtime would initialise CUDA for a program
// that only multiplies small host matrices, which takes a good part of a second. This file needs no CUDA header, so
// that a CPU-only build recognises device pointers too.
#include "runtime/pointer_location.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>

namespace xgemm::runtime {
namespace {

// From the driver API's ABI.
constexpr int kAttributeMemoryType = 2;
constexpr int kAttributeIsManaged = 8;
constexpr int kAttributeDeviceOrdinal = 9;
constexpr unsigned kMemoryTypeDevice = 2;
using GetAttributes = int (*)(unsigned count, int* attributes, void** values, unsigned long long pointer);

// How many objects the loader has ever added; unchanged means that the driver cannot have appeared.
unsigned long long loader_additions() {
  unsigned long long additions = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<unsigned long long*>(result) = info->dlpi_adds;
        return 1;
      },
      &additions);
  return additions;
}

GetAttributes find_in_loaded_driver() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  // The handle is kept: a driver that has been used is never unloaded.
  return driver == nullptr ? nullptr : reinterpret_cast<GetAttributes>(dlsym(driver, "cuPointerGetAttributes"));
}

GetAttributes get_attributes_function() {
  static std::atomic<GetAttributes> known{nullptr};
  static std::atomic<unsigned long long> looked_at{0};
  if (GetAttributes f = known.load(std::memory_order_acquire)) return f;
  const unsigned long long additions = loader_additions();
  if (looked_at.load(std::memory_order_acquire) == additions) return nullptr;
  GetAttributes f = find_in_loaded_driver();
  if (f != nullptr) known.store(f, std::memory_order_release);
  looked_at.store(additions, std::memory_order_release);
  return f;
}

char letter(const PointerLocation& p) {
  switch (p.location) {
    case Location::host:
      return 'h';
    case Location::device:
      return 'd';
    case Location::managed:
      return 'm';
    case Location::unused:
      break;
  }
  return '-';
}

}  // namespace

PointerLocation locate(const void* pointer) {
  if (pointer == nullptr) return {};
  const GetAttributes get_attributes = get_attributes_function();
  if (get_attributes == nullptr) return {Location::host, -1};
  unsigned type = 0, managed = 0;
  int ordinal = -1;
  int attributes[] = {kAttributeMemoryType, kAttributeIsManaged, kAttributeDeviceOrdinal};
  void* values[] = {&type, &managed, &ordinal};
  // Fails when the driver is loaded but not initialised; an unknown pointer leaves zeros.
  if (get_attributes(3, attributes, values, reinterpret_cast<std::uintptr_t>(pointer)) != 0)
    return {Location::host, -1};
  if (managed != 0) return {Location::managed, -1};
  if (type == kMemoryTypeDevice) return {Location::device, ordinal};
  return {Location::host, -1};
}

Placement locate(const Problem& problem) {
  Placement p;
  if (problem.m == 0 || problem.n == 0 || problem.batch_count == 0) return p;
  if (problem.reads_inputs()) {
    p.a = locate(problem.a.data);
    p.b = locate(problem.b.data);
  }
  p.c = locate(problem.c.data);
  p.alpha = locate(problem.alpha.device);
  p.beta = locate(problem.beta.device);
  return p;
}

const device::DeviceInfo* device_for(const Placement& placement) {
  for (const PointerLocation* p : {&placement.c, &placement.a, &placement.b})
    if (p->location == Location::device) return device::device_info(p->device);
  return device::device_info(device::current_device());
}

std::string to_string(const Placement& placement) {
  return {letter(placement.a), letter(placement.b), letter(placement.c)};
}

}  // namespace xgemm::runtime
