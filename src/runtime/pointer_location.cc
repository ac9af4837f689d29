// Pointer locations through the driver, if the process has it loaded.
//
// The driver is asked directly rather than through the CUDA runtime: the runtime would initialise CUDA for a program
// that only multiplies small host matrices, which takes a good part of a second. This file needs no CUDA header, so
// that a CPU-only build recognises device pointers too.
#include "runtime/pointer_location.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "core/loader.h"
#include "core/once.h"

namespace xgemm::runtime {
namespace {

// From the driver API's ABI.
constexpr int kAttributeMemoryType = 2;
constexpr int kAttributeIsManaged = 8;
constexpr int kAttributeDeviceOrdinal = 9;
constexpr unsigned kMemoryTypeDevice = 2;
using GetAttributes = int (*)(unsigned count, int* attributes, void** values, unsigned long long pointer);

// How many objects the loader has ever added; unchanged means that the driver cannot have appeared.
std::uint64_t loader_additions() {
  std::uint64_t additions = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<std::uint64_t*>(result) = info->dlpi_adds;
        return 1;
      },
      &additions);
  return additions;
}

// The time in steps of a millisecond or more, for a few nanoseconds; never 0.
std::uint64_t coarse_time() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec) + 1;
}

GetAttributes find_in_loaded_driver() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  // The handle is kept: a driver that has been used is never unloaded.
  return driver == nullptr ? nullptr : reinterpret_cast<GetAttributes>(dlsym(driver, "cuPointerGetAttributes"));
}

constinit std::atomic<GetAttributes> known{nullptr};
constinit std::atomic<std::uint64_t> looked_when{0}, looked_at{0};  // by the coarse clock, and at which additions
constinit std::atomic<std::uint32_t> initialised_in{0};             // forks() + 1 of the process that uses CUDA

// The child of a process that uses CUDA cannot use it, and the driver may wait there for its parent's threads.
bool is_child_of_cuda() {
  const std::uint32_t in = initialised_in.load(std::memory_order_relaxed);
  return in != 0 && in != forks() + 1;
}

// Null while the process has no device memory.
GetAttributes get_attributes_function() {
  if (GetAttributes f = known.load(std::memory_order_acquire)) return is_child_of_cuda() ? nullptr : f;
  // Asking the loader takes a lock of the whole process, so it is asked once in a step of the clock: between not being
  // loaded and having given out memory the driver needs many times as long.
  const std::uint64_t now = coarse_time();
  if (looked_when.load(std::memory_order_relaxed) == now) return nullptr;
  const AskingLoader asking;
  const std::uint64_t additions = loader_additions();
  if (looked_at.load(std::memory_order_acquire) != additions) {
    if (GetAttributes f = find_in_loaded_driver()) {
      known.store(f, std::memory_order_release);
      return f;
    }
    looked_at.store(additions, std::memory_order_release);
  }
  looked_when.store(now, std::memory_order_relaxed);
  return nullptr;
}

// Whether the host can read there: a set of signals is, before it is found out that nothing is to be done with them.
bool is_readable(const void* pointer) {
  constexpr std::uintptr_t kSetBytes = 8;  // which are on one page
  constexpr int kNothing = -1;
  const auto set = reinterpret_cast<std::uintptr_t>(pointer) / kSetBytes * kSetBytes;
  return syscall(SYS_rt_sigprocmask, kNothing, set, nullptr, kSetBytes) == 0 || errno != EFAULT;
}

// Where the driver cannot tell. What the host cannot read can only be a GPU's, whatever calls there will say.
PointerLocation located_by_reading(const void* pointer) {
  return is_readable(pointer) ? PointerLocation{Location::host, -1} : PointerLocation{Location::device, 0};
}

PointerLocation ask(GetAttributes get_attributes, const void* pointer) {
  if (pointer == nullptr) return {};
  if (get_attributes == nullptr)
    return is_child_of_cuda() ? located_by_reading(pointer) : PointerLocation{Location::host, -1};
  unsigned type = 0, managed = 0;
  int ordinal = -1;
  int attributes[] = {kAttributeMemoryType, kAttributeIsManaged, kAttributeDeviceOrdinal};
  void* values[] = {&type, &managed, &ordinal};
  // An unknown pointer leaves zeros. Where the driver is not initialised there is no device memory; it also fails in
  // callbacks of streams, and once a kernel has broken the process's context.
  constexpr int kNotInitialised = 3, kNoDevice = 100;
  const int error = get_attributes(3, attributes, values, reinterpret_cast<std::uintptr_t>(pointer));
  if (error == kNotInitialised || error == kNoDevice) return {Location::host, -1};
  if (error != 0) return located_by_reading(pointer);
  if (initialised_in.load(std::memory_order_relaxed) == 0) initialised_in.store(forks() + 1, std::memory_order_relaxed);
  if (managed != 0) return {Location::managed, -1};
  if (type == kMemoryTypeDevice) return {Location::device, ordinal};
  return {Location::host, -1};
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

bool may_have_device_memory() {
  return get_attributes_function() != nullptr || is_child_of_cuda();
}

PointerLocation locate(const void* pointer) {
  return ask(get_attributes_function(), pointer);
}

Placement locate(const Problem& problem) {
  Placement p;
  if (problem.m == 0 || problem.n == 0 || problem.batch_count == 0) return p;
  const GetAttributes get_attributes = get_attributes_function();
  if (problem.reads_inputs()) {
    p.a = ask(get_attributes, problem.a.data);
    p.b = ask(get_attributes, problem.b.data);
  }
  p.c = ask(get_attributes, problem.c.data);
  p.alpha = ask(get_attributes, problem.alpha.device);
  p.beta = ask(get_attributes, problem.beta.device);
  p.bias = ask(get_attributes, problem.epilogue.bias);
  p.row_scales = ask(get_attributes, problem.epilogue.row_scales);
  p.column_scales = ask(get_attributes, problem.epilogue.column_scales);
  p.old_c = ask(get_attributes, problem.epilogue.old_c);
  p.aux = ask(get_attributes, problem.epilogue.aux);
  return p;
}

const device::DeviceInfo* device_for(const Placement& placement) {
  for (const PointerLocation* p : {&placement.c, &placement.a, &placement.b, &placement.old_c, &placement.bias,
                                   &placement.row_scales, &placement.column_scales, &placement.aux})
    if (p->location == Location::device) return device::device_info(p->device);
  return device::device_info(device::current_device());
}

std::string to_string(const Placement& placement) {
  return {letter(placement.a), letter(placement.b), letter(placement.c)};
}

}  // namespace xgemm::runtime
