// How long a wgmma_tma instance takes on a problem: the estimate behind the choice of a tile. Host code, pure.
//
// What bounds a CTA tile, per slice of 64 along K, in cycles of the SM:
//   tensor cores    2048 multiply-adds a cycle
//   shared memory   128 bytes a cycle for what wgmma reads (a warpgroup reads its rows once per instruction column and
//                   all its columns once per 64 rows), and what TMA writes; this is what makes 64-wide tiles slow
//   L2              what this CTA fetches itself, less what the others of the cluster send
//   copy engine     rows of global memory that start off a 128-byte line move at a fraction of the speed
//   latency         of handing a slot of the ring to and fro
// and for the whole product the L2 traffic, the memory traffic (limited by the bytes that the CTAs have in flight) and
// the power limit. perf/tune/fit.py fits the constants to measurements; what the model does not know about a tile is in
// the ratios that come with them (tuning/wgmma_tma_measured.h).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/wgmma_tma/config.h"

namespace xgemm::kernels {

struct WgmmaTmaProblem {
  std::int64_t m, n, k, batch_count;
  bool reads_c = false;                 // beta is not 0
  bool lines_a = true, lines_b = true;  // the rows of A, of B start on 128-byte lines
  int sms = 132;
};

// How K is shared out (common/schedule.h), in tiles of clusters.
struct WgmmaTmaSplit {
  double whole_tiles;
  int parts;
};

namespace wgmma_tma_detail {

inline double cluster_tiles(const WgmmaTmaConfig& c, const WgmmaTmaProblem& p) {
  return std::ceil(double(p.m) / (c.cta_m * c.cluster_m)) * std::ceil(double(p.n) / (c.cta_n * c.cluster_n)) *
         double(p.batch_count);
}

// That run at the same time.
inline double clusters(const WgmmaTmaConfig& c, int sms) {
  // Clusters of four and eight do not fill the parts of the GPU that they must fit in.
  const double usable = sms * (c.cluster_size() <= 2 ? 1.0 : 0.91);
  return std::max(1.0, std::floor(usable / c.cluster_size()));
}

}  // namespace wgmma_tma_detail

// Bytes of the sums of a split product.
inline double split_bytes(const WgmmaTmaConfig& c, const WgmmaTmaProblem& p, const WgmmaTmaSplit& split) {
  if (split.parts == 1) return 0;
  return (wgmma_tma_detail::cluster_tiles(c, p) - split.whole_tiles) * split.parts * c.cluster_size() *
         (4.0 * c.cta_m * c.cta_n);
}

inline double estimate_us(const WgmmaTmaConfig& c, const WgmmaTmaProblem& p, const WgmmaTmaSplit& split) {
  constexpr double kCyclesPerUs = 1755;
  constexpr double kTensor = 1.026, kWrite = 0.07122, kIngest = 0.8144, kSlice = 193.6, kUnaligned = 2.957,
                   kUnalignedShared = 0.2527, kOneConsumer = 1.03;  // cycles of a slice
  constexpr double kEpilogue = 720.4, kElement = 0.07817, kOldC = 2.002, kExchange = 1254,
                   kExchangeElement = 0.3684;                                            // cycles of an epilogue
  constexpr double kL2 = 11.5, kMemory = 4.106;                                          // TB/s
  constexpr double kLatency = 0.6367, kLaunch = 1.702, kCluster = 0.1234, kSum = 2.616;  // us
  constexpr double kSumBytes = 2.141;                                                    // TB/s
  constexpr double kPower = 7.551, kPingPong = 1.033;                                    // 100 TFLOP/s
  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  const double batch = static_cast<double>(p.batch_count);
  const int rows = c.transposed ? c.cta_n : c.cta_m;
  const int columns = c.transposed ? c.cta_m : c.cta_n;
  const double area = static_cast<double>(rows) * columns;
  const double tiles = wgmma_tma_detail::cluster_tiles(c, p);
  const double clusters = wgmma_tma_detail::clusters(c, p.sms);
  const double split_tiles = split.parts == 1 ? 0 : tiles - split.whole_tiles;
  const double units = tiles + split_tiles * (split.parts - 1);
  const double ctas = units * c.cluster_size();
  const auto fourth_root = [](double x) { return std::sqrt(std::sqrt(x)); };
  const auto fourth = [](double x) { return x * x * x * x; };

  // Slices and epilogues that one CTA goes through.
  const double tile_slices = std::ceil(std::ceil(k / 64) / c.cluster_k);
  const double whole_rounds = std::ceil((split.parts == 1 ? tiles : split.whole_tiles) / clusters);
  const double part_rounds = std::ceil(split_tiles * split.parts / clusters);
  const double rounds = whole_rounds + part_rounds;
  const double slices = whole_rounds * tile_slices + part_rounds * std::ceil(tile_slices / split.parts);

  const double own_a = static_cast<double>(c.cta_m) / c.cluster_n, own_b = static_cast<double>(c.cta_n) / c.cluster_m;
  const double reads =
      static_cast<double>(c.tile_groups()) * (rows / c.groups_rows / 64) * (64 + columns / c.groups_columns);
  const double unaligned = (p.lines_a ? 0 : kUnaligned * own_a + kUnalignedShared * c.cta_m) +
                           (p.lines_b ? 0 : kUnaligned * own_b + kUnalignedShared * c.cta_n);
  double slice = fourth_root(fourth(area / 32 * kTensor) + fourth((rows + columns) * kWrite + reads) +
                             fourth((own_a + own_b) * kIngest) + fourth(unaligned) + fourth(kSlice));
  if (c.consumers() == 1) slice *= kOneConsumer;
  double epilogue = kEpilogue + area * kElement * (p.reads_c ? kOldC : 1.0);
  if (c.cluster_k > 1) epilogue += kExchange + area * kExchangeElement * (c.cluster_k - 1) / c.cluster_k;

  // Ping-pong consumers: the epilogue of one runs under the mainloop of the other.
  const double main = slices * slice, epilogues = rounds * epilogue;
  const double cycles = c.ping_pong ? std::max(main, (main + epilogues) / 2) + epilogue : main + epilogues;
  const double l2 = 2 * k * batch *
                    (m * std::ceil(n / (c.cta_n * c.cluster_n)) + n * std::ceil(m / (c.cta_m * c.cluster_m))) /
                    (kL2 * 1e6);
  const double power = 2 * m * n * k * batch / (kPower * 1e8 * (c.ping_pong ? kPingPong : 1.0));
  const double work = std::max({cycles / kCyclesPerUs, l2, power});

  const double bytes = 2 * batch * (m * k + k * n + m * n * (p.reads_c ? 2 : 1));
  const double in_flight = std::min(ctas, clusters * c.cluster_size()) * c.stages * (rows + columns) * 128.0;
  const double memory = bytes / std::min(kMemory * 1e6, in_flight / kLatency);

  double fixed = kLaunch + (c.cluster_size() > 1 ? kCluster : 0.0);
  if (split.parts > 1) fixed += kSum + split_bytes(c, p, split) / (kSumBytes * 1e6);
  const double longest = std::max(work, memory);  // taken out of the sum of powers, which could overflow
  return fixed + longest * fourth_root(fourth(work / longest) + fourth(memory / longest));
}

struct WgmmaTmaEstimate {
  double us;
  WgmmaTmaSplit split;
};

// The best way to share K out. Split are the tiles that the last round, which they do not fill, would compute: into as
// many parts as fill one round or more. whole, split: what measurements say that estimates are to be multiplied by.
inline WgmmaTmaEstimate best_estimate(const WgmmaTmaConfig& c, const WgmmaTmaProblem& p, double workspace_limit,
                                      double whole_factor = 1, double split_factor = 1) {
  constexpr int kMinSlices = 4;  // of a part
  constexpr int kMaxParts = 1024;
  const double tiles = wgmma_tma_detail::cluster_tiles(c, p);
  WgmmaTmaEstimate best = {estimate_us(c, p, {tiles, 1}) * whole_factor, {tiles, 1}};
  if (c.cluster_k > 1 || tiles >= 0x1p31) return best;
  const double clusters = wgmma_tma_detail::clusters(c, p.sms);
  const double whole = std::floor(tiles / clusters) * clusters;
  const double rest = tiles - whole;
  const double most = std::min(std::floor(std::ceil(double(p.k) / 64) / kMinSlices), double{kMaxParts});
  if (rest == 0 || most < 2) return best;
  for (int rounds = 1; rounds <= 3; ++rounds) {
    const double parts = std::min(most, std::floor(rounds * clusters / rest));
    if (parts < 2) continue;
    const WgmmaTmaSplit split = {whole, static_cast<int>(parts)};
    if (split_bytes(c, p, split) > workspace_limit) break;
    const double us = estimate_us(c, p, split) * split_factor;
    if (us < best.us) best = {us, split};
  }
  return best;
}

}  // namespace xgemm::kernels
