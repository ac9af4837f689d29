// ffma_async, as the planner sees it.
#include "kernels/ffma_async/instances.h"

#include "kernels/common/short_k.h"

namespace xgemm::kernels {
namespace {

struct Model {
  // Fitted to perf/tune/measured/wild.
  static constexpr ShortKCosts kCosts = {.launch_us = 1.90,
                                         .memory_share = 0.76,
                                         .cycles = 0.8,
                                         .cycles_alone = 0.8,
                                         .cycles_of_tile = 430,
                                         .cycles_of_copied = 21.6,
                                         .cycles_of_stored = 8.1,
                                         .slice_us = 0.15};

  static ShortKTile tile(const TileConfig& c) {
    return {.reads = (c.thread_m + c.thread_n) / 4.0, .ctas_per_sm = ffma_async_ctas_per_sm(c), .k_at_once = 8};
  }
};

constexpr FamilyInfo described() {
  FamilyInfo family = short_k_family<Family::ffma_async, Model>();
  family.follows = [](const KernelInfo&) { return true; };
  return family;
}

}  // namespace

constinit const FamilyInfo ffma_async_family = described();

}  // namespace xgemm::kernels
