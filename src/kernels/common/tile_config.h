// The parameters of a kernel instance: one aggregate for the planner, the kernel templates and the tests.
//
// A structural type, so that an instance is Kernel<TileConfig{...}>. Host code reads it without any CUDA header.
#pragma once

#include <cstdint>

#include "core/compute.h"
#include "core/dtype.h"
#include "layout/operand_facts.h"

namespace xgemm::kernels {

using layout::Axis;

// How a CTA tile of A or B gets from global to shared memory.
enum class Copy : std::uint8_t {
  direct,    // loaded and stored at once
  prefetch,  // loaded into registers while the previous slice is computed, stored after it
  async,     // cp.async: past the registers, several slices ahead
  bulk,      // TMA: whole tiles by the copy engine, several slices ahead
};

struct TileConfig {
  DType type = DType::f32;              // of A and B
  DType type_c = type;                  // of C
  Compute compute = Compute::strict;    // not strict: it serves only calls in this mode
  int cta_m = 1, cta_n = 1, cta_k = 1;  // CTA tile of C, and the slice of K staged at a time
  int thread_m = 1, thread_n = 1;       // elements of C per thread
  int warp_m = 0, warp_n = 0;           // elements of C per warp, in kernels that compute by warps
  int stages = 1;                       // slices held in shared memory
  Copy copy = Copy::direct;
  bool any_strides = false;                 // serves operands contiguous along either axis, or neither
  Axis a_contiguous = Axis::row;            // op(A), m x k: row is along m (not transposed), col along k (transposed)
  Axis b_contiguous = Axis::row;            // op(B), k x n: row is along k (not transposed), col along n (transposed)
  int pad = 0;                              // elements between the lines of a tile in shared memory
  int vector = 1;                           // elements per global load of A and B along the contiguous axis
  bool single_a = false, single_b = false;  // this operand is loaded element by element all the same
  int vector_c = vector;                    // elements that accesses to C need aligned
  int vector_old_c = 1;                     // and to old C, which may be read from a copy
  int raster_group = 8;                     // tiles along m that are walked together (common/schedule.h)
  int min_compute_capability = 75;
  bool later_architectures = true;  // false for code that runs on min_compute_capability alone, such as sm_90a

  constexpr bool operator==(const TileConfig&) const = default;

  constexpr bool runs_on(int compute_capability) const {
    return compute_capability == min_compute_capability ||
           (later_architectures && compute_capability > min_compute_capability);
  }
  // (Functions, not members that default to another one: nvcc's constant evaluator loses those.)
  constexpr int vector_a() const { return single_a ? 1 : vector; }
  constexpr int vector_b() const { return single_b ? 1 : vector; }
  constexpr bool on_tensor_cores() const { return warp_m > 0; }
  constexpr int threads() const {
    return warp_m > 0 ? 32 * (cta_m / warp_m) * (cta_n / warp_n) : (cta_m / thread_m) * (cta_n / thread_n);
  }
  constexpr ProductTypes types() const { return {type, type, type_c}; }
};

// The four flag pairs: the contiguous axes that they make. For every family's kind of config.
template <class Config>
constexpr Config with_axes(Config c, Axis a_contiguous, Axis b_contiguous) {
  c.a_contiguous = a_contiguous;
  c.b_contiguous = b_contiguous;
  return c;
}
template <class Config>
constexpr Config nn(const Config& c) {
  return with_axes(c, Axis::row, Axis::row);
}
template <class Config>
constexpr Config nt(const Config& c) {
  return with_axes(c, Axis::row, Axis::col);
}
template <class Config>
constexpr Config tn(const Config& c) {
  return with_axes(c, Axis::col, Axis::row);
}
template <class Config>
constexpr Config tt(const Config& c) {
  return with_axes(c, Axis::col, Axis::col);
}

}  // namespace xgemm::kernels
