// A device in host memory with a clock of its own and a small cache. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "bench/device.h"

namespace xgemm::perf {

/// Time passes only when calls are made.
class ScriptedDevice final : public Device {
 public:
  explicit ScriptedDevice(bool is_gpu) {
    facts_.is_gpu = is_gpu;
    facts_.name = "scripted";
    facts_.cache_bytes = facts_.host_cache_bytes = 1 << 16;
  }
  const DeviceFacts& facts() const override { return facts_; }
  void* allocate(char, std::size_t bytes) override { return std::aligned_alloc(256, (bytes + 255) / 256 * 256); }
  void release(char, void* memory) override { std::free(memory); }
  std::size_t available(char) const override { return std::size_t{1} << 30; }
  void copy(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void fill(void* memory, int value, std::size_t bytes) override { std::memset(memory, value, bytes); }
  void* stream() const override { return nullptr; }
  std::string synchronize() override { return ""; }
  double time(const std::function<void()>& calls) override {
    const double before = now_us_;
    calls();
    return now_us_ - before;
  }
  std::unique_ptr<RecordedCalls> record(const std::function<void()>& calls, std::string& why) override {
    why = "scripted";
    if (!can_record) return nullptr;
    const double before = now_us_;
    calls();
    auto recording = std::make_unique<Recording>();
    recording->us = (now_us_ - before) * 0.5;  // what launches cost is not in a recording
    now_us_ = before;
    return recording;
  }
  double time(RecordedCalls& calls) override {
    const double us = static_cast<Recording&>(calls).us;
    now_us_ += us;
    ++replays;
    return us;
  }
  double now() const override { return now_us_ * 1e-6; }

  void pass(double us) { now_us_ += us; }

  bool can_record = true;
  int replays = 0;

 private:
  struct Recording final : RecordedCalls {
    double us = 0;
  };
  DeviceFacts facts_;
  double now_us_ = 0;
};

}  // namespace xgemm::perf
