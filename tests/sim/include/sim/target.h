// Namespace xgemm::gpu as the simulator provides it: the same names as src/kernels/common/target.cuh provides for the
// GPU. Included from there; nothing else includes it.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "sim/barrier.h"
#include "sim/copy_async.h"
#include "sim/location.h"
#include "sim/machine.h"
#include "sim/warp.h"
#include "xgemm/float16.hpp"

#define XGEMM_DEVICE inline
#define XGEMM_UNROLL
#define XGEMM_NO_UNROLL
#define XGEMM_UNROLL_BY(turns)

namespace xgemm::gpu {

using sim::Loc;

inline constexpr int kArch = 900;

// ---- Who am I ----

inline int thread_index() {
  return sim::current().index;
}
inline int lane_index() {
  return sim::current().lane();
}
inline int warp_index() {
  return sim::current().warp();
}
inline std::int64_t block_x() {
  return sim::current().cta->index;
}
inline std::int64_t grid_x() {
  return sim::machine().shape().grid;
}

// ---- Barriers ----

inline void sync_threads(Loc loc = Loc::current()) {
  sim::sync_threads(loc);
}
inline void named_barrier_sync(int id, int threads, Loc loc = Loc::current()) {
  sim::named_barrier_sync(id, threads, loc);
}
inline void sync_warp(unsigned mask = 0xffffffffu, Loc loc = Loc::current()) {
  sim::sync_warp(mask, loc);
}
inline void keep_order() {}

// ---- Warp shuffles ----

namespace detail {
using std::bit_cast;

template <class T>
T shuffle(sim::Shuffle kind, T value, int operand, unsigned mask, Loc loc) {
  static_assert(sizeof(T) == 4 && std::is_trivially_copyable_v<T>);
  return std::bit_cast<T>(sim::shuffle(kind, std::bit_cast<std::uint32_t>(value), operand, mask, loc));
}
}  // namespace detail

template <class T>
T shuffle(T value, int source_lane, unsigned mask = 0xffffffffu, Loc loc = Loc::current()) {
  return detail::shuffle(sim::Shuffle::index, value, source_lane, mask, loc);
}
template <class T>
T shuffle_xor(T value, int lane_mask, unsigned mask = 0xffffffffu, Loc loc = Loc::current()) {
  return detail::shuffle(sim::Shuffle::exclusive_or, value, lane_mask, mask, loc);
}

// ---- Arithmetic ----

inline float fma(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
inline float multiply(float a, float b) {
  return a * b;
}
inline double fma(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
inline double multiply(double a, double b) {
  return a * b;
}

inline float larger(float a, float b) {
  return a > b || a != a ? a : b;
}
inline float exp2_approximately(float a) {
  return std::exp2(a);
}
inline float reciprocal_approximately(float a) {
  return 1 / a;
}

// The value, as something the compiler knows nothing about; on the GPU this saves registers.
template <class T>
T opaque(T value) {
  return value;
}

inline void prefetch(const void*) {}

// ---- Typed memory ----

template <Space kSpace, class T>
T read(const T* pointer, Loc loc = Loc::current()) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16 && (sizeof(T) & (sizeof(T) - 1)) == 0);
  T value;
  if constexpr (kSpace == Space::shared) {
    sim::read_shared<sizeof(T)>(pointer, &value, loc);
  } else {
    sim::read_global<sizeof(T)>(pointer, &value, loc);
  }
  return value;
}

template <class T>
T read_constant(const T* pointer, Loc loc = Loc::current()) {
  return read<Space::global>(pointer, loc);
}

template <Space kSpace, class T>
void write(T* pointer, const T& value, Loc loc = Loc::current()) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16 && (sizeof(T) & (sizeof(T) - 1)) == 0);
  if constexpr (kSpace == Space::shared) {
    sim::write_shared<sizeof(T)>(pointer, &value, loc);
  } else {
    sim::write_global<sizeof(T)>(pointer, &value, loc);
  }
}

inline unsigned atomic_or(unsigned* pointer, unsigned bits, Loc loc = Loc::current()) {
  return sim::atomic(
      pointer, [=](unsigned x) { return x | bits; }, loc);
}
inline unsigned atomic_add(unsigned* pointer, unsigned value, Loc loc = Loc::current()) {
  return sim::atomic(
      pointer, [=](unsigned x) { return x + value; }, loc);
}

// Stands for one element: reads and writes it, checked, when it is used.
template <Space kSpace, class T>
class Reference {
 public:
  using Value = std::remove_const_t<T>;
  Reference(T* pointer, Loc loc) : pointer_(pointer), loc_(loc) {}
  Reference(const Reference&) = default;

  operator Value() const { return read<kSpace, Value>(pointer_, loc_); }
  const Reference& operator=(const Value& value) const {
    static_assert(!std::is_const_v<T>, "a view of const elements is read-only");
    write<kSpace, Value>(pointer_, value, loc_);
    return *this;
  }
  const Reference& operator=(const Reference& other) const { return *this = static_cast<Value>(other); }
  const Reference& operator+=(const Value& value) const { return *this = static_cast<Value>(*this) + value; }

 private:
  T* pointer_;
  Loc loc_;
};

template <Space kSpace, class T>
Reference<kSpace, T> make_reference(T* pointer, Loc loc) {
  return {pointer, loc};
}

namespace detail {
[[gnu::cold, gnu::noinline]] inline void report_bounds(std::int64_t i, std::int64_t j, std::int64_t rows,
                                                       std::int64_t cols, Loc loc) {
  sim::fail(sim::Fault::view_bounds, loc,
            "element (" + std::to_string(i) + ", " + std::to_string(j) + ") of a view of " + std::to_string(rows) +
                " x " + std::to_string(cols));
}
}  // namespace detail

template <class Index, class Extent>
void check_bounds(Index i, Index j, Extent rows, Extent cols, Loc loc) {
  if (i < 0 || i >= rows || j < 0 || j >= cols) detail::report_bounds(i, j, rows, cols, loc);
}

// An access that a predicate of this lane suppressed: keeps the lanes of a request together in the counters.
template <Space kSpace>
void skip_load(Loc loc = Loc::current()) {
  sim::skip(kSpace == Space::shared ? sim::Traffic::shared_load : sim::Traffic::global_load, loc);
}
template <Space kSpace>
void skip_store(Loc loc = Loc::current()) {
  sim::skip(kSpace == Space::shared ? sim::Traffic::shared_store : sim::Traffic::global_store, loc);
}

// ---- cp.async ----

template <int kBytes>
void copy_async(void* destination, const void* source, int source_bytes = kBytes, Loc loc = Loc::current()) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async moves 4, 8 or 16 bytes");
  sim::copy_async(kBytes, destination, source, source_bytes, loc);
}
inline void copy_async_commit(Loc = Loc::current()) {
  sim::copy_async_commit();
}
template <int kPending>
void copy_async_wait(Loc = Loc::current()) {
  sim::copy_async_wait(kPending);
}

}  // namespace xgemm::gpu
