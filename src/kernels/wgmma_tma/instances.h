// The instances of wgmma_tma: tiles, and the products that each is made for. fp16 has all tiles but those of TF32
// alone, bf16 and C in fp32 those that win most often; fp32 as TF32, of which tensor cores read one operand along k
// alone, a few.
//
// A twin of an instance computes products that have an epilogue (finisher.cuh), of which the instance itself has no
// code. There are those twins that the planner would miss most: with one for every tile, by its estimates, products
// with op(A) along k would take a quarter of a percent less, others 1.5.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/instance_list.h"
#include "kernels/wgmma_tma/config.h"

namespace xgemm::kernels {

template <WgmmaTmaConfig kConfig, class Epilogue>
struct WgmmaTma;

template <>
struct Instances<Family::wgmma_tma> {
  using Config = WgmmaTmaConfig;
  template <WgmmaTmaConfig kConfig>
  using Kernel = WgmmaTma<kConfig, LinearCombination>;

  // Kinds of products.
  enum : unsigned {
    kF16 = 1,
    kBf16 = 2,
    kF32c = 4,
    kTf32 = 8,
    k16 = kF16 | kBf16,
    k32 = k16 | kF32c,
    kAll = k32 | kTf32
  };

  struct Product {
    DType type, type_c;
    unsigned kind;
  };
  static constexpr Product kProducts[] = {{DType::f16, DType::f16, kF16},
                                          {DType::bf16, DType::bf16, kBf16},
                                          {DType::f16, DType::f32, kF32c},  // and as it bf16
                                          {DType::f32, DType::f32, kTf32}};

  struct Tile {
    WgmmaTmaConfig config;  // without its types, flags and groups_rows
    unsigned products;
    unsigned finishing = 0;      // flags, with B along k, of instances for C in 16 bits that have a twin
    unsigned flags = kAllFlags;  // of 16-bit elements
    unsigned flags_tf32 = kTN;   // X, from registers, may lie along its rows; Y lies along k
    bool follows = false;        // of instances for operands of 16 bits
  };
  template <class Add>
  static constexpr void list(const Add& add) {
    // clang-format off
    constexpr Tile kTiles[] = {
      // Ping-pong.
      {{.cta_m = 128, .cta_n = 192, .stages = 4, .ping_pong = true}, kAll, kNN | kTN, kAllFlags, kTN, true},
      {{.cta_m = 192, .cta_n = 128, .stages = 4, .transposed = true, .ping_pong = true}, k16, kNN | kTN},
      {{.cta_m = 128, .cta_n = 128, .stages = 6, .ping_pong = true}, kAll, kNN | kTN, kAllFlags, kTN, true},
      // Large.
      {{.cta_m = 160, .cta_n = 256, .stages = 4, .transposed = true}, k16},
      {{.cta_m = 128, .cta_n = 256, .stages = 4}, kF16 | kF32c | kTf32, 0, kAllFlags, kNN | kTN},
      {{.cta_m = 256, .cta_n = 128, .stages = 4, .transposed = true}, kAll, 0, kAllFlags, kTT},
      {{.cta_m = 128, .cta_n = 192, .stages = 5}, kTf32, 0, 0, kNN},
      {{.cta_m = 192, .cta_n = 128, .stages = 5, .transposed = true}, kTf32, 0, 0, kTT},
      {{.cta_m = 192, .cta_n = 176, .stages = 4}, k16, 0, kNN | kTN},
      {{.cta_m = 192, .cta_n = 192, .stages = 4}, kF16, 0, kNT | kTT},  // as which B along n would be stored
      {{.cta_m = 128, .cta_n = 208, .stages = 4}, kF16},
      {{.cta_m = 128, .cta_n = 160, .stages = 5}, k32, kTN},
      {{.cta_m = 128, .cta_n = 128, .stages = 6}, k16, kNN | kTN},
      {{.cta_m = 160, .cta_n = 128, .stages = 5, .transposed = true}, k16},
      {{.cta_m = 192, .cta_n = 96, .stages = 5}, k32, kTN},
      // Of operands along k, which are stored no wider.
      {{.cta_m = 192, .cta_n = 112, .stages = 5}, k16, 0, kNN | kTN},
      {{.cta_m = 128, .cta_n = 112, .stages = 7}, k16, 0, kNN | kTN},
      {{.cta_m = 128, .cta_n = 80, .stages = 8}, k16, 0, kNN | kTN},
      {{.cta_m = 80, .cta_n = 128, .stages = 8, .transposed = true}, k16, 0, kTN | kTT},
      // Medium.
      {{.cta_m = 128, .cta_n = 96, .stages = 7}, k16, kNN | kTN, kAllFlags, 0, true},
      {{.cta_m = 96, .cta_n = 128, .stages = 7, .transposed = true}, k32, kNN | kTN},
      {{.cta_m = 128, .cta_n = 64, .stages = 8}, kF16 | kF32c | kTf32, 0, kAllFlags, kNN | kTN},
      {{.cta_m = 128, .cta_n = 64, .stages = 8, .transposed = true}, k16, kTN, kAllFlags, kTN, true},
      {{.cta_m = 64, .cta_n = 128, .stages = 8, .transposed = true}, k16 | kTf32, kNN | kTN, kAllFlags, kTT},
      {{.cta_m = 64, .cta_n = 96, .stages = 10}, k32, kTN},
      {{.cta_m = 96, .cta_n = 64, .stages = 10, .transposed = true}, k32, kTN},
      // Not for B along n, which would be stored 128 wide.
      {{.cta_m = 64, .cta_n = 80, .stages = 11}, k16, 0, kNN | kTN},
      // Small.
      {{.cta_m = 64, .cta_n = 64, .stages = 13}, kAll, kNN | kTN, kAllFlags, kNN | kTN, true},
      {{.cta_m = 64, .cta_n = 64, .stages = 13, .transposed = true}, kTf32, 0, 0, kTT},
      // Few columns times weights: 48 rows, where 64 would leave SMs without work.
      {{.cta_m = 48, .cta_n = 64, .stages = 10, .transposed = true}, kF16, 0, kTN},
      {{.cta_m = 32, .cta_n = 64, .stages = 10, .transposed = true}, k32, kTN, kAllFlags, kTN, true},
      {{.cta_m = 64, .cta_n = 32, .stages = 10}, k32, kNN | kTN},
      {{.cta_m = 64, .cta_n = 16, .stages = 16}, k32, kNN | kTN},
      {{.cta_m = 16, .cta_n = 64, .stages = 16, .transposed = true}, k32},
      // Few columns and many rows of a short K, most of whose time is their turn: four times the rows in one.
      {{.cta_m = 256, .cta_n = 32, .stages = 5}, k16},
      {{.cta_m = 256, .cta_n = 16, .stages = 6}, k16},
      {{.cta_m = 32, .cta_n = 256, .stages = 5, .transposed = true}, k16},
      {{.cta_m = 16, .cta_n = 256, .stages = 6, .transposed = true}, k16},
    };
    // clang-format on
    for (const Tile& tile : kTiles)
      for (const Product& product : kProducts) {
        if (!(tile.products & product.kind)) continue;
        WgmmaTmaConfig c = tile.config;
        c.type = c.element = product.type;
        c.type_c = product.type_c;
        // A warpgroup multiplies 64 rows at a time. For the sums of four the registers would not be enough: two take
        // 256 rows, or one does where they have few columns.
        const bool alone = c.ping_pong || c.tile_columns() <= 32;
        c.groups_rows = alone ? 1 : c.tile_rows() == 256 ? 2 : c.tile_rows() / 64;
        const unsigned flags = product.kind == kTf32 ? tile.flags_tf32 : tile.flags;
        add_flags(c, flags, [&](WgmmaTmaConfig instance) {
          const unsigned pair = instance.a_along_k() ? kTN : kNN;
          instance.follows = tile.follows && (product.kind & k32) != 0;
          instance.finishes = size_of(c.type_c) == 2 && instance.b_along_k() && (tile.finishing & pair) != 0;
          add_each_type(instance, add);
        });
      }
  }

  // pp: ping-pong; t: rows of the instruction along columns of C.
  static constexpr void describe(InstanceName& name, const WgmmaTmaConfig& c) {
    name << "_" << c.cta_m << "x" << c.cta_n << "x" << c.cta_k();
    if (c.ping_pong) name << "_pp";
    if (c.transposed) name << "_t";
    name << "_s" << c.stages;
  }

  // What TMA needs of operands is what vectors of 16 bytes do.
  static constexpr KernelInfo common(const WgmmaTmaConfig& c) {
    return {.config = {.type = c.type,
                       .type_c = c.type_c,
                       .compute = c.element == DType::f32 ? Compute::tf32 : Compute::strict,
                       .cta_m = c.cta_m,
                       .cta_n = c.cta_n,
                       .cta_k = c.cta_k(),
                       .stages = c.stages,
                       .copy = Copy::bulk,
                       .a_contiguous = c.a_contiguous,
                       .b_contiguous = c.b_contiguous,
                       .vector = 16 / size_of(c.type),
                       .vector_c = c.vector_c(),
                       .vector_old_c = c.vector_old_c(),
                       .min_compute_capability = 90,
                       .later_architectures = false},
            .threads = c.threads()};
  }
};

}  // namespace xgemm::kernels
