// The planner's table of instances, generated from the list.
#include "kernels/instances.h"

namespace xgemm::kernels {
namespace {

constexpr KernelInfo row(KernelId id, Family family, const char* name, const TileConfig& config) {
  return {id, family, name, config, {}};
}

// What TMA needs of operands is what vectors of 16 bytes do.
constexpr KernelInfo row(KernelId id, Family family, const char* name, const WgmmaTmaConfig& c) {
  return {id,
          family,
          name,
          {.type = c.type,
           .cta_m = c.cta_m,
           .cta_n = c.cta_n,
           .cta_k = WgmmaTmaConfig::kCtaK,
           .stages = c.stages,
           .copy = Copy::bulk,
           .a_contiguous = c.a_contiguous,
           .b_contiguous = c.b_contiguous,
           .vector = 16 / size_of(c.type),
           .min_compute_capability = 90,
           .later_architectures = false},
          c};
}

constexpr KernelInfo kInstances[] = {
#define XGEMM_INSTANCE(family, name, ...) row(KernelId::name, Family::family, #name, __VA_ARGS__),
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
    case Family::wmma_padded:
      return "wmma_padded";
    case Family::mma_swizzled:
      return "mma_swizzled";
    case Family::wgmma_tma:
      return "wgmma_tma";
  }
  return "?";
}

const KernelInfo& info(int index) {
  return kInstances[index];
}

bool serves(const ProductTypes& types, int compute_capability) {
  for (const KernelInfo& kernel : kInstances)
    if (kernel.config.types() == types && kernel.config.runs_on(compute_capability)) return true;
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
