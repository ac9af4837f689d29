// Routes: all mixes of where the operands live, with a GPU, without one, and with one that no kernel serves.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "dispatch/route.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "dispatch/host_trip.h"
#include "kernels/instances.h"
#include "unit/plan/devices.h"
#include "unit/plan/problems.h"

namespace xgemm::test {
namespace {

using device::DeviceInfo;
using dispatch::Route;
using dispatch::RouteKind;
using runtime::Location;
using runtime::Placement;

const DeviceInfo kServed = fake_device(90, 132, 227, 228, 2048);
const DeviceInfo kUnserved = fake_device(61, 20, 48, 96, 2048);
const Location kLocations[] = {Location::host, Location::device, Location::managed};

Placement place(const Problem& p, Location a, Location b, Location c, Location scalars) {
  const auto at = [](Location l) { return runtime::PointerLocation{l, l == Location::device ? 0 : -1}; };
  Placement placement;
  if (p.reads_inputs()) {
    placement.a = at(a);
    placement.b = at(b);
  }
  placement.c = at(c);
  if (!p.alpha.known()) placement.alpha = placement.beta = at(scalars);
  return placement;
}

// The rules in the order in which the documentation gives them.
RouteKind expected_kind(const Problem& p, const Placement& placement, const DeviceInfo* device, int* status) {
  const bool served = device == &kServed;
  const bool scalars_away = !p.alpha.known();
  int host = 0, on_device = 0, managed = 0;
  for (const auto& x : {placement.a, placement.b, placement.c}) {
    host += x.location == Location::host;
    on_device += x.location == Location::device;
    managed += x.location == Location::managed;
  }
  *status = 0;
  if (p.does_nothing()) return RouteKind::none;
  if (scalars_away) {
    if (placement.alpha.location == Location::host) return *status = -XGEMM_ARG_ALPHA, RouteKind::unservable;
    if (host > 0) return *status = XGEMM_UNSUPPORTED, RouteKind::unservable;
    if (!served) return *status = XGEMM_NO_DEVICE, RouteKind::unservable;
    return RouteKind::device;
  }
  if (on_device > 0 && !served) return *status = XGEMM_NO_DEVICE, RouteKind::unservable;
  // Managed memory is the host's as well.
  if (!served) return RouteKind::cpu;
  if (on_device + managed > 0) return host > 0 ? RouteKind::staged : RouteKind::device;
  if (!p.reads_inputs() || p.flops() < dispatch::kMinFlopsForDevice) return RouteKind::cpu;
  return RouteKind::staged;  // or the CPU, by the estimates
}

TEST(Route, EveryMixOfLocations) {
  for (const std::int64_t size : {0, 1, 64, 4096})
    for (const std::int64_t k : {std::int64_t{0}, size})
      for (const float alpha : {0.0f, 1.0f})
        for (const float beta : {0.0f, 1.0f})
          for (const bool scalars_away : {false, true})
            for (const DeviceInfo* device : {static_cast<const DeviceInfo*>(nullptr), &kServed, &kUnserved})
              for (const Location a : kLocations)
                for (const Location b : kLocations)
                  for (const Location c : kLocations)
                    for (const Location scalars : kLocations) {
                      Problem p = make_problem(DType::f32, 'N', 'T', size, size, k);
                      p.alpha.value = alpha, p.beta.value = beta;
                      if (scalars_away) p.alpha = p.beta = {0.0f, static_cast<const float*>(nowhere())};
                      const Placement placement = place(p, a, b, c, scalars);
                      int status = 0;
                      const RouteKind expected = expected_kind(p, placement, device, &status);
                      const Route route = dispatch::choose_route(p, placement, device);
                      SCOPED_TRACE(to_string(p) + " at " + runtime::to_string(placement) +
                                   format(" scalars %d device %d", int(placement.alpha.location),
                                          device ? device->compute_capability : 0));
                      if (expected == RouteKind::staged && !placement.any(Location::device) &&
                          !placement.any(Location::managed)) {
                        EXPECT_EQ(route.kind, route.staged_us < route.cpu_us ? RouteKind::staged : RouteKind::cpu);
                        EXPECT_TRUE(std::isfinite(route.staged_us) && route.staged_us > 0);
                        EXPECT_TRUE(std::isfinite(route.cpu_us) && route.cpu_us > 0);
                      } else {
                        EXPECT_EQ(dispatch::name_of(route.kind), std::string(dispatch::name_of(expected)));
                        EXPECT_EQ(route.staged_us, 0) << "no estimate was needed";
                      }
                      EXPECT_EQ(route.status, status);
                      EXPECT_NE(std::string(route.reason), "");
                      EXPECT_NE(dispatch::to_string(route), "");
                      if (HasFailure()) return;
                    }
}

// No CUDA call for a program of small host products, but always where a GPU's memory is in play.
TEST(Route, AGpuIsLookedForWhereItCouldHelp) {
  const auto at = [](Location l) { return runtime::PointerLocation{l, -1}; };
  const Placement host = {at(Location::host), at(Location::host), at(Location::host), {}, {}};
  const Placement managed = {at(Location::host), at(Location::managed), at(Location::host), {}, {}};
  const Placement device = {at(Location::host), at(Location::host), at(Location::device), {}, {}};
  const Problem small = make_problem(DType::f32, 'N', 'N', 16, 16, 16);
  const Problem large = make_problem(DType::f32, 'N', 'N', 4096, 4096, 4096);
  EXPECT_FALSE(dispatch::wants_device(small, host));
  EXPECT_TRUE(dispatch::wants_device(large, host));
  for (const Placement& placement : {managed, device})
    for (const Problem& p : {small, large}) EXPECT_TRUE(dispatch::wants_device(p, placement));
  Problem scaling = large;
  scaling.alpha.value = 0;
  EXPECT_FALSE(dispatch::wants_device(scaling, host)) << "scaling C is not worth a trip";
  Problem nothing = large;
  nothing.m = 0;
  EXPECT_FALSE(dispatch::wants_device(nothing, device));
}

// Larger products repay the trip better: once staged, always staged.
TEST(Route, TheTripIsRepaidFromSomeSizeOn) {
  const auto host = runtime::PointerLocation{Location::host, -1};
  const Placement placement = {host, host, host, {}, {}};
  for (const DeviceInfo& device : fake_devices())
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      bool staged = false;
      for (std::int64_t size = 16; size <= 65536; size *= 2) {
        const Route route = dispatch::choose_route(make_problem(type, 'N', 'N', size, size, size), placement, &device);
        EXPECT_TRUE(route.kind == RouteKind::cpu || route.kind == RouteKind::staged);
        EXPECT_TRUE(!staged || route.kind == RouteKind::staged) << device.name << " at " << size;
        staged = route.kind == RouteKind::staged;
        EXPECT_FALSE(staged && size == 16);
      }
    }
}

// Huge products have finite estimates.
TEST(Route, HugeExtents) {
  const auto host = runtime::PointerLocation{Location::host, -1};
  const Problem p = make_problem(DType::f32, 'N', 'N', std::int64_t{1} << 40, 1 << 20, 1 << 20);
  const Route route = dispatch::choose_route(p, {host, host, host, {}, {}}, &kServed);
  EXPECT_TRUE(std::isfinite(route.cpu_us) && std::isfinite(route.staged_us));
}

// Each reason speaks of its own case.
TEST(Route, ReasonsAreTrue) {
  const auto host = runtime::PointerLocation{Location::host, -1};
  const Placement hosts = {host, host, host, {}, {}};
  const Problem small = make_problem(DType::f32, 'N', 'N', 16, 16, 16);
  const Problem large = make_problem(DType::f32, 'N', 'N', 4096, 4096, 4096);
  const auto reason = [&](const Problem& p, const DeviceInfo* device) {
    return std::string(dispatch::choose_route(p, hosts, device).reason);
  };
  EXPECT_NE(reason(small, nullptr).find("too small"), std::string::npos);
  EXPECT_NE(reason(small, &kServed).find("too small"), std::string::npos) << reason(small, &kServed);
  EXPECT_NE(reason(large, nullptr).find("no GPU"), std::string::npos);
  EXPECT_NE(reason(large, &kUnserved).find("no kernel"), std::string::npos);
}

TEST(HostTrip, HostTripsHaveARowForEveryGpu) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16})
    for (const int cc : {50, 75, 80, 86, 90, 100, 120}) {
      const dispatch::HostTripRow& row = dispatch::host_trip_row(type, cc);
      EXPECT_EQ(row.type, type);
      EXPECT_LE(row.min_compute_capability, cc);
      for (const double x :
           {row.cpu_gflops_per_core, row.gpu_gflops, row.link_in_gbytes, row.link_out_gbytes, row.staged_call_us})
        EXPECT_TRUE(std::isfinite(x) && x > 0);
    }
  EXPECT_EQ(dispatch::host_trip_row(DType::f32, 90).min_compute_capability, 90) << "the most specific one";
}

}  // namespace
}  // namespace xgemm::test
