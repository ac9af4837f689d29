// The element types of matrices: half and bfloat16, and which other types are known.
// C++17. SPDX-License-Identifier: BSD-3-Clause
#ifndef XGEMM_ELEMENT_HPP
#define XGEMM_ELEMENT_HPP

#include <type_traits>

#include "xgemm.h"
#include "xgemm/float16.hpp"

#if defined(__STDCPP_BFLOAT16_T__)
#include <stdfloat>
#endif

// _Float16. Before release 13, g++ has it in C++ on x86 alone, and its limits everywhere.
#if defined(__FLT16_MANT_DIG__) && (defined(__clang__) || defined(__x86_64__) || defined(__i386__) || __GNUC__ >= 13)
#define XGEMM_HAS_FLOAT16
#endif

// CUDA's; only their names are needed here.
struct __half;
struct __nv_bfloat16;

namespace xgemm {

// An IEEE 754 binary16 number with conversions from and to float, rounded to nearest even. It stores the same 16 bits
// as xgemm_half, CUDA's __half and _Float16; arithmetic happens in float.
class half {
 public:
  half() = default;
  half(float value) noexcept : bits_(float_to_half(value)) {}  // implicit, as between the built-in types

  operator float() const noexcept { return half_to_float(bits_); }

  static half from_bits(xgemm_half bits) noexcept {
    half result;
    result.bits_ = bits;
    return result;
  }
  xgemm_half bits() const noexcept { return bits_; }

 private:
  xgemm_half bits_;
};
static_assert(sizeof(half) == sizeof(xgemm_half) && std::is_trivially_copyable_v<half>);

// The same for bfloat16, the upper half of a float: xgemm_bfloat16, CUDA's __nv_bfloat16 and std::bfloat16_t.
class bfloat16 {
 public:
  bfloat16() = default;
  bfloat16(float value) noexcept : bits_(float_to_bfloat16(value)) {}

  operator float() const noexcept { return bfloat16_to_float(bits_); }

  static bfloat16 from_bits(xgemm_bfloat16 bits) noexcept {
    bfloat16 result;
    result.bits_ = bits;
    return result;
  }
  xgemm_bfloat16 bits() const noexcept { return bits_; }

 private:
  xgemm_bfloat16 bits_;
};
static_assert(sizeof(bfloat16) == sizeof(xgemm_bfloat16) && std::is_trivially_copyable_v<bfloat16>);

// The types that matrices may have. To use another type with one of these representations, specialise it:
//     template <> struct xgemm::element<my_half> : std::integral_constant<xgemm_type, XGEMM_F16> {};
template <class T>
struct element;
template <>
struct element<float> : std::integral_constant<xgemm_type, XGEMM_F32> {};
template <>
struct element<double> : std::integral_constant<xgemm_type, XGEMM_F64> {};
template <>
struct element<half> : std::integral_constant<xgemm_type, XGEMM_F16> {};
template <>
struct element<::__half> : std::integral_constant<xgemm_type, XGEMM_F16> {};
#if defined(XGEMM_HAS_FLOAT16)
template <>
struct element<_Float16> : std::integral_constant<xgemm_type, XGEMM_F16> {};  // also std::float16_t
#endif
template <>
struct element<bfloat16> : std::integral_constant<xgemm_type, XGEMM_BF16> {};
template <>
struct element<::__nv_bfloat16> : std::integral_constant<xgemm_type, XGEMM_BF16> {};
#if defined(__STDCPP_BFLOAT16_T__)
template <>
struct element<std::bfloat16_t> : std::integral_constant<xgemm_type, XGEMM_BF16> {};
#endif

namespace detail {

// The type in which products of elements of a type are summed, and which alpha and beta have.
template <class T>
using sum_of = std::conditional_t<element<T>::value == XGEMM_F64, double, float>;

template <class T, class = void>
struct is_element : std::false_type {};
template <class T>
struct is_element<T, std::void_t<decltype(element<T>::value)>> : std::true_type {};

}  // namespace detail

}  // namespace xgemm

#endif  // XGEMM_ELEMENT_HPP
