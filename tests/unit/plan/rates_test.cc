// Rates of GPUs: measured, derived, one's own.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "device/rates.h"

#include <gtest/gtest.h>

#include <cmath>

namespace xgemm::test {
namespace {

using device::Nameplate;
using device::Rates;

void expect_plausible(const Rates& r) {
  EXPECT_TRUE(r.sm_ghz > 0.5 && r.sm_ghz < 3) << r.sm_ghz;
  EXPECT_TRUE(r.l2_tbs > r.memory_tbs && r.l2_tbs < 50) << r.l2_tbs;
  EXPECT_TRUE(r.memory_tbs > 0.1 && r.memory_tbs < 20) << r.memory_tbs;
  EXPECT_TRUE(r.tensor_tflops > 5 && r.tensor_tflops < 5000) << r.tensor_tflops;
}

constexpr Nameplate kH100{"NVIDIA H100 80GB HBM3", 90, 132, 1.98, 3.35};
constexpr Nameplate kH200{"NVIDIA H200", 90, 132, 1.98, 4.92};

TEST(Rates, OfMeasuredGpusDifferWhereTheirMemoryDoes) {
  expect_plausible(device::rates_of(kH100));
  expect_plausible(device::rates_of(kH200));
  EXPECT_GT(device::rates_of(kH200).memory_tbs, 1.25 * device::rates_of(kH100).memory_tbs);
}

// What is derived for a GPU without a row is near what was measured for those that have one.
TEST(Rates, DerivedAreNearMeasured) {
  for (Nameplate gpu : {kH100, kH200}) {
    const Rates measured = device::rates_of(gpu);
    gpu.name = "a GPU without a row";
    const Rates derived = device::rates_of(gpu);
    expect_plausible(derived);
    const auto near = [](double x, double y, double ratio) { return x < y * ratio && y < x * ratio; };
    EXPECT_PRED3(near, derived.sm_ghz, measured.sm_ghz, 1.15);
    EXPECT_PRED3(near, derived.l2_tbs, measured.l2_tbs, 1.6);
    EXPECT_PRED3(near, derived.memory_tbs, measured.memory_tbs, 1.1);
    EXPECT_PRED3(near, derived.tensor_tflops, measured.tensor_tflops, 1.4);
  }
}

TEST(Rates, FollowTheNameplate) {
  const Nameplate gpus[] = {
      {"NVIDIA H100 PCIe", 90, 114, 1.755, 2.04}, {"NVIDIA H20", 90, 78, 1.98, 4.0},
      {"NVIDIA GH200 480GB", 90, 132, 1.98, 4.9}, {"NVIDIA A100-SXM4-80GB", 80, 108, 1.41, 2.04},
      {"NVIDIA L40S", 89, 142, 2.52, 0.864},      {"NVIDIA GeForce RTX 4090", 89, 128, 2.52, 1.01},
      {"Tesla T4", 75, 40, 1.59, 0.32},           {"another", 100, 148, 1.9, 8.0}};
  for (const Nameplate& gpu : gpus) {
    SCOPED_TRACE(gpu.name);
    expect_plausible(device::rates_of(gpu));
    Nameplate faster = gpu;
    faster.memory_tbs *= 2;
    EXPECT_DOUBLE_EQ(device::rates_of(faster).memory_tbs, 2 * device::rates_of(gpu).memory_tbs);
  }
  EXPECT_LT(device::rates_of(gpus[1]).tensor_tflops, 0.3 * device::rates_of(kH200).tensor_tflops) << "an H20";
  expect_plausible(device::rates_of({"CUDA says nothing of it", 90, 132, 0, 0}));
}

TEST(Rates, OnesOwnRowsGoFirst) {
  std::string complaints;
  const auto rows = device::parse_gpu_rows(
      "# a comment\n1.5 8 2.5 600 NVIDIA H200\n\n1.4 7 1.7 450.5 NVIDIA H100 PCIe # this one\n", &complaints);
  EXPECT_EQ(complaints, "");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(device::rates_of(kH200, rows), (Rates{1.5, 8, 2.5, 600}));
  EXPECT_EQ(device::rates_of({"NVIDIA H100 PCIe", 90, 114, 1.7, 2}, rows).tensor_tflops, 450.5);
  EXPECT_EQ(device::rates_of(kH100, rows), device::rates_of(kH100));
}

TEST(Rates, WhatIsNoRowIsSaid) {
  for (const char* text : {"1.5 8 2.5 NVIDIA H200", "1.5 8 2.5 600", "1.5 8 2.5 600   ", "0 8 2.5 600 x",
                           "1 -8 2.5 600 x", "nan 8 2.5 600 x", "1 inf 2.5 600 x", "x 1 2 3 4"}) {
    std::string complaints;
    EXPECT_TRUE(device::parse_gpu_rows(text, &complaints).empty()) << text;
    EXPECT_NE(complaints.find("line 1"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace xgemm::test
