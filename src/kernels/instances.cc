// The planner's table of instances, generated from the list.
#include "kernels/instances.h"

namespace xgemm::kernels {
namespace {

constexpr KernelInfo kInstances[] = {
#define XGEMM_INSTANCE(family, name, ...) {KernelId::name, Family::family, #name, __VA_ARGS__},
#include "kernels/instances.def"
};
static_assert(sizeof(kInstances) / sizeof(kInstances[0]) == static_cast<std::size_t>(KernelId::count));

}  // namespace

const char* name_of(Family family) {
  switch (family) {
    case Family::naive:
      return "naive";
    case Family::smem_tiled:
      return "smem_tiled";
    case Family::thread_tiled:
      return "thread_tiled";
    case Family::double_buffered:
      return "double_buffered";
  }
  return "?";
}

const KernelInfo& info(int index) {
  return kInstances[index];
}

bool serves(DType type, int compute_capability) {
  for (const KernelInfo& kernel : kInstances)
    if (kernel.config.type == type && compute_capability >= kernel.config.min_compute_capability) return true;
  return false;
}

bool matches(const KernelInfo& kernel, std::string_view text) {
  return text == kernel.name || text == name_of(kernel.family);
}

bool is_kernel_or_family(std::string_view text) {
  for (const KernelInfo& kernel : kInstances)
    if (matches(kernel, text)) return true;
  return false;
}

std::string family_names() {
  std::string names;
  const Family* last = nullptr;
  for (const KernelInfo& kernel : kInstances) {
    if (last != nullptr && *last == kernel.family) continue;
    if (last != nullptr) names += ", ";
    names += name_of(kernel.family);
    last = &kernel.family;
  }
  return names;
}

}  // namespace xgemm::kernels
