// Probes: pieces of a test that need a process of their own, because the library reads the environment once per
// process, or because they cut the process's limits. A test runs its own program again with the name of a probe.
//
//   XGEMM_PROBE(one_call) { ...; return 0; }
//   TEST(...) { const ProbeResult r = run_probe("one_call", {{"XGEMM_VERBOSE", "1"}}); ... }
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <vector>

namespace xgemm::test {

struct ProbeResult {
  int exit_code = -1;  // -1 when a signal ended it
  int signal = 0;
  std::string out, err;

  bool ok() const { return exit_code == 0; }
  std::vector<std::string> err_lines() const;
};

// Runs the probe with these variables set; other XGEMM_ variables are removed from its environment.
ProbeResult run_probe(const std::string& name, const std::map<std::string, std::string>& environment = {});

// Both streams, for the message of a failed expectation.
std::string describe(const ProbeResult& result);

std::vector<std::string> split_lines(const std::string& text);

// "a=1 b=x" to {a: 1, b: x}. Words without '=' are left out.
std::map<std::string, std::string> key_values(const std::string& line);

// Registers a function under a name, before main.
struct ProbeRegistration {
  ProbeRegistration(const char* name, int (*function)());
};

#define XGEMM_PROBE(name)                                                             \
  static int probe_##name();                                                          \
  static const ::xgemm::test::ProbeRegistration register_##name(#name, probe_##name); \
  static int probe_##name()

}  // namespace xgemm::test
