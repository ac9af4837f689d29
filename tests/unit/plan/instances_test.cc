// The list of kernel instances and the tuning rows about them: what the planner and the launchers rely on.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/instances.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/problem.h"
#include "core/status.h"
#include "device/code_architecture.h"
#include "kernels/common/legality.h"
#include "kernels/mma_swizzled/instances.h"
#include "kernels/wgmma_tma/instances.h"
#include "kernels/wgmma_words/instances.h"
#include "plan/planner.h"
#include "tuning/table.h"
#include "unit/plan/devices.h"
#include "unit/plan/plans.h"
#include "unit/plan/problems.h"

namespace xgemm::test {
namespace {

using kernels::Copy;
using kernels::Family;
using kernels::KernelInfo;
using kernels::TileConfig;

template <class F>
void for_each_instance(F&& f) {
  for (int i = 0; i < kernels::count(); ++i) {
    SCOPED_TRACE(kernels::info(i).name);
    f(kernels::info(i));
  }
}

TEST(Instances, AreNamedAndNumberedConsistently) {
  std::set<std::string> names;
  for (int i = 0; i < kernels::count(); ++i) {
    const KernelInfo& kernel = kernels::info(i);
    SCOPED_TRACE(kernel.name);
    EXPECT_EQ(&kernels::info(kernel.id()), &kernel);
    EXPECT_EQ(kernel.index,
              i == 0 || kernels::info(i - 1).family != kernel.family ? 0 : kernels::info(i - 1).index + 1);
    EXPECT_TRUE(names.insert(kernel.name).second) << "named twice, or listed twice";
    // family, then what makes the instance, then nothing that a shell would need quotes for
    EXPECT_EQ(std::string(kernel.name).rfind(std::string(kernels::name_of(kernel.family)) + "_", 0), 0u);
    EXPECT_EQ(std::string(kernel.name).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos);
    EXPECT_NE(std::string(kernel.name).find(name_of(kernel.config.type)), std::string::npos);
    EXPECT_TRUE(kernels::is_kernel_or_family(kernel.name));
    EXPECT_TRUE(kernels::is_kernel_or_family(kernels::name_of(kernel.family)));
    EXPECT_TRUE(kernels::matches(kernel, kernel.name) && kernels::matches(kernel, kernels::name_of(kernel.family)));
  }
  for (const char* other : {"", "naive_", "n", "naive_f3", "naive_f32 ", "Naive"})
    EXPECT_FALSE(kernels::is_kernel_or_family(other)) << other;
}

// What is launched as another instance's kernel stands behind it in the list: elsewhere it would be compiled again.
template <Family kFamily>
int with_code_of_another() {
  int found = 0;
  for (std::size_t i = 0; i < kernels::kCount<kFamily>; ++i) {
    const auto& config = kernels::kConfigs<kFamily>[i];
    if (config == config.code()) continue;
    EXPECT_TRUE(kernels::has_code_of_last<kFamily>(i)) << kernels::kInfos<kFamily>[i].name;
    ++found;
  }
  return found;
}
TEST(Instances, ThoseThatShareCodeAreNeighbours) {
  EXPECT_GT(with_code_of_another<Family::wgmma_tma>(), 0);
  EXPECT_GT(with_code_of_another<Family::wgmma_words>(), 0);
}

// Compilation units are stretches of a family's list, none much longer to compile than another.
TEST(Instances, PartsShareAListOut) {
  constexpr auto& kKernels = kernels::kInfos<Family::wgmma_tma>;
  for (int parts = 1; parts <= 16; ++parts) {
    const auto part_of = kernels::part_of_each<Family::wgmma_tma>({parts});
    EXPECT_TRUE(std::is_sorted(part_of.begin(), part_of.end()));
    EXPECT_EQ(part_of.front(), 0);
    EXPECT_EQ(part_of.back(), parts - 1);
    std::vector<std::int64_t> tiles(static_cast<std::size_t>(parts), 0);
    for (std::size_t i = 0; i < part_of.size(); ++i) {
      const auto part = static_cast<std::size_t>(part_of[i]);
      if (kernels::has_code_of_last<Family::wgmma_tma>(i)) {
        EXPECT_EQ(part_of[i], part_of[i - 1]) << "it would be compiled twice";
      } else {
        tiles[part] += 8192 + kKernels[i].config.cta_m * kKernels[i].config.cta_n;
      }
    }
    const auto [least, most] = std::minmax_element(tiles.begin(), tiles.end());
    EXPECT_LE(*most - *least, 2 * (8192 + 256 * 256)) << parts;
  }
}

TEST(Instances, ThoseForSm80AloneHavePartsOfTheirOwn) {
  constexpr Family kFamily = Family::mma_swizzled;
  constexpr kernels::Parts kParts = kernels::parts_of(kFamily);
  std::vector<bool> used(static_cast<std::size_t>(kParts.all()), false);
  for (std::size_t i = 0; i < kernels::kCount<kFamily>; ++i) {
    const int part = kernels::kPartOf<kFamily>[i];
    EXPECT_EQ(part >= kParts.number, kernels::is_for_sm80<kFamily>(kernels::kConfigs<kFamily>[i])) << i;
    ASSERT_LT(part, kParts.all());
    used[static_cast<std::size_t>(part)] = true;
  }
  EXPECT_EQ(std::count(used.begin(), used.end(), true), kParts.all());
}

TEST(Instances, FamiliesAreListedOnceEach) {
  std::set<std::string> expected, listed;
  for_each_instance([&](const KernelInfo& kernel) { expected.insert(kernels::name_of(kernel.family)); });
  std::istringstream words(kernels::family_names());
  for (std::string word; words >> word;) {
    if (word.back() == ',') word.pop_back();
    EXPECT_TRUE(listed.insert(word).second) << word << " is listed twice: " << kernels::family_names();
  }
  EXPECT_EQ(listed, expected);
}

// What serves whatever no other instance does: in each type, on every GPU that the library knows, naive takes any
// strides one element at a time.
TEST(Instances, NaiveServesEverything) {
  constexpr ProductTypes kServed[] = {{DType::f32, DType::f32, DType::f32},    {DType::f16, DType::f16, DType::f16},
                                      {DType::bf16, DType::bf16, DType::bf16}, {DType::f16, DType::f16, DType::f32},
                                      {DType::bf16, DType::bf16, DType::f32},  {DType::f64, DType::f64, DType::f64}};
  for (const ProductTypes& types : kServed) {
    bool found = false;
    for_each_instance([&](const KernelInfo& kernel) {
      const TileConfig& c = kernel.config;
      found = found || (kernel.family == Family::naive && c.types() == types && c.any_strides && c.vector == 1 &&
                        c.min_compute_capability <= 75);
    });
    EXPECT_TRUE(found) << to_string(types);
    for (const device::DeviceInfo& device : fake_devices()) EXPECT_TRUE(kernels::serves(types, device));
    EXPECT_FALSE(kernels::serves(types, fake_device(61, 20, 48)));
    EXPECT_FALSE(kernels::serves(types, fake_device(80, 108, 163, 0))) << "a build for later GPUs alone";
  }
}

TEST(Instances, MachineCodeRunsOnItsMajorVersionAndPtxOnAllLaterGpus) {
  const std::vector<int> machine_code = {75, 80, 90}, ptx = {90}, none = {};
  EXPECT_EQ(device::newest_of(61, machine_code, ptx), 0);
  EXPECT_EQ(device::newest_of(75, machine_code, ptx), 75);
  EXPECT_EQ(device::newest_of(89, machine_code, ptx), 80);
  EXPECT_EQ(device::newest_of(90, machine_code, ptx), 90);
  EXPECT_EQ(device::newest_of(120, machine_code, ptx), 90);
  EXPECT_EQ(device::newest_of(120, machine_code, none), 0);
  EXPECT_EQ(device::newest_of(90, std::vector{80}, none), 0);
  EXPECT_EQ(device::newest_of(90, none, std::vector{80}), 80);
}

TEST(Instances, CanBeLaunched) {
  for_each_instance([](const KernelInfo& kernel) {
    const TileConfig& c = kernel.config;
    EXPECT_GT(c.cta_m, 0);
    EXPECT_GT(c.cta_n, 0);
    EXPECT_GT(c.cta_k, 0);
    EXPECT_GT(c.thread_m, 0);
    EXPECT_GT(c.thread_n, 0);
    EXPECT_EQ(c.cta_m % c.thread_m, 0) << "threads share a CTA tile out evenly";
    EXPECT_EQ(c.cta_n % c.thread_n, 0);
    EXPECT_EQ(kernel.threads % 32, 0) << "whole warps";
    EXPECT_LE(kernel.threads, 1024);
    EXPECT_GE(kernel.threads, 32);
    EXPECT_GE(c.min_compute_capability, 75);
  });
}

TEST(Instances, VectorsAndCopiesAreWhatTheHardwareHas) {
  for_each_instance([](const KernelInfo& kernel) {
    const TileConfig& c = kernel.config;
    const int bytes = c.vector * size_of(c.type);
    EXPECT_GT(c.vector, 0);
    EXPECT_EQ(c.vector & (c.vector - 1), 0) << "a power of two";
    EXPECT_LE(bytes, layout::kMaxVectorBytes);
    EXPECT_LE(c.vector_c * size_of(c.type_c), layout::kMaxVectorBytes);
    EXPECT_GE(c.stages, 1);
    if (c.any_strides) {
      EXPECT_EQ(c.vector, 1) << "nothing is contiguous";
    }
    if (c.copy == Copy::async) {
      EXPECT_GE(c.min_compute_capability, 80) << "cp.async";
      EXPECT_GE(c.stages, 2) << "a slice in flight needs a place of its own";
    }
    if (c.copy == Copy::bulk) {
      EXPECT_GE(c.min_compute_capability, 90) << "TMA";
      const bool other_ways = c.any_strides || kernel.family == Family::dmma_tma;
      EXPECT_TRUE(bytes == 16 || other_ways) << "the alignment that TMA needs, or other ways to load";
      EXPECT_GE(c.stages, 2);
    }
  });
}

// A and B tiles of every stage, without padding: the least that an instance takes. Naive and some of warp_tiled stage
// nothing, and skinny one operand alone. Of doubles, GPUs with less are refused.
TEST(Instances, SharedMemoryFitsEveryGpuThatTheyAreFor) {
  for_each_instance([](const KernelInfo& kernel) {
    const TileConfig& c = kernel.config;
    const bool from_registers = kernel.family == Family::warp_tiled && c.copy == Copy::direct;
    if (kernel.family == Family::naive || kernel.family == Family::skinny || kernel.family == Family::tiny_batched ||
        from_registers)
      return;
    for (const device::DeviceInfo& device : fake_devices())
      if (c.runs_on(device.compute_capability)) {
        const bool fits = kernels::slices_bytes(c) <= device.max_shared_bytes_per_block;
        EXPECT_TRUE(fits || c.type == DType::f64) << device.name;
        if (fits || c.on_tensor_cores()) {
          const Problem p = make_problem(c.types(), 'N', 'N', 256, 256, 256);
          const bool refused =
              plan::why_not(kernel, p, plan::gather_facts(p), device).find("shared memory") != std::string::npos;
          EXPECT_EQ(refused, !fits) << device.name;
        }
      }
  });
}

// What the names of wgmma_tma instances say.
TEST(Instances, WgmmaTmaNamesSayWhatTheyAre) {
  for_each_instance([](const KernelInfo& kernel) {
    if (kernel.family != Family::wgmma_tma) return;
    const kernels::WgmmaTmaConfig& c = kernels::config_of<Family::wgmma_tma>(kernel);
    std::string name = format("wgmma_tma_%s%s_%dx%dx%d", c.element == DType::f32 ? "tf32" : name_of(c.type),
                              c.type_c != c.type ? name_of(c.type_c) : "", c.cta_m, c.cta_n, kernel.config.cta_k);
    if (c.ping_pong) name += "_pp";
    if (c.transposed) name += "_t";
    name += format("_s%d_%c%c", c.stages, c.a_contiguous == kernels::Axis::row ? 'n' : 't',
                   c.b_contiguous == kernels::Axis::row ? 'n' : 't');
    EXPECT_EQ(kernel.name, name);
    for (const device::DeviceInfo& device : fake_devices())
      if (kernel.config.runs_on(device.compute_capability)) {
        EXPECT_LE(c.shared_bytes(), device.max_shared_bytes_per_block);
      }
  });
}

// ---- Rows -------------------------------------------------------------------------------------------------------

const tuning::Table* const kTables[] = {&tuning::kGeneric, &tuning::kSm90};

TEST(TuningRows, AreSane) {
  for (const tuning::Table* table : kTables) {
    SCOPED_TRACE(std::string(table->name));
    std::set<std::string_view> seen;
    for (int i = 0; i < table->row_count; ++i) {
      const tuning::KernelRow& row = table->rows[i];
      SCOPED_TRACE(std::string(row.kernel));
      EXPECT_TRUE(seen.insert(row.kernel).second) << "two rows";
      EXPECT_TRUE(std::isfinite(row.gflops_per_sm) && row.gflops_per_sm > 0);
      EXPECT_TRUE(row.gflops_per_cta > 0 && row.gflops_per_cta <= row.gflops_per_sm);
      EXPECT_GE(row.ctas_per_sm * row.gflops_per_cta, row.gflops_per_sm) << "a full SM reaches its rate";
      EXPECT_TRUE(std::isfinite(row.launch_us) && row.launch_us > 0);
      EXPECT_TRUE(row.ctas_per_sm >= 1 && row.ctas_per_sm <= 32);
      EXPECT_FALSE(row.measured_on.empty()) << "a figure says where it comes from";
      bool used = false;
      for (int k = 0; k < kernels::count(); ++k)
        used = used || std::string_view(kernels::info(k).name).substr(0, row.kernel.size()) == row.kernel;
      EXPECT_TRUE(used) << "no instance has this name";
    }
  }
}

// Kernels start early from sm_90 on. Rows that are read again from L1 keep its room where an SM has several CTAs.
TEST(Schedules, LeaveRoomForAnEvenShareWhereKernelsStartEarly) {
  const auto is_early = [](Family f) {
    return f == Family::row_lanes || f == Family::ffma_async || f == Family::ffma_tma || f == Family::skinny ||
           f == Family::warp_tiled || f == Family::mma_lines;
  };
  for (const device::DeviceInfo& device : fake_devices())
    for (const std::int64_t n : {1, 40, 900})
      for_each_instance([&](const KernelInfo& kernel) {
        if (!is_early(kernel.family) || !kernel.config.runs_on(device.compute_capability)) return;
        const Problem p = make_problem(kernel.config.types(), 'N', 'N', 500, n, 64);
        const kernels::Schedule s = describe(kernel.family).schedule(kernel, p, device, {});
        const bool wants_l1 = is_for_vectors(kernel) && !kernels::VectorShape::of(kernel.config).has_tasks();
        const bool even =
            device.compute_capability >= 90 && !(wants_l1 && s.clusters > static_cast<unsigned>(device.sm_count));
        const std::int64_t ctas = kernel.family == Family::warp_tiled ? s.units : s.clusters;
        EXPECT_EQ(s.shared_bytes,
                  even ? kernels::bytes_of_even_share(ctas, device.sm_count, device.max_shared_bytes_per_block) : 0u)
            << device.name;
      });
}

// One for each tile, as far as they go: of many short products, by kernels that mostly wait. Not where K is long enough
// to be split, nor by the kernels that finish, or follow pointers.
TEST(Schedules, HaveCtasShareAnSmWhereTheyMostlyWait) {
  int shared = 0;
  for (const device::DeviceInfo& device : fake_devices())
    for_each_instance([&](const KernelInfo& kernel) {
      if (kernel.family != Family::wgmma_tma || !kernel.config.runs_on(device.compute_capability)) return;
      const auto ctas_per_sm = [&](std::int64_t batch, std::int64_t k, const auto& change) {
        Problem p = make_problem(kernel.config.types(), 'N', 'N', 16, 16, k);
        p.batch_count = batch;
        change(p);
        return int{describe(kernel.family).schedule(kernel, p, device, {}).ctas_per_sm};
      };
      const auto as_it_is = [](const Problem&) {};
      const auto of_many = ctas_per_sm(5000, 32, as_it_is);
      EXPECT_EQ(of_many, kernels::config_of<Family::wgmma_tma>(kernel).most_ctas_per_sm());
      shared += of_many > 1;
      EXPECT_EQ(ctas_per_sm(device.sm_count, 32, as_it_is), 1);
      EXPECT_EQ(ctas_per_sm(5000, 1000, as_it_is), 1);
      EXPECT_EQ(ctas_per_sm(5000, 32, [](Problem& p) { p.batch_kind = BatchKind::pointers; }), 1);
      EXPECT_EQ(ctas_per_sm(5000, 32, [](Problem& p) { p.epilogue.activation = Activation::relu; }), 1);
    });
  EXPECT_GT(shared, 0);
}

// Without a row an instance is never chosen and its estimate is infinite: a hole in a table, not a choice. Some
// families need none: they have cost models of their own.
TEST(TuningRows, CoverEveryInstanceOnEveryGpu) {
  for (const device::DeviceInfo& device : fake_devices())
    for_each_instance([&](const KernelInfo& kernel) {
      constexpr Family kOwnModels[] = {Family::skinny,     Family::warp_tiled, Family::tiny_batched, Family::row_lanes,
                                       Family::ffma_async, Family::ffma_tma,   Family::mma_lines,    Family::wgmma_tma,
                                       Family::fp16x3,     Family::wgmma_words};
      if (std::ranges::find(kOwnModels, kernel.family) != std::end(kOwnModels)) return;
      if (!kernel.config.runs_on(device.compute_capability)) return;
      const tuning::Table& table = tuning::table_for(device.compute_capability);
      EXPECT_NE(tuning::find_row(table, kernel.name), nullptr) << "in the table " << table.name;
    });
}

// No more CTAs on an SM than its threads allow.
TEST(TuningRows, CtasFitAnSm) {
  constexpr int kThreadsPerSm = 2048;  // of the GPUs that have a table
  for (const device::DeviceInfo& device : fake_devices())
    for_each_instance([&](const KernelInfo& kernel) {
      if (!kernel.config.runs_on(device.compute_capability)) return;
      const auto* row = tuning::find_row(tuning::table_for(device.compute_capability), kernel.name);
      // The generic rows know the order of the kernels, not a GPU.
      if (row == nullptr || tuning::table_for(device.compute_capability).architecture == 0) return;
      EXPECT_LE(row->ctas_per_sm * kernel.threads, kThreadsPerSm) << device.name;
    });
}

TEST(TuningRows, TheLongestPrefixWins) {
  tuning::KernelRow rows[3] = {};
  rows[0].kernel = "a_";
  rows[1].kernel = "a_b";
  rows[2].kernel = "a_bc";
  const tuning::Table table = {"test", 0, rows, 3};
  EXPECT_EQ(tuning::find_row(table, "a_x"), &rows[0]);
  EXPECT_EQ(tuning::find_row(table, "a_bx"), &rows[1]);
  EXPECT_EQ(tuning::find_row(table, "a_bcd"), &rows[2]);
  EXPECT_EQ(tuning::find_row(table, "a"), nullptr);
  EXPECT_EQ(tuning::find_row(table, "b_"), nullptr);
}

TEST(TuningRows, TablesByArchitecture) {
  EXPECT_EQ(tuning::table_for(75).name, tuning::kGeneric.name);
  EXPECT_EQ(tuning::table_for(80).name, tuning::kGeneric.name);
  EXPECT_EQ(tuning::table_for(86).name, tuning::kGeneric.name);
  EXPECT_EQ(tuning::table_for(89).name, tuning::kGeneric.name);
  EXPECT_EQ(tuning::table_for(90).name, tuning::kSm90.name);
  EXPECT_EQ(tuning::table_for(100).name, tuning::kGeneric.name);
}

}  // namespace
}  // namespace xgemm::test
