// How a family of kernels describes itself to the planner: which problems its instances can serve, how long they take,
// how they share the work out. Host code, pure: no CUDA call, no environment.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/problem.h"
#include "device/device_info.h"
#include "kernels/common/instance_list.h"
#include "kernels/common/schedule.h"
#include "kernels/instances.h"
#include "layout/problem_facts.h"

namespace xgemm::kernels {

// How kernels may walk an operand along each axis: Axis::row is 0, Axis::col is 1.
struct Walks {
  bool possible[2];  // the elements of a line are neighbours, and lines lie one behind the other
  int bytes[2];      // that divide the address of every vector
  bool tma[2];       // TMA can take the strides

  static Walks of(const layout::StridedOperand& x);
  bool along(layout::Axis axis) const { return possible[static_cast<int>(axis)]; }
  int divisibility(layout::Axis axis) const { return bytes[static_cast<int>(axis)]; }
  bool fit_tma(layout::Axis axis) const { return tma[static_cast<int>(axis)]; }
};

// What the planner asks about.
struct Request {
  Request(const Problem& p, const layout::ProblemFacts& f, const device::DeviceInfo& d)
      : problem(p),
        facts(f),
        device(d),
        a(Walks::of(f.a)),
        b(Walks::of(f.b)),
        c(Walks::of(f.c)),
        old_c(Walks::of(f.old_c)) {}

  const Problem& problem;
  const layout::ProblemFacts& facts;
  const device::DeviceInfo& device;
  const Walks a, b, c, old_c;
  const ClusterShape* cluster = nullptr;  // the only one to weigh; otherwise all that an instance can form
  // The time to beat, in us: an instance that cannot may be given any larger estimate. Of a family that is corrected as
  // a whole (plan/family_correction.h) only the fastest instance needs an exact one. Without it all are exact.
  std::optional<double> to_beat;
};

// Bytes that the sums of a split product may take: what cuBLAS is given on such a GPU.
inline double workspace_limit(const device::DeviceInfo& device) {
  return device.has_memory_pools ? double{32 << 20} : 0.0;
}

// Of an instance on a problem.
struct Estimate {
  double us = 0;
  double waves = 0;  // rounds of CTAs that the GPU needs
  Sharing sharing = {};
  // us: what the memory alone needs, and what the busiest SM's instructions alone, where the model tells them apart.
  double memory_us = 0, work_us = 0;
};

// Of families without clusters.
inline std::span<const ClusterShape> single_ctas(const KernelInfo&) {
  static constexpr ClusterShape kSingle;
  return {&kSingle, 1};
}

struct FamilyInfo {
  std::span<const KernelInfo> instances;

  // Whether an instance can serve a request, and why it cannot: one clause, "" where it can.
  bool (*serves)(const KernelInfo& kernel, const Request& request);
  std::string (*why_not)(const KernelInfo& kernel, const Request& request);

  // Estimates of instances that can serve. All at once: what they have in common is worked out once.
  void (*estimate)(const Request& request, const KernelInfo* const* kernels, int count, Estimate* estimates);

  // Whether an instance can compute tiles in parts along K: for tests of all that can.
  bool (*splits)(const KernelInfo& kernel);

  Schedule (*schedule)(const KernelInfo& kernel, const Problem& problem, const device::DeviceInfo& device,
                       const Sharing& sharing);

  // Of a family that may find out on the GPU that it must not compute a product: whose instances do it
  // then. The workspace begins with the word of their Condition (common/params.h), which is not 0 in that case.
  const FamilyInfo* fallback = nullptr;

  // Whether its kernels can compute a triangle of C alone (core/fill.h).
  bool triangles = false;

  // The clusters that an instance's CTAs can form.
  std::span<const ClusterShape> (*clusters)(const KernelInfo& kernel) = single_ctas;

  // Whether an instance computes a product's epilogue; those of most families compute none.
  bool (*finishes)(const KernelInfo& kernel, const Problem& problem) = [](const KernelInfo&, const Problem&) {
    return false;
  };

  // Whether an instance is weighed with operands that reach it as copies.
  bool (*takes_copies)(const KernelInfo& kernel) = [](const KernelInfo&) { return true; };

  // Whether an instance finds the matrices of a batch by pointers, wherever each of them starts.
  bool (*follows)(const KernelInfo& kernel) = [](const KernelInfo&) { return false; };

  // Of a family that is never faster than another one where that one serves: it is not weighed there. The other one has
  // to be weighed first (weighing_order() in plan/planner.cc).
  Family yields_to = Family::count;
};

#define XGEMM_FAMILY(name, ...) extern const FamilyInfo name##_family;
#include "kernels/families.def"

const FamilyInfo& describe(Family family);

// Whether this build has a kernel for the types on such a GPU, and code for it.
bool serves(const ProductTypes& types, const device::DeviceInfo& device);

// Whether this build has kernels of a family: those for sm_90a are left out of builds for other GPUs. Each file's own,
// as the simulator has all kernels beside a library that lacks some.
#if defined(XGEMM_NO_SM90A)
static constexpr bool kHasSm90a = false;
#else
static constexpr bool kHasSm90a = true;
#endif
static constexpr bool is_built(Family family) {
  enum Architectures { all, from_sm80, to_sm80, sm90a };
  constexpr Architectures kArchitectures[] = {
#define XGEMM_FAMILY(name, parts, architectures, ...) architectures,
#include "kernels/families.def"
  };
  return kHasSm90a || kArchitectures[static_cast<int>(family)] != sm90a;
}

// FamilyInfo::instances.
template <Family kFamily>
constexpr std::span<const KernelInfo> built_instances() {
  if constexpr (is_built(kFamily)) return kInfos<kFamily>;
  return {};
}

}  // namespace xgemm::kernels
