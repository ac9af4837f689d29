// The order in which a staged product moves its pieces: which part of which operand goes to which slot, and where the
// parts of C go. Pure: addresses are computed, never followed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/problem.h"
#include "transfer/paths.h"
#include "transfer/staging_copy.h"
#include "transfer/staging_plan.h"

namespace xgemm::transfer {

// Buffers of one operand on the device.
struct DeviceSlots {
  std::byte* memory = nullptr;
  std::int64_t slot_bytes = 0;
  int count = 0;
  std::byte* slot(std::int64_t load) const { return memory + load % count * slot_bytes; }
};

// One call: the product, its cut, and its operands on both sides.
struct StagedProduct {
  StagedProduct(const Problem& problem, const StagingPlan& plan, const Paths& paths, std::byte* device_memory);

  Problem problem;
  StagingPlan plan;
  Paths paths;
  DeviceSlots a, b, c;
};

// A part of an operand on its way to a slot.
struct Load {
  enum class Operand { a, b, c } operand = Operand::a;
  Path path = Path::unused;
  ColumnBlock block;                // merged
  const std::byte* host = nullptr;  // or another GPU's memory
  std::byte* slot = nullptr;
  std::int64_t number = 0;  // of this operand's loads
  int device = -1;          // that host points to, of Path::peer
};

// Over the pieces and their loads, in the order in which they are enqueued.
class InputWalk {
 public:
  explicit InputWalk(const StagedProduct& product) : product_(product) { stage(); }

  bool at_end() const { return index_ == product_.plan.pieces; }
  std::int64_t piece_index() const { return index_; }
  const Piece& piece() const { return piece_; }

  // The load to do next of this piece; null after the last.
  const Load* load() const { return load_ < load_count_ ? &loads_[static_cast<std::size_t>(load_)] : nullptr; }
  void next_load() { ++load_; }
  void next_piece() {
    ++index_;
    stage();
  }

  // The loads that this piece works on, by their numbers.
  std::int64_t a_load() const { return a_loads_ - 1; }
  std::int64_t b_load() const { return b_loads_ - 1; }

 private:
  void stage();
  void add(Load::Operand operand, std::int64_t number);

  const StagedProduct& product_;
  std::int64_t index_ = 0;
  Piece piece_;
  std::int64_t a_part_ = 0, b_part_ = 0, a_loads_ = 0, b_loads_ = 0;
  std::array<Load, 3> loads_;
  int load_ = 0, load_count_ = 0;
};

// Over the pieces of a staged C that come back, and their chunks.
class OutputWalk {
 public:
  explicit OutputWalk(const StagedProduct& product) : product_(product) { stage(); }

  std::int64_t piece_index() const { return index_; }
  const ColumnBlock& block() const { return block_; }  // merged
  std::byte* host() const { return host_; }
  std::byte* slot() const { return slot_; }

  bool has_chunk() const { return chunk_ < chunking_.count(); }
  Chunk chunk() const { return chunking_[chunk_]; }
  void next_chunk() { ++chunk_; }
  void next_piece() {
    ++index_;
    stage();
  }

  // What of C the walk has not come to.
  std::vector<Piece> rest() const;

 private:
  void stage();

  const StagedProduct& product_;
  std::int64_t index_ = 0;
  ColumnBlock block_;
  Chunking chunking_;
  std::int64_t chunk_ = 0;
  std::byte* host_ = nullptr;
  std::byte* slot_ = nullptr;
};

}  // namespace xgemm::transfer
