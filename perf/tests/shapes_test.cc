// Shape files, ranges, replayed lines, and what is said about bad ones. SPDX-License-Identifier: BSD-3-Clause
#include "bench/shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <random>
#include <set>
#include <tuple>

#include "bench/input_error.h"
#include "bench/replay.h"
#include "temporary_folder.h"

namespace xgemm::perf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::vector<Case> parse(const std::string& text, const ShapeDefaults& defaults = {}) {
  return parse_shape_text(text, "shapes.txt", "shapes", defaults);
}

std::vector<std::string> ids(const std::vector<Case>& cases) {
  std::vector<std::string> list;
  for (const Case& one : cases) list.push_back(one.id());
  return list;
}

TEST(Extents, NumbersListsAndRanges) {
  EXPECT_THAT(parse_extents("7"), ElementsAre(7));
  EXPECT_THAT(parse_extents("1,8,64"), ElementsAre(1, 8, 64));
  EXPECT_THAT(parse_extents("2:5"), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(parse_extents("128:512:128"), ElementsAre(128, 256, 384, 512));
  EXPECT_THAT(parse_extents("100:350:100"), ElementsAre(100, 200, 300));
  EXPECT_THAT(parse_extents("128:1024:x2,3000"), ElementsAre(128, 256, 512, 1024, 3000));
}

TEST(Extents, BadOnesSayWhy) {
  EXPECT_THAT(message_of([] { parse_extents(""); }), HasSubstr("not a whole number"));
  EXPECT_THAT(message_of([] { parse_extents("12a"); }), HasSubstr("'12a' is not a whole number"));
  EXPECT_THAT(message_of([] { parse_extents("-4"); }), HasSubstr("-4 is not in 1 to"));
  EXPECT_THAT(message_of([] { parse_extents("0"); }), HasSubstr("0 is not in 1 to"));
  EXPECT_THAT(message_of([] { parse_extents("99999999999999999999"); }), HasSubstr("too large"));
  EXPECT_THAT(message_of([] { parse_extents("9:3:1"); }), HasSubstr("ends before it begins"));
  EXPECT_THAT(message_of([] { parse_extents("1:9:0"); }), HasSubstr("0 is not in 1 to"));
  EXPECT_THAT(message_of([] { parse_extents("1:9:x1"); }), HasSubstr("1 is not in 2 to"));
  EXPECT_THAT(message_of([] { parse_extents("1:2:3:4"); }), HasSubstr("first:last:step"));
  EXPECT_THAT(message_of([] { parse_extents("1:200000000:1"); }), HasSubstr("more than 100000 values"));
}

TEST(Extents, OtherNumbersAreRangesToo) {
  EXPECT_THAT(parse_pads("0:3,8"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(parse_offsets("1:7:x2"), ElementsAre(1, 2, 4));
  EXPECT_THAT(parse_batches("2,3"), ElementsAre(2, 3));
  EXPECT_THAT(message_of([] { parse_pads("-1"); }), HasSubstr("-1 is not in 0 to"));
  EXPECT_THAT(message_of([] { parse_offsets("64"); }), HasSubstr("64 is not in 0 to 63"));
  EXPECT_THAT(message_of([] { parse_batches("1048577"); }), HasSubstr("1048577 is not in 1 to 1048576"));
  EXPECT_THAT(message_of([] { parse_pads("0:8:x2"); }), HasSubstr("0 is not in 1 to"));
}

TEST(ShapeFile, LinesStandForAllTheirCombinations) {
  const auto cases = parse(
      "# a comment\n"
      "\n"
      "64 32 16\n"
      "8,16 = 4   type=sh trans=NT,TN   # trailing\n"
      "\t128:256:128 = =\r\n");
  EXPECT_THAT(ids(cases),
              ElementsAre("s NN 64x32x16", "s NT 8x8x4", "s TN 8x8x4", "h NT 8x8x4", "h TN 8x8x4", "s NT 16x16x4",
                          "s TN 16x16x4", "h NT 16x16x4", "h TN 16x16x4", "s NN 128x128x128", "s NN 256x256x256"));
}

TEST(ShapeFile, EveryField) {
  const auto cases = parse(
      "10 20 30 type=h trans=TN alpha=0.5 beta=-1 lda=40 ldc=11 offset=3 layout=col batch=2 location=dhh label=x_y\n");
  ASSERT_EQ(cases.size(), 1u);
  const Case& one = cases[0];
  EXPECT_EQ(one.id(), "h TN 10x20x30 ld=40,30,11 alpha=0.5 beta=-1 batch=2 offset=3 at=dhh");
  EXPECT_EQ(one.label, "x_y");
  EXPECT_EQ(one.set, "shapes");
  EXPECT_EQ(one.stride_a, 400);  // T: 10 columns of 40
  EXPECT_EQ(one.stride_b, 600);
  EXPECT_EQ(one.stride_c, 220);
}

TEST(ShapeFile, RowMajorAndPads) {
  const auto cases = parse("10 20 30 layout=row trans=NT pad=0,2\n");
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].lda, 30);
  EXPECT_EQ(cases[0].ldb, 30);
  EXPECT_EQ(cases[0].ldc, 20);
  EXPECT_EQ(cases[1].lda, 32);
  EXPECT_EQ(cases[1].id(), "s NT 10x20x30 row ld=32,32,22");
}

TEST(ShapeFile, DefaultsComeFromTheCommandLine) {
  ShapeDefaults defaults;
  defaults.types = {'h'};
  defaults.trans = {"TT"};
  defaults.betas = {0, 1};
  EXPECT_THAT(ids(parse("4 4 4\n4 4 4 trans=NN beta=2\n", defaults)),
              ElementsAre("h TT 4x4x4", "h TT 4x4x4 beta=1", "h NN 4x4x4 beta=2"));
}

TEST(ShapeFile, ErrorsNameLineAndField) {
  const auto error = [](const std::string& text) { return message_of([&] { parse(text); }); };
  EXPECT_EQ(error("1 2 3\n\n4 x 6\n"), "shapes.txt:3: field 'n': 'x' is not a whole number");
  EXPECT_EQ(error("1 2\n"), "shapes.txt:1: a shape needs m, n and k");
  EXPECT_THAT(error("1 2 3 beta=one\n"), HasSubstr("shapes.txt:1: field 'beta': 'one' is not a number"));
  EXPECT_THAT(error("1 2 3 beta=nan\n"), HasSubstr("field 'beta'"));
  EXPECT_THAT(error("1 2 3 trans=NX\n"), HasSubstr("field 'trans': 'NX' is not NN, NT, TN or TT"));
  EXPECT_THAT(error("1 2 3 type=q\n"), HasSubstr("field 'type': 'q' is not one of s, h, b"));
  EXPECT_THAT(error("1 2 3 location=gpu\n"), HasSubstr("field 'location': 'gpu'"));
  EXPECT_THAT(error("1 2 3 layout=diag\n"), HasSubstr("field 'layout': 'diag' is neither"));
  EXPECT_THAT(error("10 2 3 lda=9\n"), HasSubstr("field 'lda': 9 is less than 10"));
  EXPECT_THAT(error("1 2 3 speed=4\n"), HasSubstr("field 'speed': is not known"));
  EXPECT_THAT(error("1 2 3 pad=1 pad=2\n"), HasSubstr("field 'pad': given twice"));
  EXPECT_THAT(error("1 2 3 extra\n"), HasSubstr("field 4: 'extra' is not key=value"));
  EXPECT_THAT(error("1 2 3 alpha=\n"), HasSubstr("field 'alpha': has no value"));
  EXPECT_THAT(error("= 2 3\n"), HasSubstr("field 'm'"));
  EXPECT_THAT(error("200000000 1 200000000 batch=1000000\n"), HasSubstr("shapes.txt:1: the operands are too large"));
  EXPECT_EQ(error("# nothing\n"), "shapes.txt: holds no shape");
  EXPECT_EQ(error(std::string("\0\x01\x02", 3)), "shapes.txt:1: a shape needs m, n and k");
}

TEST(ShapeArgument, SetsRangesCubesAndFiles) {
  EXPECT_THAT(ids(parse_shape_argument("4:8:4", {})), ElementsAre("s NN 4x4x4", "s NN 8x8x8"));
  EXPECT_THAT(ids(parse_shape_argument("5,2x3x4", {})), ElementsAre("s NN 5x5x5", "s NN 2x3x4"));
  EXPECT_GT(parse_shape_argument("squares", {}).size(), 5u);
  const TemporaryFolder folder;
  const std::string path = folder.path() / "some-shapes.txt";
  std::ofstream(path) << "7 7 7\n";
  const auto cases = parse_shape_argument(path, {});
  EXPECT_THAT(ids(cases), ElementsAre("s NN 7x7x7"));
  EXPECT_EQ(cases[0].set, "some-shapes");
  EXPECT_THAT(message_of([] { parse_shape_argument("no/such/file", {}); }),
              testing::AllOf(HasSubstr("'no/such/file' is no file, range or set"), HasSubstr("holdout")));
  EXPECT_THAT(message_of([&] { parse_shape_argument(folder.path(), {}); }), HasSubstr("is not a file"));
  EXPECT_EQ(message_of([] { parse_shape_argument("5,12x13", {}); }), "'12x13' is not MxNxK");
  std::ofstream{path}.flush();
  EXPECT_THAT(message_of([&] { parse_shape_argument(path, {}); }), HasSubstr("some-shapes.txt: holds no shape"));
}

TEST(ShapeArgument, EveryBuiltinSetParses) {
  ASSERT_GT(builtin_sets().size(), 8u);
  for (const BuiltinSet& set : builtin_sets()) {
    SCOPED_TRACE(set.name);
    const auto cases = parse_shape_argument(std::string(set.name), {});
    EXPECT_FALSE(cases.empty());
    EXPECT_EQ(without_duplicates(cases).size(), cases.size());
  }
}

TEST(ShapeArgument, ThePlannerIsNotFittedToTheHoldOutSet) {
  const auto extents = [](const Case& one) { return std::tuple(one.m, one.n, one.k); };
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> fitted;
  for (const Case& one : parse_shape_argument(XGEMM_PERF_DIR "/tune/shapes.txt", {})) fitted.insert(extents(one));
  ASSERT_GT(fitted.size(), 300u);
  for (const Case& one : parse_shape_argument("holdout", {})) EXPECT_FALSE(fitted.contains(extents(one))) << one.id();
}

TEST(Cases, DuplicatesGo) {
  EXPECT_EQ(without_duplicates(parse("4 4 4\n4 4 4\n4 4 4 beta=1\n")).size(), 2u);
}

TEST(Cases, OperationsAndBytes) {
  Case one = parse("10 20 30\n")[0];
  EXPECT_EQ(one.flops(), 12000);
  EXPECT_EQ(one.bytes(), 4 * (300 + 600 + 200));
  one.beta = 1;
  one.type = 'h';
  EXPECT_EQ(one.bytes(), 2 * (300 + 600 + 400));
  one.type = 'H';
  EXPECT_EQ(one.bytes(), 2 * (300 + 600) + 4 * 400);
  one.type = 'h';
  one.batch = 3;
  one.stride_b = 0;  // one B for all
  EXPECT_EQ(one.bytes(), 2 * (900 + 600 + 1200));
}

constexpr const char* kLine =
    "xgemm: call=gemm type=s layout=col transa=N transb=T m=128 n=64 k=32 alpha=1 lda=128 ldb=64 beta=0 ldc=128 "
    "batch=1 "
    "stride_a=0 stride_b=0 stride_c=0 location=hhh route=cpu kernel=openblas time_us=12.3\n";

TEST(Replay, CountsCallsAndSkipsTheRest) {
  const std::string text =
      std::string("hello\n") + kLine + kLine + "xgemm: XGEMM_MATH=fast is not one of: strict; it is ignored\n" +
      "xgemm: call=gemm type=h layout=row transa=c transb=n m=5 n=6 k=7 alpha=2.5 lda=5 ldb=6 beta=1 "
      "ldc=6 batch=1 location=ddd time_us=3.5\n" +
      "xgemm: call=gemm type=b layout=col transa=n transb=t m=5 n=6 k=7\n"
      "xgemm: call=gemm type=s transa=N transb=N m=0 n=6 k=7\n" +
      "xgemm: call=gemm type=s transa=N transb=N m=abc n=6 k=7\n" +
      "xgemm: call=gemm type=s transa=N transb=N m=3 n=6 k=";
  const Replay replay = parse_replay(text, "log");
  EXPECT_THAT(ids(replay.cases), ElementsAre("s NT 128x64x32 at=hhh", "h TN 5x6x7 row alpha=2.5 beta=1", "b NT 5x6x7"));
  EXPECT_EQ(replay.cases[0].calls, 2);
  EXPECT_EQ(replay.calls, 5);
  EXPECT_EQ(replay.empty_calls, 1);
  EXPECT_EQ(replay.other_lines, 2);
  EXPECT_THAT(replay.problems, ElementsAre("log:8: field 'm': 'abc' is not a usable number",
                                           "log:9: field 'k': '' is not a usable number"));
}

TEST(Replay, ReadsTheTypeOfC) {
  const Replay replay = parse_replay(
      "xgemm: call=gemm type=b type_c=s transa=N transb=N m=4 n=4 k=4\n"
      "xgemm: call=gemm type=s type_c=h transa=N transb=N m=4 n=4 k=4\n",
      "log");
  EXPECT_THAT(ids(replay.cases), ElementsAre("B NN 4x4x4"));
  EXPECT_THAT(replay.problems, ElementsAre("log:2: field 'type_c': no products of type s have a C of type h"));
}

TEST(Replay, KeepsEpiloguesAndPointers) {
  const Replay replay = parse_replay(
      "xgemm: call=gemm type=h transa=T transb=N activation=gelu_tanh bias_along=rows alpha=1 m=8 n=4 k=2\n"
      "xgemm: call=gemm type=h transa=T transb=N activation=relu alpha=1 m=8 n=4 k=2\n"
      "xgemm: call=gemm type=s transa=N transb=N batch_kind=pointers m=4 n=4 k=4 lda=5 batch=3 stride_a=0 stride_b=0 "
      "stride_c=0\n",
      "log");
  EXPECT_THAT(replay.problems, testing::IsEmpty());
  EXPECT_THAT(ids(replay.cases), ElementsAre("h TN 8x4x2 epilogue=bias+gelu", "h TN 8x4x2 epilogue=relu",
                                             "s NN 4x4x4 ld=5,4,4 batch=3 pointers"));
}

TEST(Replay, WhatItCannotRepeatIsAProblem) {
  const auto problem = [](const std::string& fields) {
    const Replay replay = parse_replay("xgemm: call=gemm type=h transa=N transb=N m=8 n=4 k=2 " + fields, "log");
    return replay.problems.empty() ? std::string() : replay.problems[0];
  };
  EXPECT_EQ(problem("compute=tf32 prepared_a=given route=device kernel=naive status=1 fp32_fallbacks=1"), "");
  EXPECT_EQ(problem("activation=silu"), "log:1: field 'activation': silu is not replayed");
  EXPECT_EQ(problem("activation=gelu"), "log:1: field 'activation': gelu is not replayed");
  EXPECT_EQ(problem("bias_along=columns"), "log:1: field 'bias_along': columns is not replayed");
  for (const char* field : {"fill=lower", "step_b=2", "row_scales=given", "old_c=given", "aux=given", "type_b=s"})
    EXPECT_THAT(problem(field), HasSubstr("is not replayed")) << field;
  EXPECT_THAT(problem("type_c=s bias_along=rows"), HasSubstr("has to be of C's type"));
  EXPECT_THAT(problem("activation=relu batch=2"), HasSubstr("of single products"));
}

TEST(Replay, FactorsThatAreNoFloatAreNearestToTheirs) {
  const Replay replay = parse_replay(
      "xgemm: call=gemm type=d transa=N transb=N m=8 n=4 k=2 alpha=1e-60 beta=-1e300\n"
      "xgemm: call=gemm type=d transa=N transb=N m=8 n=4 k=2 alpha=0.10000000000000001 beta=0\n"
      "xgemm: call=gemm type=d transa=N transb=N m=8 n=4 k=2 alpha=nan\n",
      "log");
  ASSERT_EQ(replay.cases.size(), 2u);
  EXPECT_GT(replay.cases[0].alpha, 0);
  EXPECT_LT(replay.cases[0].beta, -1e38f);
  EXPECT_EQ(replay.cases[1].id(), "d NN 8x4x2 alpha=0.1");
  EXPECT_THAT(replay.problems, ElementsAre("log:3: field 'alpha': 'nan' is not a usable number"));
}

TEST(Replay, BatchesKeepTheirStrides) {
  const Replay replay = parse_replay(
      "xgemm: call=gemm type=s transa=N transb=N m=4 n=4 k=4 lda=4 ldb=4 ldc=4 batch=3 stride_a=0 stride_b=16 "
      "stride_c=20\n",
      "log");
  ASSERT_EQ(replay.cases.size(), 1u);
  EXPECT_EQ(replay.cases[0].stride_a, 0);
  EXPECT_EQ(replay.cases[0].stride_c, 20);
  EXPECT_THAT(replay.cases[0].id(), HasSubstr("batch=3 strides=0,16,20"));
}

TEST(Replay, UnreadableOrEmptyFilesAreErrors) {
  EXPECT_THAT(message_of([] { read_replay("/no/such/file"); }), HasSubstr("/no/such/file: cannot be read"));
  const TemporaryFolder folder;
  const std::string path = folder.path() / "empty.log";
  std::ofstream(path) << "nothing\nhere\n";
  EXPECT_THAT(message_of([&] { read_replay(path); }), HasSubstr("holds no product to replay (2 other lines"));
}

TEST(Fuzz, MutatedShapeFilesAndLogsNeverCrash) {
  std::mt19937 random(7);
  const std::string shapes =
      "64 32 16 type=shb trans=NT,TN beta=1 pad=0,2 lda=70 batch=2\n128:512:x2 = = location=hhh\n";
  const std::string logs = std::string(kLine) + "noise\n" + kLine;
  for (int trial = 0; trial < 3000; ++trial) {
    std::string text = trial % 2 == 0 ? shapes : logs;
    for (unsigned i = 0; i <= random() % 6; ++i) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 9);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 9));
      }
      if (text.empty()) text.push_back('x');
    }
    if (trial % 2 == 0)
      (void)message_of([&] { parse(text); });
    else
      (void)parse_replay(text, "log");
  }
}

}  // namespace
}  // namespace xgemm::perf
