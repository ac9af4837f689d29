// The packing pass: every element of every copy, zeros behind the lines, nothing read or written outside; for pointers,
// lines, entries and steps of any alignment and sign.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/pack/pack.cuh"
#include "sim/launch.h"
#include "support/matrix.h"

namespace xgemm::sim {
namespace {

using kernels::PackJob;
using kernels::PackParams;
using test::Random;

template <class Word>
Result run_pack(const PackParams& params, const Options& options) {
  GlobalMemory memory;
  for (int i = 0; i < params.count; ++i) {
    const PackJob& job = params.jobs[i];
    constexpr int kBytes = sizeof(Word);
    const void* const* const array = static_cast<const void* const*>(job.scatters ? job.destination : job.source);
    if (job.pointers)
      memory.add({"pointers " + std::to_string(i), array, sizeof(void*), job.batch_count, 1, 1, 1, job.batch_count, 0,
                  Access::read});
    const void* const far = job.pointers ? array[0] : array;  // the first entry; the others lie batch strides apart
    if (job.scatters) {
      // What is copied, and nothing else, may be read.
      const std::string buffer = "buffer " + std::to_string(i);
      if (job.fill == Fill::full) {
        memory.add({buffer, job.source, kBytes, job.length, job.lines, job.batch_count, job.source_step,
                    job.line_stride, job.batch_stride, Access::read});
      } else {
        for (std::int64_t b = 0; b < job.batch_count; ++b)
          for (std::int64_t line = 0; line < job.lines; ++line)
            if (const auto [begin, end] = rows_of_column(job.fill, line, job.length); begin < end)
              memory.add({buffer,
                          static_cast<const Word*>(job.source) + b * job.batch_stride + line * job.line_stride +
                              begin * job.source_step,
                          kBytes, end - begin, 1, 1, job.source_step, 1, 0, Access::read});
      }
      memory.add({"matrix " + std::to_string(i), far, kBytes, job.length, job.lines, job.batch_count, job.step, job.ld,
                  job.ld_batch, Access::write});
      continue;
    }
    if (job.found != nullptr)
      memory.add({"found " + std::to_string(i), job.found, sizeof(void*), job.batch_count, 1, 1, 1, job.batch_count, 0,
                  Access::write});
    memory.add({"source " + std::to_string(i), far, kBytes, job.length, job.lines, job.batch_count, job.step,
                job.line_stride, job.batch_stride, Access::read});
    constexpr std::int64_t kElements = PackParams::kVectorBytes / kBytes;
    memory.add({"copy " + std::to_string(i), job.destination, kBytes,
                (job.length + kElements - 1) / kElements * kElements, job.lines, job.batch_count, 1, job.ld,
                job.ld_batch, Access::write});
  }
  LaunchShape shape;
  shape.grid = params.ctas();
  shape.threads = PackParams::kThreads;
  shape.dynamic_shared_bytes = sizeof(typename kernels::Pack<Word>::SharedStorage);
  shape.granule = 4;
  shape.dependent = true;
  const auto run = [&]<class Kernel>(Kernel) {
    return launch_body(shape, memory, options, [&params](unsigned char* shared) {
      Kernel::run(params, *reinterpret_cast<typename Kernel::SharedStorage*>(shared));
    });
  };
  return params.jobs[0].pointers ? run(kernels::Pack<Word, true>{}) : run(kernels::Pack<Word>{});
}

// A matrix in a storage of its own, and where its copy goes.
template <class Word>
struct Case {
  std::vector<Word> source, copy;
  PackJob job{};
  std::int64_t first = 0;
  static constexpr Word kGuard = static_cast<Word>(0xdeadbeefdeadbeefu);
  static constexpr std::int64_t kElements = PackParams::kVectorBytes / sizeof(Word);

  explicit Case(Random& random) {
    const auto pick = [&](std::initializer_list<std::int64_t> from) {
      return from.begin()[random.integer(0, static_cast<std::int64_t>(from.size()) - 1)];
    };
    job.length = pick({1, 2, 7, 8, 9, 31, 64, 127, 256, 300, 2500});
    job.lines = pick({1, 2, 3, 17, 40, 130});
    job.batch_count = pick({1, 1, 2, 3});
    job.step = pick({1, 1, 1, 1, 0, 2, 3, -1, -2});
    job.line_stride = pick({0, 1, 5, job.length + 1, job.length + 8, 3 * job.length + 16, -2 * job.length - 3});
    if (random.integer(0, 2) == 0) job.step = job.lines + pick({0, 1, 5}), job.line_stride = 1;  // transposed
    job.batch_stride = pick({0, 1, 777, 4096, -1000});
    const auto reach = [&](bool least) {
      const auto part = [&](std::int64_t count, std::int64_t stride) {
        const std::int64_t far = (count - 1) * stride;
        return least ? std::min<std::int64_t>(0, far) : std::max<std::int64_t>(0, far);
      };
      return part(job.length, job.step) + part(job.lines, job.line_stride) + part(job.batch_count, job.batch_stride);
    };
    first = random.integer(0, 15) - reach(true);
    source.resize(static_cast<std::size_t>(first + reach(false) + 32));
    for (Word& x : source) x = static_cast<Word>(random.integer(1, 60000));
    job.ld = (job.length + kElements - 1) / kElements * kElements + pick({0, 8});
    job.ld_batch = job.ld * job.lines + pick({0, 8});
    copy.assign(static_cast<std::size_t>(job.ld_batch * job.batch_count + 2 * kElements), kGuard);
    job.source = source.data() + first;
    const auto misaligned = reinterpret_cast<std::uintptr_t>(copy.data()) % PackParams::kVectorBytes;
    job.destination = copy.data() + (misaligned == 0 ? 0 : PackParams::kVectorBytes - misaligned) / sizeof(Word);
  }
  Case(const Case&) = delete;

  std::string check() const {
    std::vector<Word> expected(copy.size(), kGuard);
    const auto base = static_cast<const Word*>(job.destination) - copy.data();
    for (std::int64_t b = 0; b < job.batch_count; ++b)
      for (std::int64_t l = 0; l < job.lines; ++l)
        for (std::int64_t e = 0; e < (job.length + kElements - 1) / kElements * kElements; ++e)
          expected[static_cast<std::size_t>(base + b * job.ld_batch + l * job.ld + e)] =
              e < job.length
                  ? source[static_cast<std::size_t>(first + b * job.batch_stride + l * job.line_stride + e * job.step)]
                  : Word{0};
    for (std::size_t i = 0; i < copy.size(); ++i)
      if (copy[i] != expected[i]) {
        return "element " + std::to_string(static_cast<std::int64_t>(i) - base) + " of " + std::to_string(job.length) +
               " x " + std::to_string(job.lines) + " x " + std::to_string(job.batch_count) + ", step " +
               std::to_string(job.step) + ", lines " + std::to_string(job.line_stride);
      }
    return {};
  }
};

template <class Word>
class Packing : public testing::Test {};
using Words = testing::Types<std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Packing, Words);

TYPED_TEST(Packing, CopiesWhatIsThereAndNothingElse) {
  Random random(11);
  for (int n = 0; n < 60; ++n) {
    std::vector<std::unique_ptr<Case<TypeParam>>> cases;
    PackParams params{.element_bytes = sizeof(TypeParam)};
    for (int i = 0; i <= n % PackParams::kMaxJobs; ++i) {
      cases.push_back(std::make_unique<Case<TypeParam>>(random));
      params.add(cases.back()->job);
    }
    Options options;
    options.order = n % 2 == 0 ? Order::forward : Order::random;
    options.seed = static_cast<std::uint64_t>(n);
    // The same entries, by an array of pointers, which gets one of pointers to the copies.
    std::vector<std::vector<const void*>> arrays;
    std::vector<std::vector<void*>> found;
    for (int i = 0; n % 3 == 2 && i < params.count; ++i) {
      PackJob& job = params.jobs[i];
      arrays.emplace_back();
      for (std::int64_t b = 0; b < job.batch_count; ++b)
        arrays.back().push_back(static_cast<const TypeParam*>(job.source) + b * job.batch_stride);
      job.pointers = true, job.source = arrays.back().data();
      found.emplace_back(static_cast<std::size_t>(job.batch_count));
      if (n % 2 == 0) job.found = found.back().data();
    }
    const Result result = run_pack<TypeParam>(params, options);
    ASSERT_TRUE(result.ok()) << result.summary();
    for (const auto& c : cases) ASSERT_EQ(c->check(), "");
    for (int i = 0; i < params.count; ++i) {
      const PackJob& job = params.jobs[i];
      for (std::int64_t b = 0; job.found != nullptr && b < job.batch_count; ++b)
        ASSERT_EQ(job.found[b], static_cast<TypeParam*>(job.destination) + b * job.ld_batch);
    }
  }
}

// A matrix without contiguous columns, of which each element is written once, and nothing beside them.
template <class Word>
struct Scattered {
  std::vector<Word> buffer, matrix, expected;
  PackJob job{};

  explicit Scattered(Random& random) {
    const auto pick = [&](std::initializer_list<std::int64_t> from) {
      return from.begin()[random.integer(0, static_cast<std::int64_t>(from.size()) - 1)];
    };
    job.scatters = true;
    job.lines = pick({1, 2, 3, 17, 40, 130});
    job.fill = static_cast<Fill>(random.integer(0, 2));
    job.length = job.fill == Fill::full ? pick({1, 2, 7, 31, 64, 127, 300}) : job.lines;
    job.batch_count = pick({1, 1, 2, 3});
    // Lines of strided elements, or elements of strided lines; in either order.
    const bool lines_apart = random.integer(0, 1) == 0;
    const std::int64_t near = pick({1, 2, 3}), far = (lines_apart ? job.length : job.lines) * near + pick({0, 1, 5});
    const auto sign = [&] { return random.integer(0, 3) == 0 ? -1 : 1; };
    job.step = (lines_apart ? near : far) * sign();
    job.ld = (lines_apart ? far : near) * sign();
    const std::int64_t down = (job.length - 1) * job.step, across = (job.lines - 1) * job.ld;
    const std::int64_t reach = std::abs(down) + std::abs(across) + 1;
    job.ld_batch = reach + pick({0, 3});
    const std::int64_t first = 32 - std::min<std::int64_t>(0, down) - std::min<std::int64_t>(0, across);
    job.source_step = pick({1, 1, 2, 3});
    job.line_stride = job.length * job.source_step + pick({0, 8});
    job.batch_stride = job.line_stride * job.lines + pick({0, 8});
    buffer.resize(static_cast<std::size_t>(job.batch_stride * job.batch_count));
    for (Word& x : buffer) x = static_cast<Word>(random.integer(1, 60000));
    matrix.assign(static_cast<std::size_t>(64 + job.ld_batch * job.batch_count), Case<Word>::kGuard);
    expected = matrix;
    for (std::int64_t b = 0; b < job.batch_count; ++b)
      for (std::int64_t l = 0; l < job.lines; ++l)
        for (std::int64_t e = 0; e < job.length; ++e)
          if (contains(job.fill, e, l))
            expected[static_cast<std::size_t>(first + b * job.ld_batch + l * job.ld + e * job.step)] =
                buffer[static_cast<std::size_t>(b * job.batch_stride + l * job.line_stride + e * job.source_step)];
    job.source = buffer.data();
    job.destination = matrix.data() + first;
  }
  Scattered(const Scattered&) = delete;
};

TYPED_TEST(Packing, ScattersWhatTheProductComputesAndNothingElse) {
  Random random(12);
  for (int n = 0; n < 60; ++n) {
    Scattered<TypeParam> one(random);
    PackParams params{.element_bytes = sizeof(TypeParam)};
    params.add(one.job);
    Options options;
    options.order = n % 2 == 0 ? Order::forward : Order::random;
    options.seed = static_cast<std::uint64_t>(n);
    std::vector<void*> pointers;
    if (n % 3 == 2) {
      PackJob& job = params.jobs[0];
      for (std::int64_t b = 0; b < job.batch_count; ++b)
        pointers.push_back(static_cast<TypeParam*>(job.destination) + b * job.ld_batch);
      job.pointers = true, job.destination = pointers.data();
    }
    const Result result = run_pack<TypeParam>(params, options);
    ASSERT_TRUE(result.ok()) << result.summary();
    ASSERT_TRUE(one.matrix == one.expected)
        << one.job.length << " x " << one.job.lines << " x " << one.job.batch_count << ", strides " << one.job.step
        << ", " << one.job.ld << ", fill " << static_cast<int>(one.job.fill);
  }
}

// A matrix that is transposed on its way moves whole sectors, without bank conflicts.
TEST(Transposing, HasNoConflicts) {
  constexpr std::int64_t kLines = 192, kLength = 128;
  std::vector<std::uint32_t> memory(2 * kLines * kLength + 32);
  std::uint32_t* const first = memory.data() + (128 - reinterpret_cast<std::uintptr_t>(memory.data()) % 128) / 4;
  PackParams params{.element_bytes = 4};
  params.add({.source = first,
              .destination = first + kLines * kLength,
              .length = kLength,
              .lines = kLines,
              .batch_count = 1,
              .step = kLines,
              .line_stride = 1,
              .batch_stride = 0,
              .ld = kLength,
              .ld_batch = 0});
  Options options;
  options.count = true;
  const Result result = run_pack<std::uint32_t>(params, options);
  ASSERT_TRUE(result.ok()) << result.summary();
  for (const Traffic traffic :
       {Traffic::shared_load, Traffic::shared_store, Traffic::global_load, Traffic::global_store}) {
    EXPECT_GT(result.counters.total(traffic).requests, 0) << to_string(traffic);
    EXPECT_EQ(result.counters.total(traffic).excess(), 0) << to_string(traffic);
  }
}

TYPED_TEST(Packing, LeavesOutJobsOfNothing) {
  PackParams params{.element_bytes = sizeof(TypeParam)};
  params.add({});
  EXPECT_EQ(params.ctas(), 0u);
}

}  // namespace
}  // namespace xgemm::sim
