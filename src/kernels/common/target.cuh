// The machine a kernel runs on: a GPU (nvcc) or the simulator (any C++20 compiler, XGEMM_SIM defined).
//
// Everything a kernel does to the machine goes through namespace xgemm::gpu: who am I, barriers, shuffles, typed reads
// and writes of global and shared memory, asynchronous copies. This header provides it for the GPU, as forced-inline
// functions that become one instruction each; <sim/target.h> provides the same names for the simulator, where each
// access is checked, timed and attributed to the source line of the kernel that made it.
//
// `Loc` is how that line travels: a defaulted last parameter, empty on the GPU.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/portability.h"

namespace xgemm::gpu {

enum class Space : std::uint8_t { global, shared };

inline constexpr int kWarpSize = 32;

}  // namespace xgemm::gpu

#if defined(XGEMM_SIM)

#include "sim/target.h"

#elif defined(__CUDACC__)

#define XGEMM_DEVICE __device__ __forceinline__
#define XGEMM_UNROLL _Pragma("unroll")
#define XGEMM_NO_UNROLL _Pragma("unroll 1")
#define XGEMM_UNROLL_BY(turns) XGEMM_PRAGMA(unroll turns)
#define XGEMM_PRAGMA(text) _Pragma(#text)

namespace xgemm::gpu {

// The architecture being compiled for: 750, 800, 900 …; 0 in the host pass.
#if defined(__CUDA_ARCH__)
inline constexpr int kArch = __CUDA_ARCH__;
#else
inline constexpr int kArch = 0;
#endif

struct Loc {
  XGEMM_HOST_DEVICE static constexpr Loc current() { return {}; }
};

// ---- Who am I. CTAs are one-dimensional: thread_index() < Kernel::kThreads. ----

XGEMM_DEVICE int thread_index() {
  return static_cast<int>(threadIdx.x);
}
XGEMM_DEVICE int lane_index() {
  return static_cast<int>(threadIdx.x) % kWarpSize;
}
XGEMM_DEVICE int warp_index() {
  return static_cast<int>(threadIdx.x) / kWarpSize;
}
XGEMM_DEVICE std::int64_t block_x() {
  return blockIdx.x;
}
XGEMM_DEVICE std::int64_t grid_x() {
  return gridDim.x;
}

// ---- Barriers ----

XGEMM_DEVICE void sync_threads(Loc = Loc::current()) {
  __syncthreads();
}

// Named barriers 1 to 15 (0 is sync_threads), of so many threads.
XGEMM_DEVICE void named_barrier_sync(int id, int threads, Loc = Loc::current()) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
XGEMM_DEVICE void sync_warp(unsigned mask = 0xffffffffu, Loc = Loc::current()) {
  __syncwarp(mask);
}
// Neither the compiler nor the assembler moves accesses across it. By all lanes of a warp; no thread relies on it.
XGEMM_DEVICE void keep_order() {
  __syncwarp();
}

// ---- Warp shuffles: T is any 32-bit type ----

template <class T>
XGEMM_DEVICE T shuffle(T value, int source_lane, unsigned mask = 0xffffffffu, Loc = Loc::current()) {
  return __shfl_sync(mask, value, source_lane);
}
template <class T>
XGEMM_DEVICE T shuffle_xor(T value, int lane_mask, unsigned mask = 0xffffffffu, Loc = Loc::current()) {
  return __shfl_xor_sync(mask, value, lane_mask);
}

// ---- Arithmetic whose rounding is part of the contract, so that no compiler flag changes it ----

XGEMM_DEVICE float fma(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}
XGEMM_DEVICE float multiply(float a, float b) {
  return __fmul_rn(a, b);
}
XGEMM_DEVICE double fma(double a, double b, double c) {
  return __fma_rn(a, b, c);
}
XGEMM_DEVICE double multiply(double a, double b) {
  return __dmul_rn(a, b);
}

// NaN where a is; b is a number.
XGEMM_DEVICE float larger(float a, float b) {
  if constexpr (kArch >= 800) {
    float x;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(x) : "f"(a), "f"(b));
    return x;
  } else {
    return a > b || a != a ? a : b;
  }
}

// With errors of two or three units in the last place, in an instruction; numbers below 2^-126 count as 0.
XGEMM_DEVICE float exp2_approximately(float a) {
  float x;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(x) : "f"(a));
  return x;
}
XGEMM_DEVICE float reciprocal_approximately(float a) {
  float x;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(x) : "f"(a));
  return x;
}

// The value, as something the compiler knows nothing about: what follows from it is computed where it is needed, not
// kept in registers across a mainloop that needs them.
XGEMM_DEVICE int opaque(int value) {
  asm volatile("" : "+r"(value));
  return value;
}
XGEMM_DEVICE float opaque(float value) {
  asm volatile("" : "+f"(value));
  return value;
}
XGEMM_DEVICE std::int64_t opaque(std::int64_t value) {
  asm volatile("" : "+l"(value));
  return value;
}
template <class T>
XGEMM_DEVICE T* opaque(T* value) {
  asm volatile("" : "+l"(value));
  return value;
}

// Asks for a line of global memory to be in the L2 soon. May come before grid_wait_dependencies(): nothing is read.
XGEMM_DEVICE void prefetch(const void* from) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

// ---- Typed memory. T is trivially copyable, 1, 2, 4, 8 or 16 bytes, and naturally aligned. ----

namespace detail {
template <int kBytes>
struct Word;
template <>
struct Word<1> {
  using Type = unsigned char;
};
template <>
struct Word<2> {
  using Type = unsigned short;
};
template <>
struct Word<4> {
  using Type = unsigned int;
};
template <>
struct Word<8> {
  using Type = uint2;
};
template <>
struct Word<16> {
  using Type = uint4;
};

template <class To, class From>
XGEMM_DEVICE To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}

// What PTX takes as an address in shared memory.
XGEMM_DEVICE unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Between a value and the word that moves it. By 32-bit parts: a memcpy of the whole would be folded into the access
// and split it into its elements.
template <class T>
XGEMM_DEVICE typename Word<sizeof(T)>::Type to_word(const T& value) {
  if constexpr (sizeof(T) <= 4) {
    return bit_cast<typename Word<sizeof(T)>::Type>(value);
  } else {
    const auto* part = reinterpret_cast<const unsigned char*>(&value);
    unsigned words[sizeof(T) / 4];
    XGEMM_UNROLL
    for (int i = 0; i < static_cast<int>(sizeof(T) / 4); ++i) memcpy(&words[i], part + 4 * i, 4);
    if constexpr (sizeof(T) == 8) {
      return make_uint2(words[0], words[1]);
    } else {
      return make_uint4(words[0], words[1], words[2], words[3]);
    }
  }
}

}  // namespace detail

template <Space kSpace, class T>
XGEMM_DEVICE T read(const T* pointer, Loc = Loc::current()) {
  using Word = typename detail::Word<sizeof(T)>::Type;
  const Word word = *reinterpret_cast<const Word*>(pointer);  // one access: a copy from memory itself would go by bytes
  return detail::bit_cast<T>(word);
}

// Global memory that nobody writes while the kernel runs (ld.global.nc).
template <class T>
XGEMM_DEVICE T read_constant(const T* pointer, Loc = Loc::current()) {
  using Word = typename detail::Word<sizeof(T)>::Type;
  return detail::bit_cast<T>(__ldg(reinterpret_cast<const Word*>(pointer)));
}

template <Space kSpace, class T>
XGEMM_DEVICE void write(T* pointer, const T& value, Loc = Loc::current()) {
  using Word = typename detail::Word<sizeof(T)>::Type;
  const Word word = detail::to_word(value);
  // Wide global stores are opaque: next to the scalar stores of an edge the compiler would split them up.
  if constexpr (kSpace == Space::global && sizeof(T) == 16) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(pointer)), "r"(word.x),
                 "r"(word.y), "r"(word.z), "r"(word.w)
                 : "memory");
  } else if constexpr (kSpace == Space::global && sizeof(T) == 8) {
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(pointer)), "r"(word.x), "r"(word.y)
                 : "memory");
  } else {
    *reinterpret_cast<Word*>(pointer) = word;
  }
}

// On global memory. What was there before.
XGEMM_DEVICE unsigned atomic_or(unsigned* pointer, unsigned bits, Loc = Loc::current()) {
  return atomicOr(pointer, bits);
}
XGEMM_DEVICE unsigned atomic_add(unsigned* pointer, unsigned value, Loc = Loc::current()) {
  return atomicAdd(pointer, value);
}

// An element of a view: a plain reference here, a checked proxy in the simulator.
template <Space kSpace, class T>
using Reference = T&;
template <Space kSpace, class T>
XGEMM_DEVICE T& make_reference(T* pointer, Loc) {
  return *pointer;
}

// The simulator checks a view's own bounds, and learns of accesses that a predicate suppressed.
template <class Index, class Extent>
XGEMM_DEVICE void check_bounds(Index, Index, Extent, Extent, Loc) {}
template <Space kSpace>
XGEMM_DEVICE void skip_load(Loc = Loc::current()) {}
template <Space kSpace>
XGEMM_DEVICE void skip_store(Loc = Loc::current()) {}

// ---- cp.async (sm_80): the destination is undefined until the issuing thread has waited for the group. ----

// Copies `source_bytes` (0 to kBytes) and fills the rest of the kBytes at `destination` with zeros. Both addresses are
// multiples of kBytes; the source is not touched beyond source_bytes. 16-byte copies bypass L1.
template <int kBytes>
XGEMM_DEVICE void copy_async(void* destination, const void* source, int source_bytes = kBytes, Loc = Loc::current()) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async moves 4, 8 or 16 bytes");
  const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(destination));
  const std::uint64_t global = __cvta_generic_to_global(source);
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(source_bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(shared), "l"(global), "r"(source_bytes),
                 "n"(kBytes)
                 : "memory");
  }
}
// Closes the group of the copies issued since the last commit; a group may be empty.
XGEMM_DEVICE void copy_async_commit(Loc = Loc::current()) {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// Waits until at most kPending of this thread's newest groups are in flight. Other threads still need a barrier.
template <int kPending>
XGEMM_DEVICE void copy_async_wait(Loc = Loc::current()) {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace xgemm::gpu

#else
#error "kernels are compiled by nvcc, or for the simulator with XGEMM_SIM defined"
#endif
