// Statistics against numbers from scipy 1.17 and numpy 2.3, made once with
//
//   from scipy import stats
//   stats.binom.cdf(s, n, 0.5)
//   stats.quantile_test(y, q=0, p=0.5).confidence_interval(confidence)     # order statistics of the median
//
// SPDX-License-Identifier: BSD-3-Clause
#include "bench/stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace xgemm::perf {
namespace {

TEST(Stats, BinomialCdfAgreesWithScipy) {
  struct Known {
    int successes, trials;
    double value;
  };
  for (const auto& [successes, trials, value] :
       {Known{0, 1, 0.5}, Known{0, 5, 0.03125}, Known{2, 9, 0.08984375}, Known{5, 25, 0.0020386576652526855},
        Known{40, 100, 0.028443966820490444}, Known{480, 1000, 0.10872414660207075},
        Known{499, 1000, 0.48738749091081973}})
    EXPECT_NEAR(binomial_half_cdf(successes, trials), value, 1e-12 + 1e-10 * value) << successes << " of " << trials;
  EXPECT_EQ(binomial_half_cdf(-1, 4), 0);
  EXPECT_EQ(binomial_half_cdf(4, 4), 1);
}

TEST(Stats, Medians) {
  EXPECT_DOUBLE_EQ(median({4.2, 1.1, 9.7, 3.3, 5.8}), 4.2);
  EXPECT_DOUBLE_EQ(median({3, 1}), 2);
  EXPECT_TRUE(std::isnan(median({})));
}

TEST(Stats, NanIsTheWorstErrorAndStays) {
  const double nan = std::nan("");
  EXPECT_EQ(worse(1, 2), 2);
  EXPECT_EQ(worse(2, 1), 2);
  EXPECT_TRUE(std::isnan(worse(1, nan)));
  EXPECT_TRUE(std::isnan(worse(nan, 1)));
  EXPECT_TRUE(std::isnan(worse(worse(worse(0, nan), 1), INFINITY)));
}

TEST(Stats, MedianIntervalsAreThoseOfScipy) {
  struct Known {
    int n;
    double low95, high95, low99, high99;
  };
  // scipy has no interval for n = 6 at 99 %, where this falls back to the whole range.
  for (const Known& known :
       {Known{6, 1, 6, 1, 6}, Known{9, 2, 8, 1, 9}, Known{11, 2, 10, 1, 11}, Known{20, 6, 15, 4, 17},
        Known{25, 8, 18, 6, 20}, Known{51, 19, 33, 16, 36}, Known{200, 86, 115, 82, 119}}) {
    std::vector<double> values(static_cast<std::size_t>(known.n));
    std::iota(values.begin(), values.end(), 1.0);
    const Interval at95 = median_interval(values, 0.95);
    const Interval at99 = median_interval(values, 0.99);
    EXPECT_EQ(at95.low, known.low95) << known.n;
    EXPECT_EQ(at95.high, known.high95) << known.n;
    EXPECT_EQ(at99.low, known.low99) << known.n;
    EXPECT_EQ(at99.high, known.high99) << known.n;
  }
}

TEST(Stats, PairedRatioAgreesWithScipy) {
  const Interval ratio = paired_ratio({10.1, 10.4, 9.9, 10.0, 10.6, 10.2, 10.3, 9.8, 10.5},
                                      {5.0, 5.3, 4.9, 5.1, 5.2, 5.05, 5.15, 4.95, 5.25});
  EXPECT_DOUBLE_EQ(ratio.median, 2.0);
  EXPECT_DOUBLE_EQ(ratio.low, 1.9622641509433965);
  EXPECT_DOUBLE_EQ(ratio.high, 2.020408163265306);
  EXPECT_NEAR(ratio.relative_half_width(), 0.5 * (2.020408163265306 - 1.9622641509433965) / 2.0, 1e-15);
}

TEST(Stats, PairingRemovesWhatBothSidesShare) {
  // A clock that drifts by a factor of two, and one side always 1 % slower: the ratio sees only the 1 %.
  std::vector<double> reference, ours;
  for (int i = 0; i < 20; ++i) {
    reference.push_back(100 * (1 + 0.05 * i));
    ours.push_back(reference.back() * 1.01);
  }
  const Interval ratio = paired_ratio(reference, ours);
  EXPECT_NEAR(ratio.median, 1 / 1.01, 1e-12);
  EXPECT_LT(ratio.relative_half_width(), 1e-12);
}

TEST(Stats, IntervalsCoverTheMedianAsOftenAsTheyPromise) {
  // Exponential samples, median ln 2, from a fixed generator: at least 95 % minus what 2000 draws may miss.
  std::uint64_t state = 12345;
  const auto uniform = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (static_cast<double>(state >> 11) + 1) * 0x1p-53;
  };
  int covered = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> values(15);
    for (double& value : values) value = -std::log(uniform());
    const Interval interval = median_interval(values);
    covered += interval.low <= std::log(2.0) && std::log(2.0) <= interval.high;
  }
  EXPECT_GE(covered, 1880);
}

TEST(Stats, FewOrNoValues) {
  EXPECT_TRUE(std::isnan(median_interval({}).median));
  const Interval one = median_interval({3});
  EXPECT_EQ(one.low, 3);
  EXPECT_EQ(one.high, 3);
  const Interval two = median_interval({3, 5});
  EXPECT_EQ(two.median, 4);
  EXPECT_EQ(two.low, 3);
  EXPECT_EQ(two.high, 5);
  EXPECT_TRUE(std::isinf(median_interval({}).relative_half_width()));
}

TEST(Stats, GeometricMeans) {
  const Interval mean = geometric_mean({Interval{2, 1.8, 2.2}, Interval{0.5, 0.45, 0.55}});
  EXPECT_NEAR(mean.median, 1, 1e-12);
  // Independent errors of two rows: each logarithm's half width over the square root of two.
  EXPECT_NEAR(std::log(mean.median / mean.low), std::log(2 / 1.8) / std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(std::log(mean.high / mean.median), std::log(2.2 / 2) / std::sqrt(2.0), 1e-12);
}

}  // namespace
}  // namespace xgemm::perf
