// What families for fp32 products of a short K say of themselves alike (row_lanes, ffma_async): a CTA to each tile,
// several of them to an SM, operands that may lie anyhow and start anywhere.
#pragma once

#include "kernels/common/tile_family.h"

namespace xgemm::kernels {

// Of a family's estimates, by perf/tune/measured/wild/. Cycles are those of four warps, one for each part of an SM.
struct ShortKCosts {
  double launch_us;
  double memory_share;      // of the GPU's rate
  double cycles;            // of an instruction of a product: a multiply-add, or a read of shared memory
  double cycles_alone;      // what it takes longer where no other warp is ready
  double cycles_of_tile;    // for what comes once in a tile
  double cycles_of_copied;  // of what a thread brings of a slice, for each element
  double cycles_of_stored;  // and of what it stores of C, or reads
  double slice_us;          // until a slice is there, of those that are not on their way from the beginning
};

// An instance, beside what its TileConfig says.
struct ShortKTile {
  double reads;     // of shared memory, by a thread for each k
  int ctas_per_sm;  // that fit
  int k_at_once;    // a slice's products are made of so many k at a time
};

bool short_k_serves(const KernelInfo& kernel, const Request& request);
std::string short_k_why_not(const KernelInfo& kernel, const Request& request);
Estimate short_k_estimate(const KernelInfo& kernel, const Request& request, const ShortKTile& tile,
                          const ShortKCosts& costs);

// Model: what is the family's own.
//
//   static constexpr ShortKCosts kCosts;
//   static ShortKTile tile(const TileConfig& c);
template <Family kFamily, class Model>
constexpr FamilyInfo short_k_family() {
  FamilyInfo info = tile_family<kFamily>();
  info.estimate = [](const Request& request, const KernelInfo* const* kernels, int count, Estimate* estimates) {
    for (int i = 0; i < count; ++i)
      estimates[i] = short_k_estimate(*kernels[i], request, Model::tile(kernels[i]->config), Model::kCosts);
  };
  info.serves = short_k_serves;
  info.why_not = short_k_why_not;
  info.splits = [](const KernelInfo&) { return false; };
  info.triangles = false;
  return info;
}

}  // namespace xgemm::kernels
