// The loop over a CTA's units of work: tiles of C, or parts of them along K, as the schedule (schedule.h) has them.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/params.h"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/target.cuh"

namespace xgemm::kernels {

struct Unit {
  std::int64_t index;  // in the schedule
  std::int64_t batch;
  std::int64_t row, col;  // the tile's first element
  std::int64_t k, depth;  // what is summed: `depth` of K, from k on

  // Whether this is a part of a tile; its sums go to the workspace.
  XGEMM_DEVICE bool is_partial(const TileParams& p) const { return p.schedule.is_partial(index); }
};

namespace detail {

// In the arithmetic of an index type.
template <int kTileM, int kTileN, class Index>
XGEMM_DEVICE Unit whole_unit(const BasicSchedule<Index>& schedule, Index unit, std::int64_t depth) {
  const auto at = schedule.position(schedule.tile_of(unit));
  return {static_cast<std::int64_t>(unit),
          static_cast<std::int64_t>(at.batch),
          static_cast<std::int64_t>(at.m) * kTileM,
          static_cast<std::int64_t>(at.n) * kTileN,
          0,
          depth};
}

// Blocks on a triangle's diagonal and at its edges may have tiles without an element of it. Their threads wait all the
// same: a launch with no other tile would end before the kernel before it does.
template <int kTileM, int kTileN>
XGEMM_DEVICE bool is_left_out(const GemmParams& p, const Unit& unit) {
  if (p.fill == Fill::full) return false;
  if (unit.row < p.m && unit.col < p.n && touches(p.fill, unit.row, unit.col, kTileM, kTileN)) return false;
  gpu::grid_wait_dependencies();
  return true;
}

}  // namespace detail

// Parts of K consist of whole slices of kTileK.
template <int kTileM, int kTileN, int kTileK>
XGEMM_DEVICE Unit unit_at(const TileParams& p, std::int64_t index) {
  const Schedule& schedule = p.schedule;
  // 64-bit division is a function call of about a hundred instructions on a GPU; nearly every product has few tiles.
  Unit unit = schedule.units <= 0x7fffffff
                  ? detail::whole_unit<kTileM, kTileN>(schedule.as<unsigned>(), static_cast<unsigned>(index), p.k)
                  : detail::whole_unit<kTileM, kTileN>(schedule, index, p.k);
  if (unit.is_partial(p)) {
    const auto slices = (p.k + kTileK - 1) / kTileK;
    const auto parts = static_cast<std::int64_t>(schedule.parts);
    const std::int64_t part = schedule.part_of(index);
    const std::int64_t end = slices * (part + 1) / parts * kTileK;
    unit.k = slices * part / parts * kTileK;
    unit.depth = (end < p.k ? end : p.k) - unit.k;
  }
  return unit;
}

// Calls body(unit) for every unit of this CTA; all threads of a CTA see the same units. Any number of CTAs computes the
// whole product. Without a product (alpha is 0) nothing is summed: A and B may be null. A body that uses shared memory
// must leave it unused by all threads on return (end on a barrier, or not touch it after).
template <int kTileM, int kTileN, int kTileK, class Body>
XGEMM_DEVICE void for_each_unit(const TileParams& p, bool has_product, const Body& body) {
  XGEMM_NO_UNROLL
  for (std::int64_t index = gpu::block_x(); index < p.schedule.units; index += gpu::grid_x()) {
    Unit unit = unit_at<kTileM, kTileN, kTileK>(p, index);
    if (detail::is_left_out<kTileM, kTileN>(p, unit)) continue;
    if (!has_product) unit.depth = 0;
    body(unit);
  }
}

// The same counted in 32 bits, for kernels that serve no product with more units or a larger k: less code, and no calls
// of functions, for which sums and fragments leave no registers.
// sharers: CTAs of a cluster that share K of whole units.
template <int kTileM, int kTileN, int kTileK>
XGEMM_DEVICE Unit unit_at_32(const TileParams& p, unsigned index, unsigned sharers = 1) {
  const BasicSchedule<unsigned> schedule = p.schedule.as<unsigned>();
  Unit unit = detail::whole_unit<kTileM, kTileN>(schedule, index, p.k);
  const bool partial = schedule.is_partial(index);
  if (partial || sharers > 1) {
    const unsigned parts = partial ? schedule.parts : sharers;
    const unsigned k = static_cast<unsigned>(p.k), all = (k + kTileK - 1) / kTileK;
    const auto begin = [&](unsigned part) { return (all / parts * part + all % parts * part / parts) * kTileK; };
    const unsigned part = partial ? schedule.part_of(index) : gpu::block_x() & (sharers - 1), end = begin(part + 1);
    unit.k = begin(part);
    unit.depth = (end < k ? end : k) - unit.k;
  }
  return unit;
}

// For kernels that split no tiles and compute no triangles.
template <int kTileM, int kTileN, class Body>
XGEMM_DEVICE void for_each_whole_unit_32(const TileParams& p, bool has_product, const Body& body) {
  const BasicSchedule<unsigned> schedule = p.schedule.as<unsigned>();
  const auto step = static_cast<unsigned>(gpu::grid_x());
  XGEMM_NO_UNROLL
  for (auto index = static_cast<unsigned>(gpu::block_x()); index < schedule.units; index += step) {
    const auto at = schedule.folded_position(index);
    body(Unit{index, at.batch, std::int64_t{at.m} * kTileM, std::int64_t{at.n} * kTileN, 0, has_product ? p.k : 0});
  }
}

template <int kTileM, int kTileN, int kTileK, class Body>
XGEMM_DEVICE void for_each_unit_32(const TileParams& p, bool has_product, const Body& body, unsigned sharers = 1) {
  const auto units = static_cast<unsigned>(p.schedule.units), cta = static_cast<unsigned>(gpu::block_x());
  const unsigned step = sharers == 1 ? static_cast<unsigned>(gpu::grid_x()) : p.schedule.clusters;
  XGEMM_NO_UNROLL
  for (unsigned index = sharers == 1 ? cta : cta / sharers; index < units; index += step) {
    Unit unit = unit_at_32<kTileM, kTileN, kTileK>(p, index, sharers);
    if (detail::is_left_out<kTileM, kTileN>(p, unit)) continue;
    if (!has_product) unit.depth = 0;
    body(unit);
  }
}

}  // namespace xgemm::kernels
