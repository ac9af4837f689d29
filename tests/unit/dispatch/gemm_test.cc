// The way of a call with everything around it faked: which route is taken, what happens when a GPU fails on it, and
// what the verbose lines and the explanation say.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "dispatch/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/environment.h"
#include "device/fallback_counter.h"
#include "device/health.h"
#include "dispatch/host_trip.h"
#include "dispatch/summary.h"
#include "host/cpu_engine.h"
#include "host/finish.h"
#include "kernels/instances.h"
#include "plan/plan.h"
#include "runtime/device_gemm.h"
#include "runtime/pointer_location.h"
#include "transfer/peer_gemm.h"
#include "transfer/staging.h"

namespace xgemm {
namespace {

// What the fakes do, and what they were asked to.
struct World {
  Environment environment;
  std::string forced_kernel;
  runtime::Placement placement;
  bool has_device = true, has_kernels = true, is_capturing = false;
  int engine_threads = 1000;  // as many as there are cores
  int asked_the_engine = 0;
  std::int64_t falls_back = 0, fallbacks = 0;
  double kernel_us = 1000;
  std::set<int> broken;
  Status staging, planning, launching;
  transfer::Unfinished unfinished;
  std::vector<std::string> did, lines;
  std::function<void(const Problem&)> when_staged;
};
World world;

const device::DeviceInfo kDevice = [] {
  device::DeviceInfo d;
  d.compute_capability = 90;
  d.sm_count = 132;
  d.memory_bytes = std::size_t{80} << 30;
  return d;
}();

void did(const char* what, const Problem& p) {
  world.did.push_back(format("%s %lldx%lldx%lld", what, static_cast<long long>(p.m), static_cast<long long>(p.n),
                             static_cast<long long>(p.k)));
}

Status with_message(Status status) {
  return status.ok() ? kOk : fail(status.code, "told to fail");
}

}  // namespace

const Environment& environment() {
  return world.environment;
}
void print_line(const std::string& text, int) noexcept {
  world.lines.push_back(text);
}

namespace kernels {
bool serves(const ProductTypes&, const device::DeviceInfo&) {
  return world.has_kernels;
}
}  // namespace kernels

namespace plan {
const std::string& forced_kernel() {
  return world.forced_kernel;
}
const char* name_of(const Plan&) {
  return "a_kernel";
}
}  // namespace plan

namespace host {
Status cpu_gemm(const Problem& p) {
  did("cpu", p);
  return kOk;
}
void finish(const Problem& p, const void*) noexcept {
  did("finish", p);
}
std::string cpu_engine_name() {
  return "a_blas";
}
int cpu_engine_threads(int cores) {
  ++world.asked_the_engine;
  return std::min(world.engine_threads, cores);
}
std::string cpu_engine_description() {
  return "a_blas, of the test";
}
}  // namespace host

namespace device {
std::string to_string(const DeviceInfo&) {
  return "a GPU";
}
const std::string& no_device_reason() {
  static const std::string reason = "no GPU: of the test";
  return reason;
}
std::int64_t fallbacks() {
  return world.fallbacks;
}
bool is_healthy(int ordinal) {
  return !world.broken.contains(ordinal);
}
bool synchronize(const DeviceInfo&, void*) {
  world.did.push_back("synchronize");
  return !world.is_capturing;
}
}  // namespace device

namespace runtime {
Placement locate(const Problem&) {
  return world.placement;
}
const device::DeviceInfo* device_for(const Placement&) {
  return world.has_device ? &kDevice : nullptr;
}
std::string to_string(const Placement&) {
  return "xyz";
}
Status make_plan(const Problem&, const device::DeviceInfo&, plan::Plan* plan) {
  plan->estimated_us = world.kernel_us;
  return with_message(world.planning);
}
Status device_gemm(const Problem& p, const device::DeviceInfo&, const LaunchSettings&) {
  did("device", p);
  world.fallbacks += world.falls_back;
  return with_message(world.launching);
}
Status explain_plan(const Problem&, const device::DeviceInfo&, std::string* text) {
  *text += "plan: of the test\n";
  return with_message(world.planning);
}
}  // namespace runtime

namespace transfer {
class Stager {};
void StagerDeleter::operator()(Stager* stager) const noexcept {
  delete stager;
}
Status staged_gemm(StagerHandle&, const Problem& p, const runtime::Placement&, const device::DeviceInfo&, void*,
                   Unfinished* unfinished) {
  did("staged", p);
  if (world.when_staged) world.when_staged(p);
  *unfinished = world.unfinished;
  return with_message(world.staging);
}
Status explain_staging(const Problem&, const runtime::Placement&, const device::DeviceInfo&, std::string* text) {
  *text += "staging: of the test\n";
  return with_message(world.planning);
}
Status peer_gemm(const Problem& p, const runtime::Placement&, const device::DeviceInfo&,
                 const runtime::LaunchSettings&) {
  did("peers", p);
  return kOk;
}
}  // namespace transfer

namespace dispatch {
namespace {

using Strings = std::vector<std::string>;
using runtime::Location;

Problem square(std::int64_t n) {
  static float memory = 0;
  Problem p;
  p.m = p.n = p.k = n;
  p.alpha.value = 1;
  p.a.data = p.b.data = p.c.data = &memory;
  p.a.ld = p.b.ld = p.c.ld = n;
  return p;
}

runtime::Placement all_at(Location location) {
  const runtime::PointerLocation at = {location, location == Location::device ? 0 : -1};
  return {at, at, at, {}, {}};
}

class Gemm : public testing::Test {
 protected:
  void SetUp() override {
    world = World();
    world.placement = all_at(Location::host);
    clear_last_error();
  }
  Status call(const Problem& p) { return gemm({.stager = &stager_}, p); }
  transfer::StagerHandle stager_;
};

TEST_F(Gemm, TakesTheRoutes) {
  EXPECT_TRUE(call(square(8)).ok());
  EXPECT_TRUE(call(square(8192)).ok());
  world.placement = all_at(Location::device);
  EXPECT_TRUE(call(square(8)).ok());
  world.placement.b.device = 1;
  EXPECT_TRUE(call(square(8)).ok());
  EXPECT_TRUE(call(square(0)).ok());
  EXPECT_EQ(world.did, (Strings{"cpu 8x8x8", "staged 8192x8192x8192", "device 8x8x8", "peers 8x8x8"}));
  EXPECT_TRUE(world.lines.empty());
}

// Staged products have none; the CPU and the GPU find theirs in the problem.
TEST_F(Gemm, EpiloguesOfStagedProductsAreFinishedOnTheCpu) {
  Problem p = square(8192);
  p.epilogue.activation = Activation::relu;
  EXPECT_TRUE(call(p).ok());
  world.placement = all_at(Location::device);
  EXPECT_TRUE(call(p).ok());
  p = square(8);
  p.epilogue.activation = Activation::relu;
  world.placement = all_at(Location::host);
  EXPECT_TRUE(call(p).ok());
  EXPECT_EQ(world.did,
            (Strings{"staged 8192x8192x8192", "finish 8192x8192x8192", "device 8192x8192x8192", "cpu 8x8x8"}));
}

// Sums of other types than C's lie in a buffer of 256 MiB at most.
TEST_F(Gemm, EpiloguesOfLargeStagedProductsAreFinishedInPanels) {
  Problem p = square(16384);
  p.a.type = p.b.type = p.c.type = DType::f16;
  p.epilogue.activation = Activation::relu;
  std::vector<std::int64_t> columns;
  world.when_staged = [&](const Problem& panel) {
    columns.push_back((static_cast<const char*>(panel.b.data) - static_cast<const char*>(p.b.data)) / 2 / p.b.ld);
    EXPECT_TRUE(panel.c.type == DType::f32 && panel.beta.is(0));
  };
  EXPECT_TRUE(call(p).ok());
  Strings expected;
  for (int i = 0; i < 4; ++i) expected.insert(expected.end(), {"staged 16384x4096x16384", "finish 16384x4096x16384"});
  EXPECT_EQ(world.did, expected);
  EXPECT_EQ(columns, (std::vector<std::int64_t>{0, 4096, 8192, 12288}));
}

// What goes over the link does so as a plain copy; a GPU's own matrix stays where it is.
TEST_F(Gemm, StagedMatricesOnTheHostArePlain) {
  float a[18], c[18];
  for (int i = 0; i < 18; ++i) a[i] = static_cast<float>(i), c[i] = -1;
  Problem p = square(3);
  p.a.data = a, p.a.step = 2, p.a.ld = 6;
  p.b.step = -1;
  p.c.data = c, p.c.step = 6, p.c.ld = 2;
  world.placement.b = {Location::device, 0};
  world.when_staged = [&](const Problem& plain) {
    EXPECT_TRUE(plain.has_plain_a() && plain.has_plain_c());
    EXPECT_EQ(plain.b, p.b);
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(static_cast<const float*>(plain.a.data)[plain.a.offset(i, j)], static_cast<float>(2 * i + 6 * j));
        static_cast<float*>(plain.c.data)[plain.c.offset(i, j)] = static_cast<float>(10 * i + j);
      }
  };
  EXPECT_TRUE(call(p).ok());
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      EXPECT_EQ(c[6 * i + 2 * j], static_cast<float>(10 * i + j));
      EXPECT_EQ(c[6 * i + 2 * j + 1], -1);
      c[6 * i + 2 * j] = -2;
    }
  world.staging = {XGEMM_UNSUPPORTED};
  EXPECT_EQ(call(p).code, XGEMM_UNSUPPORTED);
  EXPECT_EQ(c[6], -2) << "C is as it was";
}

// The CPU works on managed memory when a GPU that has no kernels is through with it.
TEST_F(Gemm, ManagedMemoryOfAnUnservedGpu) {
  world.has_kernels = false;
  world.placement = all_at(Location::managed);
  EXPECT_TRUE(call(square(8)).ok());
  EXPECT_EQ(world.did, (Strings{"synchronize", "cpu 8x8x8"}));
  world.did.clear();
  world.is_capturing = true;
  EXPECT_EQ(call(square(8)).code, XGEMM_UNSUPPORTED);
  EXPECT_EQ(world.did, (Strings{"synchronize"}));
}

// Lack of memory and CUDA errors send what is left of C to the CPU, when all of it is the host's.
TEST_F(Gemm, TheCpuTakesWhatAGpuLeaves) {
  world.unfinished.pieces = {{0, 1, 0, 8192, 1024, 1024}, {0, 1, 0, 8192, 2048, 6144}};
  for (const int code : {XGEMM_CUDA_ERROR, XGEMM_OUT_OF_DEVICE_MEMORY, XGEMM_OUT_OF_HOST_MEMORY}) {
    world.staging = {code};
    world.did.clear();
    EXPECT_TRUE(call(square(8192)).ok());
    EXPECT_EQ(world.did, (Strings{"staged 8192x8192x8192", "cpu 8192x1024x8192", "cpu 8192x6144x8192"}));
    EXPECT_STREQ(last_error(), "");
  }
  for (const int code : {XGEMM_UNSUPPORTED, XGEMM_KERNEL_NOT_USABLE}) {
    world.staging = {code};
    EXPECT_EQ(call(square(8192)).code, code);
    EXPECT_STREQ(last_error(), "told to fail");
  }
  world.staging = {XGEMM_CUDA_ERROR};
  world.unfinished = {{}, true};
  EXPECT_EQ(call(square(8192)).code, XGEMM_CUDA_ERROR);
  EXPECT_NE(std::string(last_error()).find("written in part"), std::string::npos) << last_error();
  for (const Location elsewhere : {Location::device, Location::managed}) {
    world.placement.a = {elsewhere, 0};
    world.did.clear();
    EXPECT_EQ(call(square(8192)).code, XGEMM_CUDA_ERROR);
    EXPECT_EQ(world.did, Strings{"staged 8192x8192x8192"});
  }
}

// The summary: by place and shape, the longest first; in one piece, and once. The CPU is asked for its time with a few
// products of a shape that the GPU computes from host memory, and gets a copy of C.
TEST_F(Gemm, TheSummaryCountsProductsByPlaceAndShape) {
  world.environment.summary = world.environment.compare = true;
  std::vector<float> c(2048 * 2100, 3.0f);
  Problem staged = square(2048);
  staged.c.data = c.data();
  staged.c.ld = 2100;
  staged.beta.value = 1;
  world.kernel_us = 1;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(call(staged).ok());
  EXPECT_TRUE(call(square(8)).ok());
  EXPECT_TRUE(call(square(0)).ok());
  world.placement = all_at(Location::device);
  world.launching = {XGEMM_CUDA_ERROR};
  EXPECT_FALSE(call(square(8)).ok());
  EXPECT_EQ(std::count(world.did.begin(), world.did.end(), "staged 2048x2048x2048"), 5);
  EXPECT_EQ(std::count(world.did.begin(), world.did.end(), "cpu 2048x2048x2048"), 3);
  EXPECT_TRUE(world.lines.empty());
  print_summary();
  ASSERT_EQ(world.lines.size(), 1u);
  const std::string& text = world.lines[0];
  EXPECT_NE(text.find(": 7 products, "), std::string::npos) << text;
  EXPECT_NE(text.find("  staged: f32 NN 2048x2048x2048"), std::string::npos) << text;
  EXPECT_NE(text.find(": f32 NN 8x8x8"), std::string::npos) << text;
  EXPECT_NE(text.find("device a_kernel, failed with status 4: f32 NN 8x8x8"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << text;
  EXPECT_EQ(text.find("other shapes"), std::string::npos);
  print_summary();
  EXPECT_EQ(world.lines.size(), 1u);
}

// However many shapes there are, the text fits into what a pipe takes at once.
TEST_F(Gemm, TheSummaryOfManyShapesIsShort) {
  world.environment.summary = true;
  for (int i = 1; i <= 12000; ++i) {
    Problem p = square(1);
    p.m = std::int64_t{1000000000000000000} + i;
    p.a.ld = p.c.ld = p.m;
    p.batch_count = p.m;
    world.placement = all_at(Location::device);
    EXPECT_TRUE(call(p).ok());
  }
  print_summary();
  ASSERT_EQ(world.lines.size(), 1u);
  EXPECT_NE(world.lines[0].find(": 12000 products, "), std::string::npos);
  EXPECT_NE(world.lines[0].find("other shapes"), std::string::npos);
  EXPECT_LT(world.lines[0].size(), 4000u);
}

TEST_F(Gemm, AForcedKernelThatDoesNotComputeIsSaidOnce) {
  world.forced_kernel = "some_kernel";
  EXPECT_TRUE(call(square(8192)).ok());
  EXPECT_TRUE(world.lines.empty());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(call(square(8)).ok());
  ASSERT_EQ(world.lines.size(), 1u);
  EXPECT_NE(world.lines[0].find("some_kernel"), std::string::npos) << world.lines[0];
}

// A CPU BLAS of one thread has one core for a product. It is asked for its BLAS only where it may be used.
TEST_F(Gemm, AnEngineOfOneThreadLosesEarlier) {
  EXPECT_TRUE(call(square(8192)).ok());
  EXPECT_EQ(world.asked_the_engine, 0);
  // A GPU that takes three quarters of the time of a core, in four pieces.
  world.kernel_us = cpu_time_us(square(4096), 1) * 0.75 / 4;
  const bool many_cores = std::thread::hardware_concurrency() > 1;
  EXPECT_TRUE(call(square(4096)).ok());
  EXPECT_EQ(world.did.back(), many_cores ? "cpu 4096x4096x4096" : "staged 4096x4096x4096");
  EXPECT_EQ(world.asked_the_engine, many_cores);
  world.engine_threads = 1;
  EXPECT_TRUE(call(square(4096)).ok());
  EXPECT_EQ(world.did.back(), "staged 4096x4096x4096");
}

TEST_F(Gemm, ABrokenGpuIsNotTriedAgainForHostProducts) {
  world.broken = {0};
  EXPECT_TRUE(call(square(8192)).ok());
  EXPECT_EQ(world.did, Strings{"cpu 8192x8192x8192"});
  std::string text;
  EXPECT_TRUE(explain({}, square(8192), &text).ok());
  EXPECT_NE(text.find("route=cpu"), std::string::npos) << text;
  EXPECT_NE(text.find("GPU 0 has failed in this process"), std::string::npos) << text;
  // Where there is no other way it is for CUDA to say.
  world.placement = all_at(Location::device);
  world.launching = {XGEMM_CUDA_ERROR};
  EXPECT_EQ(call(square(8)).code, XGEMM_CUDA_ERROR);
}

TEST_F(Gemm, VerboseLinesSayWhoDidIt) {
  world.environment.verbose = 1;
  EXPECT_TRUE(call(square(8192)).ok());
  ASSERT_EQ(world.lines.size(), 1u);
  EXPECT_NE(world.lines[0].find("location=xyz route=staged kernel=staged"), std::string::npos) << world.lines[0];

  world.lines.clear();
  world.staging = {XGEMM_OUT_OF_DEVICE_MEMORY};
  EXPECT_TRUE(call(square(8192)).ok());
  EXPECT_STREQ(last_error(), "");
  ASSERT_EQ(world.lines.size(), 2u);
  EXPECT_NE(world.lines[0].find("the CPU took it: told to fail"), std::string::npos) << world.lines[0];
  EXPECT_NE(world.lines[1].find("route=cpu kernel=a_blas"), std::string::npos) << world.lines[1];

  world.lines.clear();
  world.staging = {XGEMM_KERNEL_NOT_USABLE};
  EXPECT_EQ(call(square(8192)).code, XGEMM_KERNEL_NOT_USABLE);
  EXPECT_STREQ(last_error(), "told to fail");
  ASSERT_EQ(world.lines.size(), 1u);
  EXPECT_NE(world.lines[0].find("status=6"), std::string::npos) << world.lines[0];
}

// Level 2 waits for the stream around a call, but not in a capture, which that would break.
TEST_F(Gemm, TimesAreTakenOutsideOfCaptures) {
  world.environment.verbose = 2;
  world.placement = all_at(Location::device);
  EXPECT_TRUE(call(square(8)).ok());
  EXPECT_EQ(world.did, (Strings{"synchronize", "device 8x8x8", "synchronize"}));
  EXPECT_NE(world.lines.at(0).find("time_us="), std::string::npos) << world.lines[0];
  world.did.clear();
  world.is_capturing = true;
  EXPECT_TRUE(call(square(8)).ok());
  EXPECT_EQ(world.did, (Strings{"synchronize", "device 8x8x8"}));
  EXPECT_EQ(world.lines.at(1).find("time_us="), std::string::npos) << world.lines[1];
}

// The GPU counts them while a product runs: the line of one that was waited for tells its own.
TEST_F(Gemm, FallbacksAreToldWithTheTime) {
  world.environment.verbose = 2;
  world.placement = all_at(Location::device);
  world.fallbacks = 5;
  EXPECT_TRUE(call(square(8)).ok());
  EXPECT_EQ(world.lines.at(0).find("fp32_fallbacks="), std::string::npos) << world.lines[0];
  world.falls_back = 2;
  EXPECT_TRUE(call(square(8)).ok());
  EXPECT_NE(world.lines.at(1).find("fp32_fallbacks=2"), std::string::npos) << world.lines[1];
  world.is_capturing = true;
  EXPECT_TRUE(call(square(8)).ok());
  EXPECT_EQ(world.lines.at(2).find("fp32_fallbacks="), std::string::npos) << world.lines[2];
}

// explain() runs nothing, and returns what planning the call would.
TEST_F(Gemm, ExplainReturnsWhatThePlannerDoes) {
  for (const runtime::Placement& placement :
       {all_at(Location::host), all_at(Location::device), all_at(Location::managed)})
    for (const int code : {0, int{XGEMM_KERNEL_NOT_USABLE}}) {
      world.placement = placement;
      world.planning = {code};
      std::string text;
      EXPECT_EQ(explain({}, square(8192), &text).code, code);
      EXPECT_NE(text.find("route: "), std::string::npos) << text;
      EXPECT_NE(text.find("of the test"), std::string::npos) << text;
    }
  EXPECT_TRUE(world.did.empty());
  world.planning = {};
  world.has_device = false;
  std::string text;
  world.placement = all_at(Location::host);
  EXPECT_TRUE(explain({}, square(8192), &text).ok());
  EXPECT_NE(text.find("no GPU: of the test"), std::string::npos) << text;
  EXPECT_NE(text.find("a_blas, of the test"), std::string::npos) << text;
  world.placement = all_at(Location::device);
  EXPECT_EQ(explain({}, square(8), &text).code, XGEMM_NO_DEVICE);
  EXPECT_EQ(call(square(8)).code, XGEMM_NO_DEVICE);
  EXPECT_TRUE(world.did.empty());
}

}  // namespace
}  // namespace dispatch
}  // namespace xgemm
