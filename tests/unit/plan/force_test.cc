// Forcing a kernel by instance and by family: it is that one, or a status and a sentence with the reason.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "kernels/family.h"
#include "plan/planner.h"
#include "unit/plan/devices.h"
#include "unit/plan/problems.h"

namespace xgemm::test {
namespace {

using device::DeviceInfo;
using kernels::Axis;
using kernels::KernelInfo;
using kernels::TileConfig;
using plan::Plan;

const DeviceInfo& h200() {
  return fake_devices()[6];
}

Status force(const Problem& p, const DeviceInfo& device, std::string_view name, Plan* chosen) {
  clear_last_error();
  return plan::make_plan(p, plan::gather_facts(p), device, name, chosen);
}

bool can_serve(const KernelInfo& kernel, const Problem& p, const DeviceInfo& device) {
  return plan::why_not(kernel, p, plan::gather_facts(p), device).empty();
}

// Each instance where it can serve, and where it cannot.
TEST(Force, ByInstance) {
  Random random(21);
  for (int n = 0; n < 300 && !HasFailure(); ++n) {
    const Problem p = random_problem(random);
    const DeviceInfo& device = fake_devices()[static_cast<std::size_t>(n) % fake_devices().size()];
    for (int i = 0; i < kernels::count(); ++i) {
      const KernelInfo& kernel = kernels::info(i);
      Plan chosen;
      const Status status = force(p, device, kernel.name, &chosen);
      if (can_serve(kernel, p, device)) {
        EXPECT_TRUE(status.ok()) << last_error();
        EXPECT_EQ(chosen.kernel, kernel.id());
        EXPECT_TRUE(chosen.forced);
      } else {
        EXPECT_EQ(status.code, XGEMM_KERNEL_NOT_USABLE);
        const std::string reason = plan::why_not(kernel, p, plan::gather_facts(p), device);
        EXPECT_NE(std::string(last_error()).find(std::string("XGEMM_FORCE_KERNEL=") + kernel.name), std::string::npos);
        EXPECT_NE(std::string(last_error()).find(reason), std::string::npos) << last_error();
      }
    }
  }
}

TEST(Force, ByFamilyTakesItsBestInstance) {
  std::set<kernels::Family> families;
  for (int i = 0; i < kernels::count(); ++i) families.insert(kernels::info(i).family);
  Random random(22);
  for (int n = 0; n < 300 && !HasFailure(); ++n) {
    const Problem p = random_problem(random);
    const DeviceInfo& device = fake_devices()[static_cast<std::size_t>(n) % fake_devices().size()];
    const std::vector<Plan> candidates = plan::candidates(p, plan::gather_facts(p), device);
    for (const kernels::Family family : families) {
      Plan chosen;
      const Status status = force(p, device, kernels::name_of(family), &chosen);
      const std::string message = last_error();
      double least = -1;
      const auto consider = [&](double us) { least = least < 0 ? us : std::min(least, us); };
      for (const Plan& one : candidates)
        if (kernels::info(one.kernel).family == family) consider(one.estimated_us);
      const bool yields = least < 0;  // to another family, unless it cannot serve: then it is no candidate
      for (int i = 0; i < kernels::count() && yields; ++i) {
        const KernelInfo& kernel = kernels::info(i);
        if (kernel.family != family || !can_serve(kernel, p, device)) continue;
        Plan one;
        EXPECT_TRUE(force(p, device, kernel.name, &one).ok());
        consider(one.estimated_us);
      }
      if (least >= 0) {
        EXPECT_TRUE(status.ok()) << message;
        EXPECT_EQ(kernels::info(chosen.kernel).family, family);
        EXPECT_EQ(chosen.estimated_us, least) << to_string(chosen) << " " << to_string(p) << " on " << device.name;
        EXPECT_TRUE(chosen.forced);
      } else {
        EXPECT_EQ(status.code, XGEMM_KERNEL_NOT_USABLE);
        // Not just that it cannot: why.
        const std::string head =
            std::string("XGEMM_FORCE_KERNEL=") + kernels::name_of(family) + " cannot serve this call";
        EXPECT_EQ(message.rfind(head, 0), 0u) << message;
        EXPECT_GT(message.size(), head.size() + 10) << "no reason: " << message;
      }
    }
  }
}

TEST(Force, SaysWhichTypeAnInstanceIsFor) {
  for (int i = 0; i < kernels::count(); ++i) {
    const KernelInfo& kernel = kernels::info(i);
    for (const DType other : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
      const ProductTypes types = Types(other);
      if (types == kernel.config.types()) continue;
      Plan chosen;
      EXPECT_EQ(force(make_problem(other, 'N', 'N', 64, 64, 64), h200(), kernel.name, &chosen).code,
                XGEMM_KERNEL_NOT_USABLE);
      const std::string message = last_error();
      EXPECT_NE(message.find(format("it computes %s, and the call is %s", to_string(kernel.config.types()).c_str(),
                                    to_string(types).c_str())),
                std::string::npos)
          << message;
    }
  }
}

TEST(Force, SaysWhichArchitectureAnInstanceNeeds) {
  for (int i = 0; i < kernels::count(); ++i) {
    const KernelInfo& kernel = kernels::info(i);
    DeviceInfo old = fake_devices()[0];
    old.compute_capability = kernel.config.min_compute_capability - 1;
    old.max_shared_bytes_per_block = 227 << 10;
    Plan chosen;
    const char transa = kernel.config.a_contiguous == Axis::row ? 'N' : 'T';
    const char transb = kernel.config.b_contiguous == Axis::row ? 'N' : 'T';
    const bool emulates = kernels::describe(kernel.family).fallback != nullptr;
    Problem p = make_problem(kernel.config.types(), transa, transb, 64, 64, emulates ? 512 : 64);
    p.compute = kernel.config.compute;
    EXPECT_EQ(force(p, old, kernel.name, &chosen).code, XGEMM_KERNEL_NOT_USABLE);
    EXPECT_NE(std::string(last_error()).find("compute capability"), std::string::npos) << last_error();
    old.compute_capability = kernel.config.min_compute_capability;
    EXPECT_TRUE(force(p, old, kernel.name, &chosen).ok()) << last_error();
  }
}

// A call for an instance.
Problem call_for(const KernelInfo& kernel, char transa, char transb, const Alignment& at = {}) {
  Problem p = make_problem(kernel.config.types(), transa, transb, 64, 64, 64, at);
  p.compute = kernel.config.compute;
  return p;
}

// Whether an input that lies badly can reach an instance as a copy, if its family lets it: of 16 bits along either
// axis, of fp32 along C's, and for TF32 along k.
bool takes_copies(const KernelInfo& kernel, bool of_a) {
  const TileConfig& c = kernel.config;
  if (!kernels::describe(kernel.family).takes_copies(kernel)) return false;
  if (c.compute == Compute::tf32) return true;
  if (c.type == DType::f32) return of_a ? c.a_contiguous == Axis::row : c.b_contiguous == Axis::col;
  return size_of(c.type) == 2;
}

// One that the kernel runs on.
const DeviceInfo& gpu_for(const KernelInfo& kernel) {
  return kernel.config.runs_on(h200().compute_capability) ? h200() : fake_devices().front();
}

// The operand that stands in the way is named, with what it has and what is needed.
TEST(Force, SaysWhichOperandIsNotAligned) {
  for (int i = 0; i < kernels::count(); ++i) {
    const KernelInfo& kernel = kernels::info(i);
    if (kernel.config.vector == 1) continue;
    const char transa = kernel.config.a_contiguous == Axis::row ? 'N' : 'T';
    const char transb = kernel.config.b_contiguous == Axis::row ? 'N' : 'T';
    const struct {
      Alignment at;
      const char* operand;
    } kCases[] = {{{.a = 1}, " A "},   {{.b = 1}, " B "},   {{.c = 1}, " C "},
                  {{.lda = 1}, " A "}, {{.ldb = 1}, " B "}, {{.ldc = 1}, " C "}};
    for (const auto& [at, operand] : kCases) {
      Plan chosen;
      const Problem p = call_for(kernel, transa, transb, at);
      const TileConfig& c = kernel.config;
      const bool is_c = operand[1] == 'C';
      const int vector = is_c ? c.vector_c : operand[1] == 'A' ? c.vector_a() : c.vector_b();
      // What inputs lack, a copy has; of C, what is read.
      if (vector == 1 || (!is_c && takes_copies(kernel, operand[1] == 'A'))) {
        EXPECT_TRUE(force(p, gpu_for(kernel), kernel.name, &chosen).ok()) << last_error();
        continue;
      }
      EXPECT_EQ(force(p, gpu_for(kernel), kernel.name, &chosen).code, XGEMM_KERNEL_NOT_USABLE) << kernel.name;
      const std::string message = last_error();
      EXPECT_NE(message.find(operand), std::string::npos) << message;
      const int size = size_of(is_c ? c.type_c : c.type);
      EXPECT_NE(message.find(std::to_string(vector * size) + " bytes"), std::string::npos) << message;
      EXPECT_NE(message.find(" of " + std::to_string(size)), std::string::npos) << message;
    }
  }
}

TEST(Force, SaysWhichFlagsAnInstanceIsFor) {
  for (int i = 0; i < kernels::count(); ++i) {
    const KernelInfo& kernel = kernels::info(i);
    if (kernel.config.any_strides) continue;
    const bool a_plain = kernel.config.a_contiguous == Axis::row, b_plain = kernel.config.b_contiguous == Axis::row;
    Plan chosen;
    const auto expect = [&](const Problem& p, bool served, const char* reason) {
      EXPECT_EQ(force(p, gpu_for(kernel), kernel.name, &chosen).ok(), served) << kernel.name;
      EXPECT_TRUE(served || std::string(last_error()).find(reason) != std::string::npos) << last_error();
    };
    const bool f32 = kernel.config.type == DType::f32;  // copies of which are turned
    const char a = a_plain ? 'N' : 'T', b = b_plain ? 'N' : 'T', not_a = a_plain ? 'T' : 'N',
               not_b = b_plain ? 'T' : 'N';
    expect(call_for(kernel, not_a, b), f32 && takes_copies(kernel, true), a_plain ? "transa = N" : "transa = T");
    expect(call_for(kernel, a, not_b), f32 && takes_copies(kernel, false), b_plain ? "transb = N" : "transb = T");
  }
}

TEST(Force, AnUnknownNameHasAReasonToo) {
  Plan chosen;
  EXPECT_EQ(force(make_problem(DType::f32, 'N', 'N', 8, 8, 8), h200(), "no_such_kernel", &chosen).code,
            XGEMM_KERNEL_NOT_USABLE);
  EXPECT_GT(std::string(last_error()).size(),
            std::string("XGEMM_FORCE_KERNEL=no_such_kernel cannot serve this call").size() + 10)
      << last_error();
}

TEST(Force, CandidatesAreExplained) {
  Random random(23);
  for (int n = 0; n < 100; ++n) {
    const Problem p = random_problem(random);
    const std::string text = plan::explain_candidates(p, plan::gather_facts(p), h200());
    for (int i = 0; i < kernels::count(); ++i) {
      const KernelInfo& kernel = kernels::info(i);
      const bool listed = text.find(std::string(" kernel=") + kernel.name + " ") != std::string::npos;
      const bool refused = text.find(std::string("not ") + kernel.name + ": ") != std::string::npos;
      const bool of_types = kernel.config.types() == p.types(), serves = can_serve(kernel, p, h200());
      const bool yields =
          kernels::describe(kernel.family).yields_to != kernels::Family::count;  // where that one serves
      EXPECT_EQ(listed != refused, of_types) << kernel.name << "\n" << text;
      EXPECT_TRUE(listed ? serves : !of_types || !serves || yields) << kernel.name << "\n" << text;
    }
    EXPECT_EQ(text.find("inf"), std::string::npos) << text;
  }
}

// The other one is weighed first.
TEST(Force, AFamilyYieldsWhereTheOtherOneServes) {
  const Problem p = make_problem(DType::f16, 'T', 'N', 256, 256, 256);
  const std::string text = plan::explain_candidates(p, plan::gather_facts(p), h200());
  int yielding = 0;
  for (int i = 0; i < kernels::count(); ++i) {
    const KernelInfo& kernel = kernels::info(i);
    const kernels::Family other = kernels::describe(kernel.family).yields_to;
    if (kernel.config.types() != p.types() || other == kernels::Family::count || !can_serve(kernel, p, h200()))
      continue;
    ++yielding;
    EXPECT_NE(text.find(std::string("not ") + kernel.name + ": " + name_of(other) + " serves"), std::string::npos)
        << kernel.name << "\n"
        << text;
  }
  EXPECT_GT(yielding, 0);
}

// Also where most kernels leave the epilogue to others, where one yields to another, and where they do not look for the
// matrices of a batch.
TEST(Force, EveryRefusalHasAReason) {
  enum class Kind { plain, epilogue, pointers };
  for (const DType type : {DType::f32, DType::f16})
    for (const Kind kind : {Kind::plain, Kind::epilogue, Kind::pointers}) {
      Problem p = make_problem(type, 'T', 'N', 256, 256, 256);
      if (kind == Kind::epilogue) p.epilogue.activation = Activation::relu;
      if (kind == Kind::pointers) p.batch_kind = BatchKind::pointers, p.batch_count = 3;
      const std::string text = plan::explain_candidates(p, plan::gather_facts(p), h200());
      EXPECT_NE(text.find("  not "), std::string::npos) << text;
      EXPECT_EQ(text.find(": \n"), std::string::npos) << text;
      EXPECT_EQ(text.find("it does not find matrices by pointers") != std::string::npos, kind == Kind::pointers)
          << text;
    }
}

}  // namespace
}  // namespace xgemm::test
