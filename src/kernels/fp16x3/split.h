// What the pass before an fp16x3 product is told, and where things lie in its workspace. Plain data and pure host
// code.
//
// A line is a row of op(A) or a column of op(B). Its elements are scaled by a power of two, so that the largest lies in
// [2^14, 2^15), and split: x = (high + low / 2^11) * factor, high and low in fp16. docs/numerics.md derives what that
// keeps, for which elements.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/prepared.h"
#include "kernels/common/params.h"
#include "kernels/wgmma_tma/params.h"

namespace xgemm::kernels {

struct SplitConstants {
  // Of what is computed at once: sums that the bounds of docs/numerics.md are for, and a workspace of 512 MiB for
  // parts, which the operands of a product take, or those of as many products of a batch as fit.
  static constexpr std::int64_t kMostExtent = 8192, kLeastK = 512;
  static constexpr std::int64_t kMostElements = 2 * kMostExtent * kMostExtent;

  // Products of a batch; an operand that they share has a batch stride of 0.
  static constexpr std::int64_t most_products(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t stride_a,
                                              std::int64_t stride_b) {
    const std::int64_t shared = ((stride_a == 0 ? m : 0) + (stride_b == 0 ? n : 0)) * k;
    const std::int64_t own = ((stride_a == 0 ? 0 : m) + (stride_b == 0 ? 0 : n)) * k;
    constexpr std::int64_t kMostOfShared = 1024;
    return own == 0 ? kMostOfShared : std::max<std::int64_t>(1, (kMostElements - shared) / own);
  }

  static constexpr int kLineExponent = 14;  // of a line's largest element when it is scaled
  // Exponents of the largest elements of lines whose products neither overflow nor fall below what fp32 holds.
  static constexpr int kLeastExponent = -50, kMostExponent = 50;
  // Scaled elements from 2^kFullExponent on keep all their bits but half of the last one.
  static constexpr int kFullExponent = -13;

  // Of a product over k, the exponent of the least element that may occur beside 0: its error, relative to itself, is
  // at most k / 8 units of 2^-23.
  static constexpr int least_element_exponent(std::int64_t k) {
    return kFullExponent + 1 -
           static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(8, k)) / 8));
  }
};

// An operand of all products of a batch, that have one entry of it each or share the only one. Strides in elements; mn
// is the axis that it shares with C.
struct SplitOperand {
  const float* data;
  std::int64_t mn_stride, k_stride, batch_stride;
  std::int64_t mn;
  std::int64_t entries;  // 0: there is nothing to split
  std::uint16_t* parts;  // of an entry after the other: all lines of high parts, then of low ones, along k
  std::int64_t part;     // elements from one part to the other
  float* factors;        // of lines, `lines` of an entry
  std::int64_t lines;
  std::int64_t tiles;  // clusters along mn
};

struct SplitParams {
  static constexpr int kThreads = 512;
  static constexpr int kLines = 16;                                             // of a cluster
  static constexpr int kMostCtas = 8;                                           // of a cluster: they share k
  static constexpr int kMostStretch = SplitConstants::kMostExtent / kMostCtas;  // of k, that a CTA holds in registers

  SplitOperand operands[2];
  std::int64_t k;
  std::int64_t ld;                   // elements from one line of parts to the next
  int ctas;                          // of a cluster
  unsigned per_cta;                  // 2^31 / ctas, rounded up
  int stretch;                       // of k, of a CTA; a multiple of kLdMultiple
  float least_element;               // scaled
  unsigned* unsafe;                  // becomes 1 where the product has to be computed otherwise,
  unsigned* count;                   // and is counted here, if this is not null
  bool clears;                       // the word `unsafe` first
  const unsigned* unsafe_before[2];  // of operands that were split before: theirs counts as well; or null

  std::int64_t clusters() const {
    return operands[0].entries * operands[0].tiles + operands[1].entries * operands[1].tiles;
  }

  // The cluster of a CTA: a division, by a multiplication that is exact up to 2^28 CTAs.
  XGEMM_HOST_DEVICE std::int64_t cluster_of(std::int64_t cta) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(static_cast<std::uint32_t>(cta)) * per_cta >> 31);
  }

  // Of operands that are added later.
  static SplitParams over(std::int64_t k) {
    SplitParams p{};
    p.k = k;
    p.ld = rounded_up(k, kLdMultiple);
    p.ctas = static_cast<int>((p.ld + kMostStretch - 1) / kMostStretch);
    p.per_cta = ((1u << 31) + static_cast<unsigned>(p.ctas) - 1) / static_cast<unsigned>(p.ctas);
    p.stretch = static_cast<int>(rounded_up((p.ld + p.ctas - 1) / p.ctas, kLdMultiple));
    p.least_element = 1.0f / static_cast<float>(1 << -SplitConstants::least_element_exponent(k));
    p.clears = true;
    return p;
  }

  static constexpr std::int64_t kLdMultiple = 64;  // whole lines of the L2
  static constexpr std::int64_t rounded_up(std::int64_t x, std::int64_t multiple) {
    return (x + multiple - 1) / multiple * multiple;
  }
};

// Where what an operand is split into lies in memory: a word that says whether it is unsafe, for operands that are
// kept, then the factors and parts.
class SplitStorage {
 public:
  SplitStorage(std::int64_t mn, std::int64_t k, std::int64_t entries) : mn_(mn), entries_(entries) {
    const auto aligned = [](std::int64_t bytes) { return SplitParams::rounded_up(bytes, kAlignment); };
    ld_ = SplitParams::rounded_up(k, SplitParams::kLdMultiple);
    parts_ = kFactors + aligned(entries * factors_of_entry(mn) * 4);
    bytes_ = parts_ + aligned(entries * 2 * mn * ld_ * 2);
  }

  std::int64_t bytes() const { return bytes_; }

  // data: of the operand, with its strides.
  SplitOperand operand(const void* data, std::int64_t mn_stride, std::int64_t k_stride, std::int64_t batch_stride,
                       void* memory) const {
    return {static_cast<const float*>(data),
            mn_stride,
            k_stride,
            batch_stride,
            mn_,
            entries_,
            at<std::uint16_t>(memory, parts_),
            mn_ * ld_,
            at<float>(memory, kFactors),
            factors_of_entry(mn_),
            (mn_ + SplitParams::kLines - 1) / SplitParams::kLines};
  }

  // What the product reads.
  const void* parts(void* memory) const { return at<std::uint16_t>(memory, parts_); }
  const float* factors(void* memory) const { return at<float>(memory, kFactors); }
  std::int64_t ld() const { return ld_; }
  std::int64_t batch_stride() const { return entries_ > 1 ? 2 * mn_ * ld_ : 0; }

  static unsigned* word(void* memory) { return static_cast<unsigned*>(memory); }
  static const unsigned* word_of(const float* factors) {
    return reinterpret_cast<const unsigned*>(factors) - kFactors / sizeof(unsigned);
  }

 private:
  static constexpr std::int64_t kAlignment = 128, kFactors = kAlignment;

  template <class T>
  static T* at(void* memory, std::int64_t offset) {
    return reinterpret_cast<T*>(static_cast<unsigned char*>(memory) + offset);
  }

  std::int64_t mn_, entries_;
  std::int64_t ld_, parts_, bytes_;
};

// A product as its split is planned.
struct SplitShape {
  std::int64_t m, n, k, batch;
  bool strided_a, strided_b;  // entries of their own for the products of a batch
  bool split_a, split_b;      // they are not in parts already
};

// The blocks of C that a product is computed in: one where the workspace has room for all parts, else as many as it
// takes. That is no more than an order of work: which elements of A and B are looked at before it is decided whether
// the product is computed from parts does not depend on it, and every bit of C comes out the same.
class SplitBlocks {
 public:
  SplitBlocks(const SplitShape& all, std::size_t room) : all_(all), block_(all) {
    while (bytes_of(block_) > room && shrink(all, block_)) {
    }
  }

  static std::size_t all_bytes(const SplitShape& all) { return bytes_of(all); }
  static std::size_t least_bytes(const SplitShape& all) {
    SplitShape block = all;
    while (shrink(all, block)) {
    }
    return bytes_of(block);
  }

  std::int64_t count() const {
    return blocks(all_.batch, block_.batch) * blocks(all_.n, block_.n) * blocks(all_.m, block_.m);
  }

  // Block by block, the pass, and the product of what it leaves.
  struct Block {
    SplitParams pass;
    GemmParams product;
  };
  Block block(const GemmParams& g, std::int64_t index, void* workspace) const {
    const std::int64_t blocks_m = blocks(all_.m, block_.m), blocks_n = blocks(all_.n, block_.n);
    const std::int64_t row = index % blocks_m * block_.m, column = index / blocks_m % blocks_n * block_.n;
    const std::int64_t entry = index / blocks_m / blocks_n * block_.batch;
    Block b = {SplitParams::over(all_.k), g};
    SplitParams& pass = b.pass;
    GemmParams& p = b.product;
    p.m = std::min(block_.m, all_.m - row), p.n = std::min(block_.n, all_.n - column);
    p.batch_count = std::min(block_.batch, all_.batch - entry);
    const auto offset = [&](const auto& x, std::int64_t i, std::int64_t j) {
      return i * x.row_stride + j * x.col_stride + entry * x.batch_stride;
    };
    p.c.data = static_cast<float*>(g.c.data) + offset(g.c, row, column);
    pass.unsafe = static_cast<unsigned*>(workspace);
    auto* memory = static_cast<unsigned char*>(workspace) + kWordBytes;
    if (all_.split_a) {
      const SplitStorage storage(p.m, p.k, all_.strided_a ? p.batch_count : 1);
      const float* const data = static_cast<const float*>(g.a.data) + offset(g.a, row, 0);
      pass.operands[0] = storage.operand(data, g.a.row_stride, g.a.col_stride, g.a.batch_stride, memory);
      p.a = {storage.parts(memory), storage.ld(), 1, storage.batch_stride()};
      p.factors_a = storage.factors(memory);
      memory += storage.bytes();
    } else {
      pass.unsafe_before[0] = SplitStorage::word_of(g.factors_a);
    }
    if (all_.split_b) {
      const SplitStorage storage(p.n, p.k, all_.strided_b ? p.batch_count : 1);
      const float* const data = static_cast<const float*>(g.b.data) + offset(g.b, 0, column);
      pass.operands[1] = storage.operand(data, g.b.col_stride, g.b.row_stride, g.b.batch_stride, memory);
      p.b = {storage.parts(memory), 1, storage.ld(), storage.batch_stride()};
      p.factors_b = storage.factors(memory);
    } else {
      pass.unsafe_before[1] = SplitStorage::word_of(g.factors_b);
    }
    p.condition = {.word = pass.unsafe, .value = 0, .equal = true};
    return b;
  }

 private:
  static constexpr std::int64_t kWordBytes = 128;

  static std::int64_t blocks(std::int64_t extent, std::int64_t block) { return (extent + block - 1) / block; }

  static std::size_t bytes_of(const SplitShape& x) {
    const auto bytes = [&](std::int64_t mn, bool strided, bool split) {
      return split ? SplitStorage(mn, x.k, strided ? x.batch : 1).bytes() : 0;
    };
    return static_cast<std::size_t>(kWordBytes + bytes(x.m, x.strided_a, x.split_a) +
                                    bytes(x.n, x.strided_b, x.split_b));
  }

  // Halves a block, where that saves memory and it is more than the least.
  static bool shrink(const SplitShape& all, SplitShape& block) {
    constexpr std::int64_t kLeast = 256;
    const auto half = [](std::int64_t extent) { return SplitParams::rounded_up((extent + 1) / 2, kLeast); };
    const bool along_m = all.split_a && block.m > kLeast, along_n = all.split_b && block.n > kLeast;
    if (block.batch > 1 && ((all.strided_a && all.split_a) || (all.strided_b && all.split_b))) {
      block.batch = (block.batch + 1) / 2;
    } else if (along_m && (block.m >= block.n || !along_n)) {
      block.m = half(block.m);
    } else if (along_n) {
      block.n = half(block.n);
    } else {
      return false;
    }
    return true;
  }

  SplitShape all_, block_;
};

inline SplitShape split_shape(const GemmParams& g) {
  return {.m = g.m,
          .n = g.n,
          .k = g.k,
          .batch = g.batch_count,
          .strided_a = g.batch_count > 1 && g.a.batch_stride != 0,
          .strided_b = g.batch_count > 1 && g.b.batch_stride != 0,
          .split_a = g.factors_a == nullptr,
          .split_b = g.factors_b == nullptr};
}

// The pass over an operand that is kept in memory of SplitStorage(lines, k, 1).bytes() for several products.
inline SplitParams pass_of(const OperandLines& x, void* memory) {
  SplitParams pass = SplitParams::over(x.k);
  pass.operands[0] = SplitStorage(x.lines, x.k, 1).operand(x.data, x.line_stride(), x.k_stride(), 0, memory);
  pass.unsafe = SplitStorage::word(memory);
  return pass;
}

// A product of operands that are kept so; null: of one that is not.
inline GemmParams in_parts(GemmParams g, void* memory_a, void* memory_b) {
  if (memory_a != nullptr) {
    const SplitStorage storage(g.m, g.k, 1);
    g.a = {storage.parts(memory_a), storage.ld(), 1, 0};
    g.factors_a = storage.factors(memory_a);
  }
  if (memory_b != nullptr) {
    const SplitStorage storage(g.n, g.k, 1);
    g.b = {storage.parts(memory_b), 1, storage.ld(), 0};
    g.factors_b = storage.factors(memory_b);
  }
  return g;
}

// A product of fp16x3 in a workspace of `room` bytes, whose first word is that of its Condition: calls split(params)
// for the pass and multiply(product) for what it leaves, until one of them returns false. count: where a product is
// counted that is left to the fallback.
template <class Split, class Multiply>
bool run_split_product(const GemmParams& g, std::size_t room, void* workspace, unsigned* count, const Split& split,
                       const Multiply& multiply) {
  const SplitBlocks blocks(split_shape(g), room);
  const std::int64_t number = blocks.count();
  const auto run = [&](std::int64_t i, bool clears, bool multiplies) {
    SplitBlocks::Block block = blocks.block(g, i, workspace);
    block.pass.clears = clears;
    block.pass.count = count;
    return split(block.pass) && (!multiplies || multiply(block.product));
  };
  if (number == 1) return run(0, true, true);
  // Blocks use the same memory: first it is found out whether any of them is unsafe.
  for (const bool multiplies : {false, true})
    for (std::int64_t i = 0; i < number; ++i)
      if (!run(i, !multiplies && i == 0, multiplies)) return false;
  return true;
}

}  // namespace xgemm::kernels
