// Everything that wgmma_tma does to synchronise is needed, and the simulator knows: each wait, arrival, fence and
// barrier of the kernel is left out at one place at a time, or done wrongly, and each time a fault is reported or the
// result is wrong. What may be left out is listed with its reason.
//
// The kernel is compiled here as it is, but finds the primitives below in place of those of namespace gpu: they note
// where they are called, and obey the mutation of the moment.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gemm_cases.h"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/sm90/tma.cuh"
#include "kernels/common/sm90/warpgroup.cuh"
#include "kernels/common/sm90/wgmma.cuh"
#include "sim/launch.h"

namespace xgemm::sim {
namespace {

enum class Op {
  init_fence,
  cluster_arrive,
  cluster_sync,
  cta_sync,
  group_sync,
  warp_sync,
  wait,
  wait_cluster,
  arrive,
  arrive_expect,
  arrive_remote,
  arrive_remote_release,
  async_fence,
  store_wait,
  store_commit,
  copy_wait,
  copy_commit,
  wgmma_fence,
  wgmma_commit,
  wgmma_wait,
  dependency_wait,
  acquire_registers,
  release_registers,
  descriptor,
};

const char* to_string(Op op) {
  constexpr const char* kNames[] = {"mbarrier_init_fence",    "cluster_arrive and cluster_wait",
                                    "cluster_sync",           "sync_threads",
                                    "named_barrier_sync",     "sync_warp",
                                    "mbarrier_wait",          "mbarrier_wait_cluster",
                                    "mbarrier_arrive",        "mbarrier_arrive_expect",
                                    "mbarrier_arrive_remote", "mbarrier_arrive_remote_release",
                                    "fence_async_shared",     "tma_store_wait_read",
                                    "tma_store_commit",       "copy_async_wait",
                                    "copy_async_commit",      "wgmma_fence",
                                    "wgmma_commit",           "wgmma_wait",
                                    "grid_wait_dependencies", "acquire_registers",
                                    "release_registers",      "wgmma_descriptor"};
  return kNames[static_cast<int>(op)];
}

enum class Change {
  none,
  left_out,
  other_parity,    // of a wait
  bytes_too_many,  // of arrive_expect
  bytes_too_few,
  narrower_swizzle,  // of a descriptor
  no_release,        // arrive_remote for arrive_remote_release, cluster_arrive and cluster_wait for cluster_sync
  no_acquire,        // wait for wait_cluster
};

struct Place {
  Op op;
  const char* file;  // the only pointer to its name: the kernels are compiled in this file alone
  unsigned line;

  auto operator<=>(const Place&) const = default;
  Place(Op what, Loc loc) : op(what), file(loc.file()), line(loc.line()) {}
};
struct Mutation {
  std::optional<Place> place;
  Change change = Change::none;
};

Mutation mutation;
std::set<Place> places;  // where the kernel called what

Change change_of(Op op, Loc loc) {
  const Place place(op, loc);
  places.insert(place);
  return mutation.place == place ? mutation.change : Change::none;
}
bool left_out(Op op, Loc loc) {
  return change_of(op, loc) == Change::left_out;
}

}  // namespace
}  // namespace xgemm::sim

// What kernels find as gpu::.
namespace xgemm::kernels::gpu {

using namespace xgemm::gpu;
using sim::Change;
using sim::Op;
namespace real = xgemm::gpu;

inline void mbarrier_init_fence(Loc loc = Loc::current()) {
  if (!sim::left_out(Op::init_fence, loc)) real::mbarrier_init_fence(loc);
}
inline void cluster_arrive(Loc loc = Loc::current()) {
  if (!sim::left_out(Op::cluster_arrive, loc)) real::cluster_arrive(loc);
}
inline void cluster_wait(Loc loc = Loc::current()) {
  // Goes with the arrival in the line before.
  sim::Place arrival(Op::cluster_arrive, loc);
  --arrival.line;
  const bool out = sim::mutation.change == Change::left_out && sim::mutation.place == arrival;
  if (!out) real::cluster_wait(loc);
}
inline void cluster_sync(Loc loc = Loc::current()) {
  const Change change = sim::change_of(Op::cluster_sync, loc);
  if (change == Change::left_out) return;
  if (change == Change::no_release) {
    real::cluster_arrive(loc);
    real::cluster_wait(loc);
  } else {
    real::cluster_sync(loc);
  }
}
inline void sync_threads(Loc loc = Loc::current()) {
  if (!sim::left_out(Op::cta_sync, loc)) real::sync_threads(loc);
}
inline void named_barrier_sync(int id, int threads, Loc loc = Loc::current()) {
  if (!sim::left_out(Op::group_sync, loc)) real::named_barrier_sync(id, threads, loc);
}
inline void sync_warp(unsigned mask = 0xffffffffu, Loc loc = Loc::current()) {
  if (!sim::left_out(Op::warp_sync, loc)) real::sync_warp(mask, loc);
}
inline void mbarrier_wait(Mbarrier& barrier, unsigned parity, Loc loc = Loc::current()) {
  const Change change = sim::change_of(Op::wait, loc);
  if (change != Change::left_out)
    real::mbarrier_wait(barrier, change == Change::other_parity ? parity ^ 1 : parity, loc);
}
inline void mbarrier_wait_cluster(Mbarrier& barrier, unsigned parity, Loc loc = Loc::current()) {
  const Change change = sim::change_of(Op::wait_cluster, loc);
  if (change == Change::left_out) return;
  if (change == Change::no_acquire) {
    real::mbarrier_wait(barrier, parity, loc);
  } else {
    real::mbarrier_wait_cluster(barrier, change == Change::other_parity ? parity ^ 1 : parity, loc);
  }
}
inline void mbarrier_arrive(Mbarrier& barrier, Loc loc = Loc::current()) {
  if (!sim::left_out(Op::arrive, loc)) real::mbarrier_arrive(barrier, loc);
}
inline void mbarrier_arrive_expect(Mbarrier& barrier, int bytes, Loc loc = Loc::current()) {
  const Change change = sim::change_of(Op::arrive_expect, loc);
  if (change == Change::left_out) return;
  real::mbarrier_arrive_expect(barrier,
                               change == Change::bytes_too_many  ? bytes + 16
                               : change == Change::bytes_too_few ? bytes - 16
                                                                 : bytes,
                               loc);
}
inline void mbarrier_arrive_remote(Mbarrier& barrier, int rank, Loc loc = Loc::current()) {
  if (!sim::left_out(Op::arrive_remote, loc)) real::mbarrier_arrive_remote(barrier, rank, loc);
}
inline void mbarrier_arrive_remote_release(Mbarrier& barrier, int rank, Loc loc = Loc::current()) {
  const Change change = sim::change_of(Op::arrive_remote_release, loc);
  if (change == Change::left_out) return;
  if (change == Change::no_release) {
    real::mbarrier_arrive_remote(barrier, rank, loc);
  } else {
    real::mbarrier_arrive_remote_release(barrier, rank, loc);
  }
}
inline void fence_async_shared(Loc loc = Loc::current()) {
  if (!sim::left_out(Op::async_fence, loc)) real::fence_async_shared(loc);
}
template <int kPending>
void tma_store_wait_read(Loc loc = Loc::current()) {
  if (!sim::left_out(Op::store_wait, loc)) real::tma_store_wait_read<kPending>(loc);
}
inline void tma_store_commit(Loc loc = Loc::current()) {
  if (!sim::left_out(Op::store_commit, loc)) real::tma_store_commit(loc);
}
template <int kPending>
void copy_async_wait(Loc loc = Loc::current()) {
  if (!sim::left_out(Op::copy_wait, loc)) real::copy_async_wait<kPending>(loc);
}
inline void copy_async_commit(Loc loc = Loc::current()) {
  if (!sim::left_out(Op::copy_commit, loc)) real::copy_async_commit(loc);
}
inline void wgmma_fence(Loc loc = Loc::current()) {
  if (!sim::left_out(Op::wgmma_fence, loc)) real::wgmma_fence(loc);
}
inline void wgmma_commit(Loc loc = Loc::current()) {
  if (!sim::left_out(Op::wgmma_commit, loc)) real::wgmma_commit(loc);
}
template <int kPending>
void wgmma_wait(Loc loc = Loc::current()) {
  if (!sim::left_out(Op::wgmma_wait, loc)) real::wgmma_wait<kPending>(loc);
}
inline void grid_wait_dependencies(Loc loc = Loc::current()) {
  if (!sim::left_out(Op::dependency_wait, loc)) real::grid_wait_dependencies(loc);
}
template <int kRegisters>
void acquire_registers(Loc loc = Loc::current()) {
  if (!sim::left_out(Op::acquire_registers, loc)) real::acquire_registers<kRegisters>(loc);
}
template <int kRegisters>
void release_registers(Loc loc = Loc::current()) {
  if (!sim::left_out(Op::release_registers, loc)) real::release_registers<kRegisters>(loc);
}
inline std::uint64_t wgmma_descriptor(const void* shared, int swizzle, int leading, int stride,
                                      Loc loc = Loc::current()) {
  const bool narrower = sim::change_of(Op::descriptor, loc) == Change::narrower_swizzle;
  return real::wgmma_descriptor(shared, narrower ? swizzle / 2 : swizzle, leading, stride, loc);
}

}  // namespace xgemm::kernels::gpu

#include "families/wgmma_words.h"

namespace xgemm::sim {
namespace {

using kernels::Copy;
using kernels::WgmmaTmaConfig;

// A type of this file's own, so that the kernels here have names of their own. Their parts do not all depend on it: the
// program has no other wgmma_tma kernels.
struct MutantEpilogue : kernels::LinearCombination {
  static MutantEpilogue make(const kernels::WgmmaTmaParams& p) { return {kernels::LinearCombination::make(p)}; }
  static MutantEpilogue make_early(const kernels::WgmmaTmaParams& p) {
    return {kernels::LinearCombination::make_early(p)};
  }
};

// What is wrong with the tensor boxes.
using Tamper = void (*)(kernels::BasicWgmmaTmaParams<kernels::TensorBox>&);
Tamper tamper = nullptr;

template <WgmmaTmaConfig kConfig>
SimKernel make_mutant(const char* name) {
  using Kernel = kernels::WgmmaTma<kConfig, MutantEpilogue>;
  using kernels::Family;
  using OwnInstances = kernels::Instances<kConfig.copy == Copy::bulk ? Family::wgmma_tma : Family::wgmma_words>;
  return {name, "wgmma_tma", OwnInstances::common(kConfig).config,
          static_cast<int>(sizeof(typename Kernel::SharedStorage)),
          [](const kernels::GemmParams& params, const Options& options) {
            GlobalMemory memory = memory_of(params, size_of(kConfig.type), size_of(kConfig.type_c));
            auto arguments = arguments_of<kConfig>(params, schedule_of(kConfig, params, options), nullptr);
            if (tamper != nullptr) tamper(arguments);
            return launch_wgmma_tma<Kernel>(arguments, memory, options);
          }};
}

using kernels::nn;
using kernels::nt;
using kernels::tn;
// Few stages: with five slices and four tiles each slot, buffer and barrier is used again.
constexpr WgmmaTmaConfig kCooperative = {.cta_m = 128, .cta_n = 32, .stages = 3, .groups_rows = 2};
constexpr WgmmaTmaConfig kPingPong = {.cta_m = 64, .cta_n = 32, .stages = 3, .groups_rows = 1, .ping_pong = true};
constexpr WgmmaTmaConfig kSplit = {.cta_m = 128, .cta_n = 32, .stages = 3, .groups_rows = 2};
constexpr WgmmaTmaConfig kSingle = {.cta_m = 32, .cta_n = 64, .stages = 3, .transposed = true, .groups_rows = 1};
// fp32 C.
constexpr WgmmaTmaConfig kRegisters = {
    .type_c = DType::f32, .cta_m = 64, .cta_n = 32, .stages = 3, .groups_rows = 1, .ping_pong = true};
// X through registers.
constexpr WgmmaTmaConfig kFragments = {.type = DType::f32, .cta_m = 128, .cta_n = 32, .stages = 3, .groups_rows = 2};
constexpr WgmmaTmaConfig kChunks = {.cta_m = 64, .cta_n = 256, .stages = 5, .groups_rows = 1};  // more than buffers
constexpr WgmmaTmaConfig kWords = {
    .cta_m = 64, .cta_n = 32, .stages = 3, .groups_rows = 1, .copy = Copy::prefetch, .producers = 2, .teams = 2};
constexpr WgmmaTmaConfig kCopied = {
    .cta_m = 64, .cta_n = 32, .stages = 3, .groups_rows = 1, .copy = Copy::prefetch, .vector = 4};
constexpr WgmmaTmaConfig kCopiedByTeams = {.cta_m = 64,
                                           .cta_n = 32,
                                           .stages = 4,
                                           .groups_rows = 1,
                                           .copy = Copy::prefetch,
                                           .producers = 2,
                                           .teams = 2,
                                           .vector = 4};

const std::vector<SimKernel>& mutants() {
  static const std::vector<SimKernel> all = {make_mutant<nt(kCooperative)>("cooperative"),
                                             make_mutant<tn(kPingPong)>("ping_pong"),
                                             make_mutant<tn(kSplit)>("split"),
                                             make_mutant<nt(kSingle)>("single"),
                                             make_mutant<nn(kChunks)>("chunks"),
                                             make_mutant<tn(kRegisters)>("registers"),
                                             make_mutant<nt(kWords)>("words"),
                                             make_mutant<nt(kCopied)>("copied"),
                                             make_mutant<nn(kCopiedByTeams)>("copied_by_teams"),
                                             make_mutant<nn(kFragments)>("fragments")};
  return all;
}

std::vector<GemmCase> cases_of(const SimKernel& kernel) {
  const auto flags = flags_of(kernel.config).front();
  const std::string_view name = kernel.name;
  const bool clusters = name != "single" && name != "words" && !name.starts_with("copied");
  // Old C that lies as TMA cannot read it waits where X does: it shows what is not waited for where X is shared.
  const bool shares_x = name == "ping_pong" || name == "registers" || name == "fragments";
  const kernels::ClusterShape shape = name == "cooperative" ? kernels::ClusterShape{2, 1}
                                      : name == "split"     ? kernels::ClusterShape{1, 2, 2}
                                      : shares_x            ? kernels::ClusterShape{1, 2}
                                                            : kernels::ClusterShape{};
  GemmCase c{.transa = flags[0],
             .transb = flags[1],
             .m = kernel.config.cta_m * (clusters ? 2 : 1) + 8,
             .n = kernel.config.cta_n * (clusters ? 2 : 1) + 3,
             .k = 4 * kernel.config.cta_k + 3,
             .alpha = 0.5f,
             .cluster = shape};
  GemmCase old_c = c;
  old_c.m += 5;
  old_c.beta = -0.7f;
  old_c.device_scalars = true;
  GemmCase no_product = c;  // where nothing but barriers keeps the lanes of a warp together
  no_product.k = 0;
  GemmCase outside = old_c;  // of C lie most consumers of a cluster, also before there is old C
  outside.m = 8;
  outside.n = kernel.config.cta_n - 3;
  outside.k = kernel.config.cta_k + 1;
  outside.batch = 5;
  return {c, old_c, no_product, outside};
}

std::string outcome(const SimKernel& kernel, Order order, std::uint64_t seed = 1) {
  for (const GemmCase& c : cases_of(kernel)) {
    Options options;
    options.order = order;
    options.seed = seed;
    options.max_grid_x = 2;
    if (std::string wrong = run_case(kernel, c, options); !wrong.empty()) return wrong;
  }
  return {};
}

class Mutants : public testing::TestWithParam<std::string> {
 protected:
  static const SimKernel& kernel(const std::string& name = GetParam()) {
    for (const SimKernel& kernel : mutants())
      if (kernel.name == name) return kernel;
    throw std::logic_error("no such kernel");
  }
  static std::set<Place> places_of(const SimKernel& kernel) {
    places.clear();
    EXPECT_EQ(outcome(kernel, Order::random, 3), "");
    return places;
  }
  void SetUp() override {
    mutation = {};
    tamper = nullptr;
    found_ = places_of(kernel());
    // Where CTAs exchange sums, they wait for each other so often that other waits change nothing. Those are judged by
    // the kernels that have no exchange.
    if (GetParam() == "split")
      for (const Place& place : places_of(kernel("cooperative"))) found_.erase(place);
    ASSERT_FALSE(found_.empty());
  }
  void TearDown() override {
    mutation = {};
    tamper = nullptr;
  }

  // Under every schedule, or else the fault would go unnoticed now and then.
  std::string survivors(Change change, const std::set<Op>& ops) {
    std::string text;
    for (const Place& place : found_) {
      if (!ops.contains(place.op)) continue;
      mutation = {place, change};
      for (const Order order : {Order::forward, Order::random}) {
        if (order == Order::forward && place.op == Op::warp_sync) continue;  // lanes in order need none
        // A lane that lags far enough to miss a phase is not in every random schedule.
        const std::uint64_t last_seed = order == Order::random ? 20 : 3;
        bool wrong = false;
        for (std::uint64_t seed = 3; seed <= last_seed && !wrong; ++seed)
          wrong = !outcome(kernel(), order, seed).empty();
        if (!wrong) {
          text += std::string(to_string(place.op)) + " in " + place.file + ":" + std::to_string(place.line) +
                  (order == Order::random ? ", random schedule\n" : "\n");
        }
      }
    }
    mutation = {};
    return text;
  }

  std::set<Place> found_;
};

TEST_P(Mutants, AnythingLeftOut) {
  std::set<Op> ops;
  for (const Place& place : found_) ops.insert(place.op);
  ops.erase(Op::descriptor);
  // What the registers are good for is the compiler's business: here every thread has all that it names.
  ops.erase(Op::acquire_registers);
  // For the copy engine and other CTAs, which use no barriers here.
  if (kernel().config.copy != Copy::bulk) ops.erase(Op::init_fence);
  // Before the .aligned barrier of a cluster it makes the lanes converge: here they meet whatever they did before.
  std::erase_if(found_, [this](const Place& place) {
    Place next(place);
    next.op = Op::cluster_arrive;
    ++next.line;
    return place.op == Op::warp_sync && found_.contains(next);
  });
  EXPECT_EQ(survivors(Change::left_out, ops), "");
}
TEST_P(Mutants, OtherPhase) {
  EXPECT_EQ(survivors(Change::other_parity, {Op::wait, Op::wait_cluster}), "");
}
TEST_P(Mutants, WrongBytes) {
  EXPECT_EQ(survivors(Change::bytes_too_many, {Op::arrive_expect}), "");
  EXPECT_EQ(survivors(Change::bytes_too_few, {Op::arrive_expect}), "");
}
TEST_P(Mutants, WrongScope) {
  EXPECT_EQ(survivors(Change::no_release, {Op::arrive_remote_release, Op::cluster_sync}), "");
  EXPECT_EQ(survivors(Change::no_acquire, {Op::wait_cluster}), "");
}
TEST_P(Mutants, WrongSwizzle) {
  EXPECT_EQ(survivors(Change::narrower_swizzle, {Op::descriptor}), "");
  const std::vector<Tamper> changes = {[](auto& p) { p.x.swizzle_bytes = 0; }, [](auto& p) { p.y.swizzle_bytes = 0; },
                                       [](auto& p) { p.c.swizzle_bytes = 0; }};
  for (const Tamper change : changes) {
    if (kernel().config.copy != Copy::bulk && change != changes.back()) continue;  // X and Y neither
    tamper = change;
    if (kernel().config.type_c == DType::f32 && change == changes.back()) continue;  // C is not copied by boxes
    EXPECT_NE(outcome(kernel(), Order::forward), "");
  }
}

INSTANTIATE_TEST_SUITE_P(, Mutants,
                         testing::Values("cooperative", "ping_pong", "split", "single", "chunks", "registers", "words",
                                         "copied", "copied_by_teams", "fragments"),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace xgemm::sim
