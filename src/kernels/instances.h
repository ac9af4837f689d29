// The kernel instances as the planner and the API see them: names and parameters, no device code.
//
// Each family lists its own (common/instance_list.h); here they are one after the other, in the order of the ladder.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "core/dtype.h"
#include "kernels/common/tile_config.h"

namespace xgemm::kernels {

// Kernel families, in the order of the ladder.
enum class Family : int {
#define XGEMM_FAMILY(name, ...) name,
#include "kernels/families.def"
  count
};

constexpr const char* name_of(Family family) {
  constexpr const char* kNames[] = {
#define XGEMM_FAMILY(name, ...) #name,
#include "kernels/families.def"
  };
  return kNames[static_cast<int>(family)];
}

// An instance: its place in the list of its family. In the order of the ladder.
struct KernelId {
  Family family = Family{0};
  int index = 0;

  constexpr auto operator<=>(const KernelId&) const = default;
};

// What is said of instances of all families. A family finds the rest in its own list, by KernelId::index.
struct KernelInfo {
  Family family = Family{0};
  int index = 0;
  const char* name = "";
  TileConfig config = {};
  int threads = 0;  // of a CTA

  constexpr KernelId id() const { return {family, index}; }
};

// All instances of this build, from 0 on.
int count();
const KernelInfo& info(int index);
const KernelInfo& info(const KernelId& id);

// Whether text names an instance or a family; and whether it names this instance or its family.
bool is_kernel_or_family(std::string_view text);
bool matches(const KernelInfo& kernel, std::string_view text);

// "naive, smem_tiled, ...": the families that have instances.
std::string family_names();

}  // namespace xgemm::kernels
