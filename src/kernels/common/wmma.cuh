// WMMA: 16 x 16 x 16 products of 16-bit matrices with fp32 sums, as opaque fragments of a warp.
//
// Which lane holds which element is the machine's business: kernels fill, load, multiply and store whole fragments.
// Memory is shared memory: its addresses are multiples of 32 bytes, leading dimensions multiples of 16 bytes.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/dtype.cuh"
#include "kernels/common/target.cuh"

namespace xgemm::gpu {

enum class WmmaUse : std::uint8_t { a, b, accumulator };

}  // namespace xgemm::gpu

#if defined(XGEMM_SIM)

#include "sim/mma.h"
#include "sim/wmma.h"

namespace xgemm::gpu {

template <class Element, WmmaUse kUse, bool kColumnMajor = false>
struct WmmaFragment {
  std::uint32_t registers[4];
};
template <bool kColumnMajor>
struct WmmaFragment<float, WmmaUse::accumulator, kColumnMajor> {
  float registers[8];
};

XGEMM_DEVICE void wmma_fill(WmmaFragment<float, WmmaUse::accumulator>& f, float value) {
  for (float& x : f.registers) x = value;
}

template <class Element, WmmaUse kUse, bool kColumnMajor>
XGEMM_DEVICE void wmma_load(WmmaFragment<Element, kUse, kColumnMajor>& f, const Element* shared, int ld,
                            Loc loc = Loc::current()) {
  constexpr auto kOperand = kUse == WmmaUse::a ? sim::WmmaOperand::a : sim::WmmaOperand::b;
  sim::wmma_load(kOperand, kColumnMajor, f.registers, shared, ld, loc);
}

template <class Element, bool kColumnMajorA, bool kColumnMajorB>
XGEMM_DEVICE void wmma_multiply(WmmaFragment<float, WmmaUse::accumulator>& sum,
                                const WmmaFragment<Element, WmmaUse::a, kColumnMajorA>& a,
                                const WmmaFragment<Element, WmmaUse::b, kColumnMajorB>& b, Loc loc = Loc::current()) {
  constexpr auto kType = std::is_same_v<Element, bfloat16> ? DType::bf16 : DType::f16;
  sim::mma_pair(kType, sum.registers, a.registers, b.registers, loc);
}

template <bool kColumnMajor>
XGEMM_DEVICE void wmma_store(float* shared, const WmmaFragment<float, WmmaUse::accumulator>& f, int ld,
                             Loc loc = Loc::current()) {
  sim::wmma_store(kColumnMajor, shared, f.registers, ld, loc);
}

}  // namespace xgemm::gpu

#else

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

namespace xgemm::gpu {

namespace detail {
template <class Element>
using WmmaElement = std::conditional_t<std::is_same_v<Element, half>, __half, __nv_bfloat16>;
template <WmmaUse kUse>
using WmmaMatrix = std::conditional_t<kUse == WmmaUse::a, nvcuda::wmma::matrix_a, nvcuda::wmma::matrix_b>;
template <bool kColumnMajor>
using WmmaOrder = std::conditional_t<kColumnMajor, nvcuda::wmma::col_major, nvcuda::wmma::row_major>;
}  // namespace detail

// A (m x k) or B (k x n), from memory with the columns or the rows contiguous.
template <class Element, WmmaUse kUse, bool kColumnMajor = false>
struct WmmaFragment {
  nvcuda::wmma::fragment<detail::WmmaMatrix<kUse>, 16, 16, 16, detail::WmmaElement<Element>,
                         detail::WmmaOrder<kColumnMajor> >
      registers;
};
// The sums. The order in memory is that of the store.
template <bool kColumnMajor>
struct WmmaFragment<float, WmmaUse::accumulator, kColumnMajor> {
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> registers;
};

XGEMM_DEVICE void wmma_fill(WmmaFragment<float, WmmaUse::accumulator>& f, float value) {
  nvcuda::wmma::fill_fragment(f.registers, value);
}

// `ld` elements lie between columns (rows) of the fragment in memory.
template <class Element, WmmaUse kUse, bool kColumnMajor>
XGEMM_DEVICE void wmma_load(WmmaFragment<Element, kUse, kColumnMajor>& f, const Element* shared, int ld,
                            Loc = Loc::current()) {
  nvcuda::wmma::load_matrix_sync(f.registers, reinterpret_cast<const detail::WmmaElement<Element>*>(shared),
                                 static_cast<unsigned>(ld));
}

template <class Element, bool kColumnMajorA, bool kColumnMajorB>
XGEMM_DEVICE void wmma_multiply(WmmaFragment<float, WmmaUse::accumulator>& sum,
                                const WmmaFragment<Element, WmmaUse::a, kColumnMajorA>& a,
                                const WmmaFragment<Element, WmmaUse::b, kColumnMajorB>& b, Loc = Loc::current()) {
  nvcuda::wmma::mma_sync(sum.registers, a.registers, b.registers, sum.registers);
}

template <bool kColumnMajor>
XGEMM_DEVICE void wmma_store(float* shared, const WmmaFragment<float, WmmaUse::accumulator>& f, int ld,
                             Loc = Loc::current()) {
  nvcuda::wmma::store_matrix_sync(shared, f.registers, static_cast<unsigned>(ld),
                                  kColumnMajor ? nvcuda::wmma::mem_col_major : nvcuda::wmma::mem_row_major);
}

}  // namespace xgemm::gpu

#endif
