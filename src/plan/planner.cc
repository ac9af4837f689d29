// Legality, the cost model and the choice.
#include "plan/planner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/common/tile_schedule.h"
#include "kernels/wgmma_tma/cost.h"
#include "kernels/wgmma_tma/schedule.h"
#include "tuning/table.h"
#include "tuning/wgmma_tma_measured.h"

namespace xgemm::plan {
namespace {

using device::DeviceInfo;
using kernels::Axis;
using kernels::Family;
using kernels::KernelInfo;
using kernels::TileConfig;
using layout::StridedOperand;

StridedOperand as_op(const InputMatrix& x, std::int64_t stored_rows, std::int64_t stored_cols, const Problem& p) {
  const StridedOperand stored =
      layout::column_major(x.data, stored_rows, stored_cols, x.ld, size_of(x.type), p.batch_count, x.batch_stride);
  return x.op == Op::none ? stored : layout::transposed(stored);
}

// Why an instance's loads cannot walk an operand; nullptr when they can.
enum class Obstacle {
  none,
  type,
  architecture,
  axis_a,
  axis_b,
  alignment_a,
  alignment_b,
  alignment_c,
  extents,
  reach_a,
  reach_b,
  reach_c
};

// An operand whose lines have a single element may be walked along either axis.
bool walks(const StridedOperand& x, layout::Axis axis) {
  return x.stride(axis) == 1 || x.extent(axis) <= 1;
}

// Bytes that divide the address of every vector along an axis. The facts' divisibility speaks of the operand's own
// contiguous axis; where an instance walks the other one (which has one element: see walks), the contiguous axis is
// what it steps from line to line by.
int divisibility_along(const StridedOperand& x, layout::Axis axis) {
  const layout::Axis line = layout::other(axis);
  std::uint64_t steps = x.address;
  const auto add_step = [&](std::int64_t stride) {
    steps |= static_cast<std::uint64_t>(stride) * static_cast<std::uint64_t>(x.element_bytes);
  };
  if (x.extent(line) > 1) add_step(x.stride(line));
  if (x.batch_count > 1) add_step(x.batch_stride);
  return layout::detail::power_of_two_divisor(steps);
}

bool aligned(const StridedOperand& x, layout::Axis axis, int vector) {
  return divisibility_along(x, axis) >= vector * x.element_bytes;
}

// The copy engine's coordinates are signed 32-bit, also those of the last tile's end and of slices in flight beyond k.
constexpr std::int64_t kMaxTmaExtent = (std::int64_t{1} << 31) - 4096;
constexpr std::int64_t kMaxTmaStrideBytes = std::int64_t{1} << 40;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

bool extents_fit_tma(const KernelInfo& kernel, const Problem& p) {
  if (p.m > kMaxTmaExtent || p.n > kMaxTmaExtent || p.k > kMaxTmaExtent || p.batch_count > kMaxTmaExtent) return false;
  const kernels::WgmmaTmaConfig& c = kernel.wgmma_tma;
  const double tiles = double(ceil_div(p.m, c.cta_m * c.cluster_m)) * double(ceil_div(p.n, c.cta_n * c.cluster_n));
  return tiles * double(p.batch_count) < 0x1p31;  // clusters are counted in 32 bits
}

// Steps between the lines and the entries of an operand.
bool strides_fit_tma(const StridedOperand& x, Axis axis) {
  const Axis line = layout::other(axis);
  const auto fits = [&](std::int64_t count, std::int64_t stride) {
    return count <= 1 || stride < kMaxTmaStrideBytes / x.element_bytes;
  };
  return fits(x.extent(line), x.stride(line)) && fits(x.batch_count, x.batch_stride);
}

Obstacle tma_obstacle(const KernelInfo& kernel, const Problem& p, const ProblemFacts& facts) {
  if (!extents_fit_tma(kernel, p)) return Obstacle::extents;
  if (!strides_fit_tma(facts.c, Axis::row)) return Obstacle::reach_c;
  if (!p.reads_inputs()) return Obstacle::none;
  if (!strides_fit_tma(facts.a, kernel.config.a_contiguous)) return Obstacle::reach_a;
  if (!strides_fit_tma(facts.b, kernel.config.b_contiguous)) return Obstacle::reach_b;
  return Obstacle::none;
}

Obstacle obstacle(const KernelInfo& kernel, const Problem& p, const ProblemFacts& facts, const DeviceInfo& device) {
  const TileConfig& c = kernel.config;
  if (c.types() != p.types()) return Obstacle::type;
  if (!c.runs_on(device.compute_capability)) return Obstacle::architecture;
  if (!aligned(facts.c, Axis::row, c.vector_c)) return Obstacle::alignment_c;
  if (p.reads_inputs()) {
    if (!c.any_strides) {
      if (!walks(facts.a, c.a_contiguous)) return Obstacle::axis_a;
      if (!walks(facts.b, c.b_contiguous)) return Obstacle::axis_b;
    }
    if (!aligned(facts.a, c.a_contiguous, c.vector)) return Obstacle::alignment_a;
    if (!aligned(facts.b, c.b_contiguous, c.vector)) return Obstacle::alignment_b;
  }
  return kernel.family == Family::wgmma_tma ? tma_obstacle(kernel, p, facts) : Obstacle::none;
}

std::string alignment_text(const char* name, int vector, const StridedOperand& x, layout::Axis axis) {
  return format(
      "it needs the pointer, leading dimension and batch stride of %s to be multiples of %d bytes, and they are of %d",
      name, vector * x.element_bytes, divisibility_along(x, axis));
}

std::string reach_text(const char* name) {
  return format("it needs the leading dimension and batch stride of %s to be below 2^40 bytes", name);
}

std::int64_t clamp_to_int64(double x) {
  return x < 9e18 ? static_cast<std::int64_t>(x) : std::numeric_limits<std::int64_t>::max();
}

// The rows of all instances in a table. Names are compared once in a process, not once in a call.
struct Rows {
  explicit Rows(const tuning::Table& t) : table(&t) {
    for (int i = 0; i < kernels::count(); ++i) of_kernel[i] = tuning::find_row(t, kernels::info(i).name);
  }
  const tuning::Table* table;
  const tuning::KernelRow* of_kernel[kernels::count()];
};

const tuning::KernelRow* row_for(const KernelInfo& kernel, const DeviceInfo& device) {
  static const Rows rows[] = {Rows(tuning::kSm90), Rows(tuning::kGeneric)};
  const tuning::Table& table = tuning::table_for(device.compute_capability);
  for (const Rows& r : rows)
    if (r.table == &table) return r.of_kernel[static_cast<int>(kernel.id)];
  return tuning::find_row(table, kernel.name);
}

// Estimates of the instances on one problem.
class Estimator {
 public:
  Estimator(const Problem& p, const ProblemFacts& facts, const DeviceInfo& device)
      : problem_(p), device_(device), tma_problem_(tma_problem(p, facts, device)) {}

  // Of one instance: its time, and how it would split K.
  struct Estimate {
    double us = 0, waves = 0;
    std::int64_t whole_tiles = 0;
    int parts = 1;
  };

  Estimate operator()(const KernelInfo& kernel) const {
    const TileConfig& c = kernel.config;
    // Counted in doubles: the estimate must not overflow where the extents do not.
    const double ctas =
        double(ceil_div(problem_.m, c.cta_m)) * double(ceil_div(problem_.n, c.cta_n)) * double(problem_.batch_count);
    return kernel.family == Family::wgmma_tma ? by_model(kernel, ctas) : by_row(kernel, ctas);
  }

  Plan plan(const KernelInfo& kernel, const Estimate& estimate) const {
    const TileConfig& c = kernel.config;
    const auto covered = [](std::int64_t extent, int tile) {
      return double(extent) / (double(ceil_div(extent, tile)) * tile);
    };
    Plan plan;
    plan.kernel = kernel.id;
    plan.waves = clamp_to_int64(estimate.waves);
    plan.tile_efficiency = covered(problem_.m, c.cta_m) * covered(problem_.n, c.cta_n);
    plan.estimated_us = estimate.us;
    return with_split(plan, problem_, device_, estimate.whole_tiles, estimate.parts);
  }

 private:
  static kernels::WgmmaTmaProblem tma_problem(const Problem& p, const ProblemFacts& facts, const DeviceInfo& device) {
    constexpr int kL2LineBytes = 128;
    const auto lines = [&](const StridedOperand& x, Op op, Axis stored_along) {
      const Axis contiguous = op == Op::none ? stored_along : layout::other(stored_along);
      return !p.reads_inputs() || divisibility_along(x, contiguous) >= kL2LineBytes;
    };
    return {.m = p.m,
            .n = p.n,
            .k = p.reads_inputs() ? p.k : 0,
            .batch_count = p.batch_count,
            .reads_c = p.reads_c(),
            .lines_a = lines(facts.a, p.a.op, Axis::row),
            .lines_b = lines(facts.b, p.b.op, Axis::row),
            .sms = device.sm_count};
  }

  // Persistent CTAs: waves are the tiles that an SM computes one after the other.
  Estimate by_model(const KernelInfo& kernel, double ctas) const {
    constexpr double kMaxWorkspaceBytes = 32 << 20;  // what cuBLAS is given on such a GPU
    // Names are compared once in a process, not once in a call.
    static const auto tiles = [] {
      std::array<int, kernels::count()> all{};
      for (int i = 0; i < kernels::count(); ++i)
        all[i] = tuning::WgmmaTmaCorrections::tile_index(kernels::info(i).name);
      return all;
    }();
    if (!corrections_)
      corrections_.emplace(tma_problem_, problem_.a.op == Op::transpose, problem_.b.op == Op::transpose);
    const int tile = tiles[static_cast<int>(kernel.id)];
    const kernels::WgmmaTmaEstimate best = kernels::best_estimate(kernel.wgmma_tma, tma_problem_, kMaxWorkspaceBytes,
                                                                  corrections_->whole(tile), corrections_->split(tile));
    return {best.us, std::ceil(ctas * kernel.wgmma_tma.cluster_k / device_.sm_count),
            clamp_to_int64(best.split.whole_tiles), best.split.parts};
  }

  // A wave of CTAs runs for as long as one of its CTAs, whatever the edges leave of it; the last wave may leave SMs
  // idle.
  Estimate by_row(const KernelInfo& kernel, double ctas) const {
    const TileConfig& c = kernel.config;
    const Problem& p = problem_;
    const DeviceInfo& device = device_;
    const tuning::KernelRow* row = row_for(kernel, device);
    if (row == nullptr) return {std::numeric_limits<double>::infinity()};
    const double slots = double(device.sm_count) * row->ctas_per_sm;
    const double waves = std::ceil(ctas / slots);
    const double cta_flops =
        2.0 * c.cta_m * c.cta_n * double(ceil_div(std::max<std::int64_t>(p.k, 1), c.cta_k) * c.cta_k);
    // Full waves share an SM among ctas_per_sm CTAs; in the last one fewer may share it, and leave some of it idle.
    // Clamped because beyond 2^53 CTAs the difference is rounding.
    const double last_sharing =
        std::clamp(std::ceil((ctas - (waves - 1) * slots) / device.sm_count), 1.0, double(row->ctas_per_sm));
    const double last_rate = std::min(row->gflops_per_sm, last_sharing * row->gflops_per_cta);
    const double full_us = (waves - 1) * row->ctas_per_sm * cta_flops / row->gflops_per_sm * 1e-3;
    // These kernels overlap memory with arithmetic poorly. The same for all of them, so that it matters beside
    // wgmma_tma alone.
    constexpr double kMemoryBytesPerUs = 3.5e6;
    const double depth = p.reads_inputs() ? double(p.k) : 0.0;
    const double bytes =
        double(p.batch_count) * (depth * (double(p.m) * size_of(p.a.type) + double(p.n) * size_of(p.b.type)) +
                                 double(p.m) * double(p.n) * size_of(p.c.type) * (p.reads_c() ? 2 : 1));
    return {bytes / kMemoryBytesPerUs + row->launch_us + full_us + last_sharing * cta_flops / last_rate * 1e-3, waves};
  }

  const Problem& problem_;
  const DeviceInfo& device_;
  kernels::WgmmaTmaProblem tma_problem_;
  mutable std::optional<tuning::WgmmaTmaCorrections> corrections_;  // made when the first instance asks
};

std::string not_usable_text(std::string_view force, const Problem& p, const ProblemFacts& facts,
                            const DeviceInfo& device) {
  std::string reasons;
  for (int i = 0; i < kernels::count(); ++i) {
    const KernelInfo& kernel = kernels::info(i);
    if (kernels::matches(kernel, force) && (kernel.config.types() == p.types() || force == kernel.name))
      reasons += format("; %s: %s", kernel.name, why_not(kernel, p, facts, device).c_str());
  }
  if (reasons.empty()) reasons = format("; this build has no such kernel for %s", to_string(p.types()).c_str());
  return "XGEMM_FORCE_KERNEL=" + std::string(force) + " cannot serve this call" + reasons;
}

}  // namespace

ProblemFacts gather_facts(const Problem& p) {
  ProblemFacts f;
  f.a = as_op(p.a, p.a_rows(), p.a_cols(), p);
  f.b = as_op(p.b, p.b_rows(), p.b_cols(), p);
  f.c = layout::column_major(p.c.data, p.m, p.n, p.c.ld, size_of(p.c.type), p.batch_count, p.c.batch_stride);
  f.a_facts = layout::gather_facts(f.a);
  f.b_facts = layout::gather_facts(f.b);
  f.c_facts = layout::gather_facts(f.c);
  return f;
}

std::string why_not(const KernelInfo& kernel, const Problem& p, const ProblemFacts& facts, const DeviceInfo& device) {
  const TileConfig& c = kernel.config;
  switch (obstacle(kernel, p, facts, device)) {
    case Obstacle::none:
      return {};
    case Obstacle::type:
      return format("it computes %s, and the call is %s", to_string(c.types()).c_str(), to_string(p.types()).c_str());
    case Obstacle::architecture:
      return format("it needs compute capability %d.%d%s, and this GPU has %d.%d", c.min_compute_capability / 10,
                    c.min_compute_capability % 10, c.later_architectures ? "" : " and no other",
                    device.compute_capability / 10, device.compute_capability % 10);
    case Obstacle::axis_a:
      return format("it is for transa = %s", c.a_contiguous == Axis::row ? "N" : "T");
    case Obstacle::axis_b:
      return format("it is for transb = %s", c.b_contiguous == Axis::row ? "N" : "T");
    case Obstacle::alignment_a:
      return alignment_text("A", c.vector, facts.a, c.a_contiguous);
    case Obstacle::alignment_b:
      return alignment_text("B", c.vector, facts.b, c.b_contiguous);
    case Obstacle::alignment_c:
      return alignment_text("C", c.vector_c, facts.c, Axis::row);
    case Obstacle::extents:
      return "it needs m, n, k, the batch and the number of tiles to be below 2^31";
    case Obstacle::reach_a:
      return reach_text("A");
    case Obstacle::reach_b:
      return reach_text("B");
    case Obstacle::reach_c:
      return reach_text("C");
  }
  return "?";
}

Status make_plan(const Problem& p, const ProblemFacts& facts, const DeviceInfo& device, std::string_view force,
                 Plan* chosen) {
  const Estimator estimate(p, facts, device);
  const KernelInfo* best = nullptr;
  Estimator::Estimate least;
  for (int i = 0; i < kernels::count(); ++i) {
    const KernelInfo& kernel = kernels::info(i);
    if (!force.empty() && !kernels::matches(kernel, force)) continue;
    if (obstacle(kernel, p, facts, device) != Obstacle::none) continue;
    const Estimator::Estimate candidate = estimate(kernel);
    // Equal estimates keep the earlier, simpler kernel.
    if (best != nullptr && !(candidate.us < least.us)) continue;
    best = &kernel;
    least = candidate;
  }
  if (best == nullptr && force.empty())
    return fail(XGEMM_INTERNAL_ERROR,
                "no kernel serves this call: " + to_string(p) + " on " + device::to_string(device));
  if (best == nullptr) return fail(XGEMM_KERNEL_NOT_USABLE, not_usable_text(force, p, facts, device));
  *chosen = estimate.plan(*best, least);
  chosen->forced = !force.empty();
  return kOk;
}

Plan with_split(Plan plan, const Problem& p, const DeviceInfo& device, std::int64_t whole_tiles, int parts) {
  const KernelInfo& kernel = kernels::info(plan.kernel);
  if (kernel.family == Family::wgmma_tma) {
    const kernels::WgmmaTmaConfig& c = kernel.wgmma_tma;
    plan.schedule = kernels::wgmma_tma_schedule(c, p.m, p.n, p.batch_count, whole_tiles, parts,
                                                device.clusters_of(c.cluster_size()), device.sm_count);
  } else {
    plan.schedule = kernels::tile_schedule(kernel.config, p.m, p.n, p.batch_count);
  }
  return plan;
}

std::vector<Plan> candidates(const Problem& p, const ProblemFacts& facts, const DeviceInfo& device) {
  const Estimator estimate(p, facts, device);
  std::vector<Plan> plans;
  for (int i = 0; i < kernels::count(); ++i) {
    const KernelInfo& kernel = kernels::info(i);
    if (obstacle(kernel, p, facts, device) == Obstacle::none) plans.push_back(estimate.plan(kernel, estimate(kernel)));
  }
  std::stable_sort(plans.begin(), plans.end(),
                   [](const Plan& x, const Plan& y) { return x.estimated_us < y.estimated_us; });
  return plans;
}

std::string explain_candidates(const Problem& p, const ProblemFacts& facts, const DeviceInfo& device) {
  const Estimator estimate(p, facts, device);
  std::string text;
  for (int i = 0; i < kernels::count(); ++i) {
    const KernelInfo& kernel = kernels::info(i);
    if (kernel.config.types() != p.types()) continue;
    const std::string reason = why_not(kernel, p, facts, device);
    text += reason.empty() ? "  candidate: " + to_string(estimate.plan(kernel, estimate(kernel))) + "\n"
                           : format("  not %s: %s\n", kernel.name, reason.c_str());
  }
  return text;
}

}  // namespace xgemm::plan
