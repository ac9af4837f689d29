// wgmma: the warpgroup matrix product of Hopper (sm_90a), D (64 x N, fp32 registers) += X (64 x 16) * Y (16 x N), X and
// Y in shared memory, described by 64-bit descriptors. Elements of 16 bits, or of fp32, of which it takes the upper 19
// bits (TF32): then K is 8, and both are K-major. X may be in registers: then Y is K-major.
//
// Asynchronous: registers of D and X and the shared memory of X and Y belong to the tensor cores from wgmma() until
// wgmma_wait() says that the group has finished. wgmma_fence() comes before the first wgmma of a group (it orders the
// registers), wgmma_commit() after the last. keep_register() of each accumulator after a mainloop stops the compiler
// from moving other uses of them into it.
//
// Fragment: warp w of the warpgroup holds rows 16 w to 16 w + 15. Lane l: d[4 g + 0, 1] are row 16 w + l / 4, columns
// 8 g + 2 (l % 4) + 0, 1; d[4 g + 2, 3] the same columns of row 16 w + l / 4 + 8. Of an X in registers: x[0] has row
// 16 w + l / 4, of TF32 column l % 4, of 16 bits columns 2 (l % 4) + 0, 1; x[1] the same columns of the row 8 further
// on; x[2, 3] the same rows, 16 bytes further on.
//
// Shared memory layouts, S the width of the swizzle (128, 64 or 32 bytes; S * 8 bytes is one atom):
//   K-major   rows of S = 128 bytes of K each; 8 rows make an atom, `stride_bytes` is the next 8 rows.
//   MN-major  rows of S bytes, S / 2 elements along M or N, a row per k; `stride_bytes` is the next 8 of K,
//             `leading_bytes` the next S / 2 elements along M or N.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/dtype.cuh"
#include "kernels/common/sm90/major.h"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/sm90/warpgroup.cuh"
#include "kernels/common/target.cuh"

#if defined(XGEMM_SIM)
#include "sim/sm90/wgmma.h"
#endif

namespace xgemm::gpu {

// Where register r of a lane lies in its warp's 16 rows of the fragment.
XGEMM_DEVICE constexpr int wgmma_row(int lane, int r) {
  return lane / 4 + r / 2 % 2 * 8;
}
XGEMM_DEVICE constexpr int wgmma_column(int lane, int r) {
  return r / 4 * 8 + lane % 4 * 2 + r % 2;
}

#if defined(XGEMM_SIM)
namespace detail {
inline unsigned shared_address(const void* shared) {
  return sim::shared_address(shared);
}
}  // namespace detail
#endif

XGEMM_DEVICE std::uint64_t wgmma_descriptor(const void* shared, int swizzle_bytes, int leading_bytes, int stride_bytes,
                                            Loc = Loc::current()) {
  const std::uint64_t swizzle = swizzle_bytes == 128 ? 1 : swizzle_bytes == 64 ? 2 : swizzle_bytes == 32 ? 3 : 0;
  return static_cast<std::uint64_t>((detail::shared_address(shared) & 0x3ffff) >> 4) |
         static_cast<std::uint64_t>(leading_bytes >> 4) << 16 | static_cast<std::uint64_t>(stride_bytes >> 4) << 32 |
         swizzle << 62;
}

// The descriptor of the same layout `bytes` further on, a multiple of 16.
XGEMM_DEVICE std::uint64_t wgmma_advance(std::uint64_t descriptor, int bytes) {
  return descriptor + static_cast<std::uint64_t>(bytes >> 4);
}

#if defined(XGEMM_SIM)

inline void wgmma_fence(Loc loc = Loc::current()) {
  sim::wgmma_fence(loc);
}
inline void wgmma_commit(Loc loc = Loc::current()) {
  sim::wgmma_commit(loc);
}
template <int kPending>
void wgmma_wait(Loc loc = Loc::current()) {
  sim::wgmma_wait(kPending, loc);
}
inline void keep_register(float& x, Loc loc = Loc::current()) {
  sim::keep_register(x, loc);
}

template <class Element, int kN, Major kMajorX, Major kMajorY, bool kAdds = true>
void wgmma(float* d, std::uint64_t x, std::uint64_t y, Loc loc = Loc::current()) {
  static_assert(kN % 8 == 0 && kN >= 8 && kN <= 256);
  constexpr DType kType = std::is_same_v<Element, float>      ? DType::f32
                          : std::is_same_v<Element, bfloat16> ? DType::bf16
                                                              : DType::f16;
  sim::wgmma({kN, kMajorX, kMajorY, kType, kAdds}, d, x, y, loc);
}
template <int kN>
void wgmma_tf32(float* d, const float (&x)[4], std::uint64_t y, Loc loc = Loc::current()) {
  sim::wgmma_of_registers(kN, DType::f32, d, x, y, loc);
}
template <class Element, int kN>
void wgmma_of_registers(float* d, const std::uint32_t (&x)[4], std::uint64_t y, Loc loc = Loc::current()) {
  sim::wgmma_of_registers(kN, std::is_same_v<Element, bfloat16> ? DType::bf16 : DType::f16, d, x, y, loc);
}
inline float read_for_wgmma(const float* shared, Loc loc = Loc::current()) {
  float x;
  sim::read_shared<sizeof x, true>(shared, &x, loc);
  return x;
}

#else

XGEMM_DEVICE void wgmma_fence(Loc = Loc::current()) {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
XGEMM_DEVICE void wgmma_commit(Loc = Loc::current()) {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Waits until at most kPending of the newest groups are unfinished.
template <int kPending>
XGEMM_DEVICE void wgmma_wait(Loc = Loc::current()) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
XGEMM_DEVICE void keep_register(float& x) {
  asm volatile("" : "+f"(x)::"memory");
}

namespace detail {
template <class Element, int kN>
struct Wgmma;
template <class Element, int kN>
struct WgmmaOfRegisters;  // X in them

// clang-format off
#define XGEMM_WGMMA_NAMES_4 "%0, %1, %2, %3"
#define XGEMM_WGMMA_NAMES_8 XGEMM_WGMMA_NAMES_4 ", %4, %5, %6, %7"
#define XGEMM_WGMMA_NAMES_16 XGEMM_WGMMA_NAMES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define XGEMM_WGMMA_NAMES_24 XGEMM_WGMMA_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define XGEMM_WGMMA_NAMES_32 XGEMM_WGMMA_NAMES_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define XGEMM_WGMMA_NAMES_40 XGEMM_WGMMA_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define XGEMM_WGMMA_NAMES_48 XGEMM_WGMMA_NAMES_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define XGEMM_WGMMA_NAMES_52 XGEMM_WGMMA_NAMES_48 ", %48, %49, %50, %51"
#define XGEMM_WGMMA_NAMES_56 XGEMM_WGMMA_NAMES_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define XGEMM_WGMMA_NAMES_64 XGEMM_WGMMA_NAMES_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define XGEMM_WGMMA_NAMES_72 XGEMM_WGMMA_NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define XGEMM_WGMMA_NAMES_80 XGEMM_WGMMA_NAMES_72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define XGEMM_WGMMA_NAMES_88 XGEMM_WGMMA_NAMES_80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define XGEMM_WGMMA_NAMES_96 XGEMM_WGMMA_NAMES_88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define XGEMM_WGMMA_NAMES_104 XGEMM_WGMMA_NAMES_96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define XGEMM_WGMMA_NAMES_112 XGEMM_WGMMA_NAMES_104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define XGEMM_WGMMA_NAMES_120 XGEMM_WGMMA_NAMES_112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define XGEMM_WGMMA_NAMES_128 XGEMM_WGMMA_NAMES_120 ", %120, %121, %122, %123, %124, %125, %126, %127"
#define XGEMM_WGMMA_D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define XGEMM_WGMMA_REGS_4 XGEMM_WGMMA_D4(0)
#define XGEMM_WGMMA_REGS_8 XGEMM_WGMMA_REGS_4, XGEMM_WGMMA_D4(4)
#define XGEMM_WGMMA_REGS_16 XGEMM_WGMMA_REGS_8, XGEMM_WGMMA_D4(8), XGEMM_WGMMA_D4(12)
#define XGEMM_WGMMA_REGS_24 XGEMM_WGMMA_REGS_16, XGEMM_WGMMA_D4(16), XGEMM_WGMMA_D4(20)
#define XGEMM_WGMMA_REGS_32 XGEMM_WGMMA_REGS_24, XGEMM_WGMMA_D4(24), XGEMM_WGMMA_D4(28)
#define XGEMM_WGMMA_REGS_40 XGEMM_WGMMA_REGS_32, XGEMM_WGMMA_D4(32), XGEMM_WGMMA_D4(36)
#define XGEMM_WGMMA_REGS_48 XGEMM_WGMMA_REGS_40, XGEMM_WGMMA_D4(40), XGEMM_WGMMA_D4(44)
#define XGEMM_WGMMA_REGS_52 XGEMM_WGMMA_REGS_48, XGEMM_WGMMA_D4(48)
#define XGEMM_WGMMA_REGS_56 XGEMM_WGMMA_REGS_48, XGEMM_WGMMA_D4(48), XGEMM_WGMMA_D4(52)
#define XGEMM_WGMMA_REGS_64 XGEMM_WGMMA_REGS_56, XGEMM_WGMMA_D4(56), XGEMM_WGMMA_D4(60)
#define XGEMM_WGMMA_REGS_72 XGEMM_WGMMA_REGS_64, XGEMM_WGMMA_D4(64), XGEMM_WGMMA_D4(68)
#define XGEMM_WGMMA_REGS_80 XGEMM_WGMMA_REGS_72, XGEMM_WGMMA_D4(72), XGEMM_WGMMA_D4(76)
#define XGEMM_WGMMA_REGS_88 XGEMM_WGMMA_REGS_80, XGEMM_WGMMA_D4(80), XGEMM_WGMMA_D4(84)
#define XGEMM_WGMMA_REGS_96 XGEMM_WGMMA_REGS_88, XGEMM_WGMMA_D4(88), XGEMM_WGMMA_D4(92)
#define XGEMM_WGMMA_REGS_104 XGEMM_WGMMA_REGS_96, XGEMM_WGMMA_D4(96), XGEMM_WGMMA_D4(100)
#define XGEMM_WGMMA_REGS_112 XGEMM_WGMMA_REGS_104, XGEMM_WGMMA_D4(104), XGEMM_WGMMA_D4(108)
#define XGEMM_WGMMA_REGS_120 XGEMM_WGMMA_REGS_112, XGEMM_WGMMA_D4(112), XGEMM_WGMMA_D4(116)
#define XGEMM_WGMMA_REGS_128 XGEMM_WGMMA_REGS_120, XGEMM_WGMMA_D4(120), XGEMM_WGMMA_D4(124)

// Arguments: element type, N, K and types, N / 2, the numbers of the operands after the registers, and those that say
// how X and Y lie, which TF32 leaves no choice about.
#define XGEMM_WGMMA(Element, n, kind, regs, x, y, adds, majors)                                                        \
  template <>                                                                                                          \
  struct Wgmma<Element, n> {                                                                                           \
    template <int kMajorX, int kMajorY, int kAdds>                                                                     \
    XGEMM_DEVICE static void run(float* d, std::uint64_t desc_x, std::uint64_t desc_y) {                               \
      asm volatile("wgmma.mma_async.sync.aligned.m64n" #n kind " {" XGEMM_WGMMA_NAMES_##regs                           \
                   "}, %" #x ", %" #y ", %" #adds ", 1, 1" majors ";"                                                  \
                   : XGEMM_WGMMA_REGS_##regs                                                                           \
                   : "l"(desc_x), "l"(desc_y), "n"(kMajorX), "n"(kMajorY), "n"(kAdds));                                \
    }                                                                                                                  \
  };
#define XGEMM_WGMMA_OF_REGISTERS(Element, n, kind, regs, x0, x1, x2, x3, y, major)                                     \
  template <>                                                                                                          \
  struct WgmmaOfRegisters<Element, n> {                                                                                \
    XGEMM_DEVICE static void run(float* d, std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t e,         \
                                 std::uint64_t desc_y) {                                                               \
      asm volatile("wgmma.mma_async.sync.aligned.m64n" #n kind " {" XGEMM_WGMMA_NAMES_##regs                           \
                   "}, {%" #x0 ", %" #x1 ", %" #x2 ", %" #x3 "}, %" #y ", 1, 1, 1" major ";"                           \
                   : XGEMM_WGMMA_REGS_##regs                                                                           \
                   : "r"(a), "r"(b), "r"(c), "r"(e), "l"(desc_y));                                                     \
    }                                                                                                                  \
  };
#define XGEMM_WGMMA_ALL(n, regs, x, y, tx, ty, adds)                                            \
  XGEMM_WGMMA(half, n, "k16.f32.f16.f16", regs, x, y, adds, ", %" #tx ", %" #ty)                \
  XGEMM_WGMMA(bfloat16, n, "k16.f32.bf16.bf16", regs, x, y, adds, ", %" #tx ", %" #ty)          \
  XGEMM_WGMMA(float, n, "k8.f32.tf32.tf32", regs, x, y, adds, "")                               \
  XGEMM_WGMMA_OF_REGISTERS(half, n, "k16.f32.f16.f16", regs, x, y, tx, ty, adds, ", 0")         \
  XGEMM_WGMMA_OF_REGISTERS(bfloat16, n, "k16.f32.bf16.bf16", regs, x, y, tx, ty, adds, ", 0")   \
  XGEMM_WGMMA_OF_REGISTERS(float, n, "k8.f32.tf32.tf32", regs, x, y, tx, ty, adds, "")

XGEMM_WGMMA_ALL(8, 4, 4, 5, 6, 7, 8)
XGEMM_WGMMA_ALL(16, 8, 8, 9, 10, 11, 12)
XGEMM_WGMMA_ALL(32, 16, 16, 17, 18, 19, 20)
XGEMM_WGMMA_ALL(48, 24, 24, 25, 26, 27, 28)
XGEMM_WGMMA_ALL(64, 32, 32, 33, 34, 35, 36)
XGEMM_WGMMA_ALL(80, 40, 40, 41, 42, 43, 44)
XGEMM_WGMMA_ALL(96, 48, 48, 49, 50, 51, 52)
XGEMM_WGMMA_ALL(104, 52, 52, 53, 54, 55, 56)
XGEMM_WGMMA_ALL(112, 56, 56, 57, 58, 59, 60)
XGEMM_WGMMA_ALL(128, 64, 64, 65, 66, 67, 68)
XGEMM_WGMMA_ALL(144, 72, 72, 73, 74, 75, 76)
XGEMM_WGMMA_ALL(160, 80, 80, 81, 82, 83, 84)
XGEMM_WGMMA_ALL(176, 88, 88, 89, 90, 91, 92)
XGEMM_WGMMA_ALL(192, 96, 96, 97, 98, 99, 100)
XGEMM_WGMMA_ALL(208, 104, 104, 105, 106, 107, 108)
XGEMM_WGMMA_ALL(224, 112, 112, 113, 114, 115, 116)
XGEMM_WGMMA_ALL(240, 120, 120, 121, 122, 123, 124)
XGEMM_WGMMA_ALL(256, 128, 128, 129, 130, 131, 132)

#undef XGEMM_WGMMA_ALL
#undef XGEMM_WGMMA
#undef XGEMM_WGMMA_OF_REGISTERS
// clang-format on
}  // namespace detail

// One product of a group, 32 bytes of K. d: the N / 2 accumulators of this thread. kAdds: to what they hold, else it is
// not looked at.
template <class Element, int kN, Major kMajorX, Major kMajorY, bool kAdds = true>
XGEMM_DEVICE void wgmma(float* d, std::uint64_t x, std::uint64_t y, Loc = Loc::current()) {
  static_assert(!std::is_same_v<Element, float> || (kMajorX == Major::k && kMajorY == Major::k));
  detail::Wgmma<Element, kN>::template run<static_cast<int>(kMajorX), static_cast<int>(kMajorY), kAdds>(d, x, y);
}

// The same with X in registers, which must not change meanwhile either: of TF32, and of 16 bits.
template <int kN>
XGEMM_DEVICE void wgmma_tf32(float* d, const float (&x)[4], std::uint64_t y, Loc = Loc::current()) {
  detail::WgmmaOfRegisters<float, kN>::run(d, __float_as_uint(x[0]), __float_as_uint(x[1]), __float_as_uint(x[2]),
                                           __float_as_uint(x[3]), y);
}
template <class Element, int kN>
XGEMM_DEVICE void wgmma_of_registers(float* d, const std::uint32_t (&x)[4], std::uint64_t y, Loc = Loc::current()) {
  detail::WgmmaOfRegisters<Element, kN>::run(d, x[0], x[1], x[2], x[3], y);
}

// An element of such an X. As for X in shared memory, nobody need have written it.
XGEMM_DEVICE float read_for_wgmma(const float* shared, Loc = Loc::current()) {
  return read<Space::shared>(shared);
}

#endif

}  // namespace xgemm::gpu
