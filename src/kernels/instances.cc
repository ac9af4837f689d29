// The planner's table of instances, generated from the list.
#include "kernels/instances.h"

#include <array>

#include "kernels/family.h"

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
           .type_c = c.type_c,
           .cta_m = c.cta_m,
           .cta_n = c.cta_n,
           .cta_k = c.cta_k(),
           .stages = c.stages,
           .copy = Copy::bulk,
           .a_contiguous = c.a_contiguous,
           .b_contiguous = c.b_contiguous,
           .vector = 16 / size_of(c.type),
           .vector_c = c.vector_c(),
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

const FamilyInfo& describe(Family family) {
  static constexpr const FamilyInfo* kFamilies[] = {
#define XGEMM_FAMILY(name) &name##_family,
#include "kernels/families.def"
  };
  return *kFamilies[static_cast<int>(family)];
}

const char* name_of(Family family) {
  return describe(family).name;
}

InstanceRange instances_of(Family family) {
  static constexpr auto kRanges = [] {
    std::array<InstanceRange, static_cast<std::size_t>(Family::count)> ranges{};
    int i = 0;
    for (int f = 0; f < static_cast<int>(Family::count); ++f) {
      ranges[f].begin = i;
      while (i < count() && kInstances[i].family == static_cast<Family>(f)) ++i;
      ranges[f].end = i;
    }
    return ranges;
  }();
  static_assert(kRanges.back().end == count(), "the list has the families in their order");
  return kRanges[static_cast<std::size_t>(family)];
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
  for (int f = 0; f < static_cast<int>(Family::count); ++f) {
    const auto family = static_cast<Family>(f);
    const InstanceRange range = instances_of(family);
    if (range.begin != range.end) names += (names.empty() ? "" : ", ") + std::string(name_of(family));
  }
  return names;
}

}  // namespace xgemm::kernels
