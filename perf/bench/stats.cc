// Implementation of stats.h. SPDX-License-Identifier: BSD-3-Clause
#include "bench/stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace xgemm::perf {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double sorted_median(const std::vector<double>& sorted) {
  if (sorted.empty()) return kNan;
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : 0.5 * (sorted[half - 1] + sorted[half]);
}

}  // namespace

double Interval::relative_half_width() const {
  const double width = 0.5 * (high - low) / std::abs(median);
  return std::isfinite(width) ? width : std::numeric_limits<double>::infinity();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return sorted_median(values);
}

double worse(double one, double other) {
  return std::isnan(one) || other <= one ? one : other;
}

double binomial_half_cdf(std::int64_t successes, std::int64_t trials) {
  if (successes < 0) return 0;
  if (successes >= trials) return 1;
  // Sum of choose(n, i) / 2^n in logarithms: exact enough for any n, and n stays below some thousands here.
  const double log_half_power = -static_cast<double>(trials) * std::log(2.0);
  const double log_factorial_n = std::lgamma(static_cast<double>(trials) + 1);
  double sum = 0;
  for (std::int64_t i = 0; i <= successes; ++i) {
    const auto x = static_cast<double>(i);
    const auto rest = static_cast<double>(trials - i);
    sum += std::exp(log_factorial_n - std::lgamma(x + 1) - std::lgamma(rest + 1) + log_half_power);
  }
  return std::min(sum, 1.0);
}

Interval median_interval(std::vector<double> values, double confidence) {
  if (values.empty()) return {kNan, kNan, kNan};
  std::sort(values.begin(), values.end());
  // [x_(rank), x_(n+1-rank)] covers the median with probability 1 - 2 P(X < rank): take the largest rank that suffices.
  const auto n = static_cast<std::int64_t>(values.size());
  std::int64_t rank = 1;
  while (2 * (rank + 1) <= n && 2 * binomial_half_cdf(rank, n) <= 1 - confidence) ++rank;
  return {sorted_median(values), values[static_cast<std::size_t>(rank - 1)],
          values[static_cast<std::size_t>(n - rank)]};
}

double range_confidence(std::int64_t count) {
  return 1 - 2 * binomial_half_cdf(0, count);
}

Interval paired_ratio(const std::vector<double>& numerator, const std::vector<double>& denominator, double confidence) {
  std::vector<double> ratios(std::min(numerator.size(), denominator.size()));
  for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = numerator[i] / denominator[i];
  return median_interval(std::move(ratios), confidence);
}

Interval geometric_mean(const std::vector<Interval>& ratios) {
  if (ratios.empty()) return {kNan, kNan, kNan};
  double sum = 0;
  double below = 0;
  double above = 0;
  for (const Interval& ratio : ratios) {
    if (!(ratio.low > 0)) return {kNan, kNan, kNan};
    sum += std::log(ratio.median);
    below += std::pow(std::log(ratio.median / ratio.low), 2);
    above += std::pow(std::log(ratio.high / ratio.median), 2);
  }
  const auto n = static_cast<double>(ratios.size());
  const double mean = sum / n;
  return {std::exp(mean), std::exp(mean - std::sqrt(below) / n), std::exp(mean + std::sqrt(above) / n)};
}

}  // namespace xgemm::perf
