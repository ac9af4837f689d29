// Implementation of results.h. SPDX-License-Identifier: BSD-3-Clause
#include "bench/results.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/input_error.h"

namespace xgemm::perf {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kVersion = 1;

/// JSON has no infinity and no NaN: null.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json interval(const Interval& value) {
  return {{"median", number(value.median)}, {"low", number(value.low)}, {"high", number(value.high)}};
}

Json facts(const Facts& pairs) {
  Json object = Json::object();
  for (const auto& [key, value] : pairs) object[key] = value;
  return object;
}

Json shape(const Case& one) {
  Json object{{"set", one.set},
              {"label", one.label},
              {"type", std::string(1, one.type)},
              {"layout", one.row_major ? "row" : "col"},
              {"transa", std::string(1, one.transa)},
              {"transb", std::string(1, one.transb)},
              {"m", one.m},
              {"n", one.n},
              {"k", one.k},
              {"alpha", number(one.alpha)},
              {"beta", number(one.beta)},
              {"lda", one.lda},
              {"ldb", one.ldb},
              {"ldc", one.ldc},
              {"batch", one.batch},
              {"stride_a", one.stride_a},
              {"stride_b", one.stride_b},
              {"stride_c", one.stride_c},
              {"offset", one.offset},
              {"location", one.location},
              {"calls", one.calls}};
  if (one.by_pointers) object["batch_kind"] = "pointers";
  if (!one.epilogue.empty()) object["epilogue"] = one.epilogue;
  return object;
}

Json candidate(const Row& row, const CandidateResult& result) {
  Json object{{"name", result.name}, {"status", result.status}};
  if (!result.reason.empty()) object["reason"] = result.reason;
  object["kernel"] = result.kernel;
  object["plan"] = result.plan;
  if (result.time_us.median > 0) {
    object["time_us"] = interval(result.time_us);
    object["fastest_us"] = number(result.fastest_us);
    object["tflops"] = number(tflops(row, result));
    object["gbs"] = number(gigabytes_per_second(row, result));
    object["calls_per_round"] = result.calls_per_round;
  }
  if (result.ratio.median > 0) object["ratio"] = interval(result.ratio);
  if (result.host_us > 0) object["host_us"] = number(result.host_us);
  if (result.checked) {
    object["error"] = number(result.error);
    object["bound_share"] = number(result.bound_share);
  }
  return object;
}

Json host_time(const HostTime& one) {
  Json object{{"name", one.name},     {"type", std::string(1, one.type)},       {"shapes", one.shapes},
              {"rounds", one.rounds}, {"calls_per_round", one.calls_per_round}, {"reference", one.reference}};
  object["candidates"] = Json::array();
  for (const CandidateResult& result : one.candidates) {
    Json entry{{"name", result.name}, {"status", result.status}};
    if (!result.reason.empty()) entry["reason"] = result.reason;
    if (result.time_us.median > 0) entry["host_us"] = interval(result.time_us);
    if (result.ratio.median > 0) entry["ratio"] = interval(result.ratio);
    object["candidates"].push_back(entry);
  }
  return object;
}

Json row_json(const Row& row) {
  Json object{{"id", row.id}, {"status", row.status}};
  if (!row.reason.empty()) object["reason"] = row.reason;
  object["shape"] = shape(row.shape);
  object["reference"] = row.reference;
  object["candidates"] = Json::array();
  for (const CandidateResult& result : row.candidates) object["candidates"].push_back(candidate(row, result));
  object["rounds"] = row.rounds;
  object["dropped_rounds"] = row.dropped_rounds;
  object["operand_sets"] = row.operand_sets;
  object["cold"] = row.cold;
  object["recorded"] = row.recorded;
  object["stopped_by"] = row.stopped_by;
  object["sm_mhz"] = number(row.sm_mhz);
  object["power_w"] = number(row.power_w);
  object["power_capped"] = row.power_capped;
  return object;
}

}  // namespace

const CandidateResult* find_candidate(const std::vector<CandidateResult>& candidates, std::string_view name) {
  const auto found = std::find_if(candidates.begin(), candidates.end(),
                                  [&](const CandidateResult& result) { return result.name == name; });
  return found == candidates.end() ? nullptr : &*found;
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

std::string to_json(const Results& results) {
  Json root{{"schema", "xgemm-bench"},
            {"version", kVersion},
            {"complete", results.complete},
            {"created", results.created},
            {"command", results.command},
            {"environment", facts(results.environment)},
            {"settings", facts(results.settings)},
            {"candidates", facts(results.candidates)}};
  root["ceilings"] = {{"copy_gbs", number(results.ceilings.copy_gbs)},
                      {"fp32_tflops", number(results.ceilings.fp32_tflops)},
                      {"fp16_tensor_tflops", number(results.ceilings.fp16_tensor_tflops)}};
  root["host_times"] = Json::array();
  for (const HostTime& one : results.host_times) root["host_times"].push_back(host_time(one));
  root["rows"] = Json::array();
  for (const Row& row : results.rows) root["rows"].push_back(row_json(row));
  // Names that come from outside (file names, library versions) may be no UTF-8.
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void write_file(const std::string& name, std::string_view text) {
  std::error_code ignored;
  // A link stays one.
  const std::string path = std::filesystem::is_symlink(name, ignored) && std::filesystem::exists(name, ignored)
                               ? std::filesystem::canonical(name).string()
                               : name;
  // Devices and pipes cannot be renamed over.
  const bool in_place = std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored);
  const std::string target = in_place ? path : fmt::format("{}.{}.tmp", path, getpid());
  {
    std::ofstream file(target, std::ios::binary | std::ios::trunc);
    file << text;
    file.flush();
    if (!file) {
      const std::string why = std::strerror(errno);
      if (!in_place) std::filesystem::remove(target, ignored);
      throw InputError(fmt::format("{}: cannot be written: {}", path, why));
    }
  }
  if (in_place) return;
  std::error_code error;
  std::filesystem::rename(target, path, error);
  if (error) throw InputError(fmt::format("{}: cannot be written: {}", path, error.message()));
}

}  // namespace xgemm::perf
