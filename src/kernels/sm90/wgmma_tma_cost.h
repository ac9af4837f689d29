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

// An instance that cannot be faster than `limit` gets some lower bound that is not below it: most instances of a list
// are out of the question, and the powers are what takes time here.
inline double estimate_us(const WgmmaTmaConfig& c, const WgmmaTmaProblem& p,
                          double limit = std::numeric_limits<double>::infinity()) {
  constexpr double kCyclesPerUs = 1755;
  constexpr double kWriteWeight = 1.447, kTensorWeight = 1.372, kSliceCycles = 163, kUnalignedCycles = 5.117,
                   kOneConsumer = 1.112;
  constexpr double kEpilogueCycles = 1272, kEpilogueElement = 0.05176, kEpilogueOldC = 1.6;
  constexpr double kExchangeCycles = 2341, kExchangeElement = 0.103;
  constexpr double kL2BytesPerUs = 8.63e6, kMemoryBytesPerUs = 6.2e6, kSmBytesPerUs = 5.55e4, kLatencyUs = 1.3;
  constexpr double kPowerFlopsPerUs = 6.748e8, kPingPongPower = 1.02, kAreaPower = 0.03;
  constexpr double kTwoPerSm = 0.7765, kOverlap = 7.8, kLaunchUs = 1.046, kClusterUs = 0.086;

  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  const double batch = static_cast<double>(p.batch_count);
  const auto tiles = [](double extent, int tile, int cluster) {
    return std::ceil(extent / (tile * cluster)) * cluster;
  };
  const int rows = c.transposed ? c.cta_n : c.cta_m;
  const int columns = c.transposed ? c.cta_m : c.cta_n;
  const double all = tiles(m, c.cta_m, c.cluster_m) * tiles(n, c.cta_n, c.cluster_n) * batch;
  const double ctas = all * c.cluster_k;
  // Clusters of four and eight do not fill the parts of the GPU that they must fit in.
  const double sms = p.sms * (c.cluster_size() <= 2 ? 1.0 : c.cluster_size() <= 4 ? 0.97 : 0.91);
  const int per_sm = c.consumers() == 1 && c.shared_bytes() <= 113 * 1024 ? 2 : 1;

  const double slices = std::ceil(std::ceil(k / 64) / c.cluster_k);
  const double reads =
      static_cast<double>(c.tile_groups()) * (rows / c.groups_rows / 64) * (64 + columns / c.groups_columns);
  double slice =
      std::max({rows * columns / 32.0 * kTensorWeight, (rows + columns) * kWriteWeight + reads, kSliceCycles});
  if (c.consumers() == 1) slice *= kOneConsumer;
  if (!p.aligned_rows) {
    const double loaded = static_cast<double>(c.cta_m) / c.cluster_n + static_cast<double>(c.cta_n) / c.cluster_m;
    slice = std::max(slice, kUnalignedCycles * loaded);
  }
  const double area = static_cast<double>(rows) * columns;
  double epilogue = kEpilogueCycles + area * kEpilogueElement * (p.reads_c ? kEpilogueOldC : 1.0);
  if (c.cluster_k > 1) epilogue += kExchangeCycles + area * kExchangeElement * (c.cluster_k - 1) / c.cluster_k;
  const double rounds = std::ceil(ctas / sms);
  // Epilogues overlap with another tile's mainloop where an SM works on two.
  const bool overlapped = c.ping_pong || (per_sm == 2 && rounds > 1);
  const double compute = (rounds * slices * slice * (per_sm == 2 && rounds > 1 ? kTwoPerSm : 1.0) +
                          epilogue * (overlapped ? 1.0 : rounds)) /
                         kCyclesPerUs;

  const double l2 = 2 * all * k *
                    (static_cast<double>(c.cta_m) / c.cluster_n + static_cast<double>(c.cta_n) / c.cluster_m) /
                    kL2BytesPerUs;
  const double launch = kLaunchUs + (c.cluster_size() > 1 ? kClusterUs : 0.0);
  const double without_powers = launch + std::max(compute, l2);
  if (without_powers >= limit) return without_powers;

  const double power = 2 * m * n * k * batch /
                       (kPowerFlopsPerUs * (c.ping_pong ? kPingPongPower : 1.0) * std::pow(area / 32768, kAreaPower));
  const double bytes = 2 * batch * (m * k + k * n + m * n * (p.reads_c ? 2 : 1));
  const double in_flight = std::min(ctas, sms * per_sm) * c.stages * (rows + columns) * 128.0;
  const double memory = bytes / std::min({kMemoryBytesPerUs, kSmBytesPerUs * std::min(ctas, static_cast<double>(p.sms)),
                                          in_flight / kLatencyUs});
  const double work = std::max({compute, l2, power});
  const double longest = std::max(work, memory);  // the sum of powers, without overflow
  if (launch + longest >= limit) return launch + longest;
  const double total =
      longest * std::pow(std::pow(work / longest, kOverlap) + std::pow(memory / longest, kOverlap), 1 / kOverlap);
  return launch + total;
}

}  // namespace xgemm::kernels
