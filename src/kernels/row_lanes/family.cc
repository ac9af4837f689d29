// row_lanes, as the planner sees it.
#include "kernels/row_lanes/instances.h"

#include "kernels/common/short_k.h"

namespace xgemm::kernels {
namespace {

struct Model {
  // Fitted to perf/tune/measured/wild.
  static constexpr ShortKCosts kCosts = {.launch_us = 1.40,
                                         .memory_share = 0.85,
                                         .cycles = 1.41,
                                         .cycles_alone = 0.53,
                                         .cycles_of_tile = 342,
                                         .cycles_of_copied = 0,
                                         .cycles_of_stored = 26.2,
                                         .slice_us = 0.42};

  static ShortKTile tile(const TileConfig& c) {
    return {.reads = c.thread_m + c.thread_n / 4.0, .ctas_per_sm = row_lanes_ctas_per_sm(c), .k_at_once = 4};
  }
};

}  // namespace

constinit const FamilyInfo row_lanes_family = short_k_family<Family::row_lanes, Model>();

}  // namespace xgemm::kernels
