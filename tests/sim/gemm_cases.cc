// Cases, reference and verdict. SPDX-License-Identifier: BSD-3-Clause
#include "gemm_cases.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "kernels/common/lone_line.h"
#include "kernels/skinny/instances.h"
#include "support/element.h"
#include "support/matrix.h"
#include "support/oracle.h"

namespace xgemm::sim {
namespace {

using test::from_double;
using test::GuardValue;
using test::Random;
using test::to_double;

constexpr std::size_t kAlignment = 128;
constexpr std::size_t kBand = 256;  // elements of guard before and after

// Of so many entries of Pointers::to_some, the last starts on vectors.
constexpr std::int64_t kMixture = 4;

// op(X), rows x cols x batch, in a storage of guards.
template <class T>
class Operand {
 public:
  // number: which operand. entries: elements that its entries lie a multiple of apart.
  Operand(bool transposed, std::int64_t rows, std::int64_t cols, std::int64_t batch, int vector, const GemmCase& c,
          int number, int entries = 1)
      : rows_(rows), cols_(cols), batch_(batch), number_(number), pointers_(c.pointers) {
    const std::int64_t along = transposed ? cols : rows;
    const std::int64_t across = transposed ? rows : cols;
    // Aligned for the kernel's vectors: the line of the last element is padded to whole ones.
    const std::int64_t line = std::max<std::int64_t>(1, (along * c.spread + vector - 1) / vector * vector);
    ld_ = line + c.ld_pad * vector;
    batch_stride_ = (ld_ * (across + (c.joint ? 0 : 1)) + entries - 1) / entries * entries;
    if (across == 1) ld_ = kernels::stride_of_lines(ld_ + 1, across);  // off vectors, as a caller's may be
    row_stride_ = transposed ? ld_ : c.spread;
    col_stride_ = transposed ? c.spread : ld_;
    if (pointers_ != Pointers::none) {
      constexpr std::int64_t kVector = 16 / sizeof(T);
      batch_stride_ = (batch_stride_ + kMostShift + kVector - 1) / kVector * kVector;
      for (std::int64_t b = 0; b < batch; ++b) order_.push_back(batch - 1 - b);
    }
    const auto elements = static_cast<std::size_t>(batch_stride_ * std::max<std::int64_t>(1, batch));
    storage_.assign(kBand + static_cast<std::size_t>(c.shift * vector) + elements + kBand, GuardValue<T>::value());
    storage_.resize(storage_.size() + kAlignment / sizeof(T), GuardValue<T>::value());
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data() + kBand);
    const std::size_t misaligned = address % kAlignment;
    offset_ = kBand + (misaligned == 0 ? 0 : (kAlignment - misaligned) / sizeof(T)) +
              static_cast<std::size_t>(c.shift * vector);
  }
  Operand(const Operand&) = delete;

  T* data() { return storage_.data() + offset_; }
  std::int64_t row_stride() const { return row_stride_; }
  std::int64_t col_stride() const { return col_stride_; }
  std::int64_t batch_stride() const { return batch_stride_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }

  T& at(std::int64_t i, std::int64_t j, std::int64_t b) { return storage_[index(i, j, b)]; }

  // As a kernel is told of it.
  template <class Arg>
  Arg arg() {
    if (pointers_ == Pointers::none) return {data(), row_stride_, col_stride_, batch_stride_};
    array_.clear();
    for (std::int64_t b = 0; b < batch_; ++b) array_.push_back(storage_.data() + index(0, 0, b));
    return {array_.data(), row_stride_, col_stride_, kernels::kStrideOfPointers};
  }

  void fill(Fill how, std::uint64_t seed) {
    Random random(seed);
    for (std::int64_t b = 0; b < batch_; ++b)
      for (std::int64_t j = 0; j < cols_; ++j)
        for (std::int64_t i = 0; i < rows_; ++i) at(i, j, b) = from_double<T>(random.uniform());
    if (how == Fill::special && rows_ * cols_ > 0) {
      constexpr double kInf = std::numeric_limits<double>::infinity();
      const double strewn[] = {kInf, std::numeric_limits<double>::quiet_NaN(), -kInf, 0.0};
      // The corners too: next to them lie the zeros that fill up a tile.
      at(rows_ - 1, cols_ - 1, 0) = from_double<T>(kInf);
      for (const double value : strewn) {
        at(random.integer(0, rows_ - 1), random.integer(0, cols_ - 1), 0) = from_double<T>(value);
      }
    }
  }

  std::vector<T> snapshot() const { return storage_; }
  void restore(const std::vector<T>& snapshot) { std::copy(snapshot.begin(), snapshot.end(), storage_.begin()); }

  // Everything but the elements, or those of a triangle, as it was in the snapshot?
  bool guards_intact(const std::vector<T>& before, bool elements_too, xgemm::Fill triangle = xgemm::Fill::full) {
    std::vector<T> now = storage_;
    if (!elements_too) {
      for (std::int64_t b = 0; b < batch_; ++b)
        for (std::int64_t j = 0; j < cols_; ++j)
          for (std::int64_t i = 0; i < rows_; ++i) {
            if (!contains(triangle, i, j)) continue;
            const std::size_t at = index(i, j, b);
            now[at] = before[at];
          }
    }
    return std::memcmp(now.data(), before.data(), now.size() * sizeof(T)) == 0;
  }

 private:
  static constexpr std::int64_t kMostShift = 3;

  std::size_t index(std::int64_t i, std::int64_t j, std::int64_t b) const {
    std::int64_t entry = b * batch_stride_;
    if (pointers_ != Pointers::none) entry = order_[static_cast<std::size_t>(b)] * batch_stride_;
    if (pointers_ == Pointers::anywhere) entry += (b + 1) % (kMostShift + 1);
    if (pointers_ == Pointers::to_some && b % kMixture == number_) ++entry;
    return offset_ + static_cast<std::size_t>(i * row_stride_ + j * col_stride_ + entry);
  }

  std::int64_t rows_, cols_, batch_;
  int number_;
  Pointers pointers_;
  std::vector<std::int64_t> order_;
  std::vector<void*> array_;
  std::int64_t ld_ = 1, row_stride_ = 1, col_stride_ = 1, batch_stride_ = 0;
  std::vector<T> storage_;
  std::size_t offset_ = 0;
};

// A and B of T, C of U.
template <class T, class U>
class Problem {
 public:
  using Sum = test::ScalarOf<T>;
  using Wide = test::WideOf<T>;

  Problem(const SimKernel& kernel, const GemmCase& c)
      : case_(c),
        kernel_(kernel),
        a_(c.transa != 'N', c.m, c.k, c.batch, kernel.config.vector_a(), c, 0, vector_of_entries(kernel)),
        b_(c.transb != 'N', c.k, c.n, c.batch, kernel.config.vector_b(), c, 1, vector_of_entries(kernel)),
        c_(false, c.m, c.n, c.batch, vector_of_c(kernel, c), without_spread(c), 2),
        c_copy_(false, c.m, c.n, c.batch, kernel.config.vector_old_c, without_spread(c), 3) {
    a_.fill(c.fill, c.seed * 3 + 1);
    b_.fill(c.fill, c.seed * 3 + 2);
    if (c.beta != 0) {
      c_.fill(Fill::uniform, c.seed * 3 + 3);
      c_.at(c.m - 1, c.n - 1, 0) = from_double<U>(-0.0);
    }  // else NaN poison
    a_before_ = a_.snapshot();
    b_before_ = b_.snapshot();
    c_before_ = c_.snapshot();
    reference();
  }

  std::string run(const Options& options, Counters* counters) {
    c_.restore(c_before_);
    if (std::string wrong = launch(options, counters); !wrong.empty()) return wrong;
    return check();
  }

  std::vector<U> result() const { return c_.snapshot(); }

 private:
  // On C as it is.
  std::string launch(const Options& options, Counters* counters) {
    kernels::GemmParams p{};
    p.a = a_.template arg<kernels::ConstMatrixArg>();
    p.b = b_.template arg<kernels::ConstMatrixArg>();
    p.c = c_.template arg<kernels::MatrixArg>();
    p.m = case_.m, p.n = case_.n, p.k = case_.k, p.batch_count = case_.batch;
    if (copies_c()) {
      for (std::int64_t b = 0; b < case_.batch; ++b)
        for (std::int64_t j = 0; j < case_.n; ++j)
          for (std::int64_t i = 0; i < case_.m; ++i) c_copy_.at(i, j, b) = c_.at(i, j, b);
      p.c_copy = {c_copy_.data(), 1, c_copy_.col_stride(), c_copy_.batch_stride()};
    }
    // Pointers are there as long as it is not known that nobody needs them.
    if ((case_.alpha == 0 && (!p.a.by_pointers() || !case_.device_scalars)) || case_.k == 0) {
      p.a.data = p.b.data = nullptr;
      p.a.batch_stride = p.b.batch_stride = 0;
    }
    // Scalars on the device replace those in the parameters, whatever these are.
    const Sum scalars[2] = {static_cast<Sum>(case_.alpha), static_cast<Sum>(case_.beta)};
    const auto factor = [&](const Sum& x) {
      return case_.device_scalars ? kernels::Factor::of(std::numeric_limits<Sum>::quiet_NaN(), &x)
                                  : kernels::Factor::of(x);
    };
    p.fill = case_.triangle;
    p.alpha = factor(scalars[0]);
    p.beta = factor(scalars[1]);
    Options named = options;
    named.kernel = kernel_.name;
    named.cluster = case_.cluster;
    named.whole_tiles = case_.whole_tiles;
    named.parts = case_.parts;
    Result result = kernel_.run(p, named);
    if (counters != nullptr) *counters = std::move(result.counters);
    if (!result.ok()) return result.summary();
    if (!a_.guards_intact(a_before_, true)) return "A was written";
    if (!b_.guards_intact(b_before_, true)) return "B was written";
    if (!c_.guards_intact(c_before_, false, case_.triangle)) return "a guard of C was overwritten";
    return {};
  }

  // A kernel that needs old C aligned, but not C, gets both kinds of C, and for the one a copy of what was there.
  static int vector_of_c(const SimKernel& kernel, const GemmCase& c) {
    return c.seed % 2 == 0 ? kernel.config.vector_c : std::max(kernel.config.vector_c, kernel.config.vector_old_c);
  }
  bool copies_c() const {
    return case_.beta != 0.0f && case_.pointers == Pointers::none && case_.seed % 2 == 0 &&
           kernel_.config.vector_old_c > 1;
  }

  // Where the copy engine brings lines that start anywhere, the matrices of a batch lie alike.
  static int vector_of_entries(const SimKernel& kernel) {
    return kernel.config.copy == kernels::Copy::bulk ? kernel.config.vector : 1;
  }
  static GemmCase without_spread(GemmCase c) {
    c.spread = 1;
    return c;
  }

  // By columns of C, in fp64 or wider, after the reference BLAS: alpha = 0 or k = 0 drops the product, beta = 0 drops
  // C.
  void reference() {
    const auto& p = case_;
    const Wide alpha = static_cast<Sum>(p.alpha), beta = static_cast<Sum>(p.beta);
    const auto size = static_cast<std::size_t>(p.m * p.n * p.batch);
    value_.assign(size, 0);
    magnitude_.assign(size, 0.0);
    const auto m = static_cast<std::size_t>(p.m);
    std::vector<Wide> a(m * static_cast<std::size_t>(p.k));
    for (std::int64_t b = 0; b < p.batch; ++b) {
      for (std::int64_t l = 0; l < p.k; ++l)
        for (std::int64_t i = 0; i < p.m; ++i) a[static_cast<std::size_t>(l * p.m + i)] = to_double(a_.at(i, l, b));
      for (std::int64_t j = 0; j < p.n; ++j) {
        Wide* const value = value_.data() + (b * p.n + j) * p.m;
        double* const magnitude = magnitude_.data() + (b * p.n + j) * p.m;
        const bool product = alpha != 0 && p.k > 0;
        if (product) {
          for (std::int64_t l = 0; l < p.k; ++l) {
            const Wide y = to_double(b_.at(l, j, b));
            const Wide* const column = a.data() + l * p.m;
            for (std::size_t i = 0; i < m; ++i) {
              value[i] += column[i] * y;
              magnitude[i] += static_cast<double>(std::fabs(column[i] * y));
            }
          }
        }
        for (std::size_t i = 0; i < m; ++i) {
          const Wide old = beta != 0 ? to_double(c_.at(static_cast<std::int64_t>(i), j, b)) : 0.0;
          const Wide kept = beta != 0 ? beta * old : 0;
          value[i] = product ? alpha * value[i] + kept : kept;  // a zero keeps its sign
          magnitude[i] =
              (product ? std::fabs(p.alpha) * magnitude[i] : 0.0) + static_cast<double>(std::fabs(beta * old));
        }
      }
    }
  }

  std::string check() {
    const double slope = test::kConstant * test::kSumRoundoff<T> * static_cast<double>(case_.k + 2);
    for (std::int64_t b = 0; b < case_.batch; ++b)
      for (std::int64_t j = 0; j < case_.n; ++j)
        for (std::int64_t i = 0; i < case_.m; ++i) {
          if (!contains(case_.triangle, i, j)) continue;
          const auto index = static_cast<std::size_t>((b * case_.n + j) * case_.m + i);
          const auto expected = static_cast<double>(value_[index]);
          const double actual = to_double(c_.at(i, j, b));
          const double bound = slope * magnitude_[index] + test::half_ulp<U>(expected);
          bool good = false;
          if (std::isnan(expected)) {
            good = std::isnan(actual);
          } else if (std::isinf(expected)) {
            good = actual == expected;
          } else if (std::fabs(expected) + bound > test::ElementTraits<U>::kMax && std::isinf(actual)) {
            good = std::signbit(actual) == std::signbit(expected);
          } else {
            good = std::fabs(actual - expected) <= bound;
            const bool product = case_.alpha != 0 && case_.k > 0;
            if (!product && expected == 0) good = good && std::signbit(actual) == std::signbit(expected);
          }
          if (!good) {
            return "C(" + std::to_string(i) + ", " + std::to_string(j) + ") of matrix " + std::to_string(b) + " is " +
                   std::to_string(actual) + ", expected " + std::to_string(expected) + " within " +
                   std::to_string(bound);
          }
        }
    return {};
  }

  GemmCase case_;
  const SimKernel& kernel_;
  Operand<T> a_, b_;
  Operand<U> c_, c_copy_;
  std::vector<T> a_before_, b_before_;
  std::vector<U> c_before_;
  std::vector<Wide> value_;
  std::vector<double> magnitude_;
};

template <class T, class U>
std::string run_both(const SimKernel& kernel, const GemmCase& c) {
  Problem<T, U> problem(kernel, c);
  Options options;
  if (std::string wrong = problem.run(options, nullptr); !wrong.empty()) return to_string(c) + "\n" + wrong;
  const std::vector<U> first = problem.result();
  options.order = Order::random;
  options.seed = c.seed;
  // Fewer CTAs than tiles now and then: the loop over tiles is part of every kernel.
  if (c.seed % 3 == 0) options.max_grid_x = 2;
  if (std::string wrong = problem.run(options, nullptr); !wrong.empty()) {
    return to_string(c) + ", random schedule\n" + wrong;
  }
  const std::vector<U> second = problem.result();
  if (std::memcmp(first.data(), second.data(), first.size() * sizeof(U)) != 0) {
    return to_string(c) + "\ndifferent bits under another schedule";
  }
  return {};
}

template <class T, class U>
std::string run_once(const SimKernel& kernel, const GemmCase& c, const Options& options, Counters* counters) {
  Problem<T, U> problem(kernel, c);
  const std::string wrong = problem.run(options, counters);
  return wrong.empty() ? wrong : to_string(c) + "\n" + wrong;
}

// What varies along with the sizes, so that all of it meets all of the sizes somewhere.
void vary(GemmCase& c, std::size_t n) {
  constexpr double kScalars[] = {1, -0.7, 0};
  constexpr int kPads[] = {0, 1, 3};
  constexpr int kShifts[] = {0, 1, 0, 3};
  // Zero now and then: the product is what is tested here. Not by whether n is even, as how C is reached goes by the
  // seed.
  c.alpha = kScalars[n % 9 == 8 ? 2 : n / 3 % 2];
  c.beta = kScalars[(n / 2 + 2) % 3];
  c.ld_pad = kPads[n / 3 % 3];
  c.shift = kShifts[n / 2 % 4];
  c.seed = n + 1;
}

// visit(T{}, U{}), T being the type of A and B, U that of C.
template <class Visit>
auto with_elements(const kernels::TileConfig& config, Visit&& visit) {
  const bool wide = config.type_c == DType::f32;
  switch (config.type) {
    case DType::f16:
      return wide ? visit(test::Half{}, float{}) : visit(test::Half{}, test::Half{});
    case DType::bf16:
      return wide ? visit(test::Bfloat16{}, float{}) : visit(test::Bfloat16{}, test::Bfloat16{});
    case DType::f64:
      return visit(double{}, double{});
    default:
      return config.compute == Compute::tf32 ? visit(test::Tf32{}, float{}) : visit(float{}, float{});
  }
}

}  // namespace

std::string to_string(const GemmCase& c) {
  return std::string{c.transa, c.transb} + " m=" + std::to_string(c.m) + " n=" + std::to_string(c.n) +
         " k=" + std::to_string(c.k) + " batch=" + std::to_string(c.batch) + " alpha=" + std::to_string(c.alpha) +
         " beta=" + std::to_string(c.beta) + (c.device_scalars ? " on the device" : "") +
         " ld_pad=" + std::to_string(c.ld_pad) + " shift=" + std::to_string(c.shift) +
         " spread=" + std::to_string(c.spread) + (c.joint ? " joint" : "") +
         (c.pointers == Pointers::anywhere     ? " pointers"
          : c.pointers == Pointers::to_some    ? " pointers, some to vectors"
          : c.pointers == Pointers::to_vectors ? " pointers to vectors"
                                               : "") +
         (c.fill == Fill::special ? " special" : "") +
         (c.triangle == xgemm::Fill::full    ? ""
          : c.triangle == xgemm::Fill::lower ? " lower"
                                             : " upper") +
         " cluster=" + to_string(c.cluster) +
         (c.parts > 1 ? " parts=" + std::to_string(c.parts) + " from " + std::to_string(c.whole_tiles) : "") +
         " seed=" + std::to_string(c.seed);
}

std::string run_case(const SimKernel& kernel, const GemmCase& c) {
  return with_elements(kernel.config, [&](auto t, auto u) { return run_both<decltype(t), decltype(u)>(kernel, c); });
}

std::string run_case(const SimKernel& kernel, const GemmCase& c, const Options& options, Counters* counters) {
  return with_elements(
      kernel.config, [&](auto t, auto u) { return run_once<decltype(t), decltype(u)>(kernel, c, options, counters); });
}

std::vector<std::string> flags_of(const kernels::TileConfig& config) {
  if (config.any_strides) return {"NN", "NT", "TN", "TT"};
  std::string flags;
  flags += config.a_contiguous == layout::Axis::row ? 'N' : 'T';
  flags += config.b_contiguous == layout::Axis::row ? 'N' : 'T';
  return {flags};
}

Sizes edge_sizes(const kernels::TileConfig& config) {
  const auto around = [&](std::int64_t tile, std::int64_t prime) {
    std::set<std::int64_t> sizes = {1, tile - 1, tile, tile + 1, prime};
    if (config.copy == kernels::Copy::bulk) sizes.insert({8, tile + 8, tile + 64});  // whole vectors of 16 bytes
    sizes.erase(0);
    return std::vector<std::int64_t>(sizes.begin(), sizes.end());
  };
  const auto next_prime = [](std::int64_t x) {
    for (;; ++x) {
      bool prime = true;
      for (std::int64_t d = 2; d * d <= x; ++d) prime = prime && x % d != 0;
      if (prime) return x;
    }
  };
  Sizes sizes;
  sizes.m = around(config.cta_m, next_prime(config.cta_m + config.cta_m / 4 + 2));
  sizes.n = around(config.cta_n, next_prime(config.cta_n + config.cta_n / 3 + 3));
  // Along k, the number of slices decides how a pipeline is filled and drained.
  std::set<std::int64_t> k = {1, next_prime(2 * config.cta_k + 3)};
  for (int slices = 1; slices <= config.stages + 1; ++slices) {
    for (const int d : {-1, 0, 1}) k.insert(slices * config.cta_k + d);
  }
  k.erase(0);
  sizes.k.assign(k.begin(), k.end());
  return sizes;
}

std::vector<GemmCase> edge_cases(const SimKernel& kernel) {
  const Sizes sizes = edge_sizes(kernel.config);
  std::vector<GemmCase> cases;
  std::size_t number = 0;
  for (const std::string& flags : flags_of(kernel.config)) {
    const auto add = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
      GemmCase c;
      c.transa = flags[0], c.transb = flags[1];
      c.m = m, c.n = n, c.k = k;
      vary(c, number++);
      cases.push_back(c);
    };
    for (const std::int64_t m : sizes.m)
      for (const std::int64_t n : sizes.n) {
        add(m, n, sizes.k[number % sizes.k.size()]);
        add(m, n, sizes.k[(number / 2 + sizes.k.size() / 2) % sizes.k.size()]);
      }
    for (const std::int64_t k : sizes.k)
      for (const std::size_t edge : {1, 3, 4}) {
        add(sizes.m[std::min(edge, sizes.m.size() - 1)], sizes.n[std::min(edge, sizes.n.size() - 1)], k);
      }
    add(5, 3, 0);
  }
  return cases;
}

std::vector<GemmCase> scalar_cases(const SimKernel& kernel) {
  std::vector<GemmCase> cases;
  for (const std::string& flags : flags_of(kernel.config))
    for (const std::int64_t k : {std::int64_t{0}, std::int64_t{kernel.config.cta_k + 2}})
      for (const double alpha : {0.0, 1.0, -0.7})
        for (const double beta : {0.0, 1.0, -0.7})
          for (const bool device : {false, true}) {
            GemmCase c;
            c.transa = flags[0], c.transb = flags[1];
            c.m = kernel.config.cta_m + 3, c.n = kernel.config.cta_n - 1, c.k = k;
            c.n = std::max<std::int64_t>(1, c.n);
            c.alpha = alpha, c.beta = beta;
            c.device_scalars = device;
            c.ld_pad = 1;
            c.seed = cases.size() + 1;
            cases.push_back(c);
          }
  return cases;
}

std::vector<GemmCase> special_cases(const SimKernel& kernel) {
  std::vector<GemmCase> cases;
  const kernels::TileConfig& config = kernel.config;
  for (const std::string& flags : flags_of(config))
    for (const std::int64_t k : {1, config.cta_k + 1, 2 * config.cta_k + 1})
      for (const double beta : {0.0, -0.7})
        for (const int repeat : {0, 1}) {
          GemmCase c;
          c.transa = flags[0], c.transb = flags[1];
          c.m = config.cta_m + 1 + repeat, c.n = config.cta_n + 2, c.k = k;
          c.beta = beta;
          c.fill = Fill::special;
          c.seed = cases.size() + 1;
          cases.push_back(c);
        }
  return cases;
}

std::vector<GemmCase> batch_cases(const SimKernel& kernel) {
  std::vector<GemmCase> cases;
  for (const std::string& flags : flags_of(kernel.config))
    for (const std::int64_t batch : {2, 3}) {
      GemmCase c;
      c.transa = flags[0], c.transb = flags[1];
      c.m = kernel.config.cta_m / 2 + 1, c.n = kernel.config.cta_n + 1, c.k = kernel.config.cta_k + 1;
      c.batch = batch;
      c.alpha = -0.7, c.beta = 1;
      c.ld_pad = 1;
      c.seed = static_cast<std::uint64_t>(batch);
      cases.push_back(c);
      // As most batches lie, one matrix behind the other, all in one piece; and with gaps between the matrices alone.
      c.ld_pad = 0;
      c.m = batch == 2 ? kernel.config.cta_m + 5 : 9, c.n = batch == 2 ? 3 : kernel.config.cta_n + 3;
      for (const std::int64_t k : {5, 16, 37})
        for (const bool joint : {true, false}) {
          c.k = k, c.joint = joint, c.shift = static_cast<int>(k % 3), c.beta = k == 5 ? 0 : 1;
          cases.push_back(c);
        }
    }
  return cases;
}

std::vector<GemmCase> pointer_cases(const SimKernel& kernel) {
  constexpr Pointers kAll[] = {Pointers::to_some, Pointers::anywhere, Pointers::to_vectors};
  std::vector<GemmCase> cases;
  const kernels::TileConfig& config = kernel.config;
  for (const std::string& flags : flags_of(config))
    for (const std::int64_t k : {std::int64_t{1}, std::int64_t{config.cta_k} + 3, std::int64_t{2} * config.cta_k})
      for (const double beta : {0.0, -0.7})
        for (const std::int64_t m : {config.cta_m / 2 + 1, config.cta_m + 8}) {
          GemmCase c;
          c.transa = flags[0], c.transb = flags[1];
          c.m = m, c.n = cases.size() % 3 == 1 ? config.cta_n + 8 : config.cta_n / 2 + 3, c.k = k;
          c.batch = 5;
          c.beta = beta;
          c.ld_pad = static_cast<int>(cases.size() % 2);
          c.pointers = kAll[(cases.size() + cases.size() / 3) % std::size(kAll)];
          // Old C is where C is.
          c.seed = 2 * cases.size() + 1;
          if (cases.size() % 7 == 5) c.alpha = 0, c.device_scalars = true;
          if (cases.size() % 5 == 3) c.parts = 2;
          if (config.any_strides && cases.size() % 4 == 2) c.spread = 3;
          cases.push_back(c);
        }
  return cases;
}

std::vector<GemmCase> few_columns_cases(const SimKernel& kernel) {
  std::vector<GemmCase> cases;
  const kernels::TileConfig& config = kernel.config;
  constexpr std::int64_t kVector = 8;  // elements of 16 bytes, or more of them
  for (const std::string& flags : flags_of(config))
    for (const std::int64_t columns : {1, 3, 8, 9})
      for (const std::int64_t k : {kVector, config.cta_k + kVector, std::int64_t{2} * config.cta_k, 2 * kVector + 3})
        for (const bool tall : {false, true}) {
          GemmCase c;
          c.transa = flags[0], c.transb = flags[1];
          c.m = tall ? config.cta_m + kVector : columns, c.n = tall ? columns : config.cta_n + kVector, c.k = k;
          c.ld_pad = cases.size() % 3 == 2 ? static_cast<int>(kVector) : 0;
          c.beta = cases.size() % 2 == 1 ? -0.7 : 0;
          c.seed = cases.size() + 1;
          cases.push_back(c);
        }
  return cases;
}

std::vector<GemmCase> triangle_cases(const SimKernel& kernel) {
  std::vector<GemmCase> cases;
  const kernels::TileConfig& config = kernel.config;
  const std::int64_t side = std::max(config.cta_m, config.cta_n);
  for (const std::string& flags : flags_of(config))
    for (const xgemm::Fill triangle : {xgemm::Fill::lower, xgemm::Fill::upper})
      for (const std::int64_t n : {std::int64_t{1}, side - 1, side + 1, 2 * side + 3, 3 * side}) {
        GemmCase c;
        c.transa = flags[0], c.transb = flags[1];
        c.m = c.n = std::max<std::int64_t>(1, n);
        c.k = 2 * config.cta_k + 1;
        vary(c, cases.size());
        c.triangle = triangle;
        if (cases.size() % 4 == 3) c.parts = 2, c.whole_tiles = 1;
        if (cases.size() % 5 == 4) c.batch = 2;
        cases.push_back(c);
      }
  return cases;
}

std::int64_t few(const SimKernel& kernel, std::int64_t columns) {
  using kernels::VectorShape;
  const bool is_wide = kernel.family == std::string_view("skinny") && VectorShape::is(kernel.config) &&
                       VectorShape::of(kernel.config).kind == VectorShape::Kind::wide_rows;
  return is_wide && columns > 4 ? 1 + columns % 4 : columns;
}

std::vector<GemmCase> share_of(std::vector<GemmCase> cases, const SimKernel& kernel, std::size_t place,
                               double milliseconds) {
  for (GemmCase& c : cases) {
    std::int64_t& shorter = c.m < c.n ? c.m : c.n;
    shorter = few(kernel, shorter);
  }
  // Of two schedules and the reference, roughly: what a launch costs, and each slice of each tile. An instruction of
  // tensor cores is one call for hundreds of elements; those of skinny are few for many lanes.
  const bool by_lanes = !kernel.config.on_tensor_cores();
  const bool for_vectors = kernel.family == std::string_view("skinny") && kernels::VectorShape::is(kernel.config);
  const double element = kernel.family == std::string_view("skinny") ? 8e-5
                         : by_lanes || kernel.config.any_strides     ? 1.5e-5
                                                                     : 7e-6;
  const auto whole = [](std::int64_t extent, int tile) {
    return static_cast<double>((extent + tile - 1) / tile * tile);
  };
  const auto cost = [&](const GemmCase& c) {
    constexpr double kLaunch = 5;
    const kernels::TileConfig& config = kernel.config;
    const auto batch = static_cast<double>(c.batch);
    const double area = whole(c.m, config.cta_m) * whole(c.n, config.cta_n) * batch;
    const double depth = static_cast<double>(c.k + 2 * config.cta_k);
    if (!for_vectors) return kLaunch * c.cluster.size() + element * area * depth;
    // All threads of its CTAs meet for each column, and no lane has columns that there are not.
    constexpr double kThread = 0.016;
    const double columns = static_cast<double>(std::min(c.m, c.n)), rows = whole(std::max(c.m, c.n), config.cta_m);
    const int threads = 32 * kernels::VectorShape::of(config).warps * c.cluster.size();
    return batch * columns * rows * (kThread * threads / config.cta_m + element * depth);
  };
  Random random(place + 1);
  for (std::size_t i = cases.size(); i > 1; --i) {
    std::swap(cases[i - 1], cases[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
  }
  std::vector<GemmCase> share;
  for (const GemmCase& c : cases) {
    const double more = cost(c);
    if (!share.empty() && more > milliseconds) continue;
    milliseconds -= more;
    share.push_back(c);
  }
  return share;
}

}  // namespace xgemm::sim
