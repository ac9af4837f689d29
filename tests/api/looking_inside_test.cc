// What the library says of itself: explain, the kernel list, status strings, the version, and the lines of
// XGEMM_VERBOSE.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <set>
#include <vector>

#include "api/calls.h"
#include "api/probe.h"

namespace xgemm::test {
namespace {

std::string explain(const xgemm_args& args) {
  std::vector<char> text(1 << 16);
  EXPECT_EQ(xgemm_explain(nullptr, &args, text.data(), text.size()), 0) << xgemm_last_error();
  return text.data();
}

// ---- Explain ------------------------------------------------------------------------------------------------------

TEST(Explain, BeginsWithTheRouteAndTheKernel) {
  for (const std::int64_t size : {0, 3, 600}) {
    Case<float> x('N', 'T', size, size, size, 1.0f, 0.5f);
    const std::string text = explain(args_of(x.product, x.c.data()));
    const std::string first = split_lines(text).at(0);
    auto at = key_values(first);
    if (size == 0) {
      EXPECT_EQ(first, "route=none") << text;
    } else {
      EXPECT_EQ(first, "route=" + at["route"] + " kernel=" + at["kernel"]) << text;
      const std::set<std::string> routes = {"cpu", "staged", "device"};
      EXPECT_TRUE(routes.count(at["route"]) && !at["kernel"].empty()) << text;
    }
    if (size == 3) {
      EXPECT_EQ(at["route"], "cpu");
      EXPECT_NE(text.find("cpu engine: "), std::string::npos) << text;
    }
    EXPECT_NE(text.find(" m=" + std::to_string(size) + " "), std::string::npos) << text;
    EXPECT_NE(text.find("\nroute: "), std::string::npos) << text;
    EXPECT_EQ(text.back(), '\n');
    EXPECT_TRUE(x.c.same_bits(x.c_before)) << "it runs nothing";
  }
}

// A product that would be worth a GPU goes to the CPU: for which of the reasons.
TEST(Explain, SaysWhyThereIsNoGpu) {
  Case<float> x('N', 'N', 600, 600, 600, 1.0f, 0.0f);
  const std::string text = explain(args_of(x.product, x.c.data()));
  if (key_values(split_lines(text)[0])["route"] != "cpu" || text.find("estimates") != std::string::npos)
    GTEST_SKIP() << "there is a GPU here";
  EXPECT_TRUE(text.find("no GPU: ") != std::string::npos || text.find("built without CUDA") != std::string::npos ||
              text.find("no kernel in this build serves") != std::string::npos)
      << text;
}

TEST(Explain, SpeaksOfTheCallAsTheLibrarySeesIt) {
  Case<Half> x('T', 'N', 5, 6, 7, 2.0f, 0.0f);
  xgemm_args args = args_of(x.product, x.c.data());
  args.batch_count = 2;
  args.stride_a = 100, args.stride_b = 200, args.stride_c = 300;
  auto at = key_values(explain(args));
  EXPECT_EQ(at["type"], "h");
  EXPECT_EQ(at["transa"], "T");
  EXPECT_EQ(at["batch"], "2");
  EXPECT_EQ(at["stride_c"], "300");
  EXPECT_EQ(at["alpha"], "2");
  Case<Bfloat16> y('N', 'N', 5, 6, 7, 2.0f, 0.0f);
  EXPECT_EQ(key_values(explain(args_of(y.product, y.c.data())))["type"], "b");
}

TEST(Explain, SaysThatItIsAboutTheFirstOfSeveralProducts) {
  Case<float> x('N', 'N', 5, 6, 7, 2.0f, 0.0f);
  xgemm_args args = args_of(x.product, x.c.data());
  const void* const a[] = {args.a, args.a};
  const void* const b[] = {args.b, args.b};
  void* const c[] = {args.c, args.c};
  args.batch_count = 2, args.batch_kind = XGEMM_BATCH_POINTERS;
  args.a = a, args.b = b, args.c = const_cast<void**>(c);
  const std::string text = explain(args);
  EXPECT_EQ(text.rfind("the first product of those", 0), 0u) << text;
  EXPECT_NE(text.find("\nroute=cpu"), std::string::npos) << text;
}

TEST(Explain, FitsAnyBuffer) {
  Case<float> x('N', 'N', 3, 4, 5, 1.0f, 0.0f);
  const xgemm_args args = args_of(x.product, x.c.data());
  const std::string whole = explain(args);
  for (std::size_t size = 1; size <= whole.size() + 3; ++size) {
    std::vector<char> text(size + 8, '\x7f');
    ASSERT_EQ(xgemm_explain(nullptr, &args, text.data(), size), 0);
    ASSERT_EQ(std::string(text.data()), whole.substr(0, size - 1));
    for (std::size_t i = size; i < text.size(); ++i) ASSERT_EQ(text[i], '\x7f') << "beyond the buffer";
  }
  char text[4] = "abc";
  EXPECT_EQ(xgemm_explain(nullptr, &args, text, 0), -XGEMM_ARG_BUFFER);
  EXPECT_STREQ(text, "abc");
  EXPECT_EQ(xgemm_explain(nullptr, &args, nullptr, 100), -XGEMM_ARG_BUFFER);
  EXPECT_NE(std::string(xgemm_last_error()).find("size = 100"), std::string::npos);
}

// ---- Lists and texts ----------------------------------------------------------------------------------------------

TEST(LookingInside, KernelsAreListed) {
  const int count = xgemm_kernel_count();
  ASSERT_GT(count, 0);
  std::set<std::string> names;
  for (int i = 0; i < count; ++i) {
    ASSERT_NE(xgemm_kernel_name(i), nullptr);
    EXPECT_TRUE(names.insert(xgemm_kernel_name(i)).second) << xgemm_kernel_name(i);
  }
  EXPECT_TRUE(names.count("naive_f32") && names.count("naive_f16"));
  for (const int beyond : {-1, count, count + 1, INT32_MAX, INT32_MIN}) EXPECT_EQ(xgemm_kernel_name(beyond), nullptr);
}

TEST(LookingInside, EveryReturnValueHasATextOfItsOwn) {
  std::set<std::string> texts;
  for (int status = -XGEMM_ARG_BATCH_KIND; status <= XGEMM_INTERNAL_ERROR; ++status) {
    const char* text = xgemm_status_string(status);
    ASSERT_NE(text, nullptr);
    EXPECT_STRNE(text, "");
    EXPECT_TRUE(texts.insert(text).second) << status << ": " << text;
  }
  for (const int unknown : {-XGEMM_ARG_BATCH_KIND - 1, XGEMM_INTERNAL_ERROR + 1, INT32_MAX, INT32_MIN}) {
    ASSERT_NE(xgemm_status_string(unknown), nullptr);
    EXPECT_FALSE(texts.count(xgemm_status_string(unknown))) << unknown;
  }
  EXPECT_NE(std::string(xgemm_status_string(-XGEMM_ARG_LDA)).find("lda"), std::string::npos);
  EXPECT_NE(std::string(xgemm_status_string(-XGEMM_ARG_LDA)).find("8"), std::string::npos);
}

TEST(LookingInside, Version) {
  EXPECT_EQ(xgemm_version(), XGEMM_VERSION);
  EXPECT_EQ(std::string(xgemm_version_string()), std::to_string(XGEMM_VERSION_MAJOR) + "." +
                                                     std::to_string(XGEMM_VERSION_MINOR) + "." +
                                                     std::to_string(XGEMM_VERSION_PATCH));
}

// ---- XGEMM_VERBOSE ------------------------------------------------------------------------------------------------

// Calls of every kind, in a known order.
XGEMM_PROBE(verbose_calls) {
  float a[64], b[64], c[64] = {};
  for (int i = 0; i < 64; ++i) a[i] = b[i] = 1.0f;
  int failed = xsgemm('N', 'T', 3, 4, 5, 1.5f, a, 6, b, 7, 0.25f, c, 8);
  xgemm_half h[64] = {};
  failed += xhgemm('c', 'n', 2, 2, 2, 0.1f, h, 3, h, 4, 0.0f, h + 32, 5);
  const float alpha = -1.0f;
  xgemm_args args = XGEMM_ARGS_INIT;
  args.layout = XGEMM_ROW_MAJOR;
  args.transa = 'T';
  args.m = 2, args.n = 3, args.k = 4;
  args.alpha = &alpha;
  args.a = a, args.lda = 5;
  args.b = b, args.ldb = 6;
  args.c = c, args.ldc = 7;
  args.batch_count = 2;
  args.stride_a = 8, args.stride_c = 16;
  failed += xgemm_gemm(nullptr, &args);
  failed += xsgemm('N', 'N', 0, 4, 5, 1.0f, a, 6, b, 7, 0.0f, c, 8);  // a quick return
  failed += xsgemm('N', 'N', -1, 4, 5, 1.0f, a, 6, b, 7, 0.0f, c, 8) != -XGEMM_ARG_M;
  return failed;
}

TEST(Verbose, SilentUnlessAsked) {
  for (const auto& environment :
       {std::map<std::string, std::string>{}, std::map<std::string, std::string>{{"XGEMM_VERBOSE", "0"}}}) {
    const ProbeResult r = run_probe("verbose_calls", environment);
    EXPECT_TRUE(r.ok()) << describe(r);
    EXPECT_EQ(r.err, "");
    EXPECT_EQ(r.out, "");
  }
}

TEST(Verbose, OneReplayableLineForEachCall) {
  for (const char* level : {"1", "2"}) {
    const ProbeResult r = run_probe("verbose_calls", {{"XGEMM_VERBOSE", level}});
    ASSERT_TRUE(r.ok()) << describe(r);
    EXPECT_EQ(r.out, "") << "standard output is the program's";
    const std::vector<std::string> lines = r.err_lines();
    ASSERT_GE(lines.size(), 4u) << describe(r);
    for (const std::string& line : lines) EXPECT_EQ(line.rfind("xgemm: call=gemm ", 0), 0u) << line;

    // A word is a key and a value, without exception, so that a program can read the line.
    auto at = key_values(lines[0]);
    EXPECT_EQ(at["type"], "s");
    EXPECT_EQ(at["layout"], "col");
    EXPECT_EQ(at["transa"], "N");
    EXPECT_EQ(at["transb"], "T");
    EXPECT_EQ(at["m"] + at["n"] + at["k"], "345");
    EXPECT_EQ(at["lda"] + at["ldb"] + at["ldc"], "678");
    EXPECT_EQ(at["alpha"], "1.5");
    EXPECT_EQ(at["beta"], "0.25");
    EXPECT_EQ(at["batch"], "1");
    EXPECT_EQ(at["location"], "hhh");
    EXPECT_EQ(at["route"], "cpu");
    EXPECT_NE(at["kernel"], "");
    EXPECT_EQ(at.count("time_us"), level[0] == '2' ? 1u : 0u);
    if (level[0] == '2') {
      EXPECT_GT(std::stod(at["time_us"]), 0.0);
    }
    EXPECT_EQ(at.count("status"), 0u);

    at = key_values(lines[1]);
    EXPECT_EQ(at["type"], "h");
    EXPECT_EQ(at["transa"] + at["transb"], "TN");
    EXPECT_EQ(std::stof(at["alpha"]), 0.1f) << "every float reads back exactly";

    // A row-major call is shown as the column-major one that it is.
    at = key_values(lines[2]);
    EXPECT_EQ(at["layout"], "col");
    EXPECT_EQ(at["transa"] + at["transb"], "NT");
    EXPECT_EQ(at["m"] + at["n"] + at["k"], "324");
    EXPECT_EQ(at["lda"] + at["ldb"] + at["ldc"], "657");
    EXPECT_EQ(at["batch"], "2");
    EXPECT_EQ(at["stride_a"], "0");
    EXPECT_EQ(at["stride_b"], "8");
    EXPECT_EQ(at["stride_c"], "16");

    at = key_values(lines[3]);
    EXPECT_EQ(at["route"], "none");
    EXPECT_EQ(at.count("kernel"), 0u);
  }
}

TEST(Verbose, NamesTheEngine) {
  const ProbeResult r = run_probe("verbose_calls", {{"XGEMM_VERBOSE", "1"}, {"XGEMM_CPU_BLAS", "builtin"}});
  ASSERT_TRUE(r.ok()) << describe(r);
  EXPECT_EQ(key_values(r.err_lines().at(0))["kernel"], "builtin");
}

// ---- The summary ----------------------------------------------------------------------------------------------------

// Two shapes, one of them from a thread; then a child's own product. Quick returns do not count.
XGEMM_PROBE(summary_calls) {
  const auto multiply = [](std::int64_t n) {
    Case<float> x('N', 'T', n, n, n, 1.0f, 0.0f);
    return run(x) + (x.check() ? 0 : 1);
  };
  int failed = multiply(9) + multiply(40) + multiply(0);
  std::thread([&] { failed += multiply(9); }).join();
  const pid_t child = fork();
  if (child == 0) std::exit(multiply(7));
  int status = -1;
  waitpid(child, &status, 0);
  return failed + (status == 0 ? 0 : 1);
}

void expect_summaries(const std::vector<std::string>& lines) {
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_NE(lines[0].find(": 1 products, "), std::string::npos) << "the child's own alone: " << lines[0];
  EXPECT_NE(lines[2].find(": f32 NT 7x7x7"), std::string::npos) << lines[2];
  EXPECT_NE(lines[3].find(": 3 products, "), std::string::npos) << lines[3];
  EXPECT_NE((lines[5] + lines[6]).find(": f32 NT 40x40x40"), std::string::npos) << lines[5] << lines[6];
  EXPECT_NE((lines[5] + lines[6]).find(": f32 NT 9x9x9"), std::string::npos) << lines[5] << lines[6];
  for (const std::string& line : lines) EXPECT_EQ(line.rfind("xgemm: ", 0), 0u) << line;
}

TEST(Summary, EveryProcessTellsAtItsEnd) {
  for (const char* kind : {"summary", "compare"}) {
    const ProbeResult r = run_probe("summary_calls", {{"XGEMM_VERBOSE", kind}});
    EXPECT_TRUE(r.ok()) << describe(r);
    expect_summaries(r.err_lines());
  }
}

TEST(Summary, GoesToAFileWhereOneIsNamed) {
  char name[] = "/tmp/xgemm-summary-XXXXXX";
  const int file = mkstemp(name);
  ASSERT_GE(file, 0);
  const ProbeResult r = run_probe("summary_calls", {{"XGEMM_VERBOSE", "summary"}, {"XGEMM_SUMMARY_FILE", name}});
  EXPECT_TRUE(r.ok()) << describe(r);
  EXPECT_EQ(r.err, "");
  std::string text(10000, '\0');
  const ssize_t length = read(file, text.data(), text.size());
  text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  expect_summaries(split_lines(text));
  close(file);
  unlink(name);
  const ProbeResult nowhere =
      run_probe("summary_calls", {{"XGEMM_VERBOSE", "summary"}, {"XGEMM_SUMMARY_FILE", "/nowhere/file"}});
  EXPECT_TRUE(nowhere.ok());
  EXPECT_NE(nowhere.err.find("XGEMM_SUMMARY_FILE=/nowhere/file cannot be written to"), std::string::npos);
}

// A kernel that is forced where the CPU computes: said once, however many products there are.
TEST(Verbose, AForcedKernelThatDoesNotComputeIsSaidOnce) {
  const ProbeResult r = run_probe("many_calls", {{"XGEMM_FORCE_KERNEL", "naive"}});
  EXPECT_TRUE(r.ok()) << describe(r);
  ASSERT_EQ(r.err_lines().size(), 1u) << describe(r);
  EXPECT_NE(r.err.find("XGEMM_FORCE_KERNEL=naive is for what runs on a GPU"), std::string::npos) << r.err;
}

// ---- Environment, through the shared library ------------------------------------------------------------------------

// Many calls from many places: each complaint comes once.
XGEMM_PROBE(many_calls) {
  xgemm_context* ctx = nullptr;
  int failed = xgemm_create(&ctx);
  for (int i = 0; i < 10; ++i) {
    Case<float> x('N', 'N', 8, 8, 8, 1.0f, 0.0f);
    failed += run(x);
    failed += !x.check();
    const xgemm_args args = args_of(x.product, x.c.data());
    failed += xgemm_gemm(ctx, &args);
    char text[200];
    failed += xgemm_explain(ctx, &args, text, sizeof text);
  }
  return failed + xgemm_destroy(ctx);
}

TEST(ApiEnvironment, BadValuesCostOneLineEachAndNothingElse) {
  for (const char* variable : {"XGEMM_VERBOSE", "XGEMM_FORCE_KERNEL", "XGEMM_CPU_BLAS", "XGEMM_MATH"}) {
    const ProbeResult r = run_probe("many_calls", {{variable, "nonsense"}});
    EXPECT_TRUE(r.ok()) << describe(r);
    EXPECT_EQ(r.err_lines().size(), 1u) << describe(r);
    EXPECT_NE(r.err.find(std::string(variable) + "=nonsense"), std::string::npos) << r.err;
  }
}

}  // namespace
}  // namespace xgemm::test
