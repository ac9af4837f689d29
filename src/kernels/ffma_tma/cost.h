// How long an ffma_tma instance takes on a problem: the estimate behind the choice of a tile. Host code, pure.
//
// The model counts cycles of the SM that has most to do: multiply-adds of its slices at the rate of the FMA units, what
// a slot costs beside them, words that producer warps copy where TMA cannot, epilogues; and bytes from the L2 and the
// memory. The GPU's rates (device::Rates) turn these into time.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/fill.h"
#include "device/rates.h"
#include "kernels/ffma_tma/config.h"

namespace xgemm::kernels {

struct FfmaTmaCostProblem {
  Fill fill = Fill::full;
  double m = 0, n = 0, k = 0, batch_count = 1;
  bool words_a = false, words_b = false;      // copied by producer warps,
  bool vectors_a = false, vectors_b = false;  // or in vectors, by instances that bring such
  bool reads_c = false;
};

struct FfmaTmaCostDevice {
  device::Rates rates;
  int sms = 132;
};

// Of the kernel, on any GPU. perf/tune/fit_fp32.py fits them to measurements.
struct FfmaTmaCostConstants {
  double clock = 1.14;      // of the rates' clock, which is what tensor cores at work leave
  double issue = 0.882;     // share of the cycles in which the mainloop multiplies, with 8 x 8 sums in a thread
  double issue_16 = 0.815;  // with 16 x 8, whose slots are longer
  double slot = 341;        // cycles of a slot beside
  double slot_x2 = 158;     // where CTAs share an SM
  double groups = 36.8;     // more, where groups of warps share K
  double word = 0.12;       // cycles of a word that a producer warp copies
  double word_x2 = 0.0797;  // where CTAs share an SM
  double vector = 0.0704;   // of a word that comes in vectors
  double epilogue = 572;    // cycles of a tile
  double exchange = 1160;   // cycles of a tile whose K groups of warps share, where no other CTA hides them
  double element = 0.303;   // cycles of an element of C that is written, or read
  double alone = 0.735;     // more time for the slices of a tile whose CTA has an SM to itself that is for two
  double launch = 2.61;     // us
  double sum = 3.95;        // us, of the second stage of a split
  double sum_bytes = 2.88;  // TB/s of the parts' sums
};

struct FfmaTmaSplit {
  double whole_tiles = 0;
  int parts = 1;
};

struct FfmaTmaEstimate {
  double us = 0;
  double rounds = 0;
  FfmaTmaSplit split;
};

// Of a product.
double ffma_tma_tiles(const FfmaTmaConfig& c, const FfmaTmaCostProblem& p);

// An instance on a problem: what does not depend on how K is shared out.
class FfmaTmaCost {
 public:
  FfmaTmaCost(const FfmaTmaConfig& c, const FfmaTmaCostProblem& p, const FfmaTmaCostDevice& device,
              const FfmaTmaCostConstants& constants = {});

  FfmaTmaEstimate operator()(const FfmaTmaSplit& split) const;

  // The best way to share K out. Split are the tiles that the last round, which they do not fill, would compute.
  FfmaTmaEstimate best_split(double workspace_limit) const;

  double tiles() const { return tiles_; }
  double split_bytes(const FfmaTmaSplit& split) const;  // of the parts' sums

 private:
  const FfmaTmaCostConstants x_;
  double tiles_, slices_, sms_, ctas_per_sm_;
  double slice_cycles_, epilogue_cycles_;
  double us_per_cycle_;
  double sum_bytes_;     // of a part
  double bytes_fourth_;  // of what the L2 takes, and of what the memory does: the sum of fourth powers
};

}  // namespace xgemm::kernels
