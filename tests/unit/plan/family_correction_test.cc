// What corrects the estimates of families beside one another: bounds, and who is corrected.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/family_correction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "plan/planner.h"
#include "tuning/network.h"
#include "unit/plan/plans.h"
#include "unit/plan/problems.h"

namespace xgemm::test {
namespace {

using plan::FamilyCorrection;
using plan::Plan;

std::string packed(const Plan& plan) {
  return plan::to_string(plan.packing);
}

std::vector<Plan> all_plans(const Problem& p, const device::DeviceInfo& device, bool corrected) {
  return plan::candidates(p, plan::gather_facts(p), device, nullptr, corrected);
}

// Plans by instance and way.
std::map<std::pair<std::string, std::string>, double> times(const std::vector<Plan>& plans) {
  std::map<std::pair<std::string, std::string>, double> all;
  for (const Plan& each : plans) all[{kernels::info(each.kernel).name, packed(each)}] = each.estimated_us;
  return all;
}

TEST(FamilyCorrection, IsBoundedAndFades) {
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    const Problem p = some_problem(random);
    SCOPED_TRACE(to_string(p));
    const auto alone = times(all_plans(p, h200(), false));
    for (const auto& [plan, us] : times(all_plans(p, h200(), true))) {
      const double factor = us / alone.at(plan);
      EXPECT_TRUE(factor >= FamilyCorrection::kLeast * 0.999 && factor <= FamilyCorrection::kMost * 1.001)
          << plan.first << " " << factor;
    }
    if (HasFailure()) return;
  }
}

// Products of hundreds of microseconds are estimated by the families alone, as are doubles and GPUs that no measurement
// is from.
TEST(FamilyCorrection, LeavesAloneWhatItHasNotSeen) {
  const Problem large = make_problem(DType::f32, 'N', 'N', 8192, 8192, 8192);
  EXPECT_EQ(times(all_plans(large, h200(), true)), times(all_plans(large, h200(), false)));
  const Problem doubles = make_problem(DType::f64, 'N', 'N', 64, 65, 66);
  EXPECT_EQ(times(all_plans(doubles, h200(), true)), times(all_plans(doubles, h200(), false)));
  Problem small = make_problem(DType::f32, 'N', 'N', 64, 65, 66);
  const device::DeviceInfo& ampere = fake_devices()[2];
  EXPECT_EQ(times(all_plans(small, ampere, true)), times(all_plans(small, ampere, false)));
  small.compute = Compute::tf32;
  const auto alone = times(all_plans(small, h200(), false));
  for (const Plan& each : all_plans(small, h200(), true)) {
    const kernels::KernelInfo& kernel = kernels::info(each.kernel);
    if (kernel.config.compute != Compute::strict) {
      EXPECT_EQ(each.estimated_us, alone.at({kernel.name, packed(each)})) << kernel.name;
    }
  }
}

// A family whose model is fitted keeps its order among the plans of a way.
TEST(FamilyCorrection, KeepsTheOrderOfFittedFamilies) {
  Random random(2);
  for (int i = 0; i < 100; ++i) {
    Problem p = some_problem(random);
    p.compute = Compute::strict;
    SCOPED_TRACE(to_string(p));
    const auto corrected = times(all_plans(p, h200(), true));
    std::map<std::pair<std::string, std::string>, double> last;  // of a family and a way
    for (const Plan& each : all_plans(p, h200(), false)) {       // the least estimate first
      const kernels::KernelInfo& kernel = kernels::info(each.kernel);
      if (!plan::corrected_as_a_whole(kernel)) continue;
      double& before = last[{name_of(kernel.family), packed(each)}];
      const double us = corrected.at({kernel.name, packed(each)});
      EXPECT_GE(us, before * (1 - 1e-12)) << kernel.name << packed(each);
      if (!each.packing.any()) {
        EXPECT_EQ(us, each.estimated_us) << kernel.name;
      }
      before = us;
    }
    if (HasFailure()) return;
  }
}

// Measurements of instances that are no more would be forgotten silently.
TEST(FamilyCorrection, KnowsTheInstancesThatThereAre) {
  std::size_t known = 0;
  const Problem p = make_problem(DType::f16, 'N', 'N', 33, 35, 37);
  const plan::ProblemFacts facts = plan::gather_facts(p);
  const kernels::Request request(p, facts, h200());
  const FamilyCorrection correction(request, {}, 0);
  for (int i = 0; i < kernels::count(); ++i) {
    const kernels::KernelInfo& kernel = kernels::info(i);
    kernels::Estimate estimate;
    estimate.us = 3;
    if (kernel.config.type == DType::f16) known += correction(kernel, estimate) != 1;
  }
  EXPECT_GT(known, 20u);
}

// The same bits on processors with and without wide vectors.
TEST(Network, SumsInOrder) {
  constexpr std::size_t kCount = 13, kHidden = 24;
  std::mt19937 engine(3);
  std::normal_distribution<float> normal;
  std::array<float, kCount> features;
  float weights[kCount][kHidden], last[kHidden];
  std::array<float, kHidden> sums, expected;
  for (float& x : features) x = normal(engine);
  for (auto& row : weights)
    for (float& x : row) x = normal(engine);
  for (float& x : last) x = normal(engine);
  for (float& x : sums) x = normal(engine);
  expected = sums;
  for (std::size_t i = 0; i < kCount; ++i)
    for (std::size_t j = 0; j < kHidden; ++j) {
      const float product = features[i] * weights[i][j];
      expected[j] += product;
    }
  tuning::add_weighted(features, weights, &sums);
  EXPECT_EQ(sums, expected);
  float parts[8] = {}, sum = 0;
  for (std::size_t j = 0; j < kHidden; ++j) {
    const float product = std::max(expected[j], 0.0f) * last[j];
    parts[j % 8] += product;
  }
  for (const float x : parts) sum += x;
  EXPECT_EQ(tuning::weighted_positive(sums, last), sum);
}

TEST(Network, LogarithmsAreThoseOfEachNumber) {
  std::mt19937 engine(4);
  std::uniform_real_distribution<float> exponent(-60, 60);
  for (int round = 0; round < 1000; ++round) {
    std::array<float, 16> x, expected;
    for (float& each : x) each = std::exp(exponent(engine));
    std::ranges::transform(x, expected.begin(), [](float each) { return tuning::ln(each); });
    tuning::ln(&x);
    EXPECT_EQ(x, expected);
  }
}

// Of any number, of which eight at a time are added side by side.
TEST(Network, WeighsAllFeatures) {
  constexpr std::size_t kCount = 46;
  std::mt19937 engine(5);
  std::normal_distribution<float> normal;
  std::array<float, kCount> features;
  float weights[kCount];
  double sum = 0, size = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    features[i] = normal(engine), weights[i] = normal(engine);
    sum += double(features[i]) * weights[i], size += std::abs(double(features[i]) * weights[i]);
  }
  EXPECT_LE(std::abs(tuning::weighted(features, weights) - sum), 1e-6 * size);
}

}  // namespace
}  // namespace xgemm::test
