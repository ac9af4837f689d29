// Implementation of oracle.h. SPDX-License-Identifier: BSD-3-Clause
#include "bench/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "bench/element.h"
#include "bench/stats.h"

namespace xgemm::perf {
namespace {

constexpr double kAllElementsWork = 1 << 24;  // multiplications up to which every element is checked
constexpr double kSampleWork = 1 << 26;
constexpr std::int64_t kSampleSide = 64;
constexpr std::int64_t kChunk = 512;       // of k, so that packed rows and columns stay in the cache
constexpr std::int64_t kUnwrittenRun = 8;  // so many unchanged neighbours are no coincidence of rounding

std::vector<std::int64_t> sample(std::int64_t extent, std::int64_t count, std::uint32_t seed) {
  std::set<std::int64_t> chosen;
  if (count >= extent) {
    for (std::int64_t i = 0; i < extent; ++i) chosen.insert(i);
  } else {
    // Ends and the neighbourhood of the usual tile edges first: that is where kernels go wrong.
    for (const std::int64_t edge : {std::int64_t{0}, extent - 1, std::int64_t{63}, std::int64_t{64}, std::int64_t{127},
                                    std::int64_t{128}, extent / 128 * 128, extent - 2})
      if (edge >= 0 && edge < extent && static_cast<std::int64_t>(chosen.size()) < count) chosen.insert(edge);
    std::mt19937 random(seed);
    while (static_cast<std::int64_t>(chosen.size()) < count)
      chosen.insert(static_cast<std::int64_t>(random()) % extent);
  }
  return {chosen.begin(), chosen.end()};
}

void choose_samples(const Case& one, Reference& reference) {
  std::int64_t rows = one.m;
  std::int64_t cols = one.n;
  const auto k = static_cast<double>(one.k);
  reference.batches = {0};
  if (one.batch > 2) reference.batches.push_back(one.batch / 2);
  if (one.batch > 1) reference.batches.push_back(one.batch - 1);
  if (static_cast<double>(one.m) * static_cast<double>(one.n) * k > kAllElementsWork) {
    const auto side = static_cast<std::int64_t>(std::sqrt(kSampleWork / k));
    const std::int64_t limit = std::clamp<std::int64_t>(side, 8, kSampleSide);
    rows = std::min(rows, limit);
    cols = std::min(cols, limit);
  }
  reference.rows = sample(one.m, rows, 1);
  reference.cols = sample(one.n, cols, 2);
}

/// Distances in memory between neighbouring rows and columns of an operand as the product sees it.
struct Strides {
  std::int64_t row;
  std::int64_t col;
};

Strides strides_of(std::int64_t ld, bool transposed, bool row_major) {
  return transposed != row_major ? Strides{ld, 1} : Strides{1, ld};
}

struct ProductValues {
  const OperandValues& a;
  const OperandValues& b;
  Strides a_strides;
  Strides b_strides;
};

/// Adds the sampled rows times the sampled columns of one batch entry to `value` and `magnitude` (rows x cols each).
/// Wide: what judges the sums, double or long double.
template <class Wide>
void accumulate(const Case& one, const Reference& samples, const ProductValues& operands, std::int64_t batch,
                Wide* value, double* magnitude) {
  const std::size_t cols = samples.cols.size();
  std::vector<Wide> packed(static_cast<std::size_t>(kChunk) * cols);
  for (std::int64_t start = 0; start < one.k; start += kChunk) {
    const std::int64_t length = std::min(kChunk, one.k - start);
    for (std::int64_t l = 0; l < length; ++l)
      for (std::size_t j = 0; j < cols; ++j)
        packed[static_cast<std::size_t>(l) * cols + j] =
            operands.b[batch * one.stride_b + (start + l) * operands.b_strides.row +
                       samples.cols[j] * operands.b_strides.col];
    for (std::size_t i = 0; i < samples.rows.size(); ++i) {
      Wide* const sums = value + i * cols;
      double* const magnitudes = magnitude + i * cols;
      for (std::int64_t l = 0; l < length; ++l) {
        const Wide a = operands.a[batch * one.stride_a + samples.rows[i] * operands.a_strides.row +
                                  (start + l) * operands.a_strides.col];
        const Wide* const row = packed.data() + static_cast<std::size_t>(l) * cols;
        for (std::size_t j = 0; j < cols; ++j) {
          sums[j] += a * row[j];
          magnitudes[j] += static_cast<double>(std::abs(a * row[j]));
        }
      }
    }
  }
}

std::int64_t c_index(const Case& one, std::int64_t batch, std::int64_t row, std::int64_t col) {
  const Strides strides = strides_of(one.ldc, false, one.row_major);
  return batch * one.stride_c + row * strides.row + col * strides.col;
}

double element(const Case& one, const std::vector<std::uint8_t>& output, std::int64_t index) {
  if (const auto widen = one.output().widen; widen != nullptr) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, output.data() + 2 * index, sizeof(bits));
    return widen(bits);
  }
  if (one.output().size == 8) {
    double value = 0;
    std::memcpy(&value, output.data() + 8 * index, sizeof(value));
    return value;
  }
  float value = 0;
  std::memcpy(&value, output.data() + 4 * index, sizeof(value));
  return value;
}

double initial_element(const Case& one, const OperandValues& initial_c, std::int64_t index) {
  return one.beta == 0 ? std::nan("") : initial_c[index];
}

bool unchanged(const Case& one, const OperandValues& initial_c, const std::vector<std::uint8_t>& output,
               std::int64_t index) {
  const double now = element(one, output, index);
  const double before = initial_element(one, initial_c, index);
  return now == before || (std::isnan(now) && std::isnan(before));
}

/// Whether the product changes what beta * C leaves by more than rounding: only then does an unchanged element say
/// anything.
bool product_shows(const Case& one, const Reference& reference, const OperandValues& initial_c) {
  if (one.beta == 0) return true;
  const double unit = one.output().unit;
  std::size_t at = 0;
  std::size_t hidden = 0;
  for (const std::int64_t batch : reference.batches)
    for (const std::int64_t row : reference.rows)
      for (const std::int64_t col : reference.cols) {
        const double initial = initial_c[c_index(one, batch, row, col)];
        if (!(std::abs(reference.value[at++] - initial) > 4 * unit * std::abs(initial))) ++hidden;
      }
  return hidden * 20 <= at;
}

/// Whether one of `count` elements from `index` on is NaN; on bits, which compilers turn into vector code.
bool any_nan(const Case& one, const std::vector<std::uint8_t>& output, std::int64_t index, std::int64_t count) {
  const auto look = [&](auto zero) {
    using Bits = decltype(zero);
    constexpr auto kMagnitude = static_cast<Bits>(~Bits{0} >> 1);
    const auto infinity = static_cast<Bits>(one.output().infinity_bits);
    const auto* const values = reinterpret_cast<const Bits*>(output.data()) + index;
    unsigned found = 0;
    for (std::int64_t i = 0; i < count; ++i) found |= static_cast<Bits>(values[i] & kMagnitude) > infinity;
    return found != 0;
  };
  switch (one.output().size) {
    case 2:
      return look(std::uint16_t{});
    case 4:
      return look(std::uint32_t{});
    default:
      return look(std::uint64_t{});
  }
}

/// Looks at every element for results that are missing, and at the gaps between columns for writes that should not be.
std::string find_unwritten_or_overwritten(const Case& one, bool may_stay, const OperandValues& initial_c,
                                          const std::vector<std::uint8_t>& output) {
  // beta = 1 may leave an element as it was when the product rounds away; a run of such elements is another matter.
  const std::int64_t run_limit = one.beta == 0 ? 1 : kUnwrittenRun;
  const Case::Extent extent = one.c_extent();
  for (std::int64_t batch = 0; batch < one.batch; ++batch)
    for (std::int64_t line = 0; line < extent.strided; ++line) {
      const std::int64_t start = batch * one.stride_c + line * one.ldc;
      std::int64_t run = 0;
      const bool suspect = one.beta == 0 ? any_nan(one, output, start, extent.contiguous) : !may_stay;
      for (std::int64_t i = 0; i < extent.contiguous && suspect; ++i) {
        run = unchanged(one, initial_c, output, start + i) ? run + 1 : 0;
        if (run < run_limit) continue;
        const std::int64_t row = one.row_major ? line : i;
        const std::int64_t col = one.row_major ? i : line;
        if (one.beta == 0) return fmt::format("NaN at ({}, {}): not written, or wrong", row, col);
        return fmt::format("{} elements up to ({}, {}) were not written", run, row, col);
      }
      const bool last = line + 1 == extent.strided;
      for (std::int64_t i = extent.contiguous; i < one.ldc && !last; ++i)
        if (!unchanged(one, initial_c, output, start + i))
          return fmt::format("wrote outside C: element {} of line {} with leading dimension {}", i, line, one.ldc);
    }
  return "";
}

/// Error over bound of one element, and its squared error for the norm.
struct ElementError {
  double share;
  double difference;
};

ElementError element_error(const Case& one, double operand_unit, double got, double expected, double magnitude) {
  const double bound =
      (2 * one.input().sum_unit * (static_cast<double>(one.k) + 2) + operand_unit * (2 + operand_unit)) * magnitude;
  const Element& type = one.output();
  if (std::abs(expected) + bound >= type.overflow) {
    // Infinity is a right answer here; so is the largest number if the sum could have stayed below the threshold.
    const bool right = std::isinf(got) ? (got > 0) == (expected > 0) : std::abs(expected) - bound < type.overflow;
    return {right ? 0 : std::nan(""), 0};
  }
  const double difference = std::abs(got - expected);
  // The bound covers what sums round.
  const double rounding = type.unit == one.input().sum_unit ? 0 : type.unit * (std::abs(expected) + bound) + type.tiny;
  if (difference <= rounding) return {0, difference};
  const double beyond = difference - rounding;
  return {beyond == 0 ? 0 : beyond / bound, difference};
}

void compare_samples(const Case& one, const Reference& reference, const std::vector<std::uint8_t>& output,
                     double operand_unit, Accuracy& result) {
  double errors = 0;
  double norm = 0;
  std::size_t at = 0;
  for (const std::int64_t batch : reference.batches)
    for (const std::int64_t row : reference.rows)
      for (const std::int64_t col : reference.cols) {
        const double got = element(one, output, c_index(one, batch, row, col));
        const double expected = reference.value[at];
        const ElementError error = element_error(one, operand_unit, got, expected, reference.magnitude[at]);
        ++at;
        errors += error.difference * error.difference;
        norm += expected * expected;
        if (result.problem.empty() && !(error.share <= 1))
          result.problem = fmt::format("C({}, {}) = {:.7g}, float64 says {:.7g}", row, col, got, expected);
        result.bound_share = worse(result.bound_share, error.share);
      }
  result.samples = static_cast<std::int64_t>(at);
  result.normwise = errors == 0 ? 0 : std::sqrt(errors / norm);
}

}  // namespace

namespace {

/// What an epilogue makes of a value, and of how large errors may be: no activation is steeper than 1.13.
void finish(const Case& one, double bias, double& value, double& magnitude) {
  value += bias;
  magnitude += std::abs(bias);
  if (one.has_relu()) value = std::max(value, 0.0);
  if (!one.has_gelu()) return;
  constexpr double kSlope = 1.5957691216057308;  // 2 sqrt(2 / pi)
  value /= 1 + std::exp(-kSlope * (value + 0.044715 * value * value * value));
  magnitude *= 1.13;
}

template <class Wide>
Reference make_reference_in(const Case& one, const OperandValues& a, const OperandValues& b, const OperandValues& c) {
  Reference reference;
  choose_samples(one, reference);
  const std::size_t per_batch = reference.rows.size() * reference.cols.size();
  std::vector<Wide> value(per_batch * reference.batches.size(), 0);
  reference.value.assign(value.size(), 0);
  reference.magnitude = reference.value;
  const ProductValues operands{a, b, strides_of(one.lda, one.transa == 'T', one.row_major),
                               strides_of(one.ldb, one.transb == 'T', one.row_major)};
  std::size_t at = 0;
  for (const std::int64_t batch : reference.batches) {
    accumulate<Wide>(one, reference, operands, batch, value.data() + at, reference.magnitude.data() + at);
    for (const std::int64_t row : reference.rows)
      for (const std::int64_t col : reference.cols) {
        const Wide initial = one.beta == 0 ? 0 : c[c_index(one, batch, row, col)];
        reference.value[at] = static_cast<double>(one.alpha * value[at] + one.beta * initial);
        reference.magnitude[at] =
            std::abs(one.alpha) * reference.magnitude[at] + static_cast<double>(std::abs(one.beta * initial));
        finish(one, one.has_bias() ? a[row] : 0, reference.value[at], reference.magnitude[at]);
        ++at;
      }
  }
  return reference;
}

}  // namespace

Reference make_reference(const Case& one, const OperandValues& a, const OperandValues& b, const OperandValues& c) {
  return one.input().size == 8 ? make_reference_in<long double>(one, a, b, c) : make_reference_in<double>(one, a, b, c);
}

Accuracy judge(const Case& one, const Reference& reference, const OperandValues& initial_c,
               const std::vector<std::uint8_t>& output, double operand_unit) {
  Accuracy result;
  compare_samples(one, reference, output, operand_unit, result);
  const bool may_stay = !product_shows(one, reference, initial_c);
  const std::string missing = find_unwritten_or_overwritten(one, may_stay, initial_c, output);
  if (!missing.empty()) result.problem = missing;
  result.complete = missing.empty() && !std::isnan(result.bound_share);
  result.pass = result.bound_share <= 1 && result.problem.empty();
  if (!result.pass && result.problem.empty()) result.problem = "exceeds the error bound";
  return result;
}

}  // namespace xgemm::perf
