// xgemm-accuracy: errors of fp32 products against float64, emulated, strict, and by cuBLAS, for data that make it easy
// and data that make it hard. Its table is in docs/numerics.md.
//
//   xgemm-accuracy [--extent 768] [--k 1024,8192,1048576] [--cublas FILE] [--cpu]
//
// A line: the data; K; for each way its normwise error (of the results, in the Frobenius norm, relative to theirs) and
// its largest componentwise one, relative to |A||B|. Products are --extent x --extent x K, and errors are those of the
// crossings of 64 rows and 64 columns. Emulated results that the GPU left to strict kernels are marked. The exit status
// is 1 where an error of emulated products is more than 1.1 times that of strict ones, 2 for bad input, 3 where the
// device fails. With --extent 768 all products of the usual K are large enough to be emulated.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

#include "accuracy/data.h"
#include "bench/candidate.h"
#include "bench/device.h"
#include "bench/input_error.h"
#include "bench/stats.h"
#include "xgemm.h"

namespace xgemm::perf {
namespace {

constexpr double kMostOfStrict = 1.1;
constexpr std::int64_t kSamples = 64;

/// each(i) for i from 0 to count - 1, by all threads of the machine.
template <class Each>
void in_parallel(std::int64_t count, const Each& each) {
  std::atomic<std::int64_t> next{0};
  const auto work = [&] {
    for (std::int64_t i; (i = next++) < count;) each(i);
  };
  std::vector<std::jthread> threads;
  for (int t = 1; t < host_thread_count(); ++t) threads.emplace_back(work);
  work();
}

struct Sums {
  double value = 0, magnitude = 0;
};

Sums dot(const std::vector<float>& a, const std::vector<float>& b) {
  constexpr std::size_t kLanes = 8;  // of independent sums, which a processor adds at once
  double values[kLanes] = {}, magnitudes[kLanes] = {};
  for (std::size_t k = 0; k < a.size(); k += kLanes)
    for (std::size_t lane = 0; lane < std::min(kLanes, a.size() - k); ++lane) {
      const double product = static_cast<double>(a[k + lane]) * b[k + lane];
      values[lane] += product;
      magnitudes[lane] += std::fabs(product);
    }
  Sums sums;
  for (std::size_t lane = 0; lane < kLanes; ++lane) sums.value += values[lane], sums.magnitude += magnitudes[lane];
  return sums;
}

struct Errors {
  double normwise = 0, componentwise = 0;
};

struct Way {
  std::string name;
  std::unique_ptr<Candidate> candidate;
};

class Table {
 public:
  Table(std::int64_t extent, const std::string& cublas, bool on_cpu) : extent_(extent) {
    std::string why = "--cpu";
    if (!on_cpu) device_ = make_cuda_device(0, why);
    if (!device_) {
      fmt::print("Without a GPU ({}): on the CPU.\n", why);
      device_ = make_host_device();
    }
    add("emulated", make_xgemm(*device_, XGEMM_MATH_FP32_EMULATED, ""));
    add("strict", make_xgemm(*device_, XGEMM_MATH_STRICT, ""));
    constexpr std::size_t kWorkspace = std::size_t{32} << 20;
    add("cuBLAS SGEMM", make_cublas(*device_, cublas, kWorkspace, CublasMath::kDefault, why));
    add("cuBLAS TF32", make_cublas(*device_, cublas, kWorkspace, CublasMath::kTf32, why));
    for (std::int64_t i = 0; i < std::min(kSamples, extent); ++i)
      samples_.push_back(extent <= kSamples ? i : i * (extent - 1) / (kSamples - 1));
  }

  void head() const {
    fmt::print("{}; ", device_->facts().name);
    for (const Way& way : ways_) fmt::print("{}: {}; ", way.name, way.candidate->description());
    fmt::print("results of {0} x {0}\n\n| data | K |", extent_);
    for (const Way& way : ways_) fmt::print(" {} |", way.name);
    fmt::print("\n| --- | --- |");
    for (std::size_t i = 0; i < ways_.size(); ++i) fmt::print(" --- |");
    fmt::print("\n");
  }

  void row(const Data& data, std::int64_t k) {
    Case one;
    one.transa = 'T';
    one.m = one.n = extent_;
    one.k = k;
    one.location = device_->facts().is_gpu ? "ddd" : "hhh";
    one.set_dense_layout(0);
    const Memory a(*device_, one.location[0], extent_ * k), b(*device_, one.location[1], extent_ * k),
        c(*device_, one.location[2], extent_ * extent_);
    make(data, true, k, a);
    make(data, false, k, b);
    const std::vector<Sums> exact = reference();

    fmt::print("| {} | {} |", data.name, k);
    std::vector<Errors> errors;
    bool left_to_strict = false;
    for (const Way& way : ways_) {
      const OperandSet operands{a.data(), b.data(), c.data()};
      const std::int64_t fallbacks = xgemm_fp32_fallbacks();
      device_->fill(c.data(), 0xff, static_cast<std::size_t>(extent_ * extent_) * sizeof(float));  // NaN
      std::string problem = way.candidate->prepare(one, operands);
      if (problem.empty()) problem = way.candidate->run(one, operands);
      if (const std::string on_device = device_->synchronize(); problem.empty()) problem = on_device;
      if (!problem.empty()) throw InputError(way.name + ": " + problem);
      errors.push_back(errors_of(exact, c));
      const bool left = xgemm_fp32_fallbacks() != fallbacks;
      left_to_strict = left_to_strict || left;
      fmt::print(" {:.2e}, {:.2e}{} |", errors.back().normwise, errors.back().componentwise, left ? " (strict)" : "");
    }
    fmt::print("\n");
    std::cout.flush();
    const auto weigh = [&](double emulated, double strict) {
      const double ratio = emulated == strict ? 1 : emulated / strict;
      double& worst = left_to_strict ? worst_left_ : worst_;
      worst = worse(worst, ratio);
    };
    weigh(errors[0].normwise, errors[1].normwise);
    weigh(errors[0].componentwise, errors[1].componentwise);
  }

  /// The largest errors of emulated products, relative to strict ones. Whether they keep what is promised.
  bool sum_up() const {
    fmt::print(
        "\nErrors are at most {:.2f} times strict ones; {:.2f} times where products were left to strict kernels.\n",
        worst_, worst_left_);
    return worst_ <= kMostOfStrict && worst_left_ <= kMostOfStrict;
  }

 private:
  class Memory {
   public:
    Memory(Device& device, char kind, std::int64_t floats) : device_(device), kind_(kind) {
      data_ = device.allocate(kind, static_cast<std::size_t>(floats) * sizeof(float));
      if (data_ == nullptr) throw InputError(fmt::format("no memory for {} elements", floats));
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() { device_.release(kind_, data_); }
    float* data() const { return static_cast<float*>(data_); }

   private:
    Device& device_;
    char kind_;
    void* data_;
  };

  void add(const std::string& name, std::unique_ptr<Candidate> candidate) {
    if (candidate) ways_.push_back({name, std::move(candidate)});
  }

  /// Makes an operand, a few lines at a time, and keeps those that errors are looked at of.
  void make(const Data& data, bool of_a, std::int64_t k, const Memory& memory) {
    constexpr std::int64_t kElements = std::int64_t{1} << 26;
    const std::int64_t lines = std::clamp<std::int64_t>(kElements / k, 1, extent_);
    std::vector<float> stretch(static_cast<std::size_t>(lines * k));
    std::vector<std::vector<float>>& kept = of_a ? rows_ : columns_;
    kept.assign(samples_.size(), {});
    for (std::int64_t first = 0; first < extent_; first += lines) {
      const std::int64_t count = std::min(lines, extent_ - first);
      in_parallel(count, [&](std::int64_t i) {
        std::vector<float> line(static_cast<std::size_t>(k));
        data.fill(of_a, first + i, extent_, line);
        std::copy(line.begin(), line.end(), stretch.begin() + i * k);
        const auto sample = std::lower_bound(samples_.begin(), samples_.end(), first + i);
        if (sample != samples_.end() && *sample == first + i)
          kept[static_cast<std::size_t>(sample - samples_.begin())] = std::move(line);
      });
      device_->copy(memory.data() + first * k, stretch.data(), static_cast<std::size_t>(count * k) * sizeof(float));
    }
  }

  std::vector<Sums> reference() const {
    const auto count = static_cast<std::int64_t>(samples_.size());
    std::vector<Sums> exact(static_cast<std::size_t>(count * count));
    in_parallel(count * count, [&](std::int64_t i) {
      exact[static_cast<std::size_t>(i)] =
          dot(rows_[static_cast<std::size_t>(i % count)], columns_[static_cast<std::size_t>(i / count)]);
    });
    return exact;
  }

  Errors errors_of(const std::vector<Sums>& exact, const Memory& c) const {
    std::vector<float> results(static_cast<std::size_t>(extent_ * extent_));
    device_->copy(results.data(), c.data(), results.size() * sizeof(float));
    double of_errors = 0, of_results = 0;
    Errors errors;
    auto next = exact.begin();
    for (const std::int64_t column : samples_)
      for (const std::int64_t row : samples_) {
        const Sums& sums = *next++;
        const double error = std::fabs(results[static_cast<std::size_t>(column * extent_ + row)] - sums.value);
        of_errors += error * error;
        of_results += sums.value * sums.value;
        if (error != 0) errors.componentwise = worse(errors.componentwise, error / sums.magnitude);
      }
    errors.normwise = std::sqrt(of_errors / of_results);
    return errors;
  }

  std::int64_t extent_;
  std::unique_ptr<Device> device_;
  std::vector<Way> ways_;
  std::vector<std::int64_t> samples_;  // rows, and columns, that errors are looked at of
  std::vector<std::vector<float>> rows_, columns_;
  double worst_ = 0, worst_left_ = 0;
};

int run(int argc, char** argv) {
  std::int64_t extent = 768;
  std::vector<std::int64_t> depths = {1024, 8192, std::int64_t{1} << 20};
  std::string cublas;
  bool on_cpu = false;
  CLI::App app("Errors of fp32 products against float64", "xgemm-accuracy");
  app.add_option("--extent", extent, "Rows and columns of results (768)")->check(CLI::Range(1, 1 << 14));
  app.add_option("--k", depths, "Values of K (1024,8192,1048576)")->delimiter(',')->check(CLI::Range(1, 1 << 24));
  app.add_option("--cublas", cublas, "The file of cuBLAS, where it is not on the library path");
  app.add_flag("--cpu", on_cpu, "As if there were no GPU");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    Table table(extent, cublas, on_cpu);
    table.head();
    for (const Data& data : all_data())
      for (const std::int64_t k : depths) table.row(data, k);
    return table.sum_up() ? 0 : 1;
  } catch (const InputError& error) {
    std::cerr << "xgemm-accuracy: " << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "xgemm-accuracy: the device failed: " << error.what() << '\n';
    return 3;
  }
}

}  // namespace
}  // namespace xgemm::perf

int main(int argc, char** argv) {
  return xgemm::perf::run(argc, argv);
}
