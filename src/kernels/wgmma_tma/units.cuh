// The units of work of a wgmma_tma cluster: which tile, and which slices of K of it.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/target.cuh"
#include "kernels/wgmma_tma/cta.cuh"

namespace xgemm::kernels {

template <WgmmaTmaConfig kConfig>
struct WgmmaTmaUnits {
  using Cta = WgmmaTmaCta<kConfig>;

  const BasicSchedule<unsigned>& schedule;
  unsigned unit, step;

  XGEMM_DEVICE static WgmmaTmaUnits make(const WgmmaTmaScalars& p) {
    return {p.schedule, static_cast<unsigned>(gpu::block_x()) >> (p.row_bits + p.column_bits + p.split_bits),
            p.schedule.clusters};
  }
  XGEMM_DEVICE bool more() const { return unit < schedule.units; }
  XGEMM_DEVICE void next() { unit += step; }
  // Products of operands in parts are not split (fp16x3/family.cc).
  XGEMM_DEVICE bool partial() const { return Cta::kPlanes == 1 && schedule.is_partial(unit); }

  XGEMM_DEVICE typename Cta::Tile at(const WgmmaTmaScalars& p, const typename Cta::Place& place) const {
    const auto t = schedule.position(schedule.tile_of(unit));
    const auto row = static_cast<int>(Cta::kTransposed ? t.n : t.m);
    const auto column = static_cast<int>(Cta::kTransposed ? t.m : t.n);
    return {((row << p.row_bits) + place.row) * Cta::kTileRows,
            ((column << p.column_bits) + place.column) * Cta::kTileColumns, static_cast<int>(t.batch)};
  }

  // Slices of K: [begin, end) is this CTA's share of a unit.
  struct Slices {
    int begin, end;

    XGEMM_DEVICE int count() const { return end - begin; }
  };
  XGEMM_DEVICE Slices slices(const WgmmaTmaScalars& p, bool has_product, int split) const {
    const int all = has_product ? (p.k + Cta::kTileK - 1) / Cta::kTileK : 0;
    if (partial()) {
      const std::int64_t part = schedule.part_of(unit);
      return {static_cast<int>(all * part / schedule.parts), static_cast<int>(all * (part + 1) / schedule.parts)};
    }
    return {all * split >> p.split_bits, all * (split + 1) >> p.split_bits};  // K / 64 times 8 at most
  }
};

}  // namespace xgemm::kernels
