// The host as a device, and what is known about the host. SPDX-License-Identifier: BSD-3-Clause
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "bench/device.h"

namespace xgemm::perf {
namespace {

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// "32768K" or "32M".
std::int64_t parse_cache_size(const std::string& text) {
  char* unit = nullptr;
  const std::int64_t value = std::strtoll(text.c_str(), &unit, 10);
  return *unit == 'K' ? value << 10 : *unit == 'M' ? value << 20 : *unit == 'G' ? value << 30 : value;
}

class HostDevice final : public Device {
 public:
  HostDevice() {
    facts_.name = host_processor_name();
    facts_.units = host_thread_count();
    facts_.cache_bytes = facts_.host_cache_bytes = xgemm::perf::host_cache_bytes();
  }

  const DeviceFacts& facts() const override { return facts_; }
  void* allocate(char, std::size_t bytes) override {
    return std::aligned_alloc(4096, std::max<std::size_t>((bytes + 4095) / 4096 * 4096, 4096));
  }
  void release(char, void* memory) override { std::free(memory); }
  std::size_t available(char) const override { return host_memory_available(); }
  void copy(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void fill(void* memory, int value, std::size_t bytes) override { std::memset(memory, value, bytes); }
  void* stream() const override { return nullptr; }
  std::string synchronize() override { return ""; }

  double time(const std::function<void()>& calls) override {
    const double start = now();
    calls();
    return (now() - start) * 1e6;
  }
  std::unique_ptr<RecordedCalls> record(const std::function<void()>&, std::string& why) override {
    why = "calls on the host are not recorded";
    return nullptr;
  }
  double time(RecordedCalls&) override { return 0; }

 private:
  DeviceFacts facts_;
};

}  // namespace

double Device::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::unique_ptr<Device> make_host_device() {
  return std::make_unique<HostDevice>();
}

std::int64_t host_cache_bytes() {
  std::int64_t largest = 0;
  std::error_code ignored;
  const std::filesystem::path folder = "/sys/devices/system/cpu/cpu0/cache";
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    largest = std::max(largest, parse_cache_size(first_line(entry.path() / "size")));
  if (largest == 0) largest = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return largest > 0 ? largest : std::int64_t{32} << 20;
}

std::size_t host_memory_available() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("MemAvailable:")) return std::strtoull(line.c_str() + 13, nullptr, 10) << 10;
  const long pages = sysconf(_SC_AVPHYS_PAGES);
  return pages > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) : 0;
}

std::string host_processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const std::size_t colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "unknown processor";
}

int host_thread_count() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

}  // namespace xgemm::perf
