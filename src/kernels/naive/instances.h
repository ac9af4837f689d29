// The instances of naive: one for all flags, in every product of types that there is.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/all_products.h"
#include "kernels/common/instance_list.h"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue>
struct Naive;

template <>
struct Instances<Family::naive> : TileInstances {
  template <TileConfig kConfig>
  using Kernel = Naive<kConfig, LinearCombinationOf<kConfig.type>>;

  template <class Add>
  static constexpr void list(const Add& add) {
    for (const ProductTypes& types : kAllProducts)
      add(TileConfig{
          .type = types.a, .type_c = types.c, .cta_m = 32, .cta_n = 8, .any_strides = true, .raster_group = 1});
  }

  static constexpr void describe(InstanceName&, const TileConfig&) {}
};

}  // namespace xgemm::kernels
