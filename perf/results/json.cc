// The JSON form of results. SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/input_error.h"
#include "results/results.h"

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
  return {{"set", one.set},
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

/// Reading with the path of what is being read, for messages: "rows[3].candidates[0].time_us".
class Reader {
 public:
  Reader(const Json& json, std::string path, const std::string& origin)
      : json_(json), path_(std::move(path)), origin_(origin) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(fmt::format("{}: {}: {}", origin_, path_.empty() ? "the file" : path_, what));
  }

  Reader required(const char* key) const {
    if (!has(key)) fail(fmt::format("lacks '{}'", key));
    return {json_.at(key), join(key), origin_};
  }
  bool has(const char* key) const {
    if (!json_.is_object()) fail("is not an object");
    return json_.contains(key);
  }

  std::string text(const char* key, const char* otherwise = nullptr) const {
    if (otherwise != nullptr && !has(key)) return otherwise;
    const Reader value = required(key);
    if (!value.json_.is_string()) value.fail("is not a string");
    return value.json_.get<std::string>();
  }
  double real(const char* key, double otherwise) const {
    if (!has(key)) return otherwise;
    const Reader value = required(key);
    if (value.json_.is_null()) return std::nan("");
    if (!value.json_.is_number()) value.fail("is not a number");
    return value.json_.get<double>();
  }
  std::int64_t integer(const char* key, std::int64_t otherwise, std::int64_t least = 0) const {
    if (!has(key)) return otherwise;
    const Reader value = required(key);
    if (!value.json_.is_number_integer()) value.fail("is not a whole number");
    const auto result = value.json_.get<std::int64_t>();
    if (result < least) value.fail(fmt::format("{} is less than {}", result, least));
    return result;
  }
  bool flag(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    const Reader value = required(key);
    if (!value.json_.is_boolean()) value.fail("is neither true nor false");
    return value.json_.get<bool>();
  }
  std::string one_of(const char* key, std::initializer_list<const char*> allowed) const {
    const std::string value = text(key);
    for (const char* choice : allowed)
      if (value == choice) return value;
    required(key).fail(fmt::format("'{}' is not a value it can have", value));
  }

  template <class Visit>
  void each(const char* key, Visit visit) const {
    const Reader list = required(key);
    if (!list.json_.is_array()) list.fail("is not a list");
    for (std::size_t i = 0; i < list.json_.size(); ++i)
      visit(Reader(list.json_[i], fmt::format("{}[{}]", list.path_, i), origin_));
  }
  template <class Visit>
  void each_pair(const char* key, Visit visit) const {
    if (!has(key)) return;
    const Reader object = required(key);
    if (!object.json_.is_object()) object.fail("is not an object");
    for (const auto& [name, value] : object.json_.items()) visit(name, Reader(value, object.join(name), origin_));
  }
  std::string own_text() const {
    if (!json_.is_string()) fail("is not a string");
    return json_.get<std::string>();
  }

 private:
  std::string join(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

  const Json& json_;
  std::string path_;
  const std::string& origin_;
};

Interval read_interval(const Reader& parent, const char* key) {
  if (!parent.has(key)) return {};
  const Reader reader = parent.required(key);
  const Interval value{reader.real("median", 0), reader.real("low", 0), reader.real("high", 0)};
  if (!(value.low > 0 && value.low <= value.median && value.median <= value.high))
    reader.fail("is not 0 < low <= median <= high");
  return value;
}

Case read_shape(const Reader& reader) {
  Case one;
  one.set = reader.text("set", "");
  one.label = reader.text("label", "");
  one.type = reader.one_of("type", {"s", "h", "b"})[0];
  one.row_major = reader.one_of("layout", {"col", "row"}) == "row";
  one.transa = reader.one_of("transa", {"N", "T"})[0];
  one.transb = reader.one_of("transb", {"N", "T"})[0];
  for (const char* key : {"m", "n", "k"}) (void)reader.required(key);
  one.m = reader.integer("m", 0, 1);
  one.n = reader.integer("n", 0, 1);
  one.k = reader.integer("k", 0, 1);
  one.alpha = static_cast<float>(reader.real("alpha", 1));
  one.beta = static_cast<float>(reader.real("beta", 0));
  one.set_dense_layout(0);
  one.lda = reader.integer("lda", one.lda);
  one.ldb = reader.integer("ldb", one.ldb);
  one.ldc = reader.integer("ldc", one.ldc);
  one.batch = reader.integer("batch", 1, 1);
  one.stride_a = reader.integer("stride_a", one.stride_a);
  one.stride_b = reader.integer("stride_b", one.stride_b);
  one.stride_c = reader.integer("stride_c", one.stride_c);
  one.offset = reader.integer("offset", 0);
  one.location = reader.text("location", "ddd");
  one.calls = reader.integer("calls", 1, 1);
  return one;
}

CandidateResult read_candidate(const Reader& reader) {
  CandidateResult result;
  result.name = reader.text("name");
  result.status = reader.one_of("status", {"ok", "failed", "skipped"});
  result.reason = reader.text("reason", "");
  result.kernel = reader.text("kernel", "");
  result.plan = reader.text("plan", "");
  result.time_us = read_interval(reader, "time_us");
  result.fastest_us = reader.real("fastest_us", 0);
  result.ratio = read_interval(reader, "ratio");
  result.host_us = reader.real("host_us", 0);
  result.checked = reader.has("error");
  result.error = reader.real("error", 0);
  result.bound_share = reader.real("bound_share", 0);
  result.calls_per_round = reader.integer("calls_per_round", 0);
  return result;
}

Row read_row(const Reader& reader) {
  Row row;
  row.id = reader.text("id");
  row.status = reader.one_of("status", {"ok", "failed", "skipped"});
  row.reason = reader.text("reason", "");
  row.shape = read_shape(reader.required("shape"));
  row.reference = reader.text("reference", "");
  reader.each("candidates", [&](const Reader& entry) { row.candidates.push_back(read_candidate(entry)); });
  row.rounds = reader.integer("rounds", 0);
  row.dropped_rounds = reader.integer("dropped_rounds", 0);
  row.operand_sets = reader.integer("operand_sets", 0);
  row.cold = reader.flag("cold", false);
  row.recorded = reader.flag("recorded", false);
  row.stopped_by = reader.text("stopped_by", "");
  row.sm_mhz = reader.real("sm_mhz", 0);
  row.power_w = reader.real("power_w", 0);
  row.power_capped = reader.flag("power_capped", false);
  return row;
}

Facts read_facts(const Reader& reader, const char* key) {
  Facts pairs;
  reader.each_pair(key,
                   [&](const std::string& name, const Reader& value) { pairs.emplace_back(name, value.own_text()); });
  return pairs;
}

}  // namespace

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
  root["rows"] = Json::array();
  for (const Row& row : results.rows) root["rows"].push_back(row_json(row));
  // Names that come from outside (file names, library versions) may be no UTF-8.
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Results from_json(std::string_view text, const std::string& origin) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: is not JSON: {}", origin, error.what()));
  }
  const Reader root(json, "", origin);
  if (!json.is_object() || root.text("schema", "") != "xgemm-bench") root.fail("is not a result of xgemm-bench");
  if (const std::int64_t version = root.integer("version", 0); version != kVersion)
    root.fail(fmt::format("has version {}, and this program reads version {}", version, kVersion));
  Results results;
  results.complete = root.flag("complete", false);
  results.created = root.text("created", "");
  if (root.has("command"))
    root.each("command", [&](const Reader& word) { results.command.push_back(word.own_text()); });
  results.environment = read_facts(root, "environment");
  results.settings = read_facts(root, "settings");
  results.candidates = read_facts(root, "candidates");
  if (root.has("ceilings")) {
    const Reader ceilings = root.required("ceilings");
    results.ceilings = {ceilings.real("copy_gbs", 0), ceilings.real("fp32_tflops", 0),
                        ceilings.real("fp16_tensor_tflops", 0)};
  }
  root.each("rows", [&](const Reader& entry) { results.rows.push_back(read_row(entry)); });
  return results;
}

Results read_results(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || !text) throw InputError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  return from_json(text.str(), path);
}

void write_file(const std::string& path, std::string_view text) {
  // Devices and pipes cannot be renamed over.
  std::error_code ignored;
  const bool in_place = std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored);
  const std::string target = in_place ? path : fmt::format("{}.{}.tmp", path, getpid());
  {
    std::ofstream file(target, std::ios::binary | std::ios::trunc);
    file << text;
    file.flush();
    if (!file) throw InputError(fmt::format("{}: cannot be written: {}", target, std::strerror(errno)));
  }
  if (in_place) return;
  std::error_code error;
  std::filesystem::rename(target, path, error);
  if (error) throw InputError(fmt::format("{}: cannot be written: {}", path, error.message()));
}

}  // namespace xgemm::perf
