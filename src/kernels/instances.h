// The kernel instances as the planner and the API see them: names and parameters, no device code.
#pragma once

#include <string>
#include <string_view>

#include "core/dtype.h"
#include "kernels/common/tile_config.h"
#include "kernels/wgmma_tma/config.h"

namespace xgemm::kernels {

enum class KernelId : int {
#define XGEMM_INSTANCE(family, name, ...) name,
#include "kernels/instances.def"
  count
};

// Kernel families, in the order of the ladder.
enum class Family : int {
#define XGEMM_FAMILY(name) name,
#include "kernels/families.def"
  count
};

const char* name_of(Family family);

struct KernelInfo {
  KernelId id;
  Family family;
  const char* name;
  TileConfig config;         // of a family with a config of its own: what all families have in common
  WgmmaTmaConfig wgmma_tma;  // of that family alone

  constexpr int threads() const { return family == Family::wgmma_tma ? wgmma_tma.threads() : config.threads(); }
};

constexpr int count() {
  return static_cast<int>(KernelId::count);
}
const KernelInfo& info(int index);
inline const KernelInfo& info(KernelId id) {
  return info(static_cast<int>(id));
}

// The instances of a family: begin, begin + 1 ... end - 1.
struct InstanceRange {
  int begin, end;
};
InstanceRange instances_of(Family family);

// Whether this build has a kernel for the type on such a GPU (10 * major + minor).
bool serves(const ProductTypes& types, int compute_capability);

// Whether text names an instance or a family; and whether it names this instance or its family.
bool is_kernel_or_family(std::string_view text);
bool matches(const KernelInfo& kernel, std::string_view text);

// "naive, smem_tiled, ...": the families that have instances.
std::string family_names();

}  // namespace xgemm::kernels
