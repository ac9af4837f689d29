// How long an ffma_tma instance takes on a problem: the estimate behind the choice of a tile. Host code, pure.
//
// The model counts cycles of the SM that has most to do: multiply-adds of its slices at the rate of the FMA units, what
// a slot costs beside them, words that producer warps copy or turn, epilogues; and bytes from the L2 and the
// memory. The GPU's rates (device::Rates) turn these into time. What the model misses, a small network corrects
// (cost_correction.h).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "core/fill.h"
#include "kernels/common/cost_device.h"
#include "kernels/ffma_tma/config.h"

namespace xgemm::kernels {

struct FfmaTmaCostProblem {
  Fill fill = Fill::full;
  double m = 0, n = 0, k = 0, batch_count = 1;
  PanelLoad load_a = PanelLoad::bulk, load_b = PanelLoad::bulk;  // as they lie: words_mn and words_k are the same
  bool reads_c = false;
  bool misaligned_c = false;  // its columns do not all start on 16 bytes
};

// Of the kernel, on any GPU. perf/tune/fit_fp32.py fits them to measurements.
struct FfmaTmaCostConstants {
  double clock = 1.17;      // of the rates' clock, which is what tensor cores at work leave
  double issue = 0.77;      // share of the cycles in which the mainloop multiplies, with 8 x 8 sums in a thread
  double issue_16 = 0.775;  // with 16 x 8, whose slots are longer
  double slot = 215;        // cycles of a slot beside
  double slot_x2 = 135;     // where CTAs share an SM
  double groups = 0.196;    // more, where groups of warps share K
  double word = 0.166;      // cycles of a word that a producer warp copies
  double word_x2 = 0.144;   // where CTAs share an SM
  double turned = 0.0603;   // of a word that is turned
  double epilogue = 955;    // cycles of a tile
  double exchange = 1010;   // cycles of a tile whose K groups of warps share, where no other CTA hides them
  double element = 0.2;     // cycles of an element of C that is written, or read
  double alone = 0.222;     // more time for the slices of a tile whose CTA has an SM to itself that is for two
  double launch = 1.98;     // us
  double shared = 0.269;    // us, of sums that a cluster adds up
  double sum = 3.16;        // us, of the second stage of a split
  double sum_bytes = 1.18;  // TB/s of the parts' sums
};

inline constexpr FfmaTmaCostConstants kFfmaTmaCostConstants;

struct FfmaTmaSplit {
  double whole_tiles = 0;
  int parts = 1;
  bool in_cluster = false;  // all tiles are in parts, which the CTAs of clusters compute
};

// An estimate, and what it is made of, in us.
struct FfmaTmaEstimate {
  double us = 0;
  double rounds = 0;
  FfmaTmaSplit split;
  double multiply = 0, slots = 0, words = 0, epilogue = 0, alone = 0, l2 = 0, memory = 0, sums = 0;
  double units = 0;   // of the SM that has most of them
  double fill = 0;    // the share of SMs' time that is units
  double slices = 0;  // of a unit, on average
};

// Of a product.
double ffma_tma_tiles(const FfmaTmaConfig& c, const FfmaTmaCostProblem& p);

// An instance on a problem: what does not depend on how K is shared out.
class FfmaTmaCost {
 public:
  FfmaTmaCost(const FfmaTmaConfig& c, const FfmaTmaCostProblem& p, const CostDevice& device,
              const FfmaTmaCostConstants& constants = kFfmaTmaCostConstants);

  FfmaTmaEstimate operator()(const FfmaTmaSplit& split) const;

  FfmaTmaEstimate whole() const { return (*this)({tiles_, 1}); }

  // The best way to share K out: the tiles that the last round, which they do not fill, would compute. Nothing where
  // there is none.
  std::optional<FfmaTmaEstimate> best_split(double workspace_limit) const;

  // Shared by the CTAs of clusters, with one for each tile at the same time; or by so many (only; 0: the best number).
  std::optional<FfmaTmaEstimate> best_in_cluster(int only) const;

  // At most what any way to share K out is estimated at, other than whole(); infinite where there is none.
  double least_split_us() const;

  double tiles() const { return tiles_; }
  double split_bytes(const FfmaTmaSplit& split) const;  // of the parts' sums

 private:
  // Real: double, or several (common/cost_lanes.h).
  template <class Real>
  auto terms_of(const Real& whole, const Real& parts, const Real& part_units, const Real& sums) const;
  template <class Real>
  Real sums_us(const Real& split_tiles, const Real& parts) const;
  template <class Real>
  Real joined_us(const Real& cycles_us) const;  // of a launch, with what the memories take

  const FfmaTmaCostConstants* x_;
  const CostDevice* device_;
  double tiles_, slices_, sms_, ctas_per_sm_;
  double multiply_cycles_, slot_cycles_, word_cycles_;  // of a slice
  double epilogue_cycles_;
  double us_per_cycle_;
  double sum_bytes_;  // of a part
  int most_along_k_;
  double l2_us_, memory_us_, misaligned_us_;
};

}  // namespace xgemm::kernels
