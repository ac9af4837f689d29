// Arithmetic of cost models.
#pragma once

#include <cstdint>

namespace xgemm::kernels::cost {

inline double fourth(double x) {
  return x * x * x * x;
}

// Of numbers from 0 on. The library's functions, which are calls, take longer than all else in a model.
inline double floor(double x) {
  return x < 0x1p53 ? double(static_cast<std::int64_t>(x)) : x;
}

inline double ceil(double x) {
  const double least = floor(x);
  return least < x ? least + 1 : least;
}

}  // namespace xgemm::kernels::cost
