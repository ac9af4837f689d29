// ffma_async, as the planner sees it.
#include "kernels/ffma_async/instances.h"

#include "kernels/common/short_k.h"

namespace xgemm::kernels {
namespace {

struct Model {
  // By 3055 products on an H100 and 2934 on an H200.
  static constexpr ShortKCosts kCosts = {.launch_us = 1.81,
                                         .memory_share = 0.64,
                                         .cycles = 1.0,
                                         .cycles_alone = 1.28,
                                         .cycles_of_tile = 400,
                                         .cycles_of_copied = 16.3,
                                         .cycles_of_stored = 12.9,
                                         .slice_us = 0.04};

  static ShortKTile tile(const TileConfig& c) {
    return {.reads = (c.thread_m + c.thread_n) / 4.0, .ctas_per_sm = ffma_async_ctas_per_sm(c), .k_at_once = 8};
  }
};

}  // namespace

constinit const FamilyInfo ffma_async_family = short_k_family<Family::ffma_async, Model>();

}  // namespace xgemm::kernels
