// How a family lists its instances: tiles and products as data. All else follows from the list: the names, the
// planner's table, the launch table, the simulator's. Host code reads it without any CUDA header.
//
// FAMILY/instances.h specialises Instances (for a TileConfig, TileInstances is most of it):
//
//   template <>
//   struct Instances<Family::my_family> {
//     using Config = MyConfig;  // a structural type
//
//     // The kernel: declared here, defined in my_family.cuh.
//     template <MyConfig kConfig>
//     using Kernel = MyKernel<kConfig, LinearCombination>;
//
//     // Calls add(config) for each instance, in the order in which equal estimates prefer them.
//     template <class Add>
//     static constexpr void list(const Add& add);
//
//     // Adds to the name what it says beside types and flags: "_128x64x8_v4".
//     static constexpr void describe(InstanceName& name, const MyConfig& c);
//
//     // What is said of instances of all families, but for name and place.
//     static constexpr KernelInfo common(const MyConfig& c);
//   };
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/dtype.h"
#include "kernels/common/tile_config.h"
#include "kernels/instances.h"

namespace xgemm::kernels {

// The epilogue of all instances (common/epilogue.cuh), by the type in which they keep sums.
template <class Sum>
struct BasicLinearCombination;
using LinearCombination = BasicLinearCombination<float>;
template <DType kType>
using LinearCombinationOf = BasicLinearCombination<std::conditional_t<sums_of(kType) == DType::f64, double, float>>;

template <Family kFamily>
struct Instances;

// Text that is put together by the compiler.
class InstanceName {
 public:
  constexpr InstanceName& operator<<(std::string_view text) {
    for (const char c : text) text_[size_++] = c;
    return *this;
  }
  constexpr InstanceName& operator<<(int number) {
    if (number >= 10) *this << number / 10;
    text_[size_++] = static_cast<char>('0' + number % 10);
    return *this;
  }
  constexpr const char* c_str() const { return text_; }
  constexpr operator std::string_view() const { return {text_, static_cast<std::size_t>(size_)}; }

 private:
  char text_[64] = {};
  int size_ = 0;
};

// ---- Building a list ------------------------------------------------------------------------------------------------

// Pairs of flags.
enum Flags : unsigned { kNN = 1, kNT = 2, kTN = 4, kTT = 8, kAllFlags = kNN | kNT | kTN | kTT };

// The instances of a config, one for each pair of flags.
template <class Config, class Add>
constexpr void add_flags(const Config& config, unsigned flags, const Add& add) {
  if (flags & kNN) add(with_axes(config, Axis::row, Axis::row));
  if (flags & kNT) add(with_axes(config, Axis::row, Axis::col));
  if (flags & kTN) add(with_axes(config, Axis::col, Axis::row));
  if (flags & kTT) add(with_axes(config, Axis::col, Axis::col));
}

struct TileInstances {
  using Config = TileConfig;
  static constexpr void describe(InstanceName& name, const TileConfig& c) {
    name << "_" << c.cta_m << "x" << c.cta_n << "x" << c.cta_k;
    if (c.stages > 1) name << "_s" << c.stages;
    name << "_v" << c.vector;
  }
  static constexpr KernelInfo common(const TileConfig& c) { return {.config = c, .threads = c.threads()}; }
};

// ---- What follows from it -------------------------------------------------------------------------------------------

// Types before, flags after what the family says: "naive_f32", "smem_tiled_f16_32x32x32_v1_nt".
template <Family kFamily>
constexpr InstanceName instance_name(const typename Instances<kFamily>::Config& c) {
  const KernelInfo kernel = Instances<kFamily>::common(c);
  const TileConfig& tile = kernel.config;
  InstanceName name;
  name << name_of(kFamily) << "_" << (tile.compute == Compute::tf32 ? "tf32" : name_of(tile.type))
       << (tile.type_c != tile.type ? name_of(tile.type_c) : "");
  Instances<kFamily>::describe(name, c);
  const auto flag = [](Axis contiguous) { return contiguous == Axis::row ? "n" : "t"; };
  if (!tile.any_strides) name << "_" << flag(tile.a_contiguous) << flag(tile.b_contiguous);
  return name;
}

namespace instance_list_detail {

// Counts what is added to a list, and keeps it where there is room.
template <class Config>
struct Sink {
  Config* configs = nullptr;
  std::size_t* count = nullptr;
  constexpr void operator()(const Config& config) const {
    if (configs != nullptr) configs[*count] = config;
    ++*count;
  }
};

template <Family kFamily>
constexpr std::size_t count() {
  std::size_t count = 0;
  Instances<kFamily>::list(Sink<typename Instances<kFamily>::Config>{nullptr, &count});
  return count;
}

template <Family kFamily>
constexpr auto configs() {
  std::array<typename Instances<kFamily>::Config, count<kFamily>()> all{};
  std::size_t count = 0;
  Instances<kFamily>::list(Sink<typename Instances<kFamily>::Config>{all.data(), &count});
  return all;
}

}  // namespace instance_list_detail

template <Family kFamily>
inline constexpr std::size_t kCount = instance_list_detail::count<kFamily>();

// The configs of a family, by KernelInfo::index.
template <Family kFamily>
inline constexpr auto kConfigs = instance_list_detail::configs<kFamily>();

namespace instance_list_detail {

template <Family kFamily>
constexpr auto names() {
  std::array<InstanceName, kCount<kFamily>> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = instance_name<kFamily>(kConfigs<kFamily>[i]);
  return all;
}
template <Family kFamily>
inline constexpr auto kNames = names<kFamily>();

template <Family kFamily>
constexpr auto infos() {
  std::array<KernelInfo, kCount<kFamily>> all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = Instances<kFamily>::common(kConfigs<kFamily>[i]);
    all[i].family = kFamily;
    all[i].index = static_cast<int>(i);
    all[i].name = kNames<kFamily>[i].c_str();
  }
  return all;
}

}  // namespace instance_list_detail

template <Family kFamily>
inline constexpr auto kInfos = instance_list_detail::infos<kFamily>();

// The family's own config of one of its instances.
template <Family kFamily>
constexpr const auto& config_of(const KernelInfo& kernel) {
  return kConfigs<kFamily>[static_cast<std::size_t>(kernel.index)];
}

// ---- Compilation units ----------------------------------------------------------------------------------------------

// How many compile a family's instances; and how many more those that are for_sm80().
struct Parts {
  int number, for_sm80 = 0;

  constexpr int all() const { return number + for_sm80; }
};
constexpr Parts parts_of(Family family) {
  constexpr Parts kParts[] = {
#define XGEMM_FAMILY(name, parts, architectures, ...) {parts __VA_OPT__(, ) __VA_ARGS__},
#include "kernels/families.def"
  };
  return kParts[static_cast<int>(family)];
}

// Whether no plan for sm_90 takes an instance, where its family says so of some.
template <Family kFamily>
constexpr bool is_for_sm80(const typename Instances<kFamily>::Config& config) {
  if constexpr (parts_of(kFamily).for_sm80 == 0) {
    return false;
  } else {
    return Instances<kFamily>::for_sm80(config);
  }
}

// Whether an instance is launched as the kernel of the one before it in the list.
template <Family kFamily>
constexpr bool has_code_of_last(std::size_t index) {
  const auto& configs = kConfigs<kFamily>;
  if constexpr (requires { configs[0].code(); })
    return index > 0 && configs[index] != configs[index].code() && configs[index - 1] == configs[index].code();
  return false;
}

// The part that compiles each of a family's instances. A part is a stretch of the list: neighbours are alike, and code
// that is alike packs well. Stretches are as long as takes about the same time to compile, which goes with the tile.
template <Family kFamily>
constexpr std::array<int, kCount<kFamily>> part_of_each(const Parts& parts) {
  const auto weight = [](const KernelInfo& kernel) {
    if (has_code_of_last<kFamily>(static_cast<std::size_t>(kernel.index))) return 0;
    return 8192 + kernel.config.cta_m * kernel.config.cta_n;
  };
  std::array<int, kCount<kFamily>> result{};
  for (const bool for_sm80 : {false, true}) {
    const int first = for_sm80 ? parts.number : 0, number = for_sm80 ? parts.for_sm80 : parts.number;
    std::int64_t all = 0, before = 0;
    for (std::size_t i = 0; i < kCount<kFamily>; ++i)
      if (is_for_sm80<kFamily>(kConfigs<kFamily>[i]) == for_sm80) all += weight(kInfos<kFamily>[i]);
    for (std::size_t i = 0; i < kCount<kFamily>; ++i) {
      if (is_for_sm80<kFamily>(kConfigs<kFamily>[i]) != for_sm80) continue;
      const std::int64_t own = weight(kInfos<kFamily>[i]);
      result[i] = own == 0 ? result[i - 1] : first + static_cast<int>((before + own / 2) * number / all);
      before += own;
    }
  }
  return result;
}
template <Family kFamily>
inline constexpr auto kPartOf = part_of_each<kFamily>(parts_of(kFamily));

// Calls f(index) for the instances of a part, with index a std::integral_constant.
template <Family kFamily, int kPart, class F>
constexpr void for_each_in_part(const F& f) {
  const auto visit = [&](auto index) {
    if constexpr (kPartOf<kFamily>[index] == kPart) f(index);
  };
  const auto visit_all = [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    (visit(std::integral_constant<std::size_t, kIndex>{}), ...);
  };
  visit_all(std::make_index_sequence<kCount<kFamily>>{});
}

}  // namespace xgemm::kernels
