// The families' instances, one family after the other.
#include "kernels/instances.h"

#include "kernels/family.h"

namespace xgemm::kernels {
namespace {

constexpr const FamilyInfo* kFamilies[] = {
#define XGEMM_FAMILY(name, ...) &name##_family,
#include "kernels/families.def"
};

// Whether there is one that `is` holds for.
template <class Predicate>
bool any_instance(const Predicate& is) {
  for (const FamilyInfo* family : kFamilies)
    for (const KernelInfo& kernel : family->instances)
      if (is(kernel)) return true;
  return false;
}

}  // namespace

const FamilyInfo& describe(Family family) {
  return *kFamilies[static_cast<int>(family)];
}

int count() {
  int number = 0;
  for (const FamilyInfo* family : kFamilies) number += static_cast<int>(family->instances.size());
  return number;
}

const KernelInfo& info(int index) {
  auto rest = static_cast<std::size_t>(index);
  const FamilyInfo* const* family = kFamilies;
  for (; rest >= (*family)->instances.size(); ++family) rest -= (*family)->instances.size();
  return (*family)->instances[rest];
}

const KernelInfo& info(const KernelId& id) {
  return describe(id.family).instances[static_cast<std::size_t>(id.index)];
}

bool serves(const ProductTypes& types, const device::DeviceInfo& device) {
  return any_instance([&](const KernelInfo& kernel) {
    const TileConfig& c = kernel.config;
    return c.types() == types && c.runs_on(device.compute_capability) &&
           c.min_compute_capability <= device.architecture();
  });
}

bool matches(const KernelInfo& kernel, std::string_view text) {
  return text == kernel.name || text == name_of(kernel.family);
}

bool is_kernel_or_family(std::string_view text) {
  return any_instance([&](const KernelInfo& kernel) { return matches(kernel, text); });
}

std::string family_names() {
  std::string names;
  for (const FamilyInfo* family : kFamilies)
    if (!family->instances.empty())
      names += (names.empty() ? "" : ", ") + std::string(name_of(family->instances.front().family));
  return names;
}

}  // namespace xgemm::kernels
