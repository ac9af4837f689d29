// The epilogue: from sums to C, the same in every kernel.
//
// An epilogue is a policy that an instance of a kernel is made with:
//
//   struct SomeEpilogue {
//     using Sum = float;  // the type of sums
//
//     // By every thread, from a kernel's parameters.
//     template <class Params>
//     static SomeEpilogue make(const Params& p);
//     // The same before grid_wait_dependencies(), which it calls where it reads memory.
//     template <class Params>
//     static SomeEpilogue make_early(const Params& p);
//
//     bool has_product;      // false: A and B are not read
//     bool reads_c() const;  // whether old C counts, for all elements alike
//
//     template <bool kReadsC, class I, class J>
//     Sum apply(Sum sum, Sum old, I i, J j, const EpilogueArguments& arguments) const;
//   };
//
// apply() gives what element (i, j) of C becomes before it is rounded to C's type, once. A kernel asks reads_c() where
// it decides whether to fetch old C, and has an apply<true> and an apply<false>: without old C, `old` is anything and
// is not looked at. Coordinates are those of the whole of C. An epilogue that does not look at them leaves their
// computation to be removed by the compiler.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/dtype.cuh"
#include "kernels/common/instance_list.h"
#include "kernels/common/matrix_view.cuh"
#include "kernels/common/params.h"
#include "kernels/common/predicated.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/target.cuh"

namespace xgemm::kernels {

// alpha * sum + beta * c, to the letter of the reference BLAS:
//   beta = 0            C is never read, so a NaN in it does not spread;
//   alpha = 0 or k = 0  A and B are never read, C becomes beta * C (signed zeros as the product gives them);
//   otherwise           fma(alpha, sum, beta * c): the product beta * c is rounded, then one fused multiply-add. The
//                       same expression in every kernel and on both targets, so that kernels differ in summation order
//                       alone.
template <class Sum_>
struct BasicLinearCombination {
  using Sum = Sum_;

  Sum alpha;
  Sum beta;
  bool has_product;  // false: alpha or k is 0

  template <class Params>
  XGEMM_DEVICE static BasicLinearCombination make(const Params& p, Loc loc = Loc::current()) {
    const Sum alpha = known(p.alpha, loc), beta = known(p.beta, loc);
    return {alpha, beta, alpha != Sum{0} && p.k > 0};
  }

  // So that a kernel has worked out all that comes before its first load, and read its parameters for it, when the
  // kernel before ends. Scalars are mostly on the host.
  template <class Params>
  XGEMM_DEVICE static BasicLinearCombination make_early(const Params& p, Loc loc = Loc::current()) {
    if (p.alpha.device == nullptr && p.beta.device == nullptr) {
      const Sum alpha = p.alpha.template value<Sum>();
      return {alpha, p.beta.template value<Sum>(), alpha != Sum{0} && p.k > 0};
    }
    gpu::grid_wait_dependencies(loc);
    return make(p, loc);
  }

  XGEMM_DEVICE bool reads_c() const { return beta != Sum{0}; }

  // What ffma_tma asks for as well. For kernels whose sums are 0 without a product: the same elements, with no choice
  // to be made for each of them. A product of -0 leaves what it is added to as it is, also another -0.
  XGEMM_DEVICE BasicLinearCombination of_zero_sums() const {
    return {has_product ? alpha : reads_c() ? -Sum{0} : Sum{0}, beta, true};
  }
  // What leaves sums as they are.
  XGEMM_DEVICE static BasicLinearCombination identity() { return {Sum{1}, Sum{0}, true}; }

  template <bool kReadsC, class I, class J>
  XGEMM_DEVICE Sum apply(Sum sum, Sum old, I, J, const EpilogueArguments&) const {
    if constexpr (kReadsC) {
      const Sum scaled = gpu::multiply(beta, old);
      return has_product ? gpu::fma(alpha, sum, scaled) : scaled;
    } else {
      return has_product ? gpu::multiply(alpha, sum) : Sum{0};
    }
  }

 private:
  // Scalars on the device are read here: not as what no kernel changes, which the compiler may read earlier, before
  // grid_wait_dependencies().
  XGEMM_DEVICE static Sum known(const Factor& factor, Loc loc) {
    const bool is_there = factor.device != nullptr;
    const Sum read = gpu::read_if(is_there, static_cast<const Sum*>(factor.device), loc);
    return is_there ? read : factor.value<Sum>();
  }
};

// Of sums that a kernel's finisher has made results of: they are stored as they are. A kernel that is made with it is a
// twin of the plain one, for products with an epilogue that it finishes itself (FamilyInfo::finishes).
struct Finished : LinearCombination {
  template <class Params>
  XGEMM_DEVICE static Finished make(const Params& p) {
    return {LinearCombination::make(p)};
  }
  template <class Params>
  XGEMM_DEVICE static Finished make_early(const Params& p) {
    return {LinearCombination::make_early(p)};
  }
  XGEMM_DEVICE static constexpr bool reads_c() { return false; }

  XGEMM_DEVICE Finished of_zero_sums() const { return *this; }
  XGEMM_DEVICE static Finished identity() { return {}; }

  template <bool kReadsC, class I, class J>
  XGEMM_DEVICE float apply(float sum, float, I, J, const EpilogueArguments&) const {
    return sum;
  }
};

// The linear combination in kernels that find the matrices of a batch by pointers: twins again, as what they look at
// beside, and the code for it, would let each start of the plain ones take a tenth of a microsecond longer.
struct Following : LinearCombination {
  template <class Params>
  XGEMM_DEVICE static Following make(const Params& p) {
    return {LinearCombination::make(p)};
  }
  template <class Params>
  XGEMM_DEVICE static Following make_early(const Params& p) {
    return {LinearCombination::make_early(p)};
  }
  XGEMM_DEVICE Following of_zero_sums() const { return {LinearCombination::of_zero_sums()}; }
  XGEMM_DEVICE static Following identity() { return {LinearCombination::identity()}; }
};
template <class Epilogue>
inline constexpr bool kFollows = std::is_same_v<Epilogue, Following>;

// Whether a launch shall compute.
XGEMM_DEVICE bool holds(const Condition& condition, Loc loc = Loc::current()) {
  return condition.word == nullptr ||
         (gpu::read<gpu::Space::global>(condition.word, loc) == condition.value) == condition.equal;
}
// The same before grid_wait_dependencies(), as Epilogue::make_early().
XGEMM_DEVICE bool holds_early(const Condition& condition, Loc loc = Loc::current()) {
  if (condition.word == nullptr) return true;
  gpu::grid_wait_dependencies(loc);
  return holds(condition, loc);
}

// Of an element, in a tile.
struct TilePosition {
  int row, col;
};

// A tile of C that an epilogue finishes: a view of it, and its first row and column. Elements are named by their place
// in the tile. Of a triangle of C, only its elements are read and written.
// kVector_: elements that its columns start at multiples of.
template <class Epilogue, class View, int kVector_ = 1>
class OutputTile {
 public:
  using Element = typename View::Element;
  using Sum = typename Epilogue::Sum;
  static constexpr int kVector = kVector_;

  XGEMM_DEVICE OutputTile(const Epilogue& epilogue, const EpilogueArguments& arguments, const View& view,
                          std::int64_t row, std::int64_t col, Fill fill = Fill::full)
      : epilogue_(epilogue), arguments_(arguments), view_(view), row_(row), col_(col), fill_(fill) {}

  XGEMM_DEVICE const View& view() const { return view_; }
  XGEMM_DEVICE bool reads_c() const { return epilogue_.reads_c(); }

  // Whether an element is to be stored, and whether all elements of the view are.
  XGEMM_DEVICE bool contains(int i, int j) const {
    return view_.contains(i, j) && xgemm::contains(fill_, row_ + i, col_ + j);
  }
  XGEMM_DEVICE bool contains_all() const { return covers(fill_, row_, col_, view_.rows(), view_.cols()); }

  // What element (i, j) becomes. `old` is the old element, and anything where reads_c() is false.
  XGEMM_DEVICE Element finish(int i, int j, Sum sum, Element old) const {
    return reads_c() ? finish<true>(i, j, sum, old) : finish<false>(i, j, sum, old);
  }

  // Writes an element; outside of what is to be stored it does nothing.
  XGEMM_DEVICE void store(int i, int j, Sum sum, Loc loc = Loc::current()) const {
    if (contains(i, j)) {
      const Element old = reads_c() ? view_.get(i, j, loc) : Element{};
      view_(i, j, loc) = finish(i, j, sum, old);
    } else {
      if (reads_c()) gpu::skip_load<View::kSpace>(loc);
      gpu::skip_store<View::kSpace>(loc);
    }
  }

  // kWidth elements down a column, as one access where they all lie inside. (i, j) is aligned for the vector.
  template <int kWidth>
  XGEMM_DEVICE void store(int i, int j, const Sum (&sums)[kWidth], Loc loc = Loc::current()) const {
    if (!contains_all()) {
      XGEMM_UNROLL
      for (int e = 0; e < kWidth; ++e) store(i + e, j, sums[e], loc);
      return;
    }
    gpu::Vector<Element, kWidth> value{};
    if (reads_c()) value = view_.template load_or_zero<kWidth>(i, j, loc);
    view_.template store_inside<kWidth>(i, j, finish<kWidth>(i, j, sums, value), loc);
  }

  // A warp's lanes write kNumber vectors each, of kWidth elements down a column, aligned for an access, which are to be
  // stored or not as a whole. at(v) is the place of vector v, and sums(v) its sums.
  //
  // Old elements of kAtOnce vectors are on their way together: a load cannot be moved before a store that might be to
  // the same place, so that one vector after the other would wait for the memory each time.
  template <int kWidth, int kNumber, int kAtOnce, class At, class Sums>
  XGEMM_DEVICE void store(const At& at, const Sums& sums, Loc loc = Loc::current()) const {
    if (reads_c()) {
      store_groups<true, kWidth, kNumber, kAtOnce>(at, sums, loc);
    } else {
      store_groups<false, kWidth, kNumber, kAtOnce>(at, sums, loc);
    }
  }

  // As those of the view; single elements also where contains_all() is false.
  template <int kWidth>
  XGEMM_DEVICE gpu::Vector<Element, kWidth> load_or_zero(int i, int j, Loc loc = Loc::current()) const {
    if constexpr (kWidth == 1) {
      if (!contains(i, j)) {
        gpu::skip_load<View::kSpace>(loc);
        return {};
      }
    }
    return view_.template load_or_zero<kWidth>(i, j, loc);
  }
  template <int kWidth>
  XGEMM_DEVICE void store_inside(int i, int j, const gpu::Vector<Element, kWidth>& value,
                                 Loc loc = Loc::current()) const {
    if constexpr (kWidth == 1) {
      if (!contains(i, j)) return gpu::skip_store<View::kSpace>(loc);
    }
    view_.template store_inside<kWidth>(i, j, value, loc);
  }

  template <int kWidth>
  XGEMM_DEVICE gpu::Vector<Element, kWidth> finish(int i, int j, const Sum (&sums)[kWidth],
                                                   gpu::Vector<Element, kWidth> value) const {
    XGEMM_UNROLL
    for (int e = 0; e < kWidth; ++e) value[e] = finish(i + e, j, sums[e], value[e]);
    return value;
  }

 private:
  template <bool kReadsC, int kWidth, int kNumber, int kAtOnce, class At, class Sums>
  XGEMM_DEVICE void store_groups(const At& at, const Sums& sums, Loc loc) const {
    static_assert(kNumber % kAtOnce == 0);
    XGEMM_UNROLL
    for (int first = 0; first < kNumber; first += kAtOnce) {
      gpu::Vector<Element, kWidth> values[kAtOnce] = {};
      if constexpr (kReadsC) {
        XGEMM_UNROLL
        for (int u = 0; u < kAtOnce; ++u) {
          const auto [i, j] = at(first + u);
          values[u] = view_.template load_if<kWidth>(contains(i, j), i, j, loc);
        }
        gpu::keep_order();  // the assembler, too, would move loads between the stores
      }
      XGEMM_UNROLL
      for (int u = 0; u < kAtOnce; ++u) {
        const auto [i, j] = at(first + u);
        const auto of_vector = sums(first + u);
        XGEMM_UNROLL
        for (int e = 0; e < kWidth; ++e) values[u][e] = finish<kReadsC>(i + e, j, of_vector[e], values[u][e]);
        view_.template store_if<kWidth>(contains(i, j), i, j, values[u], loc);
      }
    }
  }

  template <bool kReadsC>
  XGEMM_DEVICE Element finish(int i, int j, Sum sum, Element old) const {
    return gpu::from_sum<Element>(epilogue_.template apply<kReadsC>(
        sum, kReadsC ? static_cast<Sum>(gpu::to_sum<Element>(old)) : Sum{0}, row_ + i, col_ + j, arguments_));
  }

  const Epilogue& epilogue_;
  const EpilogueArguments& arguments_;
  View view_;
  std::int64_t row_, col_;
  Fill fill_;
};

// What there is of the kRows x kCols part of a unit's tile of C that begins at (row, col) of it. kFollows: as of
// global_view().
template <TileConfig kConfig, int kRows, int kCols, bool kFollows = false, class Epilogue>
XGEMM_DEVICE auto output_tile(const Epilogue& epilogue, const GemmParams& p, const Unit& unit, int row, int col) {
  const auto view = view_c<kConfig, kFollows>(p, unit).template block<kRows, kCols>(unit.row + row, unit.col + col);
  return OutputTile<Epilogue, decltype(view), kConfig.vector_c>(epilogue, p, view, unit.row + row, unit.col + col,
                                                                p.fill);
}

// Calls store(output tile) for that part of a unit's tile: of C, or, where the unit is a part along K, of the sums in
// the workspace, which an epilogue finishes after they are added.
template <TileConfig kConfig, int kRows, int kCols, bool kFollows = false, class Epilogue, class Store>
XGEMM_DEVICE void store_unit(const Epilogue& epilogue, const TileParams& p, const Unit& unit, int row, int col,
                             const Store& store) {
  if (unit.is_partial(p)) {
    using Sum = typename Epilogue::Sum;
    const BasicLinearCombination<Sum> unchanged = {Sum{1}, Sum{0}, true};
    const auto view = view_sums<kConfig>(p, unit).sub(row, col, Int<kRows>{}, Int<kCols>{});
    store(OutputTile<BasicLinearCombination<Sum>, decltype(view), 16 / int{sizeof(Sum)}>(unchanged, p, view, 0, 0));
  } else {
    store(output_tile<kConfig, kRows, kCols, kFollows>(epilogue, p, unit, row, col));
  }
}

}  // namespace xgemm::kernels
