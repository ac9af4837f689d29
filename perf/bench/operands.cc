// Implementation of operands.h. SPDX-License-Identifier: BSD-3-Clause
#include "bench/operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "bench/element.h"
#include "bench/input_error.h"

namespace xgemm::perf {
namespace {

constexpr std::int64_t kAlignment = 256;
constexpr std::int64_t kMaxSets = 1024;
constexpr double kCacheMultiple = 4;
constexpr double kMemoryShare = 0.8;  // of what is free: cuBLAS, graphs and staging need the rest

/// SplitMix64: the same values on every machine, which <random>'s distributions do not promise.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  /// In (0, 1].
  double uniform() { return static_cast<double>((bits() >> 11) + 1) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

std::vector<double> make_values(DataKind kind, std::uint64_t seed, std::size_t count) {
  std::vector<double> values(count);
  Random random(seed);
  for (std::size_t i = 0; i < values.size(); ++i) {
    switch (kind) {
      case DataKind::kNormal: {  // Box-Muller, both halves of a pair
        const double radius = std::sqrt(-2 * std::log(random.uniform()));
        const double angle = 2 * std::numbers::pi * random.uniform();
        values[i] = radius * std::cos(angle);
        if (i + 1 < values.size()) values[++i] = radius * std::sin(angle);
        break;
      }
      case DataKind::kUniform:
        values[i] = 2 * random.uniform() - 1;
        break;
      case DataKind::kPositive:
        values[i] = random.uniform();
        break;
      case DataKind::kIntegers:
        values[i] = static_cast<int>(random.bits() % 5) - 2;
        break;
      case DataKind::kOnes:
        values[i] = 1;
        break;
      case DataKind::kZeros:
        values[i] = 0;
        break;
    }
  }
  return values;
}

/// Rounds values to the type, and returns them as they are stored.
std::vector<std::uint8_t> round_and_store(const Element& element, std::vector<double>& values) {
  std::vector<std::uint8_t> bytes(values.size() * static_cast<std::size_t>(element.size));
  const auto store = [&](std::size_t i, const auto& x) { std::memcpy(bytes.data() + sizeof(x) * i, &x, sizeof(x)); };
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto single = static_cast<float>(values[i]);
    if (element.size == 8) {
      store(i, values[i]);
    } else if (element.size == 4) {
      values[i] = single;
      store(i, single);
    } else {
      const std::uint16_t bits = element.narrow(single);
      values[i] = element.widen(bits);
      store(i, bits);
    }
  }
  return bytes;
}

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

DataKind parse_data_kind(const std::string& name) {
  if (name == "normal") return DataKind::kNormal;
  if (name == "uniform") return DataKind::kUniform;
  if (name == "positive") return DataKind::kPositive;
  if (name == "integers") return DataKind::kIntegers;
  if (name == "ones") return DataKind::kOnes;
  if (name == "zeros") return DataKind::kZeros;
  throw InputError(fmt::format("--data: '{}' is not normal, uniform, positive, integers, ones or zeros", name));
}

const char* describe(DataKind kind) {
  switch (kind) {
    case DataKind::kNormal:
      return "N(0,1)";
    case DataKind::kUniform:
      return "uniform in [-1,1]";
    case DataKind::kPositive:
      return "uniform in [0,1]";
    case DataKind::kIntegers:
      return "integers in [-2,2]";
    case DataKind::kOnes:
      return "ones";
    case DataKind::kZeros:
      return "zeros";
  }
  return "";
}

struct Operands::Layout {
  char kind_a, kind_b, kind_c;
  std::int64_t a, b, c;                      // bytes from the start of a set to the operand
  std::map<char, std::int64_t> input_pitch;  // bytes from a set to the next, per kind of memory
  std::map<char, std::int64_t> output_pitch;
  std::map<char, std::int64_t> touched;  // bytes that one call touches, per kind of memory
};

Operands::Operands(Device& device, DataKind kind, std::uint64_t seed, std::size_t block_elements) : device_(device) {
  const Element& fp64 = element_of('d');
  Values& values = values_[fp64.letter];
  values.inputs.rounded = make_values(kind, seed, block_elements);
  values.outputs.rounded = make_values(kind, seed + 1, block_elements);
  for (Block* block : {&values.inputs, &values.outputs}) block->stored = round_and_store(fp64, block->rounded);
}

void Operands::make_values_of(const Element& element) {
  if (values_.contains(element.letter)) return;
  Values values = values_.at('d');
  for (Block* block : {&values.inputs, &values.outputs}) block->stored = round_and_store(element, block->rounded);
  values_.emplace(element.letter, std::move(values));
}

Operands::~Operands() {
  for (auto& [kind, arena] : inputs_) device_.release(kind, arena.memory);
  for (auto* arenas : {&outputs_, &pointers_})
    for (auto& [kind, arena] : *arenas) device_.release(kind, arena.memory);
}

Operands::Layout Operands::layout_of(const Case& one) const {
  Layout layout{one.location[0], one.location[1], one.location[2], 0, 0, 0, {}, {}, {}};
  const auto place = [&](std::map<char, std::int64_t>& pitch, char kind, std::int64_t span, std::int64_t size) {
    const std::int64_t start = pitch[kind] + one.offset * size;
    pitch[kind] = round_up(start + span * size, kAlignment);
    layout.touched[kind] += span * size;
    return start;
  };
  layout.a = place(layout.input_pitch, layout.kind_a, one.a_span(), one.input().size);
  layout.b = place(layout.input_pitch, layout.kind_b, one.b_span(), one.input().size);
  layout.c = place(layout.output_pitch, layout.kind_c, one.c_span(), one.output().size);
  return layout;
}

std::int64_t Operands::wanted_sets(const Layout& layout) const {
  std::int64_t sets = 1;
  for (const auto& [kind, bytes] : layout.touched) {
    const DeviceFacts& facts = device_.facts();
    const std::int64_t cache = kind == 'h' ? facts.host_cache_bytes : facts.cache_bytes;
    const double needed = kCacheMultiple * static_cast<double>(cache) / static_cast<double>(bytes);
    sets = std::max(sets, static_cast<std::int64_t>(std::ceil(needed)));
  }
  return sets;
}

std::int64_t Operands::affordable_sets(const Layout& layout) const {
  std::map<char, std::int64_t> pitch = layout.input_pitch;
  for (const auto& [kind, bytes] : layout.output_pitch) pitch[kind] += bytes;
  std::int64_t sets = kMaxSets;
  for (const auto& [kind, bytes] : pitch) {
    const auto held = [&](const std::map<char, Arena>& arenas) {
      const auto found = arenas.find(kind);
      return found == arenas.end() ? 0.0 : static_cast<double>(found->second.capacity);
    };
    const double room = kMemoryShare * static_cast<double>(device_.available(kind)) + held(inputs_) + held(outputs_);
    sets = std::min(sets, static_cast<std::int64_t>(room / static_cast<double>(bytes)));
  }
  return sets;
}

bool Operands::reserve(Arena& arena, char kind, std::size_t bytes) {
  if (arena.capacity >= bytes) return true;
  if (arena.memory != nullptr) device_.release(kind, arena.memory);
  arena = Arena{};
  arena.memory = static_cast<char*>(device_.allocate(kind, bytes));
  arena.capacity = arena.memory == nullptr ? 0 : bytes;
  return arena.memory != nullptr;
}

void Operands::tile(Arena& arena, const std::vector<std::uint8_t>& block, std::size_t bytes) {
  std::size_t done = std::min(block.size(), bytes);
  device_.copy(arena.memory, block.data(), done);
  // Doubling keeps the period, since what is there is a whole number of blocks until the last step.
  while (done < bytes) {
    const std::size_t more = std::min(done, bytes - done);
    device_.copy(arena.memory + done, arena.memory, more);
    done += more;
  }
  arena.filled = bytes;
}

std::string Operands::prepare(const Case& one) {
  case_ = one;
  sets_.clear();
  make_values_of(one.input());
  make_values_of(one.output());
  const Layout layout = layout_of(one);
  const std::int64_t wanted = wanted_sets(layout);
  const std::int64_t sets = std::min(wanted, affordable_sets(layout));
  if (sets < 1) {
    double total = 0;
    for (const auto& [kind, bytes] : layout.touched) total += static_cast<double>(bytes);
    return fmt::format("{:.1f} GB of operands do not fit into memory", total * 1e-9);
  }
  for (const auto& [kind, pitch] : layout.input_pitch) {
    Arena& arena = inputs_[kind];
    const auto bytes = static_cast<std::size_t>(pitch * sets);
    if (!reserve(arena, kind, bytes)) return fmt::format("no {:.1f} GB of memory in one piece", bytes * 1e-9);
    if (arena.element != one.input().letter || arena.filled < bytes) tile(arena, inputs().stored, bytes);
    arena.element = one.input().letter;
  }
  for (const auto& [kind, pitch] : layout.output_pitch) {
    output_bytes_used_ = static_cast<std::size_t>(pitch * sets);
    if (!reserve(outputs_[kind], kind, output_bytes_used_))
      return fmt::format("no {:.1f} GB of memory in one piece", output_bytes_used_ * 1e-9);
  }
  for (std::int64_t i = 0; i < sets; ++i)
    sets_.push_back({inputs_[layout.kind_a].memory + layout.a + i * layout.input_pitch.at(layout.kind_a),
                     inputs_[layout.kind_b].memory + layout.b + i * layout.input_pitch.at(layout.kind_b),
                     outputs_[layout.kind_c].memory + layout.c + i * layout.output_pitch.at(layout.kind_c)});
  if (one.by_pointers && !make_pointers()) return "no memory for the arrays of pointers";
  a_first_ = static_cast<std::size_t>(layout.a / one.input().size);
  b_first_ = static_cast<std::size_t>(layout.b / one.input().size);
  c_first_ = static_cast<std::size_t>(layout.c / one.output().size);
  cold_ = sets >= wanted;
  footprint_ = 0;
  for (const auto& [kind, bytes] : layout.touched) footprint_ += bytes * sets;
  reset_outputs();
  return "";
}

bool Operands::make_pointers() {
  const auto entries = static_cast<std::size_t>(case_.batch);
  std::vector<const void*> all;
  for (const OperandSet& set : sets_) {
    const auto add = [&](const void* data, std::int64_t stride, std::int64_t size) {
      for (std::int64_t i = 0; i < case_.batch; ++i) all.push_back(static_cast<const char*>(data) + i * stride * size);
    };
    add(set.a, case_.stride_a, case_.input().size);
    add(set.b, case_.stride_b, case_.input().size);
    add(set.c, case_.stride_c, case_.output().size);
  }
  const char kind = case_.location[0];
  Arena& arena = pointers_[kind];
  const std::size_t bytes = all.size() * sizeof(void*);
  if (!reserve(arena, kind, bytes)) return false;
  device_.copy(arena.memory, all.data(), bytes);
  auto* next = reinterpret_cast<void**>(arena.memory);
  for (OperandSet& set : sets_) {
    set.a_pointers = next, set.b_pointers = next + entries, set.c_pointers = next + 2 * entries;
    next += 3 * entries;
  }
  return true;
}

void Operands::reset_outputs() {
  tile(outputs_[case_.location[2]], outputs().stored, output_bytes_used_);
}

void Operands::prepare_check() {
  Arena& arena = outputs_[case_.location[2]];
  const std::size_t end =
      (c_first_ + static_cast<std::size_t>(case_.c_span())) * static_cast<std::size_t>(case_.output().size);
  // All bits set are a NaN in every type.
  if (case_.beta == 0)
    device_.fill(arena.memory, 0xff, end);
  else
    tile(arena, outputs().stored, std::max(end, output_bytes_used_));
}

std::vector<std::uint8_t> Operands::fetch_output() const {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(case_.c_span() * case_.output().size));
  device_.copy(bytes.data(), sets_[0].c, bytes.size());
  return bytes;
}

}  // namespace xgemm::perf
