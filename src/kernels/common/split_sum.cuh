// split_sum: the second stage of a product whose last tiles are split along K. Adds the sums that the parts left
// in the workspace, in the order of K, and finishes C. The same for all families: SplitSumLayout says where sums lie.
//
//   CTA: kThreads = vectors x lanes.  Lane j adds the parts [j * parts / lanes, (j + 1) * parts / lanes), lane 0 adds
//   the lanes' sums, in order. Many parts of a small C thus become a short chain of loads; the order is fixed all the
//   same.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/dtype.cuh"
#include "kernels/common/epilogue.cuh"
#include "kernels/common/finishing.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/split_sum_params.h"
#include "kernels/common/target.cuh"

namespace xgemm::kernels {

template <class Element, class Epilogue = LinearCombination>
struct SplitSum {
  using Sum = typename Epilogue::Sum;
  static constexpr int kThreads = SplitSumParams::kThreads;
  static constexpr int kMinBlocksPerSm = 2;
  static constexpr int kMinArch = 750;
  using Params = SplitSumParams;
  static constexpr bool kFinishes = sizeof(Element) < 8;  // of doubles no kernel finishes any
  static constexpr bool kOldAhead = sizeof(Element) < 8;  // registers for doubles would cost a CTA of an SM
  static constexpr int kWords = int{sizeof(Sum)} / 4;     // accesses of 16 bytes that a vector takes
  using Word = gpu::Vector<Sum, 4 / kWords>;
  struct Vector {
    Word words[kWords];
    XGEMM_DEVICE Sum& operator[](int e) { return words[e / (4 / kWords)][e % (4 / kWords)]; }
    XGEMM_DEVICE const Sum& operator[](int e) const { return words[e / (4 / kWords)][e % (4 / kWords)]; }
  };

  struct SharedStorage {
    Vector sums[kThreads];
  };

  XGEMM_DEVICE static void run(const Params& p, SharedStorage& smem) {
    const int lanes = p.lanes();
    const int vectors = kThreads / lanes;
    const int lane = gpu::thread_index() / vectors;
    const std::int64_t index = gpu::block_x() * vectors + gpu::thread_index() % vectors;
    bool inside = index < p.layout.vectors();
    // Some hundred cycles, while the parts are still computed.
    Target target = target_of(p, index);
    const int begin = gpu::opaque(p.parts() * lane / lanes), end = gpu::opaque(p.parts() * (lane + 1) / lanes);
    gpu::grid_launch_dependents();
    if (!holds_early(p.condition)) return;
    const Epilogue epilogue = Epilogue::make_early(p);
    gpu::grid_wait_dependencies();
    if (is_of_pointers(p.c_batch) && inside)
      target.c = gpu::read<gpu::Space::global>(reinterpret_cast<Element* const*>(target.c));
    // A bias and old elements are under way together with the sums, all of them before anything is stored.
    Vector sum{}, bias{};
    if constexpr (kFinishes) {
      // As in the pass.
      XGEMM_UNROLL
      for (int e = 0; e < 4; ++e) bias[e] = sizeof(Element) == 4 ? -0.0f : 0.0f;
      if (inside && p.finishing.bias != nullptr)
        for_each_inside(p, target, [&](int e, int i, int j) { bias[e] = bias_of<Element>(p.finishing, i, j); });
    }
    Element old[4] = {};
    const auto load_old = [&] {
      if (epilogue.reads_c())
        for_each_inside(p, target,
                        [&](int e, int i, int j) { old[e] = gpu::read<gpu::Space::global>(address(p, target, i, j)); });
    };
    if (kOldAhead && inside && lane == 0) load_old();
    if (inside) sum = add_parts(p, index, begin, end);
    if (lanes > 1) {
      XGEMM_UNROLL
      for (int w = 0; w < kWords; ++w)
        gpu::write<gpu::Space::shared>(&smem.sums[gpu::thread_index()].words[w], sum.words[w]);
      gpu::sync_threads();
      if (lane != 0) return;
      XGEMM_NO_UNROLL
      for (int other = 1; other < lanes; ++other)
        add(sum, load<gpu::Space::shared>(&smem.sums[gpu::thread_index() + other * vectors]));
    }
    if (!inside) return;
    if (!kOldAhead) load_old();
    store(p, epilogue, target, sum, bias, old);
  }

 private:
  template <gpu::Space kSpace>
  XGEMM_DEVICE static Vector load(const Vector* from) {
    Vector x;
    XGEMM_UNROLL
    for (int w = 0; w < kWords; ++w) x.words[w] = gpu::read<kSpace>(&from->words[w]);
    return x;
  }

  XGEMM_DEVICE static void add(Vector& sum, const Vector& x) {
    XGEMM_UNROLL
    for (int e = 0; e < 4; ++e) sum[e] += x[e];
  }

  XGEMM_DEVICE static Vector add_parts(const Params& p, std::int64_t index, int begin, int end) {
    constexpr int kAhead = 8 / kWords;  // loads in flight
    const std::int64_t step = p.layout.vectors();
    const Vector* from = static_cast<const Vector*>(p.partials) + index + begin * step;
    Vector sum{};
    XGEMM_NO_UNROLL
    for (int part = begin; part < end; part += kAhead, from += kAhead * step) {
      Vector x[kAhead]{};
      XGEMM_UNROLL
      for (int i = 0; i < kAhead; ++i) {
        if (part + i < end) x[i] = load<gpu::Space::global>(from + i * step);
      }
      XGEMM_UNROLL
      for (int i = 0; i < kAhead; ++i) {
        if (part + i < end) add(sum, x[i]);
      }
    }
    return sum;
  }

  // Where a vector's sums belong: the first element, of D, and the entry of the batch.
  struct Target {
    int row, column;
    Element* c;  // where entries are found by pointers, at first that to it
  };
  XGEMM_DEVICE static Target target_of(const Params& p, std::int64_t index) {
    const SplitSumLayout::Position at = p.layout.position(index);
    const auto tile =
        p.schedule.position(p.schedule.first_tile + p.schedule.whole_tiles + static_cast<unsigned>(at.tile));
    const bool transposed = p.layout.transposed;
    return {gpu::opaque(static_cast<int>(transposed ? tile.n : tile.m) * p.layout.rows + at.row),
            gpu::opaque(static_cast<int>(transposed ? tile.m : tile.n) * p.layout.columns + at.column),
            is_of_pointers(p.c_batch)
                ? reinterpret_cast<Element*>(static_cast<Element**>(p.c_data) + tile.batch)
                : static_cast<Element*>(p.c_data) + static_cast<std::int64_t>(tile.batch) * p.c_batch};
  }

  // Calls f(e, i, j) for the elements of a vector that are elements (i, j) of C.
  template <class F>
  XGEMM_DEVICE static void for_each_inside(const Params& p, const Target& target, const F& f) {
    const bool transposed = p.layout.transposed;
    XGEMM_UNROLL
    for (int e = 0; e < 4; ++e) {
      const int d_row = target.row + p.layout.row_of(e);
      const int d_column = target.column + p.layout.column_of(e);
      const int i = transposed ? d_column : d_row;
      const int j = transposed ? d_row : d_column;
      if (i < p.m && j < p.n && contains(p.fill, i, j)) f(e, i, j);
    }
  }

  XGEMM_DEVICE static Element* address(const Params& p, const Target& target, int i, int j) {
    return target.c + j * p.c_ld + i;
  }

  XGEMM_DEVICE static void store(const Params& p, const Epilogue& epilogue, const Target& target, Vector& sum,
                                 const Vector& bias, const Element (&old)[4]) {
    if constexpr (kFinishes) {
      if (p.finishing.any()) {
        finish(p, target, epilogue.alpha, sum, bias);
        for_each_inside(p, target, [&](int e, int i, int j) {
          gpu::write<gpu::Space::global>(address(p, target, i, j), gpu::from_sum<Element>(sum[e]));
        });
        return;
      }
    }
    for_each_inside(p, target, [&](int e, int i, int j) {
      const Sum x = epilogue.reads_c() ? epilogue.template apply<true>(sum[e], gpu::to_sum<Element>(old[e]), i, j, p)
                                       : epilogue.template apply<false>(sum[e], Sum{0}, i, j, p);
      gpu::write<gpu::Space::global>(address(p, target, i, j), gpu::from_sum<Element>(x));
    });
  }

  XGEMM_DEVICE static void finish(const Params& p, const Target& target, Sum alpha, Vector& sum, const Vector& bias) {
    const auto each = [&](const auto& f) {
      XGEMM_UNROLL
      for (int e = 0; e < 4; ++e) sum[e] = f(sum[e], e);
    };
    each([&](Sum x, int e) { return gpu::fma(alpha, x, bias[e]); });
    with_activation<Element, Sum>(p.finishing.activation,
                                  [&](const auto& function) { each([&](Sum x, int) { return function(x); }); });
    for_each_inside(p, target, [&](int e, int i, int j) { sum[e] = scaled(p.finishing, sum[e], i, j); });
  }
};

}  // namespace xgemm::kernels
