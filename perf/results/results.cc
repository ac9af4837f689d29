// Access to results and their CSV and JUnit forms. SPDX-License-Identifier: BSD-3-Clause
#include "results/results.h"

#include <fmt/format.h>

#include <cmath>

namespace xgemm::perf {
namespace {

/// Quoted where RFC 4180 wants it.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"') quoted += '"';
    quoted += letter;
  }
  return quoted + '"';
}

/// Empty for what was not measured.
std::string csv_number(double value) {
  return value == 0 ? "" : fmt::format("{:.6g}", value);
}

std::string xml(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\n':
        escaped += "&#10;";
        break;
      case '\t':
        escaped += ' ';
        break;
      // XML 1.0 has no way to write the other control characters.
      default:
        escaped += static_cast<unsigned char>(letter) < 0x20 ? '?' : letter;
    }
  }
  return escaped;
}

void append_csv_row(const Row& row, const CandidateResult& result, std::string& text) {
  const Case& one = row.shape;
  text +=
      fmt::format("{},{},{},{},{},{}{},{},{},{},{},{},{},{},{},{},{},{},", csv_field(row.id), csv_field(one.set),
                  csv_field(one.label), one.type, one.row_major ? "row" : "col", one.transa, one.transb, one.m, one.n,
                  one.k, one.alpha, one.beta, one.lda, one.ldb, one.ldc, one.batch, one.offset, one.location);
  text += fmt::format("{},{},{},{},", csv_field(result.name), result.status, csv_field(result.reason),
                      csv_field(result.kernel));
  for (const double value :
       {result.time_us.median, result.time_us.low, result.time_us.high, result.fastest_us, tflops(row, result),
        gigabytes_per_second(row, result), result.ratio.median, result.ratio.low, result.ratio.high, result.host_us})
    text += csv_number(value) + ',';
  text += result.checked ? fmt::format("{:.3g},{:.3g},", result.error, result.bound_share) : ",,";
  text += fmt::format("{},{},{},{},{},{}\n", row.reference, row.rounds, row.dropped_rounds, row.recorded ? 1 : 0,
                      csv_number(row.sm_mhz), csv_number(row.power_w));
}

void append_junit_case(const Row& row, const CandidateResult& result, std::string& text) {
  text += fmt::format("    <testcase classname=\"{}\" name=\"{} [{}]\" time=\"{:.9f}\">", xml(row.shape.set),
                      xml(row.id), xml(result.name), result.time_us.median * 1e-6);
  if (result.status == "failed") text += fmt::format("<failure message=\"{}\"/>", xml(result.reason));
  if (result.status == "skipped") text += fmt::format("<skipped message=\"{}\"/>", xml(result.reason));
  if (result.ok())
    text +=
        fmt::format("<system-out>{:.3f} us, {:.3f} TFLOP/s, ratio {:.4f}, error {:.3g}, kernel {}</system-out>",
                    result.time_us.median, tflops(row, result), result.ratio.median, result.error, xml(result.kernel));
  text += "</testcase>\n";
}

/// A row of which nothing was measured stands in JUnit as one skipped case.
CandidateResult placeholder(const Row& row) {
  CandidateResult result;
  result.name = "all";
  result.status = row.status;
  result.reason = row.reason;
  return result;
}

}  // namespace

const CandidateResult* Row::find(std::string_view name) const {
  for (const CandidateResult& result : candidates)
    if (result.name == name) return &result;
  return nullptr;
}

std::string Results::fact(std::string_view key) const {
  for (const auto& [name, value] : environment)
    if (name == key) return value;
  return "";
}

double tflops(const Row& row, const CandidateResult& candidate) {
  return candidate.time_us.median > 0 ? row.shape.flops() / candidate.time_us.median * 1e-6 : 0;
}

double gigabytes_per_second(const Row& row, const CandidateResult& candidate) {
  return candidate.time_us.median > 0 ? row.shape.bytes() / candidate.time_us.median * 1e-3 : 0;
}

std::string to_csv(const Results& results) {
  std::string text =
      "id,set,label,type,layout,trans,m,n,k,alpha,beta,lda,ldb,ldc,batch,offset,location,candidate,status,reason,"
      "kernel,"
      "time_us,time_low_us,time_high_us,fastest_us,tflops,gbs,ratio,ratio_low,ratio_high,host_us,error,bound_share,"
      "reference,rounds,dropped_rounds,recorded,sm_mhz,power_w\n";
  for (const Row& row : results.rows) {
    for (const CandidateResult& result : row.candidates) append_csv_row(row, result, text);
    if (row.candidates.empty()) append_csv_row(row, placeholder(row), text);
  }
  return text;
}

std::string to_junit(const Results& results) {
  std::string cases;
  int tests = 0;
  int failures = 0;
  int skipped = 0;
  const auto append = [&](const Row& row, const CandidateResult& result) {
    ++tests;
    failures += result.status == "failed";
    skipped += result.status == "skipped";
    append_junit_case(row, result, cases);
  };
  for (const Row& row : results.rows) {
    for (const CandidateResult& result : row.candidates) append(row, result);
    if (row.candidates.empty()) append(row, placeholder(row));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "  <testsuite name=\"xgemm-bench\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" errors=\"0\" timestamp=\"{}\">\n"
      "{}  </testsuite>\n</testsuites>\n",
      tests, failures, skipped, xml(results.created), cases);
}

}  // namespace xgemm::perf
