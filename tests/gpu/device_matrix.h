// Matrices for tests on a GPU, and the judge of results, both on the device: thousands of cases a second, and sizes for
// which a host oracle would take minutes.
//
// An operand is a storage as in support/matrix.h: guard band, matrices with guards between columns and between the
// matrices of a batch, guard band; guards are a NaN of a bit pattern of their own. What an element holds is a function
// of a seed and its place, so the judge needs no copy of A, B or the C before the call: it computes them again, and
// compares every element of all three storages, guards included.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/fill.h"

namespace xgemm::gpu_test {

using Half = std::uint16_t;  // the bits
struct Bfloat16 {
  std::uint16_t bits;
};
// An fp32 that TF32 holds as well.
struct Tf32 {
  float value;
};

inline constexpr std::int64_t kBand = 64;  // guard elements before and after

// Where the elements of an operand lie in its storage. Column-major, as stored (before op).
struct Layout {
  std::int64_t rows = 0, cols = 0, ld = 1;
  std::int64_t batch = 1, stride = 0;  // stride >= ld * cols, or one matrix
  std::int64_t shift = 0;              // elements by which the first one is moved off its alignment

  std::int64_t offset() const { return kBand + shift; }
  std::int64_t elements() const {
    return offset() + (cols == 0 || rows == 0 ? 0 : (batch - 1) * stride + (cols - 1) * ld + rows) + kBand;
  }
};

// What they hold: uniform in [-1, 1) with as many significant bits as the type has, or integers from -2 to 2, whose
// sums of products are exact; but for one element that can be set.
struct Contents {
  std::uint64_t seed = 1;
  bool poisoned = false;  // guards inside too: an operand that must not be read
  std::int64_t special_i = -1, special_j = -1;
  double special = 0;
  bool integers = false;
};

enum class Memory { device, managed, pageable, page_locked, registered };
const char* name_of(Memory memory);

// An operand and its storage, filled.
template <class T>
class Operand {
 public:
  Operand() = default;
  Operand(const Layout& layout, const Contents& contents, Memory memory = Memory::device);
  ~Operand();
  Operand(Operand&& other) noexcept { *this = static_cast<Operand&&>(other); }
  Operand& operator=(Operand&& other) noexcept;

  T* data() const { return storage_ + layout_.offset(); }
  T* storage() const { return storage_; }
  std::size_t bytes() const { return static_cast<std::size_t>(layout_.elements()) * sizeof(T); }
  const Layout& layout() const { return layout_; }
  const Contents& contents() const { return contents_; }

  void refill();
  void refill(const Contents& contents) {
    contents_ = contents;
    refill();
  }

  // Whether every element of the storage is what refill() left.
  testing::AssertionResult unchanged() const;

 private:
  Layout layout_;
  Contents contents_;
  Memory memory_ = Memory::device;
  T* storage_ = nullptr;
};

// Column-major. C is judged against alpha op(A) op(B) + beta C by the bound of support/oracle.h; where all operands
// hold integers, and alpha and beta keep sums exact in fp32 (or double), it has to be the exact result, rounded once.
struct Product {
  char transa = 'N', transb = 'N';
  std::int64_t m = 0, n = 0, k = 0;
  double alpha = 1, beta = 0;  // values of the type that a call's scalars have
  std::int64_t batch = 1;
  Fill fill = Fill::full;  // elements of C outside of it are as they were
};

// period > 1: of the elements, those in the first and last rows and columns of tiles and one in `period`; guards are
// all looked at.
template <class T, class U>
testing::AssertionResult judge(const Product& product, const Operand<T>& a, const Operand<T>& b, const Operand<U>& c,
                               int period = 1);

// C against `other`, a C of the same layout that another library made of the same operands and the same C before: every
// element by the sum of what the bound allows either of them, or, with `exactly`, equal. Guards of C intact. Reads A
// and B from memory, for k of cost for each row and column, not for each element: |op(A)| |op(B)| is bounded by the
// 2-norms of rows and columns, which for random operands are a third more.
template <class T, class U>
testing::AssertionResult compare(const Product& product, const Operand<T>& a, const Operand<T>& b, const Operand<U>& c,
                                 const Operand<U>& other, bool exactly);

// |C - alpha op(A) op(B)| / |alpha op(A) op(B)|, Frobenius norms, the product in fp64, of doubles in twice that. One
// matrix.
template <class T>
double normwise_error(const Product& product, const Operand<T>& a, const Operand<T>& b, const Operand<T>& c);

// Bit by bit, guards included.
template <class T>
bool same_bits(const Operand<T>& x, const Operand<T>& y);

// Enqueues a kernel that lets the next one start at once, and copies only when that has had time to read too early.
struct LateCopy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
};
void write_late(const std::array<LateCopy, 4>& copies, cudaStream_t stream);

// "" or why there is nothing to test on.
const std::string& no_device();
#define XGEMM_SKIP_WITHOUT_DEVICE() \
  if (!::xgemm::gpu_test::no_device().empty()) GTEST_SKIP() << ::xgemm::gpu_test::no_device()

// For what other GPUs do not have.
bool is_hopper();
#define XGEMM_SKIP_WITHOUT_HOPPER() \
  XGEMM_SKIP_WITHOUT_DEVICE();      \
  if (!::xgemm::gpu_test::is_hopper()) GTEST_SKIP() << "for GPUs of compute capability 9.0"

// Fails the current test on a CUDA error.
void check(cudaError_t error, const char* what);
#define XGEMM_CHECK_CUDA(call) ::xgemm::gpu_test::check((call), #call)

std::size_t free_device_bytes();

// A kernel that keeps a stream busy until release() or five seconds have passed.
class BusyStream {
 public:
  explicit BusyStream(cudaStream_t stream);
  ~BusyStream();
  BusyStream(const BusyStream&) = delete;
  BusyStream& operator=(const BusyStream&) = delete;
  void release();

 private:
  cudaStream_t stream_;
  volatile int* flag_ = nullptr;
};

}  // namespace xgemm::gpu_test
