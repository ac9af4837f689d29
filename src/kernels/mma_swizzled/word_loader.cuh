// WordLoader: slices of a 16-bit operand whose lines start anywhere (an odd leading dimension, a pointer to an odd
// element), through registers.
//
// Global memory is read by aligned 32-bit words, two elements each, a warp along a line. Where lines start at an odd
// element, words straddle the pairs of shared memory and are stored as two halves, without conflict. An even distance
// lies between the lines of a warp, so they start alike, and the way of storing is chosen once for a tile.
//
// A tile's line then begins and ends within words:
//   along K          the next slice begins with the word that this one ends in. It brings the last element, and stores
//                    it in the tile of the slice before: that one may be in shared memory, but not in use yet, and
//                    one slice more than there are is fetched.
//                        |(-1) 0|1 2|3 4| ... |run-3 run-2|
//   along M or N     the first element is fetched for itself.
//                        |0|1 2|3 4| ... |run-1 (run)|
//
// Nothing outside the operand is read: words that reach beyond its edges are read by element.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/kernel.cuh"
#include "kernels/common/partial_word.cuh"
#include "kernels/mma_swizzled/operand_tile.cuh"

namespace xgemm::kernels {

template <class View, class Tile, int kThreads>
class WordLoader {
  using Element = typename Tile::Element;
  using Storage = typename Tile::Storage;
  using Permutation = typename Tile::Swizzle::Type;

  static constexpr bool kAlongK = Tile::kAlongK;
  static constexpr int kWarps = kThreads / gpu::kWarpSize;
  static constexpr int kWords = Tile::kRun / 2;                                         // of a line
  static constexpr int kLaneWords = kWords < gpu::kWarpSize ? kWords : gpu::kWarpSize;  // of a line, read at once
  static constexpr int kLinesAtOnce = gpu::kWarpSize / kLaneWords;                      // by a warp
  static constexpr int kLinesPerWarp = Tile::kLines / kWarps;
  static constexpr int kGroups = kLinesPerWarp / kLinesAtOnce;
  static constexpr int kPanels = kWords / kLaneWords;
  static_assert(kWarps % 2 == 0 && Tile::kK % 2 == 0, "the lines of a warp, and slices, lie an even distance apart");
  static_assert(kPanels == 1 || !kAlongK);
  static_assert(kWarps * kLinesPerWarp == Tile::kLines && kGroups * kLinesAtOnce == kLinesPerWarp);
  static_assert(kAlongK || kLinesPerWarp <= gpu::kWarpSize, "first elements are fetched by a lane per line");
  static_assert(kLinesAtOnce == 1 || (kLinesAtOnce == 2 && kWarps <= 8), "see line()");

 public:
  // Slices of the rows from mn on.
  XGEMM_DEVICE WordLoader(const View& operand, std::int64_t mn)
      : stride_(kAlongK ? operand.row_stride() : operand.col_stride()) {
    const std::int64_t rows = operand.rows() - mn;
    mn_left_ = rows < kMnNeeded ? static_cast<int>(rows) : kMnNeeded;
    source_ = kAlongK ? operand.address(mn + first_line(), 0) : operand.address(mn, first_line());
    odd_ = static_cast<int>(reinterpret_cast<std::uintptr_t>(source_) >> 1 & 1);
    source_ += first_element();
  }

  // Starts the loads of the next slice. `k_left` of K are left from there on; `is_first`: it is the first one.
  XGEMM_DEVICE void fetch(std::int64_t k_left, bool is_first, Loc loc = Loc::current()) {
    if (k_left < Tile::kK || mn_left_ < 2 || (kAlongK && is_first && odd_ != 0)) {
      fetch_partial(k_left, is_first, loc);
    } else if (mn_left_ >= (kAlongK ? Tile::kMn : Tile::kMn + odd_)) {
      for_each_source(
          [&](int i, int, int, const Element* source) { word_[i] = gpu::read_constant(word_at(source), loc); });
    } else if constexpr (kAlongK) {
      // Lines beyond the edge repeat the last one that starts as they do: what is made of them is not stored.
      const int last = (mn_left_ - 1 - first_line()) & ~1;
      for_each_word([&](int i, int line_step, int) {
        word_[i] = gpu::read_constant(word_at(source_ + (line_step < last ? line_step : last) * stride_), loc);
      });
    } else {
      const int element = first_element();
      for_each_source([&](int i, int, int panel_step, const Element* source) {
        word_[i] = gpu::read_partial_word(half_at(source), mn_left_ - element - panel_step, loc);
      });
    }
    if constexpr (!kAlongK) {
      const int lane = gpu::opaque(gpu::lane_index()), own = own_line(lane);
      first_ = Element{};
      if (odd_ != 0 && lane < kLinesPerWarp && own < k_left)
        first_ = gpu::read_constant(source_ - first_element() + (own - first_line()) * stride_, loc);
    }
    source_ += Tile::kK * (kAlongK ? std::int64_t{1} : stride_);
  }

  // The other half of fetch(). `before`: where the slice before this one went; before the first one, a tile that is not
  // in use.
  XGEMM_DEVICE void deposit(Storage& tile, Storage& before, Loc loc = Loc::current()) const {
    const int lane = gpu::opaque(gpu::lane_index()), lane_word = lane % kLaneWords;
    const int base = line(0, lane / kLaneWords) * Tile::kRun + 2 * lane_word;
    if (odd_ == 0) {
      for_each_offset(base, [&](int i, int offset) {
        gpu::write<Space::shared>(reinterpret_cast<std::uint32_t*>(tile.data + offset), word_[i], loc);
      });
    } else if constexpr (kAlongK) {
      // The first word's low half belongs to the slice before.
      const bool carries = lane_word == 0;
      Element* const low = carries ? before.data : tile.data;
      for_each_offset(carries ? base + Tile::kRun - 1 : base - 1,
                      [&](int i, int offset) { gpu::write<Space::shared>(low + offset, low_half(word_[i]), loc); });
      for_each_offset(
          base, [&](int i, int offset) { gpu::write<Space::shared>(tile.data + offset, high_half(word_[i]), loc); });
    } else {
      for_each_offset(
          base, [&](int i, int offset) { gpu::write<Space::shared>(tile.data + offset + 1, low_half(word_[i]), loc); });
      // The last word reaches into the next tile.
      for_each_offset(base + 2, [&](int i, int offset) {
        if (i % kPanels < kPanels - 1 || lane_word < kLaneWords - 1) {
          gpu::write<Space::shared>(tile.data + offset, high_half(word_[i]), loc);
        } else {
          gpu::skip_store<Space::shared>(loc);
        }
      });
      if (lane < kLinesPerWarp)
        gpu::write<Space::shared>(tile.data + Permutation::apply(own_line(lane) * Tile::kRun), first_, loc);
    }
  }

 private:
  // Where K begins or ends: by lines and elements.
  XGEMM_DEVICE void fetch_partial(std::int64_t k_left, bool is_first, Loc loc) {
    const int k_inside = k_left < Tile::kK ? (k_left > -Tile::kK ? static_cast<int>(k_left) : -Tile::kK) : Tile::kK;
    const int lines = kAlongK ? mn_left_ : k_inside, run = kAlongK ? k_inside : mn_left_;
    const int first = first_line(), element = first_element();
    const bool lacks_low = is_first && element < 0;
    for_each_source([&](int i, int line_step, int panel_step, const Element* source) {
      const int inside = first + line_step < lines ? run - element - panel_step : 0;
      // A second element without a first is loaded as a first one: nothing waits for a load here.
      word_[i] =
          gpu::read_partial_word(half_at(source + (lacks_low ? 1 : 0)), lacks_low ? int{inside >= 2} : inside, loc);
    });
    if (lacks_low) for_each_word([&](int i, int, int) { word_[i] <<= 16; });
  }

  // Lines of a warp, by groups that are accessed at once. Two lines that share an access lie eight apart: the
  // permutation puts those into opposite halves of the banks.
  XGEMM_DEVICE static int line(int group, int half) {
    const int q = group * kWarps + gpu::opaque(gpu::warp_index());
    return kLinesAtOnce == 1 ? q : q % 8 + 8 * half + q / 8 * 16;
  }
  XGEMM_DEVICE static constexpr int line_step(int group) {
    const int q = group * kWarps;
    return kLinesAtOnce == 1 ? q : q % 8 + q / 8 * 16;
  }
  // The line whose first element a lane fetches.
  XGEMM_DEVICE static int own_line(int lane) { return line(lane / kLinesAtOnce, lane % kLinesAtOnce); }

  XGEMM_DEVICE static const std::uint32_t* word_at(const Element* source) {
    return reinterpret_cast<const std::uint32_t*>(source);
  }
  XGEMM_DEVICE static const std::uint16_t* half_at(const Element* source) {
    return reinterpret_cast<const std::uint16_t*>(source);
  }
  XGEMM_DEVICE static Element low_half(std::uint32_t word) { return Element{static_cast<std::uint16_t>(word)}; }
  XGEMM_DEVICE static Element high_half(std::uint32_t word) { return Element{static_cast<std::uint16_t>(word >> 16)}; }

  // f(number, lines and elements from the thread's first word)
  template <class F>
  XGEMM_DEVICE static void for_each_word(const F& f) {
    XGEMM_UNROLL
    for (int i = 0; i < kGroups * kPanels; ++i) f(i, line_step(i / kPanels), 2 * kLaneWords * (i % kPanels));
  }
  // f(number, lines and elements, address). One line's address follows from another's: all of them from the first would
  // be as many multiples of the stride, kept in registers.
  template <class F>
  XGEMM_DEVICE void for_each_source(const F& f) const {
    const Element* line_source = source_;
    for_each_word([&](int i, int line_step, int panel_step) {
      if (i > 0 && i % kPanels == 0) line_source += (line_step - WordLoader::line_step(i / kPanels - 1)) * stride_;
      f(i, line_step, panel_step, line_source + panel_step);
    });
  }
  // f(number, permuted offset in the tile), from that of the thread's first word.
  template <class F>
  XGEMM_DEVICE static void for_each_offset(int base, const F& f) {
    const int origin = Permutation::apply(base);
    for_each_word([&](int i, int line_step, int panel_step) {
      f(i, Tile::Swizzle::advance(origin, line_step * Tile::kRun + panel_step));
    });
  }

  // Line and element of the thread's first word in a slice. Computed where they are needed: kept, such numbers would
  // take registers from the words.
  XGEMM_DEVICE static int first_line() { return line(0, gpu::opaque(gpu::lane_index()) / kLaneWords); }
  XGEMM_DEVICE int first_element() const { return 2 * (gpu::lane_index() % kLaneWords) + (kAlongK ? -odd_ : odd_); }

  static constexpr int kMnNeeded = Tile::kMn + (kAlongK ? 0 : 1);

  const Element* source_;  // the thread's first word of the next slice
  std::int64_t stride_;    // between lines
  int mn_left_;
  int odd_;
  std::uint32_t word_[kGroups * kPanels];
  Element first_ = {};
};

}  // namespace xgemm::kernels
