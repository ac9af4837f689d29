// Implementation of replay.h. SPDX-License-Identifier: BSD-3-Clause
#include "bench/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <sstream>

#include "bench/element.h"
#include "bench/input_error.h"
#include "bench/shapes.h"

namespace xgemm::perf {
namespace {

using Fields = std::map<std::string_view, std::string_view>;

constexpr std::string_view kPrefix = "xgemm: call=";
/// What case_of() reads, what came of the call, and what --math and --prepared say of all products.
constexpr std::string_view kKnownFields[] = {
    "type",     "type_c",     "layout",     "transa", "transb", "m",          "n",        "k",        "alpha",
    "beta",     "lda",        "ldb",        "ldc",    "batch",  "batch_kind", "stride_a", "stride_b", "stride_c",
    "location", "activation", "bias_along", "call",   "route",  "kernel",     "status",   "time_us",  "fp32_fallbacks",
    "compute",  "prepared_a", "prepared_b"};
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 28;

Fields fields_of(std::string_view line) {
  Fields fields;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    if (const std::size_t equals = word.find('='); equals != std::string_view::npos)
      fields.emplace(word.substr(0, equals), word.substr(equals + 1));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return fields;
}

template <class T>
T number(const Fields& fields, const char* key, T otherwise, T low, T high) {
  const auto found = fields.find(key);
  if (found == fields.end()) return otherwise;
  T value{};
  const std::string_view text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= low && value <= high))
    throw InputError(fmt::format("field '{}': '{}' is not a usable number", key, text));
  return value;
}

std::int64_t extent(const Fields& fields, const char* key, std::int64_t otherwise, std::int64_t low = 0) {
  // A batch stride is a product of extents; kMaxExtent squared still leaves room in 64 bits.
  return number<std::int64_t>(fields, key, otherwise, low, kMaxExtent);
}

float scalar(const Fields& fields, const char* key, float otherwise) {
  // Scalars in device memory are not known to the host when the call is logged; their value decides no path but beta =
  // 0. So doubles that are no float become the nearest that is not zero.
  if (const auto found = fields.find(key); found != fields.end() && found->second == "device") return 1;
  constexpr double kLargest = std::numeric_limits<float>::max(), kLeast = std::numeric_limits<float>::min();
  constexpr double kAny = std::numeric_limits<double>::max();
  const double value = number<double>(fields, key, otherwise, -kAny, kAny);
  if (value == 0) return 0;
  return static_cast<float>(std::copysign(std::clamp(std::abs(value), kLeast, kLargest), value));
}

/// One of `words`; the first where the field is left out.
std::string_view word(const Fields& fields, const char* key, std::initializer_list<std::string_view> words) {
  const auto found = fields.find(key);
  if (found == fields.end()) return *words.begin();
  if (std::find(words.begin(), words.end(), found->second) == words.end())
    throw InputError(fmt::format("field '{}': {} is not replayed", key, found->second));
  return found->second;
}

std::string epilogue_of(const Fields& fields) {
  std::string activation(word(fields, "activation", {"none", "relu", "gelu_tanh"}));
  activation = activation == "none" ? "" : activation.substr(0, 4);
  if (word(fields, "bias_along", {"none", "rows"}) == "none") return activation;
  return activation.empty() ? "bias" : "bias+" + activation;
}

char letter(const Fields& fields, const char* key, std::string_view allowed) {
  const auto found = fields.find(key);
  if (found == fields.end()) throw InputError(fmt::format("field '{}': missing", key));
  if (found->second.size() == 1) {
    const char upper = found->second[0] == 'C' || found->second[0] == 'c' ? 'T' : found->second[0];
    if (allowed.find(upper) != std::string_view::npos) return upper;
  }
  throw InputError(fmt::format("field '{}': '{}' is not one of {}", key, found->second, allowed));
}

char flag(const Fields& fields, const char* key) {
  const char given = letter(fields, key, "NnTt");
  return given == 'n' ? 'N' : given == 't' ? 'T' : given;
}

std::string location(const Fields& fields) {
  const auto found = fields.find("location");
  if (found == fields.end()) return "";
  if (found->second.size() != 3 || found->second.find_first_not_of("dhm") != std::string_view::npos)
    throw InputError(fmt::format("field 'location': '{}' is not three of d, h, m", found->second));
  return std::string(found->second);
}

std::int64_t stride(const Fields& fields, const char* key) {
  return number<std::int64_t>(fields, key, 0, 0, kMaxExtent * (std::int64_t{1} << 12));
}

std::int64_t leading_dimension(const Fields& fields, const char* key, std::int64_t smallest) {
  const std::int64_t given = extent(fields, key, smallest);
  if (given < smallest) throw InputError(fmt::format("field '{}': {} is less than {}", key, given, smallest));
  return given;
}

/// Of the type of A and B, and of that of C, which is left out where it is the same.
char type_in(const Fields& fields) {
  constexpr std::string_view kElementLetters = "shbd";
  const char input = letter(fields, "type", kElementLetters);
  if (!fields.contains("type_c")) return input;
  const char output = letter(fields, "type_c", kElementLetters);
  for (const ProductType& type : kTypes)
    if (type.input == input && type.output == output) return type.letter;
  throw InputError(fmt::format("field 'type_c': no products of type {} have a C of type {}", input, output));
}

Case case_of(const Fields& fields) {
  Case one;
  one.set = "replay";
  for (const auto& [key, value] : fields)
    if (std::find(std::begin(kKnownFields), std::end(kKnownFields), key) == std::end(kKnownFields))
      throw InputError(fmt::format("field '{}': is not replayed", key));
  one.type = type_in(fields);
  one.epilogue = epilogue_of(fields);
  one.by_pointers = word(fields, "batch_kind", {"strided", "pointers"}) == "pointers";
  if (const auto found = fields.find("layout"); found != fields.end()) {
    if (found->second != "col" && found->second != "row")
      throw InputError(fmt::format("field 'layout': '{}' is neither col nor row", found->second));
    one.row_major = found->second == "row";
  }
  one.transa = flag(fields, "transa");
  one.transb = flag(fields, "transb");
  for (const auto& [key, value] : {std::pair{"m", &one.m}, {"n", &one.n}, {"k", &one.k}}) {
    if (!fields.contains(key)) throw InputError(fmt::format("field '{}': missing", key));
    *value = extent(fields, key, 0);
  }
  one.alpha = scalar(fields, "alpha", 1);
  one.beta = scalar(fields, "beta", 0);
  one.batch = extent(fields, "batch", 1);
  one.location = location(fields);
  if (one.m == 0 || one.n == 0 || one.k == 0 || one.batch == 0) return one;
  one.set_dense_layout(0);
  one.lda = leading_dimension(fields, "lda", one.lda);
  one.ldb = leading_dimension(fields, "ldb", one.ldb);
  one.ldc = leading_dimension(fields, "ldc", one.ldc);
  one.stride_a = one.lda * one.a_extent().strided;
  one.stride_b = one.ldb * one.b_extent().strided;
  one.stride_c = one.ldc * one.c_extent().strided;
  if (one.batch > 1 && !one.by_pointers) {
    one.stride_a = stride(fields, "stride_a");
    one.stride_b = stride(fields, "stride_b");
    one.stride_c = stride(fields, "stride_c");
  }
  check_epilogue(one);
  if (!one.is_representable()) throw InputError("the operands are too large to be addressed");
  return one;
}

void add(Case one, std::map<std::string, std::size_t>& index, Replay& replay) {
  ++replay.calls;
  if (one.m == 0 || one.n == 0 || one.k == 0 || one.batch == 0) {
    ++replay.empty_calls;
    return;
  }
  const auto [found, is_new] = index.emplace(one.id(), replay.cases.size());
  if (is_new)
    replay.cases.push_back(std::move(one));
  else
    ++replay.cases[found->second].calls;
}

}  // namespace

Replay parse_replay(std::string_view text, const std::string& origin) {
  Replay replay;
  std::map<std::string, std::size_t> index;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.starts_with(kPrefix)) {
      if (!line.empty()) ++replay.other_lines;
      continue;
    }
    try {
      add(case_of(fields_of(line)), index, replay);
    } catch (const InputError& error) {
      replay.problems.push_back(fmt::format("{}:{}: {}", origin, number, error.what()));
    }
  }
  return replay;
}

Replay read_replay(const std::string& path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
  } else {
    std::ifstream file(path, std::ios::binary);
    if (file) text << file.rdbuf();
    if (!file) throw InputError(fmt::format("{}: cannot be read", path));
  }
  Replay replay = parse_replay(text.str(), path == "-" ? "standard input" : path);
  if (replay.cases.empty())
    throw InputError(
        fmt::format("{}: holds no product to replay ({} other lines, {} not understood{}); make one with "
                    "XGEMM_VERBOSE=1 program 2> FILE",
                    path, replay.other_lines, replay.problems.size(),
                    replay.problems.empty() ? "" : ", first: " + replay.problems.front()));
  return replay;
}

}  // namespace xgemm::perf
