// Implementation of environment.h. SPDX-License-Identifier: BSD-3-Clause
#include "bench/environment.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "xgemm.h"

namespace xgemm::perf {
namespace {

std::string operating_system() {
  std::ifstream file("/etc/os-release");
  std::string name = "Linux";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("PRETTY_NAME=\"")) name = line.substr(13, line.size() - 14);
  utsname system{};
  return uname(&system) == 0 ? fmt::format("{}, kernel {}", name, system.release) : name;
}

/// Variables that change what the libraries do.
void append_variables(Facts& facts) {
  for (const char* name :
       {"XGEMM_FORCE_KERNEL", "XGEMM_CPU_BLAS", "XGEMM_MATH", "XGEMM_GPU_RATES", "OPENBLAS_NUM_THREADS",
        "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NVIDIA_TF32_OVERRIDE", "CUBLAS_WORKSPACE_CONFIG",
        "CUDA_VISIBLE_DEVICES", "CUDA_MODULE_LOADING"})
    if (const char* value = std::getenv(name); value != nullptr) facts.emplace_back(name, value);
}

/// Few rounds have no interval of that confidence.
std::string describe_intervals(double confidence) {
  std::string text = fmt::format("{:g} %, order statistics", 100 * confidence);
  for (std::int64_t rounds = kFewestRounds; range_confidence(rounds) < confidence; ++rounds)
    text += fmt::format("{} {:g} % of {}", text.ends_with("statistics") ? ";" : ",", 100 * range_confidence(rounds),
                        rounds);
  return text + " rounds";
}

std::string mebibytes(std::int64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

}  // namespace

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Facts describe_environment(const Device& device, const GpuFacts& gpu, const Options& options) {
  const DeviceFacts& facts = device.facts();
  Facts list{{"machine", facts.name}, {"xgemm", xgemm_version_string()}};
  if (!options.commit.empty()) list.emplace_back("commit", options.commit);
  if (facts.is_gpu) {
    list.emplace_back("gpu", facts.name);
    list.emplace_back("compute capability", facts.compute_capability);
    list.emplace_back("SMs", std::to_string(facts.units));
    list.emplace_back("L2 cache", mebibytes(facts.cache_bytes));
    if (!gpu.driver.empty()) list.emplace_back("driver", gpu.driver);
    list.emplace_back("driver's CUDA", facts.driver_cuda_version);
    list.emplace_back("CUDA runtime", facts.runtime_version);
    if (gpu.max_sm_mhz > 0) list.emplace_back("SM clock, at most", fmt::format("{:.0f} MHz", gpu.max_sm_mhz));
    if (gpu.max_memory_mhz > 0)
      list.emplace_back("memory clock, at most", fmt::format("{:.0f} MHz", gpu.max_memory_mhz));
    if (gpu.power_limit_w > 0) list.emplace_back("power limit", fmt::format("{:.0f} W", gpu.power_limit_w));
  }
  list.emplace_back("processor", host_processor_name());
  list.emplace_back("hardware threads", std::to_string(host_thread_count()));
  list.emplace_back("last-level cache", mebibytes(host_cache_bytes()));
  list.emplace_back("system", operating_system());
  list.emplace_back("compiler", __VERSION__);
  append_variables(list);
  return list;
}

Facts describe_settings(const Device& device, const Options& options) {
  const MeasureSettings& measure = options.measure;
  return {
      {"data", describe(options.data)},
      {"seed", std::to_string(options.seed)},
      {"math", name_of_math_mode(options.math_mode)},
      {"operands", fmt::format("rotated over 4 x {} of cache", mebibytes(device.facts().cache_bytes))},
      {"intervals", describe_intervals(measure.confidence)},
      {"precision", fmt::format("{:.2f} %", 100 * measure.precision)},
      {"rounds", fmt::format("{} to {}", measure.min_rounds, measure.max_rounds)},
      {"time per case", fmt::format("{} s", measure.max_seconds)},
      {"graphs", device.facts().is_gpu ? fmt::format("below {} us", measure.record_below_us) : "none"},
      {"checked against float64", measure.check ? "yes" : "no"},
  };
}

}  // namespace xgemm::perf
