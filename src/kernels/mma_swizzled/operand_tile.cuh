// A slice of op(A) or op(B) in shared memory, laid out for the fragments that a warp reads from it: by ldmatrix of
// 16-bit elements, one by one of doubles.
//
// Both operands are seen as kMn x kK matrices: op(A) as it is, op(B) transposed. In memory a tile has the order of the
// operand, lines along K or along M (N), so copies never transpose; ldmatrix does where the fragments want it. A line's
// chunks of eight elements (16 bytes, one bank group) are permuted by the line's number: the eight lines that a matrix
// of ldmatrix touches at one place of theirs lie in eight different bank groups, and so do eight neighbouring chunks
// of a line. No bank conflict on the way in or out, and no padding:
//
//   chunk   0 1 2 3 4 5 6 7     lines of 128 bytes; shorter lines share 128 bytes, longer ones repeat the pattern
//   line 0  0 1 2 3 4 5 6 7
//   line 1  1 0 3 2 5 4 7 6
//   line 2  2 3 0 1 6 7 4 5     at line 2, bank group 0 holds chunk 2
//   ...
//
// Doubles are read one by one: sixteen lanes, which share an access, read four neighbours of four lines, whichever way
// lines run. So two bits of the chunk's number are permuted by two of the line's.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/fragments.cuh"
#include "kernels/common/kernel.cuh"

namespace xgemm::kernels {

constexpr int log2_of(int power_of_two) {
  int log = 0;
  while (1 << log < power_of_two) ++log;
  return log;
}

// The permutations for lines of kRun elements: of 16 bits, and doubles.
template <int kRun>
using ChunkSwizzle = XorSwizzle<3, 3, (kRun > 64 ? log2_of(kRun) - 3 : 3)>;
template <int kRun>
using DoubleSwizzle = XorSwizzle<2, 2, log2_of(kRun) - 2>;

template <class Element, int kRun>
struct TileSwizzle {
  static_assert(kRun >= 16 && (kRun & (kRun - 1)) == 0, "lines are powers of two: permutations are exclusive ors");
  using Type = std::conditional_t<sizeof(Element) == 2, ChunkSwizzle<kRun>, DoubleSwizzle<kRun>>;
  static constexpr int kColumn = 128 / int{sizeof(Element)};  // the swizzle changes offsets below this alone

  // The permuted offset of `base + step`, from that of base, where no bit is set in both: the permutation is linear.
  // With a step known at compile time, one exclusive or at most, and an addition that goes into the instruction.
  XGEMM_DEVICE static constexpr int advance(int permuted_base, int step) {
    const int permuted = Type::apply(step);
    return (permuted_base ^ (permuted & (kColumn - 1))) + (permuted & ~(kColumn - 1));
  }
};

template <class Element_, int kMn_, int kK_, bool kAlongK_>
struct OperandTile {
  using Element = Element_;
  static constexpr int kMn = kMn_;
  static constexpr int kK = kK_;
  static constexpr bool kAlongK = kAlongK_;  // lines are contiguous along K
  static constexpr int kRun = kAlongK ? kK : kMn;
  static constexpr int kLines = kAlongK ? kMn : kK;
  static constexpr int kElements = kMn * kK;
  using Swizzle = TileSwizzle<Element, kRun>;
  static_assert(sizeof(Element) == 2 || sizeof(Element) == 8);
  static_assert(kMn % 16 == 0 && kK % 16 == 0, "fragments are 16 x 16");

  struct Storage {
    alignas(128) Element data[kElements];
  };

  XGEMM_DEVICE static auto view(Storage& storage) {
    return shared_view < kMn, kK, kAlongK ? kK : 1, kAlongK ? 1 : kMn, typename Swizzle::Type > (storage.data);
  }
};

// A warp's fragments of kExtent rows of a tile. kAsRows: they are the rows of the product (its A, 16 x 16 each), else
// its columns (its B, two of 16 x 8 each); either way four registers hold 16 x 16 elements of the tile.
template <class Tile, int kExtent, bool kAsRows, bool kDoubles = sizeof(typename Tile::Element) == 8>
class FragmentReader {
 public:
  static constexpr int kDepth = 16;  // of K
  static constexpr int kCount = kExtent / 16;
  using Fragments = std::uint32_t[kCount][4];
  static_assert(kExtent % 16 == 0 && (kExtent & (kExtent - 1)) == 0 && Tile::kMn % kExtent == 0,
                "warps start at multiples of their extent");

  // `first`: the warp's first row.
  XGEMM_DEVICE explicit FragmentReader(int first) {
    // Which of the four matrices this lane gives the address of a line of: the registers are in the order of the
    // instruction's fragment, where rows change first in A and k in B.
    const int lane = gpu::lane_index();
    const int line = lane % 8, bit0 = lane / 8 % 2, bit1 = lane / 16;
    const int mn_block = kAsRows ? bit0 : bit1, k_block = kAsRows ? bit1 : bit0;
    const int mn = first + 8 * mn_block + (Tile::kAlongK ? line : 0);
    const int k = 8 * k_block + (Tile::kAlongK ? 0 : line);
    origin_ = Tile::Swizzle::Type::apply(Tile::kAlongK ? mn * Tile::kK + k : k * Tile::kMn + mn);
  }

  // The fragments of the 16 elements along K from k on.
  XGEMM_DEVICE void load(const typename Tile::Storage& storage, int k, Fragments& f, Loc loc = Loc::current()) const {
    XGEMM_UNROLL
    for (int i = 0; i < kCount; ++i) {
      const int step = Tile::kAlongK ? 16 * i * Tile::kK + k : k * Tile::kMn + 16 * i;
      gpu::load_matrices<!Tile::kAlongK>(f[i], storage.data + Tile::Swizzle::advance(origin_, step), loc);
    }
  }

 private:
  int origin_;
};

// The same of doubles: four registers hold 16 x 8 elements of the tile.
template <class Tile, int kExtent, bool kAsRows>
class FragmentReader<Tile, kExtent, kAsRows, true> {
 public:
  static constexpr int kDepth = 8;
  static constexpr int kCount = kExtent / 16;
  using Fragments = double[kCount][4];
  static_assert(kExtent % 16 == 0 && (kExtent & (kExtent - 1)) == 0 && Tile::kMn % kExtent == 0,
                "warps start at multiples of their extent");

  XGEMM_DEVICE explicit FragmentReader(int first) {
    const int lane = gpu::lane_index();
    const int mn = first + lane / 4, k = lane % 4;
    origin_ = Tile::Swizzle::Type::apply(Tile::kAlongK ? mn * Tile::kK + k : k * Tile::kMn + mn);
  }

  XGEMM_DEVICE void load(const typename Tile::Storage& storage, int k, Fragments& f, Loc loc = Loc::current()) const {
    XGEMM_UNROLL
    for (int i = 0; i < kCount; ++i) load(storage, k, i, f, loc);
  }

  // Those of 16 rows alone.
  XGEMM_DEVICE void load(const typename Tile::Storage& storage, int k, int i, Fragments& f,
                         Loc loc = Loc::current()) const {
    XGEMM_UNROLL
    for (int r = 0; r < 4; ++r) {
      // Rows change first in a product's A, k in its B.
      const int mn = 16 * i + 8 * (kAsRows ? r % 2 : r / 2), depth = k + 4 * (kAsRows ? r / 2 : r % 2);
      const int step = Tile::kAlongK ? mn * Tile::kK + depth : depth * Tile::kMn + mn;
      f[i][r] = gpu::read<Space::shared>(storage.data + Tile::Swizzle::advance(origin_, step), loc);
    }
  }

 private:
  int origin_;
};

}  // namespace xgemm::kernels
