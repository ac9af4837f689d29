// Result files: there and back, golden CSV, JUnit and table, and files that are not what they should be.
// With XGEMM_UPDATE_GOLDEN=1 the golden files are written anew. SPDX-License-Identifier: BSD-3-Clause
#include "results/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "bench/input_error.h"
#include "bench/shapes.h"
#include "bench/table.h"
#include "compare/compare.h"
#include "golden.h"

namespace xgemm::perf {
namespace {

using testing::HasSubstr;

CandidateResult timed(const std::string& name, double us, double ratio, const std::string& kernel) {
  CandidateResult result;
  result.name = name;
  result.kernel = kernel;
  result.time_us = {us, us * 0.99, us * 1.02};
  result.fastest_us = us * 0.97;
  result.ratio = {ratio, ratio * 0.995, ratio * 1.004};
  result.host_us = 2.25;
  result.error = 5.7e-7;
  result.bound_share = 0.01;
  result.checked = true;
  result.calls_per_round = 20;
  return result;
}

Row row_of(const std::string& line, const std::string& set) {
  Row row;
  row.shape = parse_shape_text(line, "test", set, {}).at(0);
  row.shape.location = "ddd";
  row.id = row.shape.id();
  row.reference = "cublas-ws32";
  row.rounds = 9;
  row.operand_sets = 20;
  row.cold = true;
  row.recorded = true;
  row.stopped_by = "precision";
  row.sm_mhz = 1980;
  row.power_w = 512.5;
  return row;
}

/// One of everything that a run can produce.
Results sample() {
  Results results;
  results.complete = true;
  results.created = "2026-01-02T03:04:05Z";
  results.command = {"xgemm-bench", "--quick"};
  results.environment = {{"machine", "NVIDIA H200"}, {"driver", "580.0"}, {"commit", "abc1234"}};
  results.settings = {{"data", "N(0,1)"}};
  results.candidates = {{"xgemm", "libxgemm 0.1.0"}, {"cublas-ws32", "cuBLAS 13.1.0"}, {"cublas", "cuBLAS 13.1.0"}};
  results.ceilings = {4290, 62.2, 760};

  Row fast = row_of("1024 1024 1024", "squares");
  fast.candidates = {timed("xgemm", 50, 1.2, "double_buffered_64x64x16"), timed("cublas-ws32", 60, 1, ""),
                     timed("cublas", 60.5, 0.992, "")};
  fast.candidates[0].plan = "kernel=double_buffered_64x64x16 grid=256\nwaves: 1.94";
  fast.dropped_rounds = 1;
  results.rows.push_back(fast);

  Row slow = row_of("4096 8 4096 trans=TN type=h label=gate,up", "llama");
  slow.candidates = {timed("xgemm", 20, 0.8, "naive_f16"), timed("cublas-ws32", 16, 1, "")};
  slow.candidates[1].reason = "misses the error bound: C(1, 2) = 3, float64 says 3.1";
  slow.power_capped = true;
  slow.cold = false;
  results.rows.push_back(slow);

  Row wrong = row_of("127 127 127 beta=1", "odd");
  wrong.status = "failed";
  wrong.candidates = {timed("xgemm", 0, 0, "naive_f32"), timed("cublas-ws32", 6, 1, "")};
  wrong.candidates[0].status = "failed";
  wrong.candidates[0].reason = "wrong result: NaN at (3, 4): not written, or \"wrong\" <&>";
  wrong.candidates[0].time_us = wrong.candidates[0].ratio = {};
  wrong.candidates[0].fastest_us = wrong.candidates[0].host_us = 0;
  results.rows.push_back(wrong);

  Row skipped = row_of("100000 100000 100000", "squares");
  skipped.status = "skipped";
  skipped.reason = "120.0 GB of operands do not fit into memory";
  skipped.reference.clear();
  skipped.rounds = 0;
  results.rows.push_back(skipped);
  return results;
}

TableStyle sample_style() {
  TableStyle style;
  style.case_width = 32;
  style.primary = "xgemm";
  style.reference = "cublas-ws32";
  return style;
}

TEST(Json, ThereAndBack) {
  const Results before = sample();
  const std::string text = to_json(before);
  const Results after = from_json(text, "sample");
  EXPECT_EQ(to_json(after), text);
  ASSERT_EQ(after.rows.size(), before.rows.size());
  EXPECT_EQ(after.rows[1].shape, before.rows[1].shape);
  EXPECT_EQ(after.rows[0].candidates[0].plan, before.rows[0].candidates[0].plan);
  EXPECT_EQ(after.fact("driver"), "580.0");
  EXPECT_EQ(after.ceilings.fp32_tflops, 62.2);
}

TEST(Json, NotANumberIsNull) {
  Results results = sample();
  results.rows[0].candidates[0].error = std::nan("");
  results.rows[0].candidates[0].bound_share = INFINITY;
  const std::string text = to_json(results);
  EXPECT_THAT(text, HasSubstr("\"error\": null"));
  EXPECT_TRUE(std::isnan(from_json(text, "sample").rows[0].candidates[0].error));
}

TEST(Json, InvalidUtf8IsReplaced) {
  Results results = sample();
  results.environment.emplace_back("name", "\xff\xfe");
  EXPECT_NO_THROW(from_json(to_json(results), "sample"));
}

std::string message_of(const std::string& text) {
  try {
    from_json(text, "file.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Json, ErrorsNameFileAndField) {
  EXPECT_THAT(message_of(""), HasSubstr("file.json: is not JSON"));
  EXPECT_THAT(message_of("[]"), HasSubstr("file.json: the file"));
  EXPECT_THAT(message_of("{}"), HasSubstr("is not a result of xgemm-bench"));
  EXPECT_THAT(message_of(R"({"schema":"xgemm-bench","version":9,"rows":[]})"), HasSubstr("has version 9"));
  EXPECT_THAT(message_of(R"({"schema":"xgemm-bench","version":1})"), HasSubstr("lacks 'rows'"));
  EXPECT_THAT(message_of(R"({"schema":"xgemm-bench","version":1,"rows":[7]})"), HasSubstr("rows[0]: is not an object"));
  const std::string good = to_json(sample());
  const auto broken = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return message_of(text.replace(at, from.size(), to));
  };
  EXPECT_THAT(broken("\"m\": 1024", "\"m\": -3"), HasSubstr("rows[0].shape.m: -3 is less than 1"));
  EXPECT_THAT(broken("\"m\": 1024", "\"m\": 1.5"), HasSubstr("rows[0].shape.m: is not a whole number"));
  EXPECT_THAT(broken("\"m\": 1024,", ""), HasSubstr("rows[0].shape: lacks 'm'"));
  EXPECT_THAT(broken("\"type\": \"s\"", "\"type\": \"d\""), HasSubstr("rows[0].shape.type: 'd' is not a value"));
  EXPECT_THAT(broken("\"name\": \"xgemm\"", "\"name\": 4"), HasSubstr("rows[0].candidates[0].name: is not a string"));
  EXPECT_THAT(broken("\"median\": 50.0", "\"median\": \"fast\""),
              HasSubstr("rows[0].candidates[0].time_us.median: is not a number"));
  EXPECT_THAT(broken("\"median\": 50.0", "\"median\": 500.0"), HasSubstr("is not 0 < low <= median <= high"));
}

TEST(Json, FuzzedFilesAreReadOrRefused) {
  const std::string good = to_json(sample());
  std::mt19937 random(11);
  int read = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::string text = good;
    for (unsigned i = 0; i <= random() % 4; ++i) {
      const std::size_t at = random() % text.size();
      switch (random() % 5) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 40);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
          break;
        case 3:
          text[at] = "0123456789-.,:{}[]\"eE"[random() % 21];
          break;
        default:
          text.resize(at);
          break;
      }
      if (text.empty()) text.push_back('{');
    }
    try {
      const Results results = from_json(text, "fuzz");
      (void)to_csv(results);
      (void)to_junit(results);
      (void)table_summary(results, sample_style());
      for (const Row& row : results.rows) (void)table_row(row, sample_style());
      const CompareReport report = compare(sample(), results, {});
      (void)render_text(report, sample(), results, {}, true);
      (void)render_markdown(report, sample(), results, {});
      (void)render_json(report, {});
      ++read;
    } catch (const InputError&) {
      // Refused in words.
    }
  }
  EXPECT_GT(read, 50) << "the mutations are too coarse to test much";
}

TEST(Json, NestingDoesNotExhaustTheStack) {
  EXPECT_THAT(message_of(std::string(200000, '[')), HasSubstr("is not JSON"));
}

TEST(Files, AreReplacedAsAWhole) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "xgemm-results-test";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "result.json").string();
  write_file(path, "old");
  write_file(path, to_json(sample()));
  EXPECT_EQ(read_results(path).rows.size(), 4u);
  // Nothing else is left behind.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  EXPECT_THROW(write_file((folder / "no" / "such" / "folder").string(), ""), InputError);
  EXPECT_THROW(read_results((folder / "none").string()), InputError);
  EXPECT_THROW(read_results(folder.string()), InputError);
  std::filesystem::remove_all(folder);
}

TEST(Golden, Csv) {
  expect_golden("results.csv", to_csv(sample()));
}

TEST(Golden, Junit) {
  expect_golden("results.xml", to_junit(sample()));
}

TEST(Golden, Table) {
  const Results results = sample();
  const TableStyle style = sample_style();
  std::string text = table_header(style);
  for (const Row& row : results.rows) text += table_row(row, style);
  expect_golden("table.txt", text + "\n" + table_summary(results, style));
}

TEST(Golden, TableOfReplayedCallsWithPlansAndColour) {
  Results results = sample();
  results.rows.resize(2);
  for (Row& row : results.rows) {
    row.shape.set = "replay";
    row.shape.calls = 7;
  }
  TableStyle style = sample_style();
  style.colour = style.plans = true;
  std::string text = table_header(style);
  for (const Row& row : results.rows) text += table_row(row, style);
  expect_golden("table-replay.txt", text + "\n" + table_summary(results, style));
}

TEST(Table, Durations) {
  EXPECT_EQ(format_seconds(5.4), "0:05");
  EXPECT_EQ(format_seconds(65), "1:05");
  EXPECT_EQ(format_seconds(7390), "2:03:10");
  EXPECT_EQ(format_seconds(-1), "0:00");
}

}  // namespace
}  // namespace xgemm::perf
