// How long a wgmma_tma instance takes on a problem: the estimate behind the choice of a tile. Host code, pure.
//
// The model counts what a product asks of each unit of the GPU, in cycles of the SM or in bytes:
//   slice      64 of K of a CTA tile: multiply-adds of the tensor cores, bytes of shared memory that wgmma reads and
//              TMA writes, bytes that the CTA fetches itself (less what the others of its cluster send), and more of
//              them where rows of global memory start off a 128-byte line; at least the time to hand a slot to and fro
//   epilogue   elements of C that leave, and come where beta is not 0
//   L2         what all CTAs fetch
//   memory     operands once; again for each wave of CTAs whose slices of A and B do not stay in the L2; limited by the
//              bytes that the CTAs have in flight
//   power      multiply-adds, at the rate that the power limit allows
// Cycles become time by the clock of the device, bytes by its rates (device::Rates); the constants of this file belong
// to the kernel, and perf/tune/fit.py fits them to measurements on several GPUs. What the model misses, a small network
// corrects (cost_correction.h).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/common/cost_device.h"
#include "kernels/common/schedule.h"
#include "kernels/wgmma_tma/config.h"

namespace xgemm::kernels {

// k is in elements of 16 bits: those of TF32 are twice as large and take twice as long to multiply, so that each counts
// as two.
struct CostProblem {
  static constexpr int kSlice = 64;  // of k, of a slot of the ring

  std::int64_t m = 0, n = 0, k = 0, batch_count = 1;
  bool a_transposed = false, b_transposed = false;
  bool reads_c = false;              // beta is not 0
  int align_a = 128, align_b = 128;  // bytes, up to a line's, that the rows of A, of B start on multiples of
  int bytes_c = 2;                   // of an element
  double finishing = 0;              // cycles of an SM for what the kernel makes of an element beyond alpha * AB
};

// How K is shared out (Schedule in common/schedule.h), in tiles of clusters.
struct CostSplit {
  static constexpr int kLeastSlices = 4;  // of a part, or of a CTA whose cluster shares K

  double whole_tiles = 0;
  int parts = 1;
};

// Of the kernel, on any GPU. Fitted.
struct CostConstants {
  // cycles of a slice
  double tensor, read, write, ingest, slice;
  double unaligned, unaligned_shared;  // of rows that start off sectors: brought by a CTA, and in its slots
  double off_lines;                    // of rows that start on sectors, off lines, the share of this
  // cycles of an epilogue: in all, and of an element of C
  double epilogue, element, old_c, exchange, exchange_element;
  double ping_pong;             // of two consumers' turns, how much they stand in each other's way
  double l2_reach;              // of the L2's size: slices beyond it are fetched again by the next wave
  double latency;               // us from a request to its bytes
  double launch, cluster, sum;  // us: of a launch, of one with clusters, of the second stage of a split
  double sum_bytes;             // TB/s of the parts' sums
};
extern const CostConstants kCostConstants;

// An estimate and what it is made of, in us. What overlaps is joined by the root of the sum of fourth powers, between a
// sum and a maximum: what comes near the largest adds to it. Real: double, or several (common/cost_lanes.h).
template <class Real>
struct CostTermsOf {
  Real us;
  Real mainloop, epilogue, l2, memory, memory_c, in_flight, waves, power, sums;
  // of the tiles: rounds that the busiest CTA goes through, slices in all, the share of CTAs' time that is work
  Real rounds, slices, fill, busy, wave_panel;
  // of tiles of clusters that run at the same time: so many ask for the same columns of B, for the same rows of A
  Real along_m, along_n;
};
using CostTerms = CostTermsOf<double>;

// Tiles of clusters, of all products.
double cluster_tiles(const WgmmaTmaConfig& c, const ClusterShape& cluster, const CostProblem& p);

// Bytes of the sums of a split product.
double split_bytes(const WgmmaTmaConfig& c, const ClusterShape& cluster, const CostProblem& p, const CostSplit& split);

// A product on a GPU: what does not depend on the instance. Cycles as times.
struct ProductWork {
  ProductWork(const CostProblem& p, const CostDevice& d, const CostConstants& x = kCostConstants);

  const CostProblem& problem;
  const CostDevice& device;
  const CostConstants& constants;
  double slices;                    // of a tile
  double unaligned_a, unaligned_b;  // of a row: its share of what one takes that starts off sectors
  double element_cycles;            // of an epilogue
  double inputs, c_bytes;
  double us_per_cycle, us_per_byte, us_per_l2_byte;
  double l2_reach;  // bytes
  double power_us;
};

// An instance on it: what does not depend on the cluster.
struct TileWork {
  // By hand, of 590 random products with K from 16 to 300 on an H200, most of them batches of small or narrow ones.
  static constexpr double kSlowedByEach = 0.45;

  // chunks: the config's exchange_chunks(1), which takes a while to work out.
  TileWork(const WgmmaTmaConfig& c, const ProductWork& product, int chunks);

  // So much longer takes what a CTA does where others are on its SM.
  double slowed() const { return 1 + kSlowedByEach * (ctas_per_sm - 1); }

  // What the CTAs of an SM take together, from what one of them alone would take, by the model and as corrected. What
  // it takes beside the others' share of the GPU is waiting, which they do at the same time.
  double shared_us(const CostTerms& alone, double corrected_us) const;

  const WgmmaTmaConfig& config;
  const ProductWork& product;
  double ctas_m, ctas_n;
  int ctas_per_sm = 1;  // of one in no cluster
  double slice_fourth;  // of the cycles of a slice, without what a cluster changes
  int exchange_chunks;  // of a tile whose K a cluster shares
  double unaligned_shared;
  double epilogue_us;
  double in_flight_us;  // with the ring of one CTA

  // At most what any cluster and any split is estimated at.
  double least_us() const;
};

// The same in clusters of one shape.
template <class Real>
struct ClusterWork {
  Real cta_m, cta_n, ctas_m, ctas_n, slice_fourth, unaligned_shared, epilogue_us, in_flight_us;
  Real m, n, inverse_m, inverse_n, inverse_k, size;  // of the cluster
  Real clusters;                                     // that run at the same time
  Real fixed_us, is_ping_pong;
};

// What it takes: first what does not depend on how K is shared out.
template <class Real>
class TileCostOf {
 public:
  TileCostOf(const ProductWork& product, const ClusterWork<Real>& work);

  // With all but whole_tiles in so many parts.
  CostTermsOf<Real> terms(const Real& whole_tiles, const Real& parts) const;

  // The best way: see TileCost.
  struct Best {
    Real us, rounds, whole_tiles, parts;
  };
  Best best_split(double workspace_limit) const;

 private:
  const CostConstants* constants_;
  Real tiles_, clusters_, tile_slices_;
  Real slice_us_, epilogue_us_;  // of a slice, of a tile
  Real sum_bytes_;               // of a part of a tile
  Real in_flight_us_;            // with the rings of one cluster
  Real least_cycles_us_;         // of all clusters busy all the time
  Real fixed_us_;
  Real is_ping_pong_, inverse_k_;
  CostTermsOf<Real> common_;
  Real common_fourth_;  // the sum of fourth powers that us is the root of, without what depends on the split
};

class TileCost {
 public:
  TileCost(const TileWork& work, const ClusterShape& cluster);
  TileCost(const WgmmaTmaConfig& c, const ClusterShape& cluster, const CostProblem& p, const CostDevice& device,
           const CostConstants& constants = kCostConstants)
      : TileCost(TileWork(c, ProductWork(p, device, constants), c.exchange_chunks(1)), cluster) {}

  CostTerms operator()(const CostSplit& split) const;

  // How K is shared out best. Split are the tiles that the last round, which they do not fill, would compute: into as
  // many parts as fill one round or more, as far as workspace_limit (bytes) goes.
  struct Best {
    double us, rounds;
    CostSplit split;
  };
  Best best_split(double workspace_limit) const;

 private:
  TileCostOf<double> cost_;
};

// Some of them at the same time.
class TileCosts {
 public:
  static constexpr int kMost = 4;

  // wide: as processors with AVX2 do, to the same bits.
  explicit TileCosts(const ProductWork& product, bool wide = may_be_wide()) : product_(product), wide_(wide) {}
  static bool may_be_wide();

  void add(const TileWork& work, const ClusterShape& cluster);
  int count() const { return count_; }

  // Of those that were added, which are then forgotten: their best splits; their terms with given splits.
  void best_splits(double workspace_limit, TileCost::Best* best);
  void terms(const CostSplit* splits, CostTerms* terms);

  using Work = ClusterWork<double[kMost]>;

 private:
  const ProductWork& product_;
  bool wide_;
  alignas(32) Work work_{};
  int count_ = 0;
};

}  // namespace xgemm::kernels
