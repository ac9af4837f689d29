// Result files and tables as they are written; perf/tests/results_test.py reads the golden file.
// With XGEMM_UPDATE_GOLDEN=1 the golden files are written anew. SPDX-License-Identifier: BSD-3-Clause
#include "bench/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "bench/input_error.h"
#include "bench/shapes.h"
#include "bench/table.h"
#include "golden.h"
#include "temporary_folder.h"

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

  HostTime known{"600 shapes in rotation", 'h', 600, 51, 200, "cublas-ws32", {}};
  known.candidates = {timed("xgemm", 4, 2, ""), timed("cublas-ws32", 8, 1, "")};
  HostTime fresh{"a new shape every call", 'h', 0, 51, 200, "cublas-ws32", {}};
  fresh.candidates = {timed("xgemm", 0, 0, ""), timed("cublas-ws32", 9.5, 1, "")};
  fresh.candidates[0].status = "failed";
  fresh.candidates[0].reason = "out of memory";
  results.host_times = {known, fresh};
  return results;
}

TableStyle sample_style() {
  TableStyle style;
  style.case_width = 32;
  style.primary = "xgemm";
  style.reference = "cublas-ws32";
  return style;
}

TEST(Golden, Json) {
  expect_golden("results.json", to_json(sample()));
}

TEST(Json, NotANumberIsNull) {
  Results results = sample();
  results.rows[0].candidates[0].error = std::nan("");
  results.rows[0].candidates[0].bound_share = INFINITY;
  EXPECT_THAT(to_json(results), HasSubstr("\"error\": null"));
}

TEST(Json, InvalidUtf8IsReplaced) {
  Results results = sample();
  results.environment.emplace_back("name", "\xff\xfe");
  EXPECT_THAT(to_json(results), HasSubstr("\xef\xbf\xbd"));
}

TEST(Files, AreReplacedAsAWhole) {
  const TemporaryFolder temporary;
  const std::filesystem::path& folder = temporary.path();
  const std::string path = (folder / "result.json").string();
  write_file(path, "old");
  write_file(path, to_json(sample()));
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), to_json(sample()));
  std::filesystem::create_symlink(path, folder / "link");
  write_file((folder / "link").string(), "by the link");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(std::filesystem::file_size(path), 11u);
  std::filesystem::remove(folder / "link");
  // Nothing else is left behind.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  EXPECT_THROW(write_file((folder / "no" / "such" / "folder").string(), ""), InputError);
}

TEST(Golden, Table) {
  const Results results = sample();
  const TableStyle style = sample_style();
  std::string text = table_header(style);
  for (const Row& row : results.rows) text += table_row(row, style);
  expect_golden("table.txt", text + "\n" + host_time_table(results, style) + "\n" + table_summary(results, style));
}

TEST(Table, RowsOfAnotherReferenceNameIt) {
  Results results = sample();
  Row row = row_of("256 256 256 epilogue=bias", "squares");
  row.reference = "cublaslt";
  row.candidates = {timed("xgemm", 10, 1.5, "naive"), timed("cublas-ws32", 0, 0, ""), timed("cublaslt", 15, 1, "")};
  row.candidates[1].status = "skipped";
  row.candidates[1].reason = "has no epilogues";
  results.rows = {results.rows[0], row, results.rows[1]};
  const std::string line = table_row(row, sample_style());
  EXPECT_THAT(line, HasSubstr("15.00"));
  EXPECT_THAT(line, HasSubstr("  naive  (against cublaslt)\n  + cublas-ws32"));
  const std::string summary = table_summary(results, sample_style());
  EXPECT_THAT(summary, HasSubstr("xgemm against cublas-ws32: geometric mean of the ratios (more than 1 is faster)\n"
                                 "  squares          fp32   1.200  [1.194, 1.205]    1 shapes, worst 1.200 at"));
  EXPECT_THAT(summary, HasSubstr("xgemm against cublaslt: geometric mean of the ratios (more than 1 is faster)\n"
                                 "  squares          fp32   1.500  [1.492, 1.506]    1 shapes, worst 1.500 at"));
  EXPECT_LT(summary.find("llama"), summary.find("cublaslt"));
  for (Row& one : results.rows) one.shape.set = "replay";
  EXPECT_THAT(table_summary(results, sample_style()), HasSubstr("with cublas-ws32 and cublaslt: ratio"));
}

TEST(Table, FewRoundsHaveLessConfidence) {
  Results results = sample();
  EXPECT_THAT(table_summary(results, sample_style()), testing::Not(HasSubstr("so few rounds")));
  results.rows[0].rounds = 3;
  results.rows[1].rounds = 5;
  EXPECT_THAT(table_summary(results, sample_style()),
              HasSubstr("; 2 with so few rounds that their intervals are of 75 % at least"));
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
