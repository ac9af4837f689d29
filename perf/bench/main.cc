// xgemm-bench: entry point and Ctrl-C. SPDX-License-Identifier: BSD-3-Clause
#include <csignal>
#include <cstdio>
#include <exception>

#include "bench/input_error.h"
#include "bench/options.h"
#include "bench/session.h"

namespace {

std::atomic<bool> stop{false};

/// The first Ctrl-C ends the run in order; a second one is the system's.
void on_interrupt(int signal) {
  stop = true;
  std::signal(signal, SIG_DFL);
}

}  // namespace

int main(int argc, char** argv) {
  static_assert(std::atomic<bool>::is_always_lock_free, "the signal handler writes it");
  xgemm::perf::Options options;
  if (const auto status = xgemm::perf::parse_options(argc, argv, options)) return *status;
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  try {
    return xgemm::perf::run_session(std::move(options), stop);
  } catch (const xgemm::perf::InputError& error) {
    std::fprintf(stderr, "xgemm-bench: %s\n", error.what());
    return xgemm::perf::kBadInput;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "xgemm-bench: %s\n", error.what());
    return xgemm::perf::kDeviceFailed;
  }
}
