// What libxgemm is told of a handle's state, and what becomes of its failures: with stand-ins on both sides.
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "matmul.h"
#include "routines.h"
#include "stand_in_xgemm.h"

namespace xgemm::test {
namespace {

class HandleState : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(kSuccess, cublasCreate_v2(&x_.handle));
    x_.m = x_.n = x_.k = 2;
    x_.lda = x_.ldb = x_.ldc = 2;
    x_.alpha = &alpha_, x_.beta = &zero_;
    x_.a = x_.b = matrix_;
    x_.c = matrix_;
  }
  void TearDown() override {
    cublasDestroy_v2(x_.handle);
    stand_in_fail(0);
    stand_in_within(nullptr);
  }

  // How many calls reached libxgemm, and cuBLAS.
  struct Reached {
    int xgemm, cublas;
    bool operator==(const Reached&) const = default;
  };
  Reached call(int status = kSuccess) {
    const Reached before = {stand_in_products(), stand_in_calls()};
    EXPECT_EQ(status, routine("cublasGemmEx").call(x_));
    return {stand_in_products() - before.xgemm, stand_in_calls() - before.cublas};
  }

  Arguments x_;
  float alpha_ = 3, zero_ = 0, one_ = 1;
  double matrix_[4] = {};  // 2 x 2 of any type
  alignas(256) char memory_[1024];
};

TEST_F(HandleState, Stream) {
  for (void* stream : {static_cast<void*>(memory_), static_cast<void*>(nullptr), reinterpret_cast<void*>(2)}) {
    ASSERT_EQ(kSuccess, cublasSetStream_v2(x_.handle, stream));
    EXPECT_EQ((Reached{1, 0}), call());
    EXPECT_EQ(stream, stand_in_product()->stream);
  }
}

TEST_F(HandleState, ScalarsOnTheHostAndOnTheDevice) {
  EXPECT_EQ((Reached{1, 0}), call());
  EXPECT_EQ(XGEMM_SCALARS_ON_HOST, stand_in_product()->scalar_location);
  EXPECT_EQ(alpha_, stand_in_product()->alpha);
  cublasSetPointerMode_v2(x_.handle, kScalarsOnDevice);
  x_.alpha = memory_;  // not read here
  EXPECT_EQ((Reached{1, 0}), call());
  EXPECT_EQ(XGEMM_SCALARS_ON_DEVICE, stand_in_product()->scalar_location);
  EXPECT_EQ(static_cast<void*>(memory_), stand_in_product()->args.alpha);
}

TEST_F(HandleState, WorkspaceUntilAStreamIsSet) {
  EXPECT_EQ((Reached{1, 0}), call());
  EXPECT_EQ(nullptr, stand_in_product()->workspace);
  ASSERT_EQ(kSuccess, cublasSetWorkspace_v2(x_.handle, memory_, sizeof memory_));
  EXPECT_EQ((Reached{1, 0}), call());
  EXPECT_EQ(static_cast<void*>(memory_), stand_in_product()->workspace);
  EXPECT_EQ(sizeof memory_, stand_in_product()->workspace_bytes);
  ASSERT_EQ(kSuccess, cublasSetStream_v2(x_.handle, nullptr));
  EXPECT_EQ((Reached{1, 0}), call());
  EXPECT_EQ(nullptr, stand_in_product()->workspace);
  EXPECT_EQ(0u, stand_in_product()->workspace_bytes);
  // What cuBLAS refuses is not a workspace.
  EXPECT_EQ(kNotInitialized, cublasSetWorkspace_v2(nullptr, memory_, sizeof memory_));
  // An address that libxgemm does not take is moved up to one that it takes.
  ASSERT_EQ(kSuccess, cublasSetWorkspace_v2(x_.handle, memory_ + 16, 1008));
  EXPECT_EQ((Reached{1, 0}), call());
  EXPECT_EQ(static_cast<void*>(memory_ + 256), stand_in_product()->workspace);
  EXPECT_EQ(768u, stand_in_product()->workspace_bytes);
}

// Another thread's product may be under way on the same stream.
TEST_F(HandleState, WorkspaceOfTheThreadThatSetIt) {
  ASSERT_EQ(kSuccess, cublasSetWorkspace_v2(x_.handle, memory_, sizeof memory_));
  std::thread([&] {
    EXPECT_EQ((Reached{1, 0}), call());
    EXPECT_EQ(nullptr, stand_in_product()->workspace);
  }).join();
  EXPECT_EQ((Reached{1, 0}), call());
  EXPECT_EQ(static_cast<void*>(memory_), stand_in_product()->workspace);
}

TEST_F(HandleState, MemoryOfAnotherGpu) {
  for (const int ordinal : {0, 1}) {
    stand_in_device_memory(matrix_, matrix_ + 4, ordinal);
    EXPECT_EQ((Reached{ordinal == 0, ordinal != 0}), call());
  }
  stand_in_device_memory(nullptr, nullptr);
}

// cuBLAS has these compute types for fp32 operands alone, and a status for others.
TEST_F(HandleState, ComputeTypesOfFp32) {
  for (const int type : {kReal16F, kReal16BF})
    for (const int compute :
         {kCompute32FFast16F, kCompute32FFast16BF, kCompute32FFastTF32, kCompute32FEmulated16BFx9}) {
      x_.type_a = x_.type_b = x_.type_c = type;
      x_.compute_type = compute;
      EXPECT_EQ((Reached{0, 1}), call());
    }
}

TEST_F(HandleState, WorkspaceAndStreamOfMatmul) {
  void *operation = nullptr, *layout = nullptr;
  cublasLtMatmulDescCreate(&operation, kCompute32F, kReal32F);
  cublasLtMatrixLayoutCreate(&layout, kReal32F, 2, 2, 2);
  const int before = stand_in_products();
  EXPECT_EQ(kSuccess, cublasLtMatmul(lt_handle(), operation, &alpha_, matrix_, layout, matrix_, layout, &zero_, matrix_,
                                     layout, matrix_, layout, nullptr, memory_, sizeof memory_, memory_ + 1));
  EXPECT_EQ(before + 1, stand_in_products());
  EXPECT_EQ(static_cast<void*>(memory_ + 1), stand_in_product()->stream);
  EXPECT_EQ(static_cast<void*>(memory_), stand_in_product()->workspace);
  EXPECT_EQ(sizeof memory_, stand_in_product()->workspace_bytes);
  cublasLtMatmulDescDestroy(operation);
  cublasLtMatrixLayoutDestroy(layout);
}

// By all that have them; where they are on the host, or one of them is, by cuBLAS, which reads them later.
TEST_F(HandleState, ArraysOfPointers) {
  struct {
    void *a[2], *b[2], *c[2];
  } on_device = {{matrix_, matrix_}, {matrix_, matrix_}, {matrix_, matrix_}}, on_host = on_device;
  for (const Routine& r : kRoutines) {
    if (!r.pointer_arrays) continue;
    SCOPED_TRACE(r.name);
    x_.type_a = x_.type_b = x_.type_c = r.type;
    x_.compute_type = r.compute;
    const double one = 1, zero = 0;  // in the type of the scalars: the bits of 1 are not looked at
    x_.alpha = &one, x_.beta = &zero;
    x_.batch_count = 2;
    for (const int mask : {0, 1, 2, 4, 7}) {
      x_.a = mask & 1 ? on_host.a : on_device.a;
      x_.b = mask & 2 ? on_host.b : on_device.b;
      x_.c = mask & 4 ? on_host.c : on_device.c;
      stand_in_device_memory(&on_device, &on_device + 1);
      stand_in_host_memory(&on_host, &on_host + 1);
      const Reached before = {stand_in_products(), stand_in_calls()};
      EXPECT_EQ(kSuccess, r.call(x_));
      stand_in_device_memory(nullptr, nullptr);
      stand_in_host_memory(nullptr, nullptr);
      EXPECT_EQ((Reached{before.xgemm + (mask == 0), before.cublas + (mask != 0)}),
                (Reached{stand_in_products(), stand_in_calls()}));
      const xgemm_args& args = stand_in_product()->args;
      EXPECT_EQ(args.batch_kind, XGEMM_BATCH_POINTERS);
      EXPECT_EQ(args.batch_count, 2);
      EXPECT_TRUE(args.a == on_device.a && args.b == on_device.b && args.c == on_device.c);
    }
  }
}

// Page-locked memory, which is legal there: cuBLAS waits for what the stream writes to it, libxgemm would not.
TEST_F(HandleState, MatricesInHostMemory) {
  double other[4] = {};
  for (const void** operand : {&x_.a, &x_.b, static_cast<const void**>(nullptr)}) {
    x_.a = x_.b = matrix_, x_.c = matrix_;
    if (operand != nullptr)
      *operand = other;
    else
      x_.c = other;
    EXPECT_EQ((Reached{1, 0}), call());
    stand_in_host_memory(other, other + 4);
    EXPECT_EQ((Reached{0, 1}), call());
    stand_in_host_memory(nullptr, nullptr);
  }
}

// What an address is the driver is asked once in a call, not for each operand that lies there.
TEST_F(HandleState, EachAddressIsAskedAboutOnce) {
  const auto asked = [&](const void* a, const void* b, void* c) {
    x_.a = a, x_.b = b, x_.c = c;
    const int before = stand_in_pointers_asked();
    EXPECT_EQ((Reached{1, 0}), call());
    return stand_in_pointers_asked() - before;
  };
  EXPECT_EQ(asked(matrix_, matrix_, matrix_), 1);
  EXPECT_EQ(asked(matrix_, matrix_, memory_), 2);
  EXPECT_EQ(asked(matrix_, memory_, memory_), 2);
  EXPECT_EQ(asked(matrix_, memory_, memory_ + 512), 3);
}

// What certainly left C alone is computed by cuBLAS; what may not have, only where C is not read.
TEST_F(HandleState, FailuresOfLibxgemm) {
  const int harmless[] = {XGEMM_NO_DEVICE, XGEMM_UNSUPPORTED, XGEMM_KERNEL_NOT_USABLE, XGEMM_OUT_OF_DEVICE_MEMORY,
                          -XGEMM_ARG_STRIDE_C};
  for (const int code : harmless) {
    stand_in_fail(code);
    for (const float* beta : {&zero_, &one_}) {
      x_.beta = beta;
      EXPECT_EQ((Reached{1, 1}), call());
    }
  }
  const int harmful[] = {XGEMM_CUDA_ERROR, XGEMM_INTERNAL_ERROR, XGEMM_OUT_OF_HOST_MEMORY};
  for (const int code : harmful) {
    stand_in_fail(code);
    x_.beta = &zero_;
    EXPECT_EQ((Reached{1, 1}), call());
    x_.beta = &one_;
    EXPECT_EQ((Reached{1, 0}), call(code == XGEMM_CUDA_ERROR ? kExecutionFailed : kInternalError));
  }
}

Arguments* within_arguments = nullptr;

// A call from within a product that is being served is not for libxgemm.
TEST_F(HandleState, NoRecursion) {
  within_arguments = &x_;
  stand_in_within([] { EXPECT_EQ(kSuccess, routine("cublasGemmEx").call(*within_arguments)); });
  EXPECT_EQ((Reached{1, 1}), call());
}

}  // namespace
}  // namespace xgemm::test

int main(int argc, char** argv) {
  setenv("XGEMM_CUBLAS", "always", 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
