// Routes: all mixes of where the operands live, with a GPU, without one, and with one that no kernel serves.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "dispatch/route.h"

#include <gtest/gtest.h>

#include <functional>
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

const DeviceInfo kServed = fake_device(90, 132, 227);
const DeviceInfo kUnserved = fake_device(61, 20, 48);
const dispatch::TripTimes kTimes = {2, 1};  // the GPU is faster
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
  return RouteKind::staged;  // by kTimes
}

// Matrices and vectors of an epilogue lie on one side, and on a GPU on one.
TEST(Route, EpiloguesStayOnOneSide) {
  Problem p = make_problem(DType::f32, 'N', 'T', 4096, 4096, 4096);
  p.epilogue.bias_along = Along::rows;
  p.epilogue.bias = p.epilogue.old_c = nowhere(0x1000);
  for (const Location a : kLocations)
    for (const Location c : kLocations)
      for (const Location bias : kLocations)
        for (const Location old_c : kLocations)
          for (const int other_gpu : {0, 1}) {
            Placement placement = place(p, a, a, c, Location::host);
            placement.bias = {bias, bias == Location::device ? other_gpu : -1};
            placement.old_c = {old_c, old_c == Location::device ? 0 : -1};
            const auto count = [&](Location l) { return (a == l) + (c == l) + (bias == l) + (old_c == l); };
            const Route route = dispatch::choose_route(p, placement, &kServed, kTimes);
            SCOPED_TRACE(runtime::to_string(placement) + format(" %d %d %d", int(bias), int(old_c), other_gpu));
            if (count(Location::host) == 0 && !(other_gpu == 1 && bias == Location::device)) {
              EXPECT_EQ(route.kind, RouteKind::device);
            } else if (count(Location::host) == 4) {
              EXPECT_EQ(route.kind, RouteKind::staged);
            } else {
              EXPECT_EQ(route.kind, RouteKind::unservable);
              EXPECT_EQ(route.status, XGEMM_UNSUPPORTED);
            }
          }
  Placement placement = place(p, Location::device, Location::device, Location::device, Location::host);
  placement.bias = {Location::device, 0};
  p.epilogue.bias = nowhere(0x1002);
  EXPECT_EQ(dispatch::choose_route(p, placement, &kServed, kTimes).status, -XGEMM_ARG_BIAS);
  p.epilogue.bias = nowhere(0x1000);
  p.epilogue.aux = nowhere(0x1002);
  for (const Activation activation : {Activation::relu, Activation::silu}) {
    p.epilogue.activation = activation;  // bits may lie anywhere
    placement.aux = {Location::device, 0};
    EXPECT_EQ(dispatch::choose_route(p, placement, &kServed, kTimes).status,
              activation == Activation::relu ? 0 : -XGEMM_ARG_AUX);
    placement.aux = {Location::host, -1};
    EXPECT_EQ(dispatch::choose_route(p, placement, &kServed, kTimes).status, XGEMM_UNSUPPORTED);
  }
}

// Each of an epilogue's own operands is looked at: for its alignment, and for the GPU that it is on.
TEST(Route, EachOperandOfAnEpilogueIsLookedAt) {
  struct Operand {
    int number;
    runtime::PointerLocation Placement::*at;
    std::function<void(Epilogue&, void*)> set;
  };
  const Operand operands[] = {
      {XGEMM_ARG_BIAS, &Placement::bias, [](Epilogue& e, void* x) { e.bias_along = Along::rows, e.bias = x; }},
      {XGEMM_ARG_ROW_SCALES, &Placement::row_scales, [](Epilogue& e, void* x) { e.row_scales = x; }},
      {XGEMM_ARG_COLUMN_SCALES, &Placement::column_scales, [](Epilogue& e, void* x) { e.column_scales = x; }},
      {XGEMM_ARG_OLD_C, &Placement::old_c, [](Epilogue& e, void* x) { e.old_c = x; }},
      {XGEMM_ARG_AUX, &Placement::aux, [](Epilogue& e, void* x) { e.activation = Activation::silu, e.aux = x; }}};
  for (const Operand& operand : operands) {
    Problem p = make_problem(DType::f32, 'N', 'T', 64, 64, 64);
    Placement placement = place(p, Location::device, Location::device, Location::device, Location::host);
    placement.*operand.at = {Location::device, 0};
    const auto status = [&](std::uintptr_t address) {
      operand.set(p.epilogue, nowhere(address));
      return dispatch::choose_route(p, placement, &kServed, kTimes).status;
    };
    EXPECT_EQ(status(0x1000), 0) << operand.number;
    EXPECT_EQ(status(0x1002), -operand.number);
    placement.*operand.at = {Location::device, 1};
    EXPECT_EQ(status(0x1000), XGEMM_UNSUPPORTED) << operand.number << " on another GPU";
    placement.*operand.at = {Location::host, -1};
    EXPECT_EQ(status(0x1000), XGEMM_UNSUPPORTED) << operand.number << " on the host";
  }
}

// Arrays of pointers lie where the work is; those that are all on the host are no matter of the route
// (dispatch/gemm.cc).
TEST(Route, ArraysOfPointersAreForTheGpuThatHasThem) {
  Problem p = make_problem(DType::f32, 'N', 'T', 100, 100, 100);
  p.batch_kind = BatchKind::pointers;
  p.a.data = nowhere(0x1000), p.b.data = nowhere(0x2000), p.c.data = nowhere(0x3000);
  for (const Location a : kLocations)
    for (const Location c : kLocations) {
      const Placement placement = place(p, a, a, c, Location::host);
      const Route route = dispatch::choose_route(p, placement, &kServed, kTimes);
      const bool within_reach = a != Location::host && c != Location::host;
      EXPECT_EQ(route.kind, within_reach ? RouteKind::device : RouteKind::unservable) << runtime::to_string(placement);
    }
  const Placement placement = place(p, Location::device, Location::device, Location::device, Location::host);
  p.a.data = nowhere(0x1004);
  EXPECT_EQ(dispatch::choose_route(p, placement, &kServed, kTimes).status, -XGEMM_ARG_A);
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
                      const Route route = dispatch::choose_route(p, placement, device, kTimes);
                      SCOPED_TRACE(to_string(p) + " at " + runtime::to_string(placement) +
                                   format(" scalars %d device %d", int(placement.alpha.location),
                                          device ? device->compute_capability : 0));
                      if (expected == RouteKind::staged && !placement.any(Location::device) &&
                          !placement.any(Location::managed)) {
                        EXPECT_EQ(route.kind, RouteKind::staged);
                        EXPECT_EQ(route.times.staged_us, kTimes.staged_us);
                      } else {
                        EXPECT_EQ(dispatch::name_of(route.kind), std::string(dispatch::name_of(expected)));
                        EXPECT_EQ(route.times.staged_us, 0) << "there was no choice";
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

// The faster way, for products of host operands and no others.
TEST(Route, TakesTheFasterWay) {
  const auto host = runtime::PointerLocation{Location::host, -1};
  const Placement hosts = {host, host, host, {}, {}};
  const Problem p = make_problem(DType::f32, 'N', 'N', 512, 512, 512);
  EXPECT_EQ(dispatch::choose_route(p, hosts, &kServed, {100, 99}).kind, RouteKind::staged);
  EXPECT_EQ(dispatch::choose_route(p, hosts, &kServed, {99, 100}).kind, RouteKind::cpu);
  EXPECT_TRUE(dispatch::is_a_choice(p, hosts, &kServed));
  EXPECT_FALSE(dispatch::is_a_choice(p, hosts, &kUnserved));
  EXPECT_FALSE(dispatch::is_a_choice(p, hosts, nullptr));
  EXPECT_FALSE(dispatch::is_a_choice(make_problem(DType::f32, 'N', 'N', 64, 64, 64), hosts, &kServed));
  Placement mixed = hosts;
  mixed.b = {Location::device, 0};
  EXPECT_FALSE(dispatch::is_a_choice(p, mixed, &kServed));
}

// What another GPU has, scalars included, is copied; with the host's operands in play, everything is staged.
TEST(Route, SeveralGpus) {
  const auto on = [](int device) { return runtime::PointerLocation{Location::device, device}; };
  const auto host = runtime::PointerLocation{Location::host, -1};
  const Problem p = make_problem(DType::f16, 'N', 'N', 64, 64, 64);
  const auto kind = [&](const Placement& placement) { return dispatch::choose_route(p, placement, &kServed, {}).kind; };
  EXPECT_EQ(kind({on(0), on(0), on(0), {}, {}}), RouteKind::device);
  EXPECT_EQ(kind({on(1), on(0), on(0), {}, {}}), RouteKind::peers);
  EXPECT_EQ(kind({on(0), on(2), on(0), {}, {}}), RouteKind::peers);
  EXPECT_EQ(kind({on(0), on(0), on(0), on(0), on(1)}), RouteKind::peers);
  EXPECT_EQ(kind({on(1), host, on(0), {}, {}}), RouteKind::staged);
  // Copies between GPUs are of columns.
  Problem strided = p;
  strided.a.step = 2;
  const auto route = [&](const Placement& placement) {
    return dispatch::choose_route(strided, placement, &kServed, {}).kind;
  };
  EXPECT_EQ(route({on(1), on(0), on(0), {}, {}}), RouteKind::unservable);
  EXPECT_EQ(route({on(1), host, on(0), {}, {}}), RouteKind::unservable);
  EXPECT_EQ(route({on(0), on(1), on(0), {}, {}}), RouteKind::peers);
}

// Each reason speaks of its own case.
TEST(Route, ReasonsAreTrue) {
  const auto host = runtime::PointerLocation{Location::host, -1};
  const Placement hosts = {host, host, host, {}, {}};
  const Problem small = make_problem(DType::f32, 'N', 'N', 16, 16, 16);
  const Problem large = make_problem(DType::f32, 'N', 'N', 4096, 4096, 4096);
  const auto reason = [&](const Problem& p, const DeviceInfo* device) {
    return std::string(dispatch::choose_route(p, hosts, device, kTimes).reason);
  };
  EXPECT_NE(reason(small, nullptr).find("too small"), std::string::npos);
  EXPECT_NE(reason(small, &kServed).find("too small"), std::string::npos) << reason(small, &kServed);
  EXPECT_NE(reason(large, nullptr).find("no GPU"), std::string::npos);
  EXPECT_NE(reason(large, &kUnserved).find("no kernel"), std::string::npos);
}

}  // namespace
}  // namespace xgemm::test
