// Arrays of fp16 and bf16 <-> fp32 on the host: the conversions of xgemm/float16.hpp, every path with the same bits.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace xgemm::host {

// Of `count` elements that do not overlap.
struct Conversion {
  void (*widen)(const std::uint16_t* from, float* to, std::int64_t count) noexcept;
  void (*narrow)(const float* from, std::uint16_t* to, std::int64_t count) noexcept;
};

// type: f16 or bf16. By the processor's vector instructions where it has them: F16C, AVX2.
const Conversion& conversion(DType type);

// The same by integer arithmetic alone, on any processor.
const Conversion& portable_conversion(DType type) noexcept;

}  // namespace xgemm::host
