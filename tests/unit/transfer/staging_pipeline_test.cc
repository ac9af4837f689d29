// The pipeline of staging.cc on the fake CUDA runtime: results are exact whatever order the streams advance in, nothing
// is touched that is not the product's, failures leave nothing behind.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "../../support/element.h"
#include "../../support/matrix.h"
#include "device/health.h"
#include "dispatch/staged_or_cpu.h"
#include "fake_cuda_runtime.h"
#include "host/cpu_engine.h"
#include "runtime/device_gemm.h"
#include "transfer/peer_copies.h"
#include "transfer/peer_gemm.h"
#include "transfer/staging.h"

namespace xgemm {
namespace {

using test::Bfloat16;
using test::Half;
using test::Matrix;

// By the definition, in double: the tests use small integers, for which every type is exact.
template <class T, class C>
void multiply(const Problem& p) {
  for (std::int64_t x = 0; x < p.batch_count; ++x) {
    const T* a = static_cast<const T*>(p.a.data) + x * p.a.batch_stride;
    const T* b = static_cast<const T*>(p.b.data) + x * p.b.batch_stride;
    C* c = static_cast<C*>(p.c.data) + x * p.c.batch_stride;
    for (std::int64_t j = 0; j < p.n; ++j) {
      for (std::int64_t i = 0; i < p.m; ++i) {
        if (!contains(p.fill, i, j)) continue;
        double sum = 0;
        if (p.reads_inputs()) {
          for (std::int64_t l = 0; l < p.k; ++l)
            sum += test::to_double(p.a.op == Op::none ? a[i + l * p.a.ld] : a[l + i * p.a.ld]) *
                   test::to_double(p.b.op == Op::none ? b[l + j * p.b.ld] : b[j + l * p.b.ld]);
        }
        double result = double(p.alpha.value) * sum;
        if (p.reads_c()) result += double(p.beta.value) * test::to_double(c[i + j * p.c.ld]);
        c[i + j * p.c.ld] = test::from_double<C>(result);
      }
    }
  }
}

// Calls f<T, C>() for the types of A and B, and of C.
template <class F>
void with_types(DType type, DType type_c, const F& f) {
  const bool same = type == type_c;
  switch (type) {
    case DType::f32:
      return f.template operator()<float, float>();
    case DType::f16:
      return same ? f.template operator()<Half, Half>() : f.template operator()<Half, float>();
    case DType::bf16:
      return same ? f.template operator()<Bfloat16, Bfloat16>() : f.template operator()<Bfloat16, float>();
    case DType::f64:
      return f.template operator()<double, double>();
  }
}

void multiply(const Problem& p) {
  with_types(p.a.type, p.c.type, [&]<class T, class C>() { multiply<T, C>(p); });
}

int launches = 0;
int fail_launch = -1;
std::vector<std::string> launched;  // what the kernel of each launch is chosen by

std::string shape_of(const Problem& p) {
  const auto matrix = [](const auto& x) {
    return format(" %p %lld %lld", reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(x.data) % 512),
                  static_cast<long long>(x.ld), static_cast<long long>(x.batch_stride));
  };
  return to_string(p) + matrix(p.a) + matrix(p.b) + matrix(p.c);
}

}  // namespace

namespace runtime {

// The kernel: enqueued, computed when the stream gets there.
Status device_gemm(const Problem& problem, const device::DeviceInfo&, const LaunchSettings& settings) {
  if (launches++ == fail_launch) return fail(XGEMM_KERNEL_NOT_USABLE, "told to fail");
  launched.push_back(shape_of(problem));
  // A launch reports errors of earlier calls as its own.
  if (cudaGetLastError() != cudaSuccess) return fail(XGEMM_CUDA_ERROR, "a stale error was left behind");
  fake_cuda::enqueue(static_cast<cudaStream_t>(settings.stream), [problem] { multiply(problem); });
  return kOk;
}
Status explain_plan(const Problem&, const device::DeviceInfo&, std::string* text) {
  *text += "plan: of the test\n";
  return kOk;
}
std::string to_string(const Placement&) {
  return "placement";
}

}  // namespace runtime

namespace host {

int products = 0;
Status cpu_gemm(const Problem& problem) {
  ++products;
  multiply(problem);
  return kOk;
}

}  // namespace host

namespace transfer {
namespace {

enum class At { pageable, page_locked, device, managed, peer };

struct CallSetup {
  DType type = DType::f32;
  bool c_in_f32 = false;  // where A and B have 16 bits
  Op op_a = Op::none, op_b = Op::none;
  std::int64_t m = 1, n = 1, k = 1;
  float alpha = 1, beta = 0;
  std::int64_t pad = 0;  // of all leading dimensions
  std::int64_t batch = 1;
  Fill fill = Fill::full;
  bool shares_a = false, shares_b = false;
  At a = At::pageable, b = At::pageable, c = At::pageable;
  std::size_t device_memory = std::size_t{1} << 34;

  DType type_c() const { return c_in_f32 && size_of(type) == 2 ? DType::f32 : type; }
};

// A batch is one tall storage: matrices one after the other, with a gap between them that nothing may touch.
template <class T>
struct Operand {
  std::int64_t rows, cols, ld, stride, count;
  Matrix<T> all;

  Operand(std::int64_t r, std::int64_t c, std::int64_t pad, std::int64_t matrices)
      : rows(r),
        cols(c),
        ld(std::max<std::int64_t>(1, r) + pad),
        stride(ld * c + pad),
        count(matrices),
        all(std::max<std::int64_t>(0, stride * (matrices - 1) + ld * (c - 1) + r), 1) {}

  void fill(std::uint64_t seed) {
    test::Random random(seed);
    for (std::int64_t x = 0; x < count; ++x)
      for (std::int64_t j = 0; j < cols; ++j)
        for (std::int64_t i = 0; i < rows; ++i)
          all.data()[x * stride + j * ld + i] = test::from_double<T>(static_cast<double>(random.integer(-3, 3)));
  }
};

runtime::PointerLocation location_of(At at, bool used) {
  if (!used) return {};
  switch (at) {
    case At::pageable:
    case At::page_locked:
      return {runtime::Location::host, -1};
    case At::device:
      return {runtime::Location::device, 0};
    case At::managed:
      return {runtime::Location::managed, -1};
    case At::peer:
      return {runtime::Location::device, 1};
  }
  return {};
}

template <class T, class C = T>
class StagedCall {
 public:
  explicit StagedCall(const CallSetup& s)
      : a_(s.op_a == Op::none ? s.m : s.k, s.op_a == Op::none ? s.k : s.m, s.pad, s.shares_a ? 1 : s.batch),
        b_(s.op_b == Op::none ? s.k : s.n, s.op_b == Op::none ? s.n : s.k, s.pad, s.shares_b ? 1 : s.batch),
        c_(s.m, s.n, s.pad, s.batch) {
    a_.fill(1);
    b_.fill(2);
    if (s.beta != 0) c_.fill(3);
    problem_.m = s.m;
    problem_.n = s.n;
    problem_.k = s.k;
    problem_.batch_count = s.batch;
    problem_.fill = s.fill;
    problem_.alpha.value = s.alpha;
    problem_.beta.value = s.beta;
    problem_.a = {s.type, a_.all.data(), s.op_a, a_.ld, s.shares_a ? 0 : a_.stride};
    problem_.b = {s.type, b_.all.data(), s.op_b, b_.ld, s.shares_b ? 0 : b_.stride};
    problem_.c = {s.type_c(), c_.all.data(), c_.ld, c_.stride};
    const bool reads = problem_.reads_inputs();
    placement_.a = location_of(s.a, reads);
    placement_.b = location_of(s.b, reads);
    placement_.c = location_of(s.c, true);
    device_.memory_bytes = s.device_memory;
    setup_ = s;
    before_ = c_.all;
    expected_ = c_.all;
    Problem reference = problem_;
    reference.c.data = expected_.data();
    multiply(reference);
  }

  // Tells the fake runtime of operands that are page-locked or on another GPU; after its reset().
  void register_memory() {
    const auto register_one = [](At at, auto& m) {
      const std::size_t bytes = m.storage().size() * sizeof(*m.data());
      if (at == At::page_locked) fake_cuda::register_host(m.storage().data(), bytes);
      if (at == At::peer) fake_cuda::place_on_peer(m.storage().data(), bytes, 1);
    };
    register_one(setup_.a, a_.all);
    register_one(setup_.b, b_.all);
    register_one(setup_.c, c_.all);
  }

  Status operator()(StagerHandle& stager) {
    c_.all = before_;  // in the same storage
    Unfinished unfinished;
    return staged_gemm(stager, problem_, placement_, device_, nullptr, &unfinished);
  }

  // With the CPU behind it.
  Status or_cpu(StagerHandle& stager, std::string* gpu_failure) {
    c_.all = before_;
    clear_last_error();  // as every entry point does
    return dispatch::staged_or_cpu(stager, problem_, placement_, device_, nullptr, gpu_failure);
  }

  Status on_peers(const runtime::Placement& placement) {
    c_.all = before_;
    return peer_gemm(problem_, placement, device_, {});
  }

  bool is_unchanged() const { return c_.all.same_bits(before_); }
  bool is_right() const { return c_.all.same_bits(expected_); }
  const Problem& problem() const { return problem_; }
  const runtime::Placement& placement() const { return placement_; }
  const device::DeviceInfo& device() const { return device_; }

 private:
  CallSetup setup_;
  Operand<T> a_, b_;
  Operand<C> c_;
  Matrix<C> before_, expected_;
  Problem problem_;
  runtime::Placement placement_;
  device::DeviceInfo device_;
};

// Some seeds with one stager, then freed.
template <class T, class C>
void check_typed(const CallSetup& s, int seeds) {
  StagedCall<T, C> run(s);
  for (int seed = 0; seed < seeds; ++seed) {
    fake_cuda::Settings settings;
    settings.seed = static_cast<std::uint64_t>(seed + 1);
    fake_cuda::reset(settings);
    run.register_memory();
    StagerHandle stager;
    for (int again = 0; again < 2; ++again) {
      const Status status = run(stager);
      ASSERT_TRUE(status.ok()) << last_error();
      ASSERT_TRUE(run.is_right()) << to_string(run.problem()) << " seed " << seed;
    }
    EXPECT_FALSE(fake_cuda::counts().wrong_thread);
    EXPECT_FALSE(fake_cuda::counts().stuck);
    EXPECT_LE(fake_cuda::counts().peak_device_bytes, s.device_memory);
    stager.reset();
    EXPECT_EQ(fake_cuda::counts().objects, 0);
  }
}

void check(const CallSetup& s, int seeds = 3) {
  with_types(s.type, s.type_c(), [&]<class T, class C>() { check_typed<T, C>(s, seeds); });
}

TEST(StagingPipeline, EveryFlagPlaceAndType) {
  for (DType type : {DType::f32, DType::f16, DType::bf16, DType::f64})
    for (Op op_a : {Op::none, Op::transpose})
      for (Op op_b : {Op::none, Op::transpose})
        for (float beta : {0.0f, 2.0f})
          for (int places = 0; places < 64; places += places % 5 == 0 ? 3 : 1) {
            CallSetup s{.type = type,
                        .c_in_f32 = places % 2 != 0,
                        .op_a = op_a,
                        .op_b = op_b,
                        .m = 33,
                        .n = 29,
                        .k = 17,
                        .beta = beta,
                        .pad = 3};
            s.a = static_cast<At>(places & 3);
            s.b = static_cast<At>(places >> 2 & 3);
            s.c = static_cast<At>(places >> 4 & 3);
            check(s, 1);
          }
}

TEST(StagingPipeline, ManyPiecesInLittleMemory) {
  for (Op op : {Op::none, Op::transpose})
    for (float beta : {0.0f, -1.0f})
      for (std::size_t memory : {std::size_t{3} << 20, std::size_t{1} << 20, std::size_t{1} << 18})
        for (DType type : {DType::f32, DType::bf16, DType::f64})
          check({.type = type,
                 .c_in_f32 = true,
                 .op_a = op,
                 .op_b = op,
                 .m = 300,
                 .n = 260,
                 .k = 20,
                 .beta = beta,
                 .pad = 5,
                 .device_memory = memory});
}

// What is outside of a triangle stays as it is on the host, wherever C is and however it is cut.
TEST(StagingPipeline, Triangles) {
  for (Fill fill : {Fill::lower, Fill::upper})
    for (Op op : {Op::none, Op::transpose})
      for (float beta : {0.0f, -1.0f})
        for (std::size_t memory : {std::size_t{1} << 30, std::size_t{1} << 20, std::size_t{1} << 18})
          for (At c : {At::pageable, At::page_locked, At::device})
            for (DType type : {DType::f32, DType::bf16, DType::f64})
              check({.type = type,
                     .op_a = op,
                     .op_b = op == Op::none ? Op::transpose : Op::none,
                     .m = 270,
                     .n = 270,
                     .k = 20,
                     .beta = beta,
                     .pad = 5,
                     .batch = memory == std::size_t{1} << 20 ? 2 : 1,
                     .fill = fill,
                     .c = c,
                     .device_memory = memory},
                    1);
}

TEST(StagingPipeline, MoreChunksThanTheRingHolds) {
  check({.m = 1100, .n = 1300, .k = 2, .beta = 1, .pad = 1});
  check({.m = 1500, .n = 700, .k = 2, .beta = 0});
  check({.type = DType::f16, .m = 700, .n = 2000, .k = 2, .beta = 1, .pad = 1, .device_memory = std::size_t{8} << 20});
}

TEST(StagingPipeline, PageLockedOperandsAreReadAndWrittenInPlace) {
  for (std::size_t memory : {std::size_t{1} << 30, std::size_t{1} << 20})
    for (std::int64_t pad : {0, 7}) {
      CallSetup s{.m = 400,
                  .n = 300,
                  .k = 20,
                  .beta = 1,
                  .pad = pad,
                  .a = At::page_locked,
                  .b = At::page_locked,
                  .c = At::page_locked,
                  .device_memory = memory};
      check(s);
      s.c = At::pageable;
      check(s);
      s.a = At::pageable;
      check(s);
    }
}

TEST(StagingPipeline, Batches) {
  for (bool shares_a : {false, true})
    for (bool shares_b : {false, true})
      for (std::int64_t pad : {0, 3})
        for (std::size_t memory : {std::size_t{1} << 30, std::size_t{1} << 19}) {
          check({.m = 20,
                 .n = 30,
                 .k = 10,
                 .beta = 1,
                 .pad = pad,
                 .batch = 300,
                 .shares_a = shares_a,
                 .shares_b = shares_b,
                 .device_memory = memory});
          check({.m = 190,
                 .n = 150,
                 .k = 20,
                 .pad = pad,
                 .batch = 5,
                 .shares_a = shares_a,
                 .shares_b = shares_b,
                 .device_memory = memory});
        }
}

TEST(StagingPipeline, ThinMatricesAndNoInputs) {
  for (std::int64_t pad : {0, 1})
    for (auto [m, n, k] :
         {std::array<std::int64_t, 3>{1, 1, 1}, {1, 5000, 3}, {5000, 1, 3}, {1, 1, 200000}, {2, 3, 50000}})
      for (DType type : {DType::f32, DType::f16, DType::bf16, DType::f64})
        check({.type = type,
               .m = m,
               .n = n,
               .k = std::min<std::int64_t>(k, type == DType::f32 ? k : 200),
               .beta = 1,
               .pad = pad},
              1);
  check({.m = 50, .n = 40, .k = 0, .beta = 3});
  check({.m = 50, .n = 40, .k = 9, .alpha = 0, .beta = 3});
  check({.m = 50, .n = 40, .k = 9, .alpha = 0, .beta = 0, .pad = 2});
}

TEST(StagingPipeline, WorksWithoutPools) {
  StagedCall<float> run({.m = 100, .n = 100, .k = 10});
  fake_cuda::Settings settings;
  settings.has_pools = false;
  fake_cuda::reset(settings);
  StagerHandle stager;
  ASSERT_TRUE(run(stager).ok());
  EXPECT_TRUE(run.is_right());
  stager.reset();
  EXPECT_EQ(fake_cuda::counts().objects, 0);
}

// The pieces, and with them the kernels and the order of their sums, are those of a GPU with nothing else on it, down
// to the memory of a single piece; below that the product is refused.
TEST(StagingPipeline, FreeMemoryDoesNotChangeWhatIsLaunched) {
  for (const CallSetup& s :
       {CallSetup{.m = 1500, .n = 1400, .k = 5, .beta = 1, .device_memory = std::size_t{16} << 20},
        CallSetup{.m = 2048, .n = 1100, .k = 4, .device_memory = std::size_t{32} << 20},
        CallSetup{.m = 700, .n = 300, .k = 64, .pad = 1, .device_memory = std::size_t{3} << 20},
        CallSetup{.m = 60, .n = 50, .k = 40, .batch = 300, .shares_b = true, .device_memory = std::size_t{2} << 20},
        CallSetup{.m = 512, .n = 2000, .k = 100, .a = At::device, .device_memory = std::size_t{8} << 20}}) {
    StagedCall<float> run(s);
    std::vector<std::string> expected;
    std::size_t needed = 0;
    int served = 0, refused = 0;
    for (int percent = 100; percent > 0; percent -= 7) {
      fake_cuda::Settings settings;
      if (needed > 0) settings.device_bytes = needed * static_cast<std::size_t>(percent) / 100;
      fake_cuda::reset(settings);
      StagerHandle stager;
      launched.clear();
      clear_last_error();
      const Status status = run(stager);
      if (!status.ok()) {
        EXPECT_EQ(status.code, XGEMM_OUT_OF_DEVICE_MEMORY) << last_error();
        EXPECT_TRUE(launched.empty());
        ++refused;
        continue;
      }
      EXPECT_EQ(refused, 0) << "more memory was refused";
      ++served;
      EXPECT_STREQ(last_error(), "");
      ASSERT_TRUE(run.is_right());
      if (needed == 0) {
        needed = fake_cuda::counts().peak_device_bytes;
        expected = launched;
      }
      EXPECT_EQ(launched, expected) << percent << " % of the memory";
    }
    EXPECT_GT(expected.size(), 1u);
    EXPECT_GT(served, 5) << "two thirds of the memory are enough";
    EXPECT_GT(refused, 0);
  }
}

TEST(StagingPipeline, OutOfDeviceMemoryIsAStatusAndLeavesC) {
  StagedCall<float> run({.m = 64, .n = 64, .k = 64, .beta = 1});
  fake_cuda::Settings settings;
  settings.device_bytes = 1000;
  fake_cuda::reset(settings);
  StagerHandle stager;
  EXPECT_EQ(run(stager).code, XGEMM_OUT_OF_DEVICE_MEMORY);
  EXPECT_NE(std::string(last_error()).find("device memory"), std::string::npos) << last_error();
  EXPECT_EQ(fake_cuda::counts().objects, 0);
  // And with memory again, the same stager works.
  fake_cuda::settings().device_bytes = std::size_t{1} << 30;
  EXPECT_TRUE(run(stager).ok());
  EXPECT_TRUE(run.is_right());
}

TEST(StagingPipeline, ScarcePageLockedMemory) {
  StagedCall<float> run({.m = 1500, .n = 1600, .k = 3, .beta = 1, .pad = 1});
  fake_cuda::Settings settings;
  settings.page_locked_bytes = std::size_t{1} << 20;
  fake_cuda::reset(settings);
  StagerHandle stager;
  ASSERT_TRUE(run(stager).ok()) << last_error();
  EXPECT_TRUE(run.is_right());
  stager.reset();
  fake_cuda::settings().page_locked_bytes = 1000;
  EXPECT_EQ(run(stager).code, XGEMM_OUT_OF_HOST_MEMORY);
}

TEST(StagingPipeline, EveryCallThatFailsIsAStatusAndNothingLeaks) {
  StagedCall<float> run({.m = 300, .n = 260, .k = 4, .beta = 1, .pad = 5, .device_memory = std::size_t{1} << 20});
  int failures = 0;
  for (int at = 0; at < 100000; at += at < 200 ? 1 : 37) {
    fake_cuda::Settings settings;
    settings.fail_at = at;
    fake_cuda::reset(settings);
    StagerHandle stager;
    const Status status = run(stager);
    const bool reached = fake_cuda::counts().calls > at;
    if (!status.ok()) {
      ++failures;
      EXPECT_EQ(status.code, XGEMM_CUDA_ERROR);
      EXPECT_STRNE(last_error(), "");
      EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "for a later call to find, of failed call " << at;
      EXPECT_EQ(fake_cuda::counts().objects, 0) << "failed call " << at;
    } else {
      EXPECT_TRUE(run.is_right());
    }
    fake_cuda::settings().fail_at = -1;
    ASSERT_TRUE(run(stager).ok()) << last_error();
    ASSERT_TRUE(run.is_right());
    stager.reset();
    EXPECT_EQ(fake_cuda::counts().objects, 0);
    if (!reached) break;
  }
  EXPECT_GT(failures, 100);
}

// Whatever call fails, once or for good: a product of host operands is computed. Only a C that is page-locked and read
// can be lost, when the copy engine fails while it writes there; then it is said to be.
TEST(HostProducts, DoNotDependOnTheGpusHealth) {
  int taken_over = 0, lost = 0, pieces = 0;
  for (const bool breaks : {false, true})
    for (const float beta : {0.0f, 1.0f})
      for (const At c : {At::pageable, At::page_locked})
        for (const CallSetup& s :
             {CallSetup{.m = 300, .n = 260, .k = 4, .beta = beta, .pad = 5, .c = c, .device_memory = 1 << 20},
              CallSetup{.m = 130, .n = 20, .k = 3, .beta = beta, .batch = 40, .c = c, .device_memory = 1 << 18},
              CallSetup{.m = 40000, .n = 2, .k = 1, .beta = beta, .c = c}}) {
          StagedCall<float> run(s);
          for (int at = 0; at < 100000; at += at < 150 ? 1 : 29) {
            fake_cuda::Settings settings;
            settings.fail_at = at;
            settings.breaks = breaks;
            settings.seed = static_cast<std::uint64_t>(at) + 1;
            fake_cuda::reset(settings);
            run.register_memory();
            StagerHandle stager;
            host::products = 0;
            std::string gpu_failure;
            const Status status = run.or_cpu(stager, &gpu_failure);
            const bool reached = fake_cuda::counts().calls > at;
            if (status.ok()) {
              ASSERT_TRUE(run.is_right()) << to_string(run.problem()) << " fails at " << at << " breaks " << breaks;
              EXPECT_TRUE(host::products == 0 || !gpu_failure.empty());
              EXPECT_STREQ(last_error(), "") << "of a call that succeeded";
              taken_over += !gpu_failure.empty();
              pieces += host::products > 1;
            } else {
              EXPECT_TRUE(beta != 0 && c == At::page_locked) << last_error();
              EXPECT_NE(std::string(last_error()).find("written in part"), std::string::npos) << last_error();
              ++lost;
            }
            if (!reached) break;
          }
        }
  EXPECT_GT(taken_over, 1000);
  EXPECT_GT(pieces, 100) << "products of which the GPU did a part";
  EXPECT_GT(lost, 0);
}

TEST(HostProducts, GoToTheCpuWhenMemoryIsShort) {
  for (const bool page_locked : {false, true}) {
    StagedCall<float> run({.m = 64, .n = 64, .k = 64, .beta = 1});
    fake_cuda::Settings settings;
    (page_locked ? settings.page_locked_bytes : settings.device_bytes) = 1000;
    fake_cuda::reset(settings);
    StagerHandle stager;
    host::products = 0;
    std::string gpu_failure;
    EXPECT_TRUE(run.or_cpu(stager, &gpu_failure).ok());
    EXPECT_TRUE(run.is_right());
    EXPECT_EQ(host::products, 1);
    EXPECT_NE(gpu_failure.find("memory"), std::string::npos) << gpu_failure;
    // Operands on the device cannot go to the CPU.
    if (page_locked) continue;
    StagedCall<float> mixed({.m = 64, .n = 64, .k = 64, .a = At::device});
    EXPECT_EQ(mixed.or_cpu(stager, &gpu_failure).code, XGEMM_OUT_OF_DEVICE_MEMORY);
  }
}

// What the user has asked for in so many words is not replaced by something else.
TEST(HostProducts, OtherFailuresAreReported) {
  StagedCall<float> run({.m = 30, .n = 20, .k = 4});
  fake_cuda::Settings settings;
  settings.capture = cudaStreamCaptureStatusActive;
  fake_cuda::reset(settings);
  StagerHandle stager;
  std::string gpu_failure;
  EXPECT_EQ(run.or_cpu(stager, &gpu_failure).code, XGEMM_UNSUPPORTED);
  fake_cuda::reset({});
  launches = 0;
  fail_launch = 0;
  EXPECT_EQ(run.or_cpu(stager, &gpu_failure).code, XGEMM_KERNEL_NOT_USABLE);
  fail_launch = -1;
}

// An operand on another GPU than the one that has the other input, with C on the host: peer copies bring it,
// with gaps between its columns and without.
TEST(StagingPipeline, OperandsOnAnotherGpu) {
  for (const bool a_is_peer : {true, false})
    for (const std::int64_t m : {1, 300})
      for (const std::int64_t batch : {1, 3}) {
        StagedCall<float> run({.m = m,
                               .n = 260,
                               .k = 40,
                               .beta = 1,
                               .pad = 5,
                               .batch = batch,
                               .a = a_is_peer ? At::peer : At::device,
                               .b = a_is_peer ? At::device : At::peer,
                               .device_memory = std::size_t{1} << 20});
        fake_cuda::reset({});
        run.register_memory();
        StagerHandle stager;
        ASSERT_TRUE(run(stager).ok()) << last_error();
        EXPECT_TRUE(run.is_right());
      }
}

// Operands on several GPUs: the call enqueues everything and waits for nothing, and the copies are gone in the end.
TEST(PeerGemm, OnlyEnqueues) {
  for (const int elsewhere : {1, 2, 3})
    for (const float beta : {0.0f, 1.0f})
      for (const Op op : {Op::none, Op::transpose}) {
        StagedCall<Half> run({.type = DType::f16,
                              .op_a = op,
                              .op_b = op,
                              .m = 60,
                              .n = 50,
                              .k = 40,
                              .beta = beta,
                              .pad = 3,
                              .batch = 4,
                              .shares_b = true,
                              .a = elsewhere & 1 ? At::peer : At::page_locked,
                              .b = elsewhere & 2 ? At::peer : At::page_locked,
                              .c = At::page_locked});
        fake_cuda::reset({});
        run.register_memory();  // what copies can reach
        runtime::Placement placement;
        placement.a = {runtime::Location::device, elsewhere & 1};
        placement.b = {runtime::Location::device, elsewhere >> 1 & 1};
        placement.c = {runtime::Location::device, 0};
        launched.clear();
        ASSERT_TRUE(run.on_peers(placement).ok()) << last_error();
        EXPECT_EQ(fake_cuda::counts().waits, 0);
        EXPECT_EQ(launched.size(), 1u);
        EXPECT_TRUE(run.is_unchanged()) << "nothing has run yet";
        cudaStreamSynchronize(nullptr);
        EXPECT_TRUE(run.is_right());
        EXPECT_EQ(fake_cuda::counts().device_bytes, 0u);

        fake_cuda::settings().device_bytes = 1000;
        EXPECT_EQ(run.on_peers(placement).code, XGEMM_OUT_OF_DEVICE_MEMORY);
        EXPECT_TRUE(run.is_unchanged());
      }
}

// Scalars in the memory of another GPU come along.
TEST(PeerCopies, HoldWhatTheComputingGpuCannotReach) {
  const StagedCall<float> run({.m = 30, .n = 20, .k = 4, .a = At::device, .b = At::device, .c = At::device});
  Problem p = run.problem();
  float scalars[2] = {};
  p.alpha.device = &scalars[0];
  p.beta.device = &scalars[1];
  runtime::Placement placement;
  placement.a = placement.beta = {runtime::Location::device, 1};
  placement.b = {runtime::Location::managed, -1};
  placement.alpha = placement.c = {runtime::Location::device, 0};
  const PeerCopies copies = peer_copies(p, placement, 0);
  EXPECT_TRUE(copies.operands.a && !copies.operands.b && !copies.operands.c && !copies.alpha && copies.beta);
  auto* const memory = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40);
  const Problem moved = on_copies(p, copies, memory);
  EXPECT_EQ(moved.a.data, memory);
  EXPECT_EQ(moved.b.data, p.b.data);
  EXPECT_EQ(moved.c, p.c);
  EXPECT_EQ(moved.alpha, p.alpha);
  EXPECT_EQ(moved.beta.device, reinterpret_cast<const float*>(memory + copies.beta_offset));
  EXPECT_GE(copies.beta_offset, 30 * 4 * 4);
  EXPECT_LE(copies.beta_offset + 4, copies.bytes);
  EXPECT_NE(to_string(copies).find("A, beta"), std::string::npos) << to_string(copies);
}

TEST(Health, ADeviceThatBreaksStaysBroken) {
  fake_cuda::reset({});
  device::check_health(5);
  EXPECT_TRUE(device::is_healthy(5)) << "one failure is not for good";
  fake_cuda::Settings settings;
  settings.fail_at = 0;
  settings.breaks = true;
  fake_cuda::reset(settings);
  device::check_health(5);
  EXPECT_FALSE(device::is_healthy(5));
  EXPECT_TRUE(device::is_healthy(6));
  fake_cuda::reset({});
  EXPECT_FALSE(device::is_healthy(5));
}

TEST(StagingPipeline, AFailingLaunchIsReported) {
  StagedCall<float> run({.m = 300, .n = 260, .k = 40, .pad = 5, .device_memory = std::size_t{1} << 20});
  fake_cuda::reset({});
  StagerHandle stager;
  launches = 0;
  fail_launch = 3;
  EXPECT_EQ(run(stager).code, XGEMM_KERNEL_NOT_USABLE);
  fail_launch = -1;
  EXPECT_TRUE(run(stager).ok());
  EXPECT_TRUE(run.is_right());
}

TEST(StagingPipeline, KeepsWhatItNeedsAgain) {
  StagedCall<float> run({.m = 300, .n = 260, .k = 40});
  fake_cuda::reset({});
  StagerHandle stager;
  ASSERT_TRUE(run(stager).ok());
  const int allocations = fake_cuda::counts().allocations, objects = fake_cuda::counts().objects;
  ASSERT_TRUE(run(stager).ok());
  EXPECT_EQ(fake_cuda::counts().allocations, allocations);
  EXPECT_EQ(fake_cuda::counts().objects, objects);
}

TEST(StagingPipeline, ACaptureIsRefusedAndLeftAlone) {
  StagedCall<float> run({.m = 30, .n = 20, .k = 4, .beta = 1});
  fake_cuda::Settings settings;
  settings.capture = cudaStreamCaptureStatusActive;
  fake_cuda::reset(settings);
  StagerHandle stager;
  EXPECT_EQ(run(stager).code, XGEMM_UNSUPPORTED);
  EXPECT_NE(std::string(last_error()).find("captured"), std::string::npos);
  EXPECT_EQ(fake_cuda::counts().objects, 0);
}

TEST(StagingPipeline, ACaptureElsewhereDoesNotConcernAllHostProducts) {
  fake_cuda::Settings settings;
  settings.capture_query = cudaErrorStreamCaptureImplicit;
  fake_cuda::reset(settings);
  StagedCall<float> run({.m = 30, .n = 20, .k = 4, .beta = 1});
  StagerHandle stager;
  EXPECT_TRUE(run(stager).ok()) << last_error();
  EXPECT_TRUE(run.is_right());
  stager.reset();
  StagedCall<float> mixed({.m = 30, .n = 20, .k = 4, .beta = 1, .a = At::device});
  EXPECT_EQ(mixed(stager).code, XGEMM_UNSUPPORTED);
}

TEST(StagingPipeline, ExplainsItself) {
  fake_cuda::reset({});
  const StagedCall<float> run({.m = 300, .n = 260, .k = 40});
  std::string text;
  EXPECT_TRUE(explain_staging(run.problem(), run.placement(), run.device(), &text).ok());
  EXPECT_NE(text.find("1 piece of 300 x 260"), std::string::npos) << text;
  EXPECT_NE(text.find("packed by threads"), std::string::npos) << text;
  EXPECT_NE(text.find("plan: of the test"), std::string::npos) << text;
}

// A forked child has the memory of the stager, and none of its threads: it must neither wait for them nor use them.
TEST(StagingPipeline, AForkedChildEnds) {
  StagedCall<float> run({.m = 300, .n = 260, .k = 40});
  fake_cuda::reset({});
  StagerHandle stager;
  ASSERT_TRUE(run(stager).ok());
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const bool works = run(stager).ok() && run.is_right();
    stager.reset();
    _exit(works ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace transfer
}  // namespace xgemm
