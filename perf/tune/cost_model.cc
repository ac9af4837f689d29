// The planner's models as a library for fit.py, fit_fp32.py and fit_families.py, so that they exist once.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>

#include "kernels/ffma_tma/cost_correction.h"
#include "kernels/ffma_tma/instances.h"
#include "kernels/wgmma_tma/cost_correction.h"
#include "kernels/wgmma_tma/instances.h"
#include "plan/family_correction.h"
#include "plan/planner.h"
#include "tune/tuned_name.h"

using namespace xgemm::kernels;

namespace {

constexpr int kFeatures = kProblemFeatures + kTileFeatures + kPlanFeatures;
constexpr int kConstants = sizeof(CostConstants) / sizeof(double);

}  // namespace

extern "C" {

int xgemm_cost_features(int* of_problem, int* of_tile, int* of_plan) {
  *of_problem = kProblemFeatures;
  *of_tile = kTileFeatures;
  *of_plan = kPlanFeatures;
  return kConstants;
}

// The names of the tiles that there are fp16 instances of, and with C in fp32, with spaces between.
const char* xgemm_cost_tiles() {
  static const std::string names = [] {
    std::string all;
    for (const xgemm::DType type_c : {xgemm::DType::f16, xgemm::DType::f32})
      for (const WgmmaTmaConfig& config : kConfigs<Family::wgmma_tma>) {
        if (config.type != xgemm::DType::f16 || config.type_c != type_c) continue;
        const std::string name = fitted_name(config) + " ";
        if ((" " + all).find(" " + name) == std::string::npos) all += name;
      }
    return all;
  }();
  return names.c_str();
}

// The shapes of clusters that instances form: m, n and k of each, zeros after the last.
const int* xgemm_cluster_shapes() {
  static const auto all = [] {
    std::array<int, 3 * std::size(kClusterShapes) + 3> numbers{};
    auto* out = numbers.data();
    for (const ClusterShape& shape : kClusterShapes) *out++ = shape.m, *out++ = shape.n, *out++ = shape.k;
    return numbers;
  }();
  return all.data();
}

// rows: 21 numbers each, in the order of the reader below. device: sms, clusters of 1, 2, 4 and 8, bytes of L2; rates:
// 4 numbers. features may be null.
void xgemm_cost(const double* constants, const double* device_numbers, const double* rates, std::ptrdiff_t count,
                const double* rows, double* us, float* features) {
  CostConstants x;
  std::copy_n(constants, kConstants, reinterpret_cast<double*>(&x));
  CostDevice device;
  device.rates = {rates[0], rates[1], rates[2], rates[3]};
  device.sms = static_cast<int>(device_numbers[0]);
  for (int i = 0; i < 4; ++i) device.clusters[i] = static_cast<int>(device_numbers[1 + i]);
  device.l2_bytes = device_numbers[5];
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const double* r = rows + 21 * i;
    const auto number = [&] { return static_cast<int>(*r++); };
    WgmmaTmaConfig c;
    c.cta_m = number();
    c.cta_n = number();
    c.stages = number();
    c.transposed = number() != 0;
    c.groups_rows = number();
    c.ping_pong = number() != 0;
    ClusterShape cluster;
    cluster.m = number();
    cluster.n = number();
    cluster.k = number();
    CostProblem p;
    p.m = number();
    p.n = number();
    p.k = number();
    p.batch_count = number();
    p.a_transposed = number() != 0;
    p.b_transposed = number() != 0;
    p.reads_c = number() != 0;
    p.align_a = number();
    p.align_b = number();
    p.bytes_c = number();
    CostSplit split;
    split.whole_tiles = *r++;
    split.parts = number();
    const CostTerms terms = TileCost(c, cluster, p, device, x)(split);
    us[i] = terms.us;
    if (features == nullptr) continue;
    float* out = features + kFeatures * i;
    out = std::ranges::copy(problem_features(p, device), out).out;
    out = std::ranges::copy(tile_features(c), out).out;
    std::ranges::copy(plan_features(c, cluster, p, device, split, terms), out);
  }
}

// The names of ffma_tma's instances, with spaces between.
const char* xgemm_ffma_instances() {
  static const std::string names = [] {
    std::string all;
    for (const KernelInfo& kernel : kInfos<Family::ffma_tma>) all += std::string(kernel.name) + " ";
    return all;
  }();
  return names.c_str();
}

// The constants in the source, of which there are as many as are returned.
int xgemm_ffma_constants(double* constants) {
  const FfmaTmaCostConstants x;
  constexpr int kCount = sizeof x / sizeof(double);
  std::copy_n(reinterpret_cast<const double*>(&x), kCount, constants);
  return kCount;
}

int xgemm_ffma_features() {
  return kFfmaTmaFeatures;
}

// rows: 12 numbers each: the instance, m, n, k, batch_count, how A and B come (0: by TMA, 1: by words, 2: by TMA and
// turned), reads_c, whole_tiles, parts, misaligned_c, in_cluster. features, of as many as xgemm_ffma_features() a row,
// may be null.
void xgemm_ffma_cost(const double* constants, double sms, const double* rates, std::ptrdiff_t count, const double* rows,
                     double* us, float* features) {
  FfmaTmaCostConstants x;
  std::copy_n(constants, sizeof x / sizeof(double), reinterpret_cast<double*>(&x));
  const CostDevice device = {{rates[0], rates[1], rates[2], rates[3]}, static_cast<int>(sms)};
  const auto load = [](double number) {
    return number == 0 ? PanelLoad::bulk : number == 1 ? PanelLoad::words_k : PanelLoad::turned;
  };
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const double* r = rows + 12 * i;
    const FfmaTmaCostProblem p = {.m = r[1],
                                  .n = r[2],
                                  .k = r[3],
                                  .batch_count = r[4],
                                  .load_a = load(r[5]),
                                  .load_b = load(r[6]),
                                  .reads_c = r[7] != 0,
                                  .misaligned_c = r[10] != 0};
    const FfmaTmaConfig& c = kConfigs<Family::ffma_tma>[static_cast<std::size_t>(r[0])];
    const FfmaTmaEstimate estimate = FfmaTmaCost(c, p, device, x)({r[8], static_cast<int>(r[9]), r[11] != 0});
    us[i] = estimate.us;
    if (features != nullptr) features = std::ranges::copy(ffma_tma_features(c, p, estimate), features).out;
  }
}

// What families are corrected by: how many numbers describe a way, and an estimate.
void xgemm_correction_features(int* of_way, int* of_estimate) {
  *of_way = xgemm::plan::kWayFeatures;
  *of_estimate = xgemm::plan::kEstimateFeatures;
}

// All plans that the planner weighs for a product, not corrected, and the way that each stands in: lines "name as
// xgemm-tune has it, name that is corrected alike, 1 where that is a whole family, parts, CTAs of a cluster that share
// K", with tabs between, in `names`; their estimates, with copies; their features. Returns how many there are, at most
// `most`. device: SMs, clusters of 1, 2, 4 and 8, bytes of L2. product: bytes of an element (2 or 4), m, n, k, batch,
// op(A) and op(B) transposed, leading dimensions of A, B and C, beta, elements by which addresses miss 256 bytes,
// whether matrices are found by pointers.
int xgemm_weighed_plans(const char* gpu, const double* device_numbers, const double* product, int most, char* names,
                        double* us, float* features) {
  using namespace xgemm;
  device::DeviceInfo device;
  std::snprintf(device.name, sizeof device.name, "%s", gpu);
  device.compute_capability = 90;
  device.sm_count = static_cast<int>(device_numbers[0]);
  device.max_shared_bytes_per_block = 227 * 1024;
  for (int i = 0; i < 4; ++i) device.resident_clusters[i] = static_cast<int>(device_numbers[1 + i]);
  device.l2_bytes = static_cast<std::size_t>(device_numbers[5]);
  device.memory_bytes = std::size_t{80} << 30;
  device.rates = device::rates_of({.name = gpu, .compute_capability = 90, .sm_count = device.sm_count});

  const auto number = [&product] { return static_cast<std::int64_t>(*product++); };
  const DType type = number() == 2 ? DType::f16 : DType::f32;
  Problem p;
  p.m = number(), p.n = number(), p.k = number(), p.batch_count = number();
  const Op op_a = number() != 0 ? Op::transpose : Op::none, op_b = number() != 0 ? Op::transpose : Op::none;
  const std::int64_t lda = number(), ldb = number(), ldc = number();
  p.alpha.value = 1;
  p.beta.value = *product++;
  auto* address = reinterpret_cast<unsigned char*>(std::uintptr_t{1} << 40) + number() * size_of(type);
  const std::int64_t columns_a = op_a == Op::none ? p.k : p.m, columns_b = op_b == Op::none ? p.n : p.k;
  const bool by_pointers = number() != 0;
  const bool batched = p.batch_count > 1 && !by_pointers;
  if (by_pointers) p.batch_kind = BatchKind::pointers;
  p.a = {type, address, op_a, lda, batched ? lda * columns_a : 0};
  p.b = {type, address + (std::int64_t{1} << 37), op_b, ldb, batched ? ldb * columns_b : 0};
  p.c = {type, address + (std::int64_t{1} << 38), ldc, batched ? ldc * p.n : 0};

  const plan::ProblemFacts facts = by_pointers ? layout::facts_on_vectors(p) : plan::gather_facts(p);
  int count = 0;
  std::string lines;
  for (const plan::Plan& each : plan::candidates(p, facts, device, nullptr, false)) {
    if (count == most || (each.packing.any() && plan::blocks_of(each.packing, p) > 1)) continue;
    const Problem seen = each.packing.any() ? plan::packed_problem(each.packing, p) : p;
    const plan::ProblemFacts seen_facts = each.packing.any() ? plan::packed_facts(each.packing, seen, p) : facts;
    const Request request(seen, seen_facts, device);
    const double packing_us = each.packing.any() ? plan::packing_us(each.packing, p, device) : 0;
    const KernelInfo& kernel = info(each.kernel);
    const Sharing sharing = {each.schedule.whole_tiles, static_cast<int>(each.schedule.parts), each.schedule.cluster};
    Estimate estimate = {each.estimated_us - packing_us, 0, sharing};
    if (const KernelInfo* const one = &kernel; !plan::corrected_as_a_whole(kernel))
      describe(kernel.family).estimate(request, &one, 1, &estimate);
    lines += perf::tuned_name(each) + "\t" + plan::corrected_name(kernel) + "\t" +
             (plan::corrected_as_a_whole(kernel) ? "1" : "0") + "\t" + std::to_string(sharing.parts) + "\t" +
             std::to_string(sharing.cluster.k) + "\n";
    us[count++] = each.estimated_us;
    features = std::ranges::copy(plan::way_features(request, each.packing, packing_us), features).out;
    features = std::ranges::copy(plan::estimate_features(kernel, request, estimate), features).out;
  }
  std::memcpy(names, lines.c_str(), lines.size() + 1);
  return count;
}
}
