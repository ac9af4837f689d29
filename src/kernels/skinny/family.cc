// skinny, as the planner sees it: it takes as long as the memory needs to bring the streamed operand.
#include <algorithm>
#include <cmath>

#include "kernels/common/tile_family.h"
#include "kernels/skinny/instances.h"

namespace xgemm::kernels {
namespace {

constexpr double kLaunchUs = 2.4;
constexpr double kSumUs = 2.6;         // of the second stage, beside its bytes
constexpr int kCtasPerSm = 2;          // that an SM holds
constexpr double kMemoryShare = 0.93;  // of the memory's rate, with all of these running
constexpr double kFmaShare = 0.03;     // of the SMs' 128 multiply-adds in a clock, for each column of a tile
constexpr double kRoundUs = 1.5;       // until a CTA's first slice is there, and its sums are added
constexpr int kMinSlices = 2;          // of a part
constexpr int kMaxParts = 1024;

double rounded_up(std::int64_t extent, int tile) {
  return double(extent / tile + (extent % tile != 0 ? 1 : 0));
}

Estimate estimate_one(const KernelInfo& kernel, const Request& request) {
  const TileConfig& c = kernel.config;
  const SkinnyShape shape = SkinnyShape::of(c);
  const Problem& p = request.problem;
  const device::Rates& rates = request.device.rates;
  const double sms = request.device.sm_count;
  // Of X, which is read again for each tile of columns; of Y, which comes from the L2 for each tile of rows; and of C.
  const std::int64_t rows = shape.streams_b ? p.n : p.m, columns = shape.streams_b ? p.m : p.n;
  const double row_tiles = rounded_up(rows, shape.rows), column_tiles = rounded_up(columns, shape.width);
  const double depth = p.reads_inputs() ? double(p.k) : 0.0, batch = double(p.batch_count);
  const double element = size_of(p.a.type);
  const double wide = batch * column_tiles * double(rows) * depth * element;
  const double own_narrow = batch * double(columns) * depth * element;
  const double narrow = batch * column_tiles * row_tiles * shape.width * depth * element;
  const double c_bytes = batch * double(p.m) * double(p.n) * size_of(p.c.type) * (p.reads_c() ? 2 : 1);
  const double flops = 2 * batch * row_tiles * column_tiles * shape.rows * shape.width * depth;
  const double fma_us = flops * 1e-3 / (2 * 128 * sms * rates.sm_ghz * kFmaShare * shape.width);
  const double narrow_us = narrow * 1e-6 / rates.l2_tbs;

  const double tiles = batch * row_tiles * column_tiles, slots = kCtasPerSm * sms;
  const double tile_bytes = 4.0 * c.cta_m * c.cta_n;
  const double most = std::min(std::floor(std::ceil(depth / c.cta_k) / kMinSlices), double{kMaxParts});
  Estimate best;
  for (double parts = 1;; parts = std::min(2 * parts, most)) {
    const double sum_bytes = parts > 1 ? tiles * parts * tile_bytes : 0.0;
    if (sum_bytes > workspace_limit(request.device)) break;
    const double units = tiles * parts, rounds = std::ceil(units / slots);
    // A CTA that shares the memory with fewer others is served faster, but not by as much.
    const double idle = rounds * slots / units;
    const double memory_us =
        (wide + own_narrow + c_bytes) * 1e-6 / (kMemoryShare * rates.memory_tbs) * (0.5 + 0.5 * idle);
    const double us = kLaunchUs + rounds * kRoundUs + std::max({memory_us, fma_us * idle, narrow_us}) +
                      (parts > 1 ? kSumUs + 2 * sum_bytes * 1e-6 / rates.l2_tbs : 0.0);
    if (parts == 1 || us < best.us) best = {us, rounds, 0, static_cast<int>(parts)};
    if (parts >= most || units >= 8 * slots) break;
  }
  return best;
}

void estimate(const Request& request, const KernelInfo* const* kernels, int count, Estimate* estimates) {
  for (int i = 0; i < count; ++i) estimates[i] = estimate_one(*kernels[i], request);
}

constexpr FamilyInfo family() {
  FamilyInfo info = tile_family<Family::skinny>();
  info.estimate = estimate;
  info.triangles = false;  // none of interest is so narrow
  return info;
}

}  // namespace

constinit const FamilyInfo skinny_family = family();

}  // namespace xgemm::kernels
