// tiny_batched, as the planner sees it: what the memory needs, what the loads and products of an SM's threads need, and
// the time in which a thread has its slices one after another.
#include <algorithm>
#include <cmath>

#include "kernels/common/cost_math.h"
#include "kernels/common/legality.h"
#include "kernels/common/tile_family.h"
#include "kernels/tiny_batched/instances.h"

namespace xgemm::kernels {
namespace {

// Fitted to perf/tune/measured/wild/h200-tiny-*. Cycles are those of an SM for a warp: for a product, for a slice of it
// (and of doubles in this share more), for a load or store, and for each line of 128 bytes that it touches.
constexpr double kLaunchUs = 1.85;
constexpr double kMemoryShare = 0.6;  // of the memory's rate
constexpr double kProductCycles = 60, kSliceCycles = 20, kOfDoubles = 0.56, kAccessCycles = 1.38, kLineCycles = 0.12;
constexpr double kLarger = 1.5;
constexpr double kSliceUs = 0.76, kPointerUs = 0.6;  // that a thread waits for the memory

// An operand as threads bring it, or C: lines along K (or the columns of C), each thread two of them.
struct Accesses {
  double loads;  // of a thread for a slice
  double lines;  // of 128 bytes, that a warp's load touches

  // in_warp: blocks of a warp's product that have lines of their own.
  static Accesses of(const layout::StridedOperand& x, Axis k, int depth, double in_warp, double products_of_warp) {
    constexpr int kPair = 2;
    constexpr double kLineBytes = 128;
    const Axis across = layout::other(k);
    const auto in_pairs = [&](Axis along) {
      return x.stride(along) == 1 && x.extent(along) % kPair == 0 &&
             divisibility_along(x, along) % (kPair * x.element_bytes) == 0;
    };
    const double pair_bytes = double(kPair) * x.element_bytes;
    const double matrix_bytes = double(x.extent(k)) * double(x.extent(across)) * x.element_bytes;
    const double own = x.stride(across) == 1
                           ? std::max(1.0, in_warp * pair_bytes / kLineBytes)
                           : in_warp * std::min(1.0, pair_bytes * double(x.stride(across)) / kLineBytes);
    return {double(in_pairs(across) || in_pairs(k) ? depth : kPair * depth),
            std::clamp(products_of_warp * std::min(own, matrix_bytes / kLineBytes), 1.0, 32.0)};
  }
  double cycles() const { return loads * (kAccessCycles + kLineCycles * lines); }
};

Estimate estimate_one(const KernelInfo& kernel, const Request& request) {
  const TileConfig& c = kernel.config;
  const Problem& p = request.problem;
  const device::Rates& rates = request.device.rates;
  const double sms = request.device.sm_count;
  const TinyBatchedShape shape = TinyBatchedShape::of(c, p.m, p.n);
  const double slices = p.reads_inputs() ? cost::tiles(p.k, c.cta_k) : 0.0;
  const double tiles = cost::tiles(p.m, c.cta_m) * cost::tiles(p.n, c.cta_n) * double(p.batch_count);
  const double turns = cost::ceil(tiles / shape.products);  // of a CTA
  const double memory_us = p.bytes() * 1e-6 / (kMemoryShare * rates.memory_tbs);

  const double products_of_warp = std::max(1.0, 32.0 / shape.blocks);
  const double rows = std::min(shape.blocks_m, 32u);
  const double columns = cost::ceil(std::min(shape.blocks, 32u) / double(shape.blocks_m));
  const auto accesses = [&](const layout::StridedOperand& x, Axis k, double in_warp) {
    return Accesses::of(x, k, c.cta_k, in_warp, products_of_warp);
  };
  Accesses of_c = accesses(request.facts.c, Axis::col, rows);
  of_c.loads = double(c.thread_m) * c.thread_n * (p.reads_c() ? 2 : 1);
  const double of_slice = kSliceCycles * (1 + (c.type == DType::f64 ? kOfDoubles : 0)) +
                          accesses(request.facts.a, Axis::col, rows).cycles() +
                          accesses(request.facts.b, Axis::row, columns).cycles();
  const double warps = turns * kernel.threads / 32;
  const double sm_us = warps * (kProductCycles + of_c.cycles() + slices * of_slice) * 1e-3 / (sms * rates.sm_ghz);

  const double rounds = cost::ceil(turns / (sms * TinyBatchedShape::ctas_per_sm(c)));
  const double wait_us = rounds * (slices * kSliceUs + (p.by_pointers() ? kPointerUs : 0));
  const auto fourth = [](double x) { return x * x * x * x; };
  // Of a C of several tiles nothing was measured, but that others were faster.
  const double larger = p.m > c.cta_m || p.n > c.cta_n ? kLarger : 1.0;
  const double us = larger * std::sqrt(std::sqrt(fourth(memory_us) + fourth(sm_us) + fourth(wait_us)));
  return {kLaunchUs + us, rounds, {}, memory_us, sm_us};
}

void estimate(const Request& request, const KernelInfo* const* kernels, int count, Estimate* estimates) {
  for (int i = 0; i < count; ++i) estimates[i] = estimate_one(*kernels[i], request);
}

// Kernels count in 32 bits.
bool counts(const KernelInfo& kernel, const Request& request) {
  const Problem& p = request.problem;
  const double tiles =
      cost::tiles(p.m, kernel.config.cta_m) * cost::tiles(p.n, kernel.config.cta_n) * double(p.batch_count);
  return double(p.k) < 0x1p31 - kernel.config.cta_k && tiles < 0x1p31;
}

bool serves(const KernelInfo& kernel, const Request& request) {
  return counts(kernel, request) && tile_family_serves(kernel, request);
}

std::string why_not(const KernelInfo& kernel, const Request& request) {
  return counts(kernel, request) ? tile_family_why_not(kernel, request)
                                 : "it needs k and the number of tiles to be below 2^31";
}

// A CTA for as many products as it has threads for; more than an SM holds of them have several in turn.
Schedule schedule(const KernelInfo& kernel, const Problem& p, const device::DeviceInfo& device,
                  const Sharing& sharing) {
  Schedule s = tile_family_schedule(kernel, p, device, sharing);
  const TinyBatchedShape shape = TinyBatchedShape::of(kernel.config, p.m, p.n);
  const std::int64_t resident = std::int64_t{device.sm_count} * TinyBatchedShape::ctas_per_sm(kernel.config);
  s.clusters = static_cast<unsigned>(std::min<std::int64_t>(resident, (s.units + shape.products - 1) / shape.products));
  s.shared_bytes = 0;  // all of an SM is its L1's
  return s;
}

constexpr FamilyInfo family() {
  FamilyInfo info = tile_family<Family::tiny_batched>();
  info.serves = serves;
  info.why_not = why_not;
  info.estimate = estimate;
  info.splits = [](const KernelInfo&) { return false; };
  info.schedule = schedule;
  info.takes_copies = [](const KernelInfo&) { return false; };  // it reads what lies anyhow as fast
  info.triangles = false;
  info.follows = [](const KernelInfo&) { return true; };
  return info;
}

}  // namespace

constinit const FamilyInfo tiny_batched_family = family();

}  // namespace xgemm::kernels
