// How long a wgmma_tma instance takes on a problem: the estimate behind the choice of a tile. Host code, pure.
//
// What bounds a CTA tile, per slice of 64 along K, in cycles of the SM:
//   tensor cores    rows * columns * 64 / 2048
//   shared memory   128 bytes a cycle, for what TMA writes (both tiles) and what wgmma reads (a warpgroup reads its
//   rows
//                   once per instruction column and all its columns once per 64 rows); this is what makes 64-wide tiles
//                   slow and wide ones fast
//   copy engine     rows of global memory that start off a 128-byte line move at a fraction of the speed, so that
//                   sharing by multicast pays
// and for the whole product the L2 traffic, the memory traffic (limited by the bytes that the CTAs have in flight) and
// the power limit. The constants were fitted on an H200 to about 3000 measured (instance, problem) pairs: squares 128
// to 16384, projections of Llama-like models with 8 to 8192 tokens, batches, padded leading dimensions, cold L2. The
// cheapest estimate is on average within 1.5 % of the best instance; rows of measurements override
// it where it is not.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/sm90/wgmma_tma_config.h"

namespace xgemm::kernels {

struct WgmmaTmaProblem {
  std::int64_t m, n, k, batch_count;
  bool reads_c;       // beta is not 0
  bool aligned_rows;  // A's and B's rows start on 128-byte lines
  int sms = 132;
};

// How K is shared out (SplitK in common/params.h), in tiles of clusters.
struct WgmmaTmaSplit {
  double whole_tiles;
  int parts;
};

namespace wgmma_tma_detail {

inline double cluster_tiles(const WgmmaTmaConfig& c, const WgmmaTmaProblem& p) {
  return std::ceil(double(p.m) / (c.cta_m * c.cluster_m)) * std::ceil(double(p.n) / (c.cta_n * c.cluster_n)) *
         double(p.batch_count);
}

inline int ctas_per_sm(const WgmmaTmaConfig& c) {
  return c.consumers() == 1 && c.shared_bytes() <= 113 * 1024 ? 2 : 1;
}

// That run at the same time.
inline double clusters(const WgmmaTmaConfig& c, int sms) {
  // Clusters of four and eight do not fill the parts of the GPU that they must fit in.
  const double usable = sms * (c.cluster_size() <= 2 ? 1.0 : c.cluster_size() <= 4 ? 0.97 : 0.91);
  return std::max(1.0, std::floor(usable * ctas_per_sm(c) / c.cluster_size()));
}

}  // namespace wgmma_tma_detail

// Bytes of the sums of a split product.
inline double split_bytes(const WgmmaTmaConfig& c, const WgmmaTmaProblem& p, const WgmmaTmaSplit& split) {
  if (split.parts == 1) return 0;
  return (wgmma_tma_detail::cluster_tiles(c, p) - split.whole_tiles) * split.parts * c.cluster_size() *
         (4.0 * c.cta_m * c.cta_n);
}

// An instance that cannot be faster than `limit` gets some lower bound that is not below it: most instances of a list
// are out of the question, and the powers are what takes time here.
inline double estimate_us(const WgmmaTmaConfig& c, const WgmmaTmaProblem& p, const WgmmaTmaSplit& split,
                          double limit = std::numeric_limits<double>::infinity()) {
  constexpr double kCyclesPerUs = 1755;
  constexpr double kWriteWeight = 1.447, kTensorWeight = 1.372, kSliceCycles = 163, kUnalignedCycles = 5.117,
                   kOneConsumer = 1.112;
  constexpr double kEpilogueCycles = 1272, kEpilogueElement = 0.05176, kEpilogueOldC = 1.6;
  constexpr double kExchangeCycles = 2341, kExchangeElement = 0.103;
  constexpr double kL2BytesPerUs = 8.63e6, kMemoryBytesPerUs = 6.2e6, kSmBytesPerUs = 5.55e4, kLatencyUs = 1.3;
  constexpr double kPowerFlopsPerUs = 6.748e8, kPingPongPower = 1.02, kAreaPower = 0.03;
  constexpr double kTwoPerSm = 0.7765, kOverlap = 7.8, kLaunchUs = 1.046, kClusterUs = 0.086;
  constexpr double kSumUs = 2.0, kSumBytesPerUs = 2.5e6;

  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  const double batch = static_cast<double>(p.batch_count);
  const int rows = c.transposed ? c.cta_n : c.cta_m;
  const int columns = c.transposed ? c.cta_m : c.cta_n;
  const double area = static_cast<double>(rows) * columns;
  const double tiles = wgmma_tma_detail::cluster_tiles(c, p);
  const double clusters = wgmma_tma_detail::clusters(c, p.sms);
  const int per_sm = wgmma_tma_detail::ctas_per_sm(c);
  const double split_tiles = split.parts == 1 ? 0 : tiles - split.whole_tiles;
  const double units = tiles + split_tiles * (split.parts - 1);

  // Slices and epilogues that one CTA goes through.
  const double tile_slices = std::ceil(std::ceil(k / 64) / c.cluster_k);
  double rounds = std::ceil(units / clusters);
  double slices = rounds * tile_slices;
  if (split.parts > 1) {
    const double whole_rounds = std::ceil(split.whole_tiles / clusters);
    const double part_rounds = std::ceil(split_tiles * split.parts / clusters);
    slices = whole_rounds * tile_slices + part_rounds * std::ceil(tile_slices / split.parts);
    rounds = whole_rounds + part_rounds;
  }
  const double reads =
      static_cast<double>(c.tile_groups()) * (rows / c.groups_rows / 64) * (64 + columns / c.groups_columns);
  double slice =
      std::max({rows * columns / 32.0 * kTensorWeight, (rows + columns) * kWriteWeight + reads, kSliceCycles});
  if (c.consumers() == 1) slice *= kOneConsumer;
  const double loaded = static_cast<double>(c.cta_m) / c.cluster_n + static_cast<double>(c.cta_n) / c.cluster_m;
  if (!p.aligned_rows) slice = std::max(slice, kUnalignedCycles * loaded);
  double epilogue = kEpilogueCycles + area * kEpilogueElement * (p.reads_c ? kEpilogueOldC : 1.0);
  if (c.cluster_k > 1) epilogue += kExchangeCycles + area * kExchangeElement * (c.cluster_k - 1) / c.cluster_k;
  // Epilogues overlap with another tile's mainloop where an SM works on two.
  const bool overlapped = c.ping_pong || (per_sm == 2 && rounds > 1);
  const double compute =
      (slices * slice * (per_sm == 2 && rounds > 1 ? kTwoPerSm : 1.0) + epilogue * (overlapped ? 1.0 : rounds)) /
      kCyclesPerUs;

  const double l2 = 2 * tiles * c.cluster_m * c.cluster_n * k * loaded / kL2BytesPerUs;
  double fixed = kLaunchUs + (c.cluster_size() > 1 ? kClusterUs : 0.0);
  if (split.parts > 1) fixed += kSumUs + split_bytes(c, p, split) / kSumBytesPerUs;
  const double without_powers = fixed + std::max(compute, l2);
  if (without_powers >= limit) return without_powers;

  const double power = 2 * m * n * k * batch /
                       (kPowerFlopsPerUs * (c.ping_pong ? kPingPongPower : 1.0) * std::pow(area / 32768, kAreaPower));
  const double bytes = 2 * batch * (m * k + k * n + m * n * (p.reads_c ? 2 : 1));
  const double ctas = units * c.cluster_size();
  const double in_flight = std::min(ctas, clusters * c.cluster_size()) * c.stages * (rows + columns) * 128.0;
  const double memory = bytes / std::min({kMemoryBytesPerUs, kSmBytesPerUs * std::min(ctas, static_cast<double>(p.sms)),
                                          in_flight / kLatencyUs});
  const double work = std::max({compute, l2, power});
  const double longest = std::max(work, memory);  // the sum of powers, without overflow
  if (fixed + longest >= limit) return fixed + longest;
  const double total =
      longest * std::pow(std::pow(work / longest, kOverlap) + std::pow(memory / longest, kOverlap), 1 / kOverlap);
  return fixed + total;
}

struct WgmmaTmaEstimate {
  double us;
  WgmmaTmaSplit split;
};

// The best way to share K out. Split are the tiles that the last round, which they do not fill, would compute: into as
// many parts as fill one round or more.
inline WgmmaTmaEstimate best_estimate(const WgmmaTmaConfig& c, const WgmmaTmaProblem& p, double workspace_limit,
                                      double limit = std::numeric_limits<double>::infinity()) {
  constexpr int kMinSlices = 4;  // of a part
  const double tiles = wgmma_tma_detail::cluster_tiles(c, p);
  WgmmaTmaEstimate best = {estimate_us(c, p, {tiles, 1}, limit), {tiles, 1}};
  if (c.cluster_k > 1 || tiles >= 0x1p31) return best;
  const double clusters = wgmma_tma_detail::clusters(c, p.sms);
  const double whole = std::floor(tiles / clusters) * clusters;
  const double rest = tiles - whole;
  const double slices = std::ceil(double(p.k) / 64);
  const double most = std::min(std::floor(slices / kMinSlices), 1024.0);
  if (rest == 0 || most < 2) return best;
  const auto consider = [&](double parts) {
    if (parts < 2 || parts > most) return;
    const WgmmaTmaSplit split = {whole, static_cast<int>(parts)};
    if (split_bytes(c, p, split) > workspace_limit) return;
    const double us = estimate_us(c, p, split, std::min(limit, best.us));
    if (us < best.us) best = {us, split};
  };
  // Parts that fill one round, two, three.
  for (int rounds = 1; rounds <= 3; ++rounds) consider(std::min(most, std::floor(rounds * clusters / rest)));
  return best;
}

}  // namespace xgemm::kernels
