// The environment variables: each is read once, and a value that is not allowed costs one line and nothing else. Every
// case runs in a process of its own.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "core/environment.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <thread>
#include <vector>

#include "api/probe.h"
#include "host/cpu_engine.h"
#include "kernels/instances.h"
#include "plan/forced_kernel.h"

namespace xgemm::test {
namespace {

// Reads it from several threads, more than once, and prints what was read.
XGEMM_PROBE(environment) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([] { (void)environment(); });
  for (std::thread& t : threads) t.join();
  const Environment& e = environment();
  std::printf("verbose=%d summary=%d%d force=%s cpu_blas=%s math=%d engine=%s\n", e.verbose, e.summary, e.compare,
              plan::forced_kernel().c_str(), e.cpu_blas.c_str(), e.math_mode, host::cpu_engine_name().c_str());
  std::printf("again=%s\n", host::cpu_engine_name().c_str());
  return 0;
}

XGEMM_PROBE(print_lines) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 100; ++i) print_line(std::string(200, static_cast<char>('a' + t)));
    });
  for (std::thread& t : threads) t.join();
  return 0;
}

std::map<std::string, std::string> read_with(const std::map<std::string, std::string>& variables, std::string* err) {
  const ProbeResult r = run_probe("environment", variables);
  EXPECT_TRUE(r.ok()) << describe(r);
  *err = r.err;
  return key_values(r.out);
}

// Exactly one line, which names the variable, the value and what is allowed.
void expect_one_complaint(const std::string& err, const std::string& variable, const std::string& value,
                          const std::vector<std::string>& allowed) {
  const std::vector<std::string> lines = split_lines(err);
  ASSERT_EQ(lines.size(), 1u) << err;
  EXPECT_EQ(lines[0].rfind("xgemm: ", 0), 0u) << lines[0];
  EXPECT_NE(lines[0].find(variable + "=" + value), std::string::npos) << lines[0];
  for (const std::string& word : allowed) EXPECT_NE(lines[0].find(word), std::string::npos) << word << ": " << lines[0];
}

TEST(Environment, DefaultsAreSilent) {
  std::string err;
  auto at = read_with({}, &err);
  EXPECT_EQ(err, "");
  EXPECT_EQ(at["verbose"], "0");
  EXPECT_EQ(at["force"], "");
  EXPECT_EQ(at["cpu_blas"], "");
  EXPECT_EQ(at["math"], "0");
  // An empty variable is as good as none.
  at = read_with({{"XGEMM_VERBOSE", ""}, {"XGEMM_FORCE_KERNEL", ""}, {"XGEMM_CPU_BLAS", ""}, {"XGEMM_MATH", ""}}, &err);
  EXPECT_EQ(err, "");
  EXPECT_EQ(at["verbose"], "0");
}

TEST(Environment, VerboseTakesItsLevels) {
  std::string err;
  for (const char* level : {"0", "1", "2"}) {
    EXPECT_EQ(read_with({{"XGEMM_VERBOSE", level}}, &err)["verbose"], level);
    EXPECT_EQ(err, "");
  }
  EXPECT_EQ(read_with({{"XGEMM_VERBOSE", "summary"}}, &err)["summary"], "10");
  EXPECT_EQ(err, "");
  EXPECT_EQ(read_with({{"XGEMM_VERBOSE", "compare"}}, &err)["summary"], "11");
  EXPECT_EQ(err, "");
  for (const char* bad : {"3", "-1", "yes", "Summary", "1 ", "01", "9999999999999999999999"}) {
    EXPECT_EQ(read_with({{"XGEMM_VERBOSE", bad}}, &err)["verbose"], "0");
    expect_one_complaint(err, "XGEMM_VERBOSE", bad, {"0, 1, 2"});
  }
}

TEST(Environment, ForceKernelTakesFamiliesAndInstances) {
  std::string err;
  for (int i = 0; i < kernels::count(); i += 7) {  // a process each: not all of them
    EXPECT_EQ(read_with({{"XGEMM_FORCE_KERNEL", kernels::info(i).name}}, &err)["force"], kernels::info(i).name);
    EXPECT_EQ(err, "");
  }
  EXPECT_EQ(read_with({{"XGEMM_FORCE_KERNEL", "naive"}}, &err)["force"], "naive");
  EXPECT_EQ(err, "");
  for (const char* bad : {"fast", "naive_", "NAIVE", "%s%n"}) {
    EXPECT_EQ(read_with({{"XGEMM_FORCE_KERNEL", bad}}, &err)["force"], "");
    expect_one_complaint(err, "XGEMM_FORCE_KERNEL", bad, {kernels::family_names(), "xgemm_kernel_name"});
  }
}

TEST(Environment, MathTakesItsModes) {
  std::string err;
  EXPECT_EQ(read_with({{"XGEMM_MATH", "strict"}}, &err)["math"], "0");
  EXPECT_EQ(read_with({{"XGEMM_MATH", "fp32_emulated"}}, &err)["math"], "1");
  EXPECT_EQ(read_with({{"XGEMM_MATH", "tf32"}}, &err)["math"], "2");
  EXPECT_EQ(err, "");
  for (const char* bad : {"fp32", "STRICT", "0"}) {
    EXPECT_EQ(read_with({{"XGEMM_MATH", bad}}, &err)["math"], "0");
    expect_one_complaint(err, "XGEMM_MATH", bad, {"strict"});
  }
}

TEST(Environment, CpuBlasTakesItsNames) {
  std::string err;
  auto at = read_with({{"XGEMM_CPU_BLAS", "builtin"}}, &err);
  EXPECT_EQ(err, "");
  EXPECT_EQ(at["engine"], "builtin");

  const std::string usual = read_with({}, &err)["engine"];
  for (const char* bad : {"atlas", "OpenBLAS", "/nowhere/libnone.so"}) {
    at = read_with({{"XGEMM_CPU_BLAS", bad}}, &err);
    EXPECT_EQ(at["engine"], usual) << "the default is used";
    EXPECT_EQ(at["again"], usual);
    expect_one_complaint(err, "XGEMM_CPU_BLAS", bad, {"openblas", "blis", "mkl", "blas", "builtin"});
  }
}

TEST(Environment, EveryBadVariableHasItsLine) {
  std::string err;
  const auto at = read_with(
      {{"XGEMM_VERBOSE", "x"}, {"XGEMM_FORCE_KERNEL", "x"}, {"XGEMM_MATH", "x"}, {"XGEMM_CPU_BLAS", "x"}}, &err);
  const std::vector<std::string> lines = split_lines(err);
  EXPECT_EQ(lines.size(), 4u) << err;
  EXPECT_EQ(at.at("verbose"), "0");
}

// Processes that write to one pipe: lines of up to what a pipe takes at once, and longer ones, which are cut.
XGEMM_PROBE(print_lines_in_processes) {
  for (int p = 0; p < 6; ++p)
    if (fork() == 0) {
      for (int i = 0; i < 100; ++i) print_line(std::string(i % 2 ? 3000 : 9000, static_cast<char>('a' + p)));
      _exit(0);
    }
  while (wait(nullptr) > 0) {
  }
  return 0;
}

TEST(Environment, LinesOfProcessesDoNotMix) {
  const ProbeResult r = run_probe("print_lines_in_processes");
  ASSERT_TRUE(r.ok()) << describe(r);
  ASSERT_EQ(r.err_lines().size(), 600u);
  for (const std::string& line : r.err_lines()) {
    ASSERT_TRUE(line.size() == 3007 || (line.size() == 4095 && line.substr(4092) == "...")) << line.size();
    EXPECT_EQ(line.substr(7, 2990), std::string(2990, line[7]));
  }
}

TEST(Environment, LinesOfThreadsDoNotMix) {
  const ProbeResult r = run_probe("print_lines");
  ASSERT_TRUE(r.ok()) << describe(r);
  ASSERT_EQ(r.err_lines().size(), 800u);
  for (const std::string& line : r.err_lines()) {
    const std::string text = line.substr(7);
    EXPECT_EQ(line.substr(0, 7), "xgemm: ");
    EXPECT_EQ(text, std::string(200, text[0]));
  }
}

}  // namespace
}  // namespace xgemm::test
