// The data that is multiplied: random values in large arenas, cut into operand sets that calls rotate through.
//
// Every arena is tiled from one block of host values with an odd period, so that filling gigabytes is a copy and any
// element can be known on the host without copying it back. Sets lie one behind the other; a run over all of them
// touches at least four times the cache, so that a set has left the cache before its turn comes again.
//
//     inputs   | A0 . B0 . | A1 . B1 . | ...      `.`: up to the next 256-byte boundary (plus Case::offset elements)
//     outputs  | C0 . | C1 . | ...
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/case.h"
#include "bench/device.h"

namespace xgemm::perf {

enum class DataKind { kNormal, kUniform, kPositive, kIntegers, kOnes, kZeros };

/// normal, uniform, positive, integers, ones, zeros. Throws InputError.
DataKind parse_data_kind(const std::string& name);
/// How the kind is named in output: "N(0,1)".
const char* describe(DataKind kind);

/// The values behind an operand, as an endless repetition of a block.
class OperandValues {
 public:
  OperandValues(const std::vector<double>& block, std::size_t first) : block_(&block), first_(first) {}
  double operator[](std::int64_t index) const {
    return (*block_)[(first_ + static_cast<std::size_t>(index)) % block_->size()];
  }

 private:
  const std::vector<double>* block_;
  std::size_t first_;
};

struct OperandSet {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  // Of a case by pointers: arrays of those to the batch's matrices, where the matrices are.
  const void* const* a_pointers = nullptr;
  const void* const* b_pointers = nullptr;
  void* const* c_pointers = nullptr;
};

class Operands {
 public:
  /// `block_elements`: the period of the values; odd, so that no row length is a multiple of it.
  Operands(Device& device, DataKind kind, std::uint64_t seed, std::size_t block_elements = (std::size_t{1} << 21) + 17);
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;
  ~Operands();

  /// Lays out and fills the sets of a case. An empty text, or why it does not fit.
  std::string prepare(const Case& one);

  std::int64_t count() const { return static_cast<std::int64_t>(sets_.size()); }
  const OperandSet& set(std::int64_t index) const { return sets_[static_cast<std::size_t>(index)]; }
  /// Whether all sets together exceed four times the cache; false for tiny products, whose number of sets is capped.
  bool cold() const { return cold_; }
  std::int64_t footprint() const { return footprint_; }

  /// Gives C of every set its initial values back: calls with |beta| >= 1 would otherwise grow it without bound.
  void reset_outputs();

  /// Prepares C of set 0 for a check: NaN where the product must not read it (beta = 0), its initial values else.
  void prepare_check();
  /// Bytes of C of set 0, gaps between columns included.
  std::vector<std::uint8_t> fetch_output() const;
  /// What C of set 0 held before the checked call; only with beta != 0.
  OperandValues a() const { return {inputs().rounded, a_first_}; }
  OperandValues b() const { return {inputs().rounded, b_first_}; }
  OperandValues c() const { return {outputs().rounded, c_first_}; }

 private:
  struct Arena {
    char* memory = nullptr;
    std::size_t capacity = 0;
    std::size_t filled = 0;  // bytes that hold values of `element`
    char element = 0;
  };
  /// A block of values of one element.
  struct Block {
    std::vector<double> rounded;
    std::vector<std::uint8_t> stored;
  };
  struct Values {
    Block inputs, outputs;
  };
  struct Layout;  // offsets of a case's first set, bytes from a set to the next

  Layout layout_of(const Case& one) const;
  std::int64_t wanted_sets(const Layout& layout) const;
  std::int64_t affordable_sets(const Layout& layout) const;
  void make_values_of(const Element& element);
  const Block& inputs() const { return values_.at(case_.input().letter).inputs; }
  const Block& outputs() const { return values_.at(case_.output().letter).outputs; }
  bool reserve(Arena& arena, char kind, std::size_t bytes);
  void tile(Arena& arena, const std::vector<std::uint8_t>& block, std::size_t bytes);
  /// The arrays of all sets, where a case has them; false if there is no memory.
  bool make_pointers();

  Device& device_;
  std::map<char, Values>
      values_;  // by element: doubles from the start, the others rounded from them when they are asked for
  std::map<char, Arena> inputs_;
  std::map<char, Arena> outputs_;
  std::map<char, Arena> pointers_;
  Case case_;
  std::vector<OperandSet> sets_;
  std::size_t a_first_ = 0, b_first_ = 0, c_first_ = 0;  // element indices in their arenas
  std::size_t output_bytes_used_ = 0;
  bool cold_ = false;
  std::int64_t footprint_ = 0;
};

}  // namespace xgemm::perf
