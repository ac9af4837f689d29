// Statistics of paired timings: medians and distribution-free confidence intervals.
//
// Timings are skewed, have outliers and drift with the clock, so nothing here assumes a normal distribution: the centre
// is the median and its interval comes from order statistics, which is exact for any continuous distribution.
// Comparisons are made on ratios of timings that were taken in the same round, because what disturbs a round disturbs
// both sides. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

namespace xgemm::perf {

constexpr double kConfidence = 0.95;  // of intervals, where there are values enough

/// A point estimate with the interval it lies in.
struct Interval {
  double median = 0;
  double low = 0;
  double high = 0;

  /// Half the width over the median: what "tight to 1 %" means. Infinite for an interval that says nothing.
  double relative_half_width() const;
};

/// The middle value, or the mean of the two middle values. NaN when there is none.
double median(std::vector<double> values);

/// The larger of two errors. NaN is the largest there is: once found, it stays.
double worse(double one, double other);

/// P(X <= successes), X ~ Binomial(trials, 1/2).
double binomial_half_cdf(std::int64_t successes, std::int64_t trials);

/// Median with the order-statistics interval that covers it with at least `confidence`. With fewer than six values no
/// such interval exists at 95 %; the whole range is returned then, which covers less (n = 5: 94 %, n = 2: 50 %).
Interval median_interval(std::vector<double> values, double confidence = kConfidence);

/// With what probability the whole range of so many values covers the median.
double range_confidence(std::int64_t count);

/// Interval of median(numerator[i] / denominator[i]). The vectors have the same length.
Interval paired_ratio(const std::vector<double>& numerator, const std::vector<double>& denominator,
                      double confidence = kConfidence);

/// Geometric mean of ratios, with an interval in which the rows' own errors are taken as independent: the half widths
/// of the logarithms add in squares.
Interval geometric_mean(const std::vector<Interval>& ratios);

}  // namespace xgemm::perf
