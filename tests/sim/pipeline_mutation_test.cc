// Kernels that copy ahead of themselves (double_buffered, warp_tiled, ffma_async, wmma_padded, mma_swizzled) need
// everything that they do to synchronise, and the simulator knows: each barrier, wait and commit is taken away at one
// line at a time and reported for what is then wrong. So are copies beyond an edge, lines at wrong distances and
// fragments that are not looked for where they were put.
//
// The kernels are compiled here as they are, but find the primitives below in place of those of namespace gpu: they
// note where they are called, and fail where the mutation of the moment wants it. These are other functions of the same
// names: the library's own instances (xgemm_sim_kernels) must stay out of this program.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/common/fragments.cuh"
#include "kernels/common/mma.cuh"
#include "kernels/common/wmma.cuh"
#include "sim/copy_async.h"
#include "sim/location.h"

namespace xgemm::sim {
namespace {

enum class Mutation {
  none,
  no_barrier,         // __syncthreads does nothing
  no_warp_barrier,    // __syncwarp does nothing
  no_commit,          // copies stay outside all groups
  no_wait,            // cp.async.wait_group does nothing
  lax_wait,           // it lets one group more be under way
  whole_vectors,      // cp.async takes all bytes from the source, also at an edge
  wrong_permutation,  // ldmatrix looks for the odd and even 16 bytes of a line in each other's place
  wrong_lines,        // wmma.load takes lines for 8 bytes further apart than they are
};

using Place = std::string;  // "wmma_padded.cuh:77"

Mutation mutation = Mutation::none;          // what is broken now
Place broken_place;                          // and where
std::map<Mutation, std::set<Place>> places;  // where something of the kind can be broken, as the kernel ran

bool breaks(Mutation candidate, Loc loc) {
  Place here = to_string(loc);
  const bool broken = mutation == candidate && broken_place == here;
  places[candidate].insert(std::move(here));
  return broken;
}

}  // namespace
}  // namespace xgemm::sim

// What kernels find as gpu::.
namespace xgemm::kernels::gpu {

using namespace xgemm::gpu;
using sim::breaks;
using sim::Mutation;
namespace real = xgemm::gpu;

inline void sync_threads(Loc loc = Loc::current()) {
  if (!breaks(Mutation::no_barrier, loc)) real::sync_threads(loc);
}

inline void sync_warp(unsigned mask = 0xffffffffu, Loc loc = Loc::current()) {
  if (!breaks(Mutation::no_warp_barrier, loc)) real::sync_warp(mask, loc);
}

template <int kBytes>
void copy_async(void* destination, const void* source, int source_bytes = kBytes, Loc loc = Loc::current()) {
  const bool whole = source_bytes < kBytes && breaks(Mutation::whole_vectors, loc);
  real::copy_async<kBytes>(destination, source, whole ? kBytes : source_bytes, loc);
}

template <int kBytes>
void copy_line_async(void* destination, const void* source, int source_bytes, Loc loc = Loc::current()) {
  copy_async<kBytes>(destination, source, source_bytes, loc);
}

inline void copy_async_commit(Loc loc = Loc::current()) {
  if (!breaks(Mutation::no_commit, loc)) real::copy_async_commit(loc);
}

template <int kPending>
void copy_async_wait(Loc loc = Loc::current()) {
  // A wait for the last group comes after the mainloop, whose last groups are empty: it only leaves order behind.
  if constexpr (kPending == 0) return real::copy_async_wait<0>(loc);
  if (breaks(Mutation::no_wait, loc)) return;
  sim::copy_async_wait(breaks(Mutation::lax_wait, loc) ? kPending + 1 : kPending);
}

template <bool kTranspose, int kCount>
void load_matrices(std::uint32_t (&m)[kCount], const void* row, Loc loc = Loc::current()) {
  const auto address = reinterpret_cast<std::uintptr_t>(row);
  const bool wrong = breaks(Mutation::wrong_permutation, loc);
  real::load_matrices<kTranspose>(m, reinterpret_cast<const void*>(wrong ? address ^ 16 : address), loc);
}

template <class Fragment, class Element>
void wmma_load(Fragment& fragment, const Element* shared, int ld, Loc loc = Loc::current()) {
  real::wmma_load(fragment, shared, breaks(Mutation::wrong_lines, loc) ? ld + 4 : ld, loc);
}

}  // namespace xgemm::kernels::gpu

#include "families/family.h"
#include "gemm_cases.h"
#include "kernels/double_buffered/double_buffered.cuh"
#include "kernels/ffma_async/ffma_async.cuh"
#include "kernels/mma_swizzled/instances.h"
#include "kernels/mma_swizzled/mma_swizzled.cuh"
#include "kernels/warp_tiled/staged.cuh"
#include "kernels/wmma_padded/wmma_padded.cuh"

namespace xgemm::sim {
namespace {

using kernels::Copy;
using kernels::TileConfig;
using testing::AnyOf;
using testing::HasSubstr;

constexpr TileConfig kSimt{.type = DType::f32,
                           .cta_m = 64,
                           .cta_n = 64,
                           .cta_k = 8,
                           .thread_m = 8,
                           .thread_n = 8,
                           .stages = 3,
                           .copy = Copy::async,
                           .vector = 4,
                           .min_compute_capability = 80};
constexpr TileConfig kPadded{.type = DType::f16,
                             .cta_m = 64,
                             .cta_n = 64,
                             .cta_k = 32,
                             .warp_m = 32,
                             .warp_n = 32,
                             .stages = 3,
                             .copy = Copy::async,
                             .pad = 8,
                             .vector = 8,
                             .vector_c = 1,
                             .min_compute_capability = 80};

// The library's smallest instance of mma_swizzled for elements of this size that copies so, with the flags of `like`.
constexpr TileConfig mma_swizzled(int element_bytes, Copy copy, const TileConfig& like) {
  TileConfig smallest{.cta_m = 1024, .cta_n = 1024};  // (no pointer: with sanitizers that is no constant expression)
  for (const TileConfig& c : kernels::kConfigs<kernels::Family::mma_swizzled>) {
    if (size_of(c.type) != element_bytes || c.copy != copy || c.a_contiguous != like.a_contiguous ||
        c.b_contiguous != like.b_contiguous)
      continue;
    if (c.cta_m * c.cta_n < smallest.cta_m * smallest.cta_n) smallest = c;
  }
  return smallest;
}

// The library's instance of warp_tiled that stages slices of a type.
constexpr TileConfig staged(DType type) {
  for (const TileConfig& c : kernels::kConfigs<kernels::Family::warp_tiled>)
    if (c.type == type && kernels::WarpStagedShape::is(c)) return c;
  return {};
}

template <TileConfig kConfig>
using Staged = kernels::WarpStaged<kConfig, kernels::LinearCombinationOf<kConfig.type>>;

template <TileConfig kConfig>
using Async = kernels::FfmaAsync<kConfig, kernels::LinearCombination>;

template <template <TileConfig> class Kernel, TileConfig kConfig>
SimKernel make(const char* name, const char* family) {
  return make_sim_kernel<Kernel<kConfig>>(name, family, kConfig);
}

const std::vector<SimKernel>& kernels_to_break() {
  using namespace kernels;
  static const std::vector<SimKernel> all = {
      make<DoubleBuffered, nt(kSimt)>("double_buffered_nt", "double_buffered"),
      make<Staged, staged(DType::f32)>("warp_staged_f32", "warp_tiled"),
      make<Staged, staged(DType::f64)>("warp_staged_f64", "warp_tiled"),
      make<Async, kConfigs<Family::ffma_async>[0]>("ffma_async", "ffma_async"),
      make<WmmaPadded, nn(kPadded)>("wmma_padded_nn", "wmma_padded"),
      make<WmmaPadded, tt(kPadded)>("wmma_padded_tt", "wmma_padded"),
      make<MmaSwizzled, mma_swizzled(2, Copy::async, nn(TileConfig{}))>("mma_swizzled_nn", "mma_swizzled"),
      make<MmaSwizzled, mma_swizzled(2, Copy::async, tt(TileConfig{}))>("mma_swizzled_tt", "mma_swizzled"),
      make<MmaSwizzled, mma_swizzled(8, Copy::async, nn(TileConfig{}))>("mma_swizzled_f64_nn", "mma_swizzled"),
      make<MmaSwizzled, mma_swizzled(8, Copy::async, tt(TileConfig{}))>("mma_swizzled_f64_tt", "mma_swizzled"),
      make<MmaSwizzledShifting, mma_swizzled(2, Copy::prefetch, nn(TileConfig{}))>("mma_swizzled_shifting_nn",
                                                                                   "mma_swizzled"),
      make<MmaSwizzledShifting, mma_swizzled(2, Copy::prefetch, tt(TileConfig{}))>("mma_swizzled_shifting_tt",
                                                                                   "mma_swizzled")};
  return all;
}

#if defined(__SANITIZE_ADDRESS__)
constexpr Order kOrders[] = {Order::random};  // ten times slower
#else
constexpr Order kOrders[] = {Order::forward, Order::reverse, Order::random};
#endif

class Mutants : public testing::TestWithParam<std::string> {
 protected:
  const SimKernel& kernel() {
    const auto& all = kernels_to_break();
    return *std::find_if(all.begin(), all.end(), [](const SimKernel& k) { return k.name == GetParam(); });
  }
  bool is(const char* family) { return std::string_view(kernel().family) == family; }
  bool copies() { return kernel().config.copy == Copy::async; }
  bool by_warps() { return is("warp_tiled"); }  // which share nothing
  bool shifts() { return is("mma_swizzled") && !copies(); }

  void TearDown() override { mutation = Mutation::none; }

  // One CTA for two tiles with edges, and a C that is read. The last slice lies in the first stage again, which is the
  // one that results go through, and each stage has been used twice.
  std::string run(Order order) {
    const TileConfig& config = kernel().config;
    const std::string flags = flags_of(config).front();
    Options options;
    options.order = order;
    options.max_grid_x = 1;
    return run_case(kernel(),
                    {.transa = flags[0],
                     .transb = flags[1],
                     .m = 2 * config.cta_m - 3,
                     .n = config.cta_n - 5,
                     .k = (2 * config.stages + 1) * config.cta_k - 3,
                     .beta = 1},
                    options);
  }

  // Breaks each line of the kernel that can be broken so. Returns how many there were, and those that were not found
  // out as expected under every schedule.
  struct Outcome {
    std::size_t lines = 0;
    std::set<Place> survivors;
    std::string report;
  };
  template <class Matcher>
  Outcome break_all(Mutation kind, const Matcher& expected) {
    places.clear();
    EXPECT_EQ(run(Order::forward), "");
    const std::set<Place> candidates = places[kind];
    Outcome outcome{candidates.size(), {}, {}};
    for (const Place& place : candidates)
      for (const Order order : kOrders) {
        mutation = kind;
        broken_place = place;
        const std::string wrong = run(order);
        mutation = Mutation::none;
        if (testing::Matches(expected)(wrong)) continue;
        outcome.survivors.insert(place);
        outcome.report += place + " under schedule " + std::to_string(static_cast<int>(order)) + ": " +
                          (wrong.empty() ? "nothing is reported" : wrong) + "\n";
      }
    return outcome;
  }
  template <class Matcher>
  void expect_found(Mutation kind, std::size_t lines, const Matcher& expected) {
    const Outcome outcome = break_all(kind, expected);
    EXPECT_GE(outcome.lines, lines);
    EXPECT_EQ(outcome.report, "");
  }
};

// Of a copy into what others still read, or a read of what others have yet to wait for, either side may come first.
const auto kRace = AnyOf(HasSubstr("shared_race"), HasSubstr("async_not_waited"));

TEST_P(Mutants, WithoutABarrier) {
  expect_found(Mutation::no_barrier, by_warps() ? 0 : 1, kRace);
  expect_found(Mutation::no_warp_barrier, is("double_buffered") || is("ffma_async") ? 0 : shifts() ? 1 : 2, kRace);
}

TEST_P(Mutants, WithoutAWait) {
  const auto not_waited = HasSubstr("async_not_waited");
  expect_found(Mutation::no_wait, copies() ? 1 : 0, not_waited);
  expect_found(Mutation::lax_wait, copies() ? 1 : 0, not_waited);
  expect_found(Mutation::no_commit, copies() ? 1 : 0, not_waited);
}

TEST_P(Mutants, ThatCopyBeyondAnEdge) {
  expect_found(Mutation::whole_vectors, copies() && !by_warps() ? 1 : 0, HasSubstr("global_bounds"));
}

TEST_P(Mutants, ThatLookElsewhere) {
  const bool by_ldmatrix = is("mma_swizzled") && size_of(kernel().config.type) == 2;
  expect_found(Mutation::wrong_permutation, by_ldmatrix ? 2 : 0, HasSubstr("expected"));
  expect_found(Mutation::wrong_lines, is("wmma_padded") ? 2 : 0, HasSubstr("misaligned"));
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const SimKernel& kernel : kernels_to_break()) result.push_back(kernel.name);
  return result;
}
INSTANTIATE_TEST_SUITE_P(, Mutants, testing::ValuesIn(names()), [](const auto& row) { return row.param; });

}  // namespace
}  // namespace xgemm::sim
