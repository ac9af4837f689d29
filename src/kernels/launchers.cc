// The launch table, from the families' compilation units.
#include "kernels/launchers.h"

#include <array>
#include <utility>
#include <vector>

#include "kernels/common/instance_list.h"
#include "kernels/family.h"

namespace xgemm::kernels {
namespace {

using Table = std::array<std::vector<Launcher>, static_cast<std::size_t>(Family::count)>;

template <Family kFamily, int... kPart>
void set_all(Table& table, std::integer_sequence<int, kPart...>) {
  if constexpr (is_built(kFamily)) {
    std::vector<Launcher>& of_family = table[static_cast<std::size_t>(kFamily)];
    of_family.resize(describe(kFamily).instances.size());
    (set_launchers<kFamily, kPart>(of_family.data()), ...);
  }
}

}  // namespace

Launcher launcher_of(const KernelId& id) {
  static const Table table = [] {
    Table all;
#define XGEMM_FAMILY(name, ...) \
  set_all<Family::name>(all, std::make_integer_sequence<int, parts_of(Family::name).all()>{});
#include "kernels/families.def"
    return all;
  }();
  return table[static_cast<std::size_t>(id.family)][static_cast<std::size_t>(id.index)];
}

}  // namespace xgemm::kernels
