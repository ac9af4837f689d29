// Implementation of shapes.h. SPDX-License-Identifier: BSD-3-Clause
#include "bench/shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "bench/element.h"
#include "bench/input_error.h"

namespace xgemm::perf {
namespace {

// Products of two extents and the element size stay far from 2^63, so that sizes can be computed without checks.
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 28;
constexpr std::size_t kMaxCases = 100000;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  constexpr std::string_view kBlank = " \t\r\v\f";
  for (std::size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    found.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlank, end);
  }
  return found;
}

std::int64_t parse_integer(std::string_view text, std::int64_t low, std::int64_t high) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) throw InputError(fmt::format("'{}' is too large", text));
  if (error != std::errc() || end != text.data() + text.size())
    throw InputError(fmt::format("'{}' is not a whole number", text));
  if (value < low || value > high) throw InputError(fmt::format("{} is not in {} to {}", value, low, high));
  return value;
}

/// Numbers from low to high.
void append_range(std::string_view text, std::int64_t low, std::int64_t high, std::vector<std::int64_t>& values) {
  const auto parts = split(text, ':');
  if (parts.size() > 3) throw InputError(fmt::format("'{}' is not first:last:step", text));
  const bool geometric = parts.size() == 3 && parts[2].starts_with('x');
  const std::int64_t first = parse_integer(parts[0], geometric ? std::max<std::int64_t>(low, 1) : low, high);
  if (parts.size() == 1) {
    values.push_back(first);
    return;
  }
  const std::int64_t last = parse_integer(parts[1], low, high);
  if (last < first) throw InputError(fmt::format("the range '{}' ends before it begins", text));
  const std::int64_t step = parts.size() < 3 ? 1
                            : geometric      ? parse_integer(parts[2].substr(1), 2, kMaxExtent)
                                             : parse_integer(parts[2], 1, kMaxExtent);
  for (std::int64_t value = first; value <= last; value = geometric ? value * step : value + step) {
    values.push_back(value);
    if (values.size() > kMaxCases) throw InputError(fmt::format("'{}' has more than {} values", text, kMaxCases));
  }
}

std::vector<std::int64_t> parse_integers(std::string_view text, std::int64_t low, std::int64_t high) {
  std::vector<std::int64_t> values;
  for (const auto part : split(text, ',')) append_range(part, low, high, values);
  return values;
}

/// The values that one line of a file, or the command line, allows for every field.
struct Group {
  std::vector<std::int64_t> m, n, k;  // n or k empty: as m
  std::vector<char> types;
  std::vector<std::string> trans;
  std::vector<float> alphas, betas;
  std::vector<std::string> epilogues;
  std::vector<std::int64_t> pads, offsets, batches;
  std::vector<bool> row_major{false};
  std::vector<bool> by_pointers{false};
  std::int64_t lda = 0, ldb = 0, ldc = 0;  // 0: from the pad
  std::vector<std::string> locations;
  std::string label;
};

Group group_of(const ShapeDefaults& defaults) {
  Group group;
  group.types = defaults.types;
  group.trans = defaults.trans;
  group.alphas = defaults.alphas;
  group.betas = defaults.betas;
  group.epilogues = defaults.epilogues;
  group.pads = defaults.pads;
  group.offsets = defaults.offsets;
  group.batches = defaults.batches;
  group.locations = {defaults.location};
  return group;
}

/// Calls `visit(value)` for every value, or once with `otherwise` when there is none.
template <class T, class Visit>
void each_or(const std::vector<T>& values, T otherwise, Visit visit) {
  if (values.empty()) return visit(otherwise);
  for (const T& value : values) visit(value);
}

void check_leading_dimension(const char* field, std::int64_t given, std::int64_t needed) {
  if (given != 0 && given < needed)
    throw InputError(fmt::format("field '{}': {} is less than {}, the stored rows", field, given, needed));
}

void apply_layout(const Group& group, std::int64_t pad, Case& one) {
  one.set_dense_layout(pad);
  check_leading_dimension("lda", group.lda, one.a_extent().contiguous);
  check_leading_dimension("ldb", group.ldb, one.b_extent().contiguous);
  check_leading_dimension("ldc", group.ldc, one.c_extent().contiguous);
  if (group.lda != 0) one.lda = group.lda;
  if (group.ldb != 0) one.ldb = group.ldb;
  if (group.ldc != 0) one.ldc = group.ldc;
  one.stride_a = one.lda * one.a_extent().strided;
  one.stride_b = one.ldb * one.b_extent().strided;
  one.stride_c = one.ldc * one.c_extent().strided;
}

/// All combinations but the extents: those are the caller's three outer loops.
void append_variants(const Group& group, const Case& shape, std::vector<Case>& cases) {
  Case one = shape;
  for (const char type : group.types)
    for (const std::string& trans : group.trans)
      for (const bool row_major : group.row_major)
        for (const std::string& location : group.locations)
          for (const std::int64_t batch : group.batches)
            for (const bool by_pointers : group.by_pointers)
              for (const std::int64_t offset : group.offsets)
                for (const float alpha : group.alphas)
                  for (const float beta : group.betas)
                    for (const std::int64_t pad : group.pads)
                      for (const std::string& epilogue : group.epilogues) {
                        one.type = type;
                        one.transa = trans[0];
                        one.transb = trans[1];
                        one.row_major = row_major;
                        one.location = location;
                        one.batch = batch;
                        one.by_pointers = by_pointers;
                        one.offset = offset;
                        one.alpha = alpha;
                        one.beta = beta;
                        one.epilogue = epilogue;
                        apply_layout(group, pad, one);
                        check_epilogue(one);
                        if (!one.is_representable()) throw InputError("the operands are too large to be addressed");
                        cases.push_back(one);
                        if (cases.size() > kMaxCases) throw InputError(fmt::format("more than {} cases", kMaxCases));
                      }
}

void append_group(const Group& group, const std::string& set, std::vector<Case>& cases) {
  Case shape;
  shape.set = set;
  shape.label = group.label;
  for (const std::int64_t m : group.m)
    each_or(group.n, m, [&](std::int64_t n) {
      each_or(group.k, m, [&](std::int64_t k) {
        shape.m = m;
        shape.n = n;
        shape.k = k;
        append_variants(group, shape, cases);
      });
    });
}

void set_field(std::string_view key, std::string_view value, Group& group) {
  if (value.empty()) throw InputError("has no value");
  if (key == "type")
    group.types = parse_types(value);
  else if (key == "trans")
    group.trans = parse_transposes(value);
  else if (key == "alpha")
    group.alphas = parse_floats(value);
  else if (key == "beta")
    group.betas = parse_floats(value);
  else if (key == "epilogue")
    group.epilogues = parse_epilogues(value);
  else if (key == "pad")
    group.pads = parse_pads(value);
  else if (key == "lda")
    group.lda = parse_integer(value, 1, kMaxExtent);
  else if (key == "ldb")
    group.ldb = parse_integer(value, 1, kMaxExtent);
  else if (key == "ldc")
    group.ldc = parse_integer(value, 1, kMaxExtent);
  else if (key == "offset")
    group.offsets = parse_offsets(value);
  else if (key == "batch")
    group.batches = parse_batches(value);
  else if (key == "batch_kind") {
    group.by_pointers.clear();
    for (const auto part : split(value, ',')) {
      if (part != "strided" && part != "pointers")
        throw InputError(fmt::format("'{}' is neither strided nor pointers", part));
      group.by_pointers.push_back(part == "pointers");
    }
  } else if (key == "label")
    group.label = value;
  else if (key == "location") {
    group.locations.clear();
    for (const auto part : split(value, ',')) group.locations.push_back(parse_location(part));
  } else if (key == "layout") {
    group.row_major.clear();
    for (const auto part : split(value, ',')) {
      if (part != "col" && part != "row") throw InputError(fmt::format("'{}' is neither col nor row", part));
      group.row_major.push_back(part == "row");
    }
  } else {
    throw InputError(
        "is not known; known are type, trans, alpha, beta, epilogue, pad, lda, ldb, ldc, offset, layout, batch, "
        "batch_kind, location, label");
  }
}

/// Runs `parse` and puts the name of the field before what it throws.
template <class Parse>
void parse_field(std::string_view field, Parse parse) {
  try {
    parse();
  } catch (const InputError& error) {
    throw InputError(fmt::format("field '{}': {}", field, error.what()));
  }
}

Group parse_line(const std::vector<std::string_view>& fields, const ShapeDefaults& defaults) {
  if (fields.size() < 3) throw InputError("a shape needs m, n and k");
  Group group = group_of(defaults);
  parse_field("m", [&] { group.m = parse_extents(fields[0]); });
  if (fields[1] != "=") parse_field("n", [&] { group.n = parse_extents(fields[1]); });
  if (fields[2] != "=") parse_field("k", [&] { group.k = parse_extents(fields[2]); });
  std::set<std::string_view> seen;
  for (std::size_t i = 3; i < fields.size(); ++i) {
    const std::size_t equals = fields[i].find('=');
    if (equals == std::string_view::npos)
      throw InputError(fmt::format("field {}: '{}' is not key=value", i + 1, fields[i]));
    const std::string_view key = fields[i].substr(0, equals);
    if (!seen.insert(key).second) throw InputError(fmt::format("field '{}': given twice", key));
    parse_field(key, [&] { set_field(key, fields[i].substr(equals + 1), group); });
  }
  return group;
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file && file.peek() != EOF) text << file.rdbuf();  // nothing to copy would be an error
  if (!file || !text) throw InputError(fmt::format("{}: cannot be read", path.string()));
  return std::move(text).str();
}

bool is_range(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789:x") == std::string_view::npos;
}

std::vector<Case> parse_cube(std::string_view text, const ShapeDefaults& defaults) {
  const auto parts = split(text, 'x');
  if (parts.size() != 3) throw InputError(fmt::format("'{}' is not MxNxK", text));
  return expand("shapes", parse_extents(parts[0]), parse_extents(parts[1]), parse_extents(parts[2]), defaults);
}

std::vector<Case> parse_one_argument(std::string_view text, const ShapeDefaults& defaults) {
  for (const BuiltinSet& set : builtin_sets())
    if (set.name == text)
      return parse_shape_text(set.text, fmt::format("{}.txt", set.name), std::string(set.name), defaults);
  if (is_range(text)) {
    const bool cube = text.find(':') == std::string_view::npos && text.find('x') != std::string_view::npos;
    return cube ? parse_cube(text, defaults) : expand("squares", parse_extents(text), {}, {}, defaults);
  }
  const std::filesystem::path path(text);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    std::vector<std::string_view> names;
    for (const BuiltinSet& set : builtin_sets()) names.push_back(set.name);
    throw InputError(fmt::format("'{}' is no file, range or set of shapes; sets: {}", text, fmt::join(names, ", ")));
  }
  if (!std::filesystem::is_regular_file(path, ignored) && !std::filesystem::is_fifo(path, ignored))
    throw InputError(fmt::format("{}: is not a file", path.string()));
  return parse_shape_text(read_text(path), path.string(), path.stem().string(), defaults);
}

}  // namespace

std::vector<std::int64_t> parse_extents(std::string_view text) {
  return parse_integers(text, 1, kMaxExtent);
}

std::vector<std::int64_t> parse_pads(std::string_view text) {
  return parse_integers(text, 0, kMaxExtent);
}

std::vector<std::int64_t> parse_offsets(std::string_view text) {
  return parse_integers(text, 0, 63);
}

std::vector<std::int64_t> parse_batches(std::string_view text) {
  return parse_integers(text, 1, 1 << 20);
}

std::vector<float> parse_floats(std::string_view text) {
  std::vector<float> values;
  for (const auto part : split(text, ',')) {
    float value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || !std::isfinite(value))
      throw InputError(fmt::format("'{}' is not a number", part));
    values.push_back(value);
  }
  return values;
}

std::vector<char> parse_types(std::string_view text) {
  std::vector<char> types;
  for (const char letter : text) {
    if (letter == ',') continue;
    if (find_type(letter) == nullptr)
      throw InputError(fmt::format("'{}' is not one of {}", text, list_of_types(false)));
    if (std::find(types.begin(), types.end(), letter) == types.end()) types.push_back(letter);
  }
  if (types.empty()) throw InputError("names no type");
  return types;
}

std::vector<std::string> parse_transposes(std::string_view text) {
  std::vector<std::string> flags;
  for (const auto part : split(text, ',')) {
    std::string flag(part);
    for (char& letter : flag) letter = letter == 'n' ? 'N' : letter == 't' ? 'T' : letter;
    if (flag.size() != 2 || flag.find_first_not_of("NT") != std::string::npos)
      throw InputError(fmt::format("'{}' is not NN, NT, TN or TT", part));
    flags.push_back(flag);
  }
  return flags;
}

std::vector<std::string> parse_epilogues(std::string_view text) {
  static constexpr std::string_view kKnown[] = {"bias", "relu", "gelu", "bias+relu", "bias+gelu"};
  std::vector<std::string> epilogues;
  for (const auto part : split(text, ',')) {
    if (part != "none" && std::find(std::begin(kKnown), std::end(kKnown), part) == std::end(kKnown))
      throw InputError(fmt::format("'{}' is not none, {}", part, fmt::join(kKnown, ", ")));
    epilogues.emplace_back(part == "none" ? "" : part);
  }
  return epilogues;
}

void check_epilogue(const Case& one) {
  if (one.epilogue.empty()) return;
  if (one.row_major || one.batch != 1 || one.by_pointers)
    throw InputError("an epilogue is timed of single products, column-major");
  if (one.has_bias() && one.output().letter != one.input().letter)
    throw InputError("a bias lies in A, and has to be of C's type");
}

std::string parse_location(std::string_view text) {
  if (text == "device") return "ddd";
  if (text == "host") return "hhh";
  if (text == "managed") return "mmm";
  if (text == "auto") return "";
  if (text.size() == 3 && text.find_first_not_of("dhm") == std::string_view::npos) return std::string(text);
  throw InputError(fmt::format("'{}' is not device, host, managed, auto or three of d, h, m (for A, B, C)", text));
}

std::vector<Case> expand(const std::string& set, const std::vector<std::int64_t>& m, const std::vector<std::int64_t>& n,
                         const std::vector<std::int64_t>& k, const ShapeDefaults& defaults) {
  Group group = group_of(defaults);
  group.m = m;
  group.n = n;
  group.k = k;
  std::vector<Case> cases;
  append_group(group, set, cases);
  return cases;
}

std::vector<Case> parse_shape_text(std::string_view text, const std::string& origin, const std::string& set,
                                   const ShapeDefaults& defaults) {
  std::vector<Case> cases;
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    const auto fields = words(line.substr(0, line.find('#')));
    if (fields.empty()) continue;
    try {
      append_group(parse_line(fields, defaults), set, cases);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}:{}: {}", origin, number, error.what()));
    }
  }
  if (cases.empty()) throw InputError(fmt::format("{}: holds no shape", origin));
  return cases;
}

std::vector<Case> parse_shape_argument(const std::string& argument, const ShapeDefaults& defaults) {
  std::vector<Case> cases;
  for (const auto part : split(argument, ',')) {
    auto more = parse_one_argument(part, defaults);
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

std::vector<Case> without_duplicates(std::vector<Case> cases) {
  std::set<std::string> seen;
  std::erase_if(cases, [&](const Case& one) { return !seen.insert(one.id()).second; });
  return cases;
}

}  // namespace xgemm::perf
