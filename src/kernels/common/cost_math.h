// Arithmetic of cost models.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

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

// Of a matrix' extent, the last one perhaps in part. In doubles, which divide faster; exact below 2^53.
inline double tiles(double extent, int tile) {
  return ceil(extent / tile);
}
inline double tiles(std::int64_t extent, int tile) {
  return tiles(double(extent), tile);
}

// Candidates that have a bound, least_us, and a place, the least bound first: what may be fast is then worked out
// first, and much of the rest is out of the question.
template <class Candidate>
std::vector<const Candidate*> least_first(const std::vector<Candidate>& candidates) {
  std::vector<const Candidate*> order;
  order.reserve(candidates.size());
  for (const Candidate& each : candidates) order.push_back(&each);
  std::ranges::sort(order, [](const Candidate* x, const Candidate* y) {
    return x->least_us != y->least_us ? x->least_us < y->least_us : x->place < y->place;
  });
  return order;
}

}  // namespace xgemm::kernels::cost
