// One product to be timed: everything that decides what work a library has to do, and nothing about how it does it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "bench/element.h"

namespace xgemm::perf {

struct Case {
  std::string set;    // the list it comes from ("squares"); geometric means are taken per set
  std::string label;  // what it is in its application ("gate_up"); may be empty
  char type = 's';    // s: fp32; d: fp64; h: fp16, b: bf16, both with fp32 sums; H, B: the same with C in fp32
  bool row_major = false;
  char transa = 'N';  // N or T
  char transb = 'N';
  std::int64_t m = 0, n = 0, k = 0;
  float alpha = 1;
  float beta = 0;
  /// What becomes of the product before it is stored: "" or "bias", "relu", "gelu" (by tanh), "bias+relu", "bias+gelu".
  /// The bias has an element for each row of C; it is the first m elements of A.
  std::string epilogue;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  std::int64_t batch = 1;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;  // elements between the matrices of a batch
  bool by_pointers = false;                               // the matrices of the batch are found by arrays of pointers
  std::int64_t offset = 0;                                // elements by which every pointer misses a 256-byte boundary
  std::string location;    // d, h or m for each of A, B, C ("ddd"); empty: where this machine computes
  std::int64_t calls = 1;  // how often a replayed program made this call

  /// Unique text of the work: results of two runs are matched by it. Fields at their usual value are left out.
  std::string id() const;

  bool has_bias() const { return epilogue.starts_with("bias"); }
  bool has_relu() const { return epilogue.ends_with("relu"); }
  bool has_gelu() const { return epilogue.ends_with("gelu"); }

  double flops() const;
  /// Bytes that the product has to move at least: A and B once, C once, or twice when it is read.
  double bytes() const;
  /// The elements of A and B, and of C.
  const Element& input() const { return element_of(type_of(type).input); }
  const Element& output() const { return element_of(type_of(type).output); }

  /// Rows and columns of A, B and C as they lie in memory, the contiguous axis first.
  struct Extent {
    std::int64_t contiguous;
    std::int64_t strided;
  };
  Extent a_extent() const;
  Extent b_extent() const;
  Extent c_extent() const;

  /// Sets leading dimensions to the smallest legal ones plus `pad`, and batch strides to dense ones.
  void set_dense_layout(std::int64_t pad);

  /// Elements from the first to one past the last of an operand, the whole batch included.
  std::int64_t a_span() const;
  std::int64_t b_span() const;
  std::int64_t c_span() const;

  /// Whether the spans in bytes stay far from 2^63, so that no arithmetic on them overflows.
  bool is_representable() const;

  bool operator==(const Case&) const = default;
};

}  // namespace xgemm::perf
