// The pass before an fp16x3 product: scales lines and splits them, and says where the product would not be as exact as
// fp32 (SplitConstants). An element is read once: 4 bytes, and 4 are written. Operands have any strides and alignment;
// parts come out along k.
//
// A cluster has 16 lines over all of k, and its CTAs share k: each holds up to 1024 of it in registers, 32 elements a
// thread, until it knows the largest element of each line.
//
//     elements --> largest of a warp --> of the CTA --> of the cluster, by st.async --> scales --> parts
//
// Neighbouring lanes read along whichever axis is contiguous:
//
//     along k    a warp has a line of the CTA's stretch. A lane has two or four neighbours of k at a time, and writes
//                their parts as they lie
//     along mn   a warp has 64 of k of all lines. It turns the parts in shared memory, two neighbours of k in a word,
//                so that lanes write vectors of eight
//
// Lines lie two words more than theirs apart in shared memory: no access has bank conflicts.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/common/dtype.cuh"
#include "kernels/common/halves.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/target.cuh"
#include "kernels/fp16x3/split.h"
#include "kernels/wgmma_tma/mma_policy.h"

namespace xgemm::kernels {

namespace detail {

XGEMM_DEVICE void count_fallback(const SplitParams& p) {
  if (p.count != nullptr) gpu::atomic_add(p.count, 1u);
}

}  // namespace detail

// Before the pass: what is known of the word before an operand is looked at. A kernel of its own, since CTAs of the
// pass set the word in any order.
struct SplitClear {
  using Params = SplitParams;
  static constexpr int kThreads = gpu::kWarpSize;
  static constexpr int kMinBlocksPerSm = 1;
  static constexpr int kMinArch = 900;
  struct SharedStorage {};

  XGEMM_DEVICE static void run(const Params& p, SharedStorage&) {
    gpu::grid_launch_dependents();
    gpu::grid_wait_dependencies();
    if (gpu::thread_index() != 0) return;
    unsigned unsafe = 0;
    for (const unsigned* before : p.unsafe_before)
      if (before != nullptr && gpu::read<gpu::Space::global>(before) != 0) unsafe = 1;
    gpu::write<gpu::Space::global>(p.unsafe, unsafe);
    if (unsafe != 0) detail::count_fallback(p);
  }
};

struct SplitPass {
  using Params = SplitParams;
  static constexpr int kThreads = SplitParams::kThreads;
  static constexpr int kMinBlocksPerSm = 2;
  static constexpr int kMinArch = 900;

  static constexpr int kLines = SplitParams::kLines;
  static constexpr int kWarps = kThreads / gpu::kWarpSize;
  static constexpr int kElements = SplitParams::kMostStretch * kLines / kThreads;  // of a thread
  static constexpr int kWarpK = SplitParams::kMostStretch / kWarps;                // of a warp along mn
  static constexpr int kWords = kWarpK / 2;
  static constexpr int kPitch = kWords + 2;
  static_assert(kWarps == kLines && kElements == gpu::kWarpSize && kWords == gpu::kWarpSize);

  struct SharedStorage {
    alignas(16) unsigned words[kWarps][kLines][kPitch];
    unsigned of_warps[kWarps][kLines];                             // the bits of the largest magnitudes
    alignas(16) unsigned of_ctas[SplitParams::kMostCtas][kLines];  // of the cluster
    gpu::Mbarrier arrived;
  };

  XGEMM_DEVICE static void run(const Params& p, SharedStorage& smem) {
    gpu::grid_launch_dependents();
    if (p.ctas > 1) {
      if (gpu::thread_index() == 0) {
        gpu::mbarrier_init(smem.arrived, 1);
        gpu::mbarrier_init_fence();
        gpu::mbarrier_arrive_expect(smem.arrived, p.ctas * kLines * 4);
      }
      gpu::sync_warp();
      gpu::cluster_arrive();
    }
    const Stretch x = Stretch::make(p);
    gpu::grid_wait_dependencies();
    if (x.operand.k_stride == 1) {
      run_along_k(p, smem, x);
    } else if (x.operand.mn_stride == 1 && x.operand.k_stride % 4 == 0 && x.lines % 4 == 0 && is_aligned(x.from, 16)) {
      run_along_mn<4>(p, smem, x);
    } else {
      run_along_mn<1>(p, smem, x);
    }
  }

 private:
  // A CTA's part of an operand. Numbers of lines and of k are below 2^31, and so are elements of a part of an entry.
  struct Stretch {
    const SplitOperand& operand;
    const float* from;
    std::uint16_t* to;  // high parts
    float* factors;
    int lines, depth;  // that exist; depth: along k
    int end;           // of what is written along k
    int rank;

    XGEMM_DEVICE static Stretch make(const SplitParams& p) {
      const int cta = static_cast<int>(gpu::block_x());
      int tile = static_cast<int>(p.cluster_of(cta));
      const int rank = cta - tile * p.ctas, k = rank * p.stretch;
      const int first = static_cast<int>(p.operands[0].entries) * static_cast<int>(p.operands[0].tiles);
      const bool second = tile >= first;
      const SplitOperand& x = p.operands[second ? 1 : 0];
      if (second) tile -= first;
      const float* from = x.data;
      std::uint16_t* to = x.parts;
      float* factors = x.factors;
      if (x.entries > 1) {
        const int tiles = static_cast<int>(x.tiles);
        const int entry = static_cast<int>(static_cast<unsigned>(tile) / static_cast<unsigned>(tiles));
        tile -= entry * tiles;
        from += entry * x.batch_stride;
        to += entry * (2 * x.part);
        factors += entry * x.lines;
      }
      const int line = tile * kLines, ld = static_cast<int>(p.ld);
      return {x,
              from + (line * x.mn_stride + k * x.k_stride),
              to + (line * ld + k),
              factors + line,
              at_most(static_cast<int>(x.mn) - line, kLines),
              within(static_cast<int>(p.k) - k, p.stretch),
              within(ld - k, p.stretch),
              rank};
    }

    XGEMM_DEVICE static int within(int x, int most) { return x < 0 ? 0 : at_most(x, most); }
    // Of lines there are some in each CTA. Of 0 at least, compared with `most` afterwards, ptxas of CUDA 13.0 takes the
    // wrong predicate: that of VIMNMX.RELU.
    XGEMM_DEVICE static int at_most(int x, int most) { return x < most ? x : most; }
  };

  // A place that is not computed again for each access.
  template <class T>
  XGEMM_DEVICE static T* fixed(T* pointer) {
    return reinterpret_cast<T*>(gpu::opaque(reinterpret_cast<std::int64_t>(pointer)));
  }
  XGEMM_DEVICE static bool is_aligned(const void* pointer, unsigned bytes) {
    return (static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(pointer)) & (bytes - 1)) == 0;
  }
  XGEMM_DEVICE static unsigned bits_of(float x) { return gpu::detail::bit_cast<unsigned>(x); }
  XGEMM_DEVICE static unsigned larger(unsigned a, unsigned b) { return a > b ? a : b; }
  // Numbers that are compared as their bits are; of a NaN, more than those of Inf.
  XGEMM_DEVICE static float largest_of(float x, float largest) { return gpu::larger(fabsf(x), largest); }

  XGEMM_DEVICE static void decline(const Params& p) {
    if (gpu::atomic_or(p.unsafe, 1u) == 0) detail::count_fallback(p);
  }

  // ---- What becomes of a line ----

  struct Line {
    float scale, factor;
    unsigned least;  // of its elements: see is_small()
    bool safe;

    XGEMM_DEVICE static Line of(unsigned largest, float least_element) {
      constexpr int kBias = 127, kMantissa = 23;
      const int exponent = static_cast<int>(largest >> kMantissa) - kBias;
      const bool safe = exponent >= SplitConstants::kLeastExponent && exponent <= SplitConstants::kMostExponent;
      if (!safe) return {0.0f, 0.0f, 0, largest == 0};
      const int shift = SplitConstants::kLineExponent - exponent;
      const auto power = [](int e) {
        return gpu::detail::bit_cast<float>(static_cast<unsigned>(kBias + e) << kMantissa);
      };
      return {power(shift), power(-shift), 2 * bits_of(gpu::multiply(least_element, power(-shift))) - 1, true};
    }
    // Too small an element, but not 0: of that the bits, doubled, less 1, are the largest number.
    XGEMM_DEVICE bool is_small(float x) const { return 2 * bits_of(x) - 1 < least; }
  };

  // The parts of two neighbours of k. Whether one of them is too small.
  XGEMM_DEVICE static bool split(const Line& line, float first, float second, unsigned& high, unsigned& low) {
    const float x = gpu::multiply(line.scale, first), y = gpu::multiply(line.scale, second);
    high = gpu::to_halves(x, y);
    low = gpu::to_halves(gpu::multiply(MmaPolicy::kLowScale, x - gpu::first_of(high)),
                         gpu::multiply(MmaPolicy::kLowScale, y - gpu::second_of(high)));
    return line.is_small(first) || line.is_small(second);
  }

  // ---- The largest elements ----

  // of_warp: of the warp's elements, line lane % 16. Returns that of the cluster's. After it no CTA reaches into
  // another.
  XGEMM_DEVICE static unsigned exchange(const Params& p, SharedStorage& smem, const Stretch& x, unsigned of_warp) {
    const int lane = gpu::lane_index(), warp = gpu::warp_index();
    const int line = lane % kLines, half = lane / kLines;
    if (half == 0) gpu::write<gpu::Space::shared>(&smem.of_warps[warp][line], of_warp);
    gpu::sync_threads();
    const auto of_cta = [&] {
      unsigned own = 0;
      XGEMM_UNROLL
      for (int w = 0; w < kWarps; w += 2)
        own = larger(own, gpu::read<gpu::Space::shared>(&smem.of_warps[w + half][line]));
      return larger(own, gpu::shuffle_xor(own, kLines));
    };
    if (p.ctas == 1) return of_cta();
    if (warp == 0) {
      const unsigned own = of_cta();
      gpu::cluster_wait();  // the others have started, and their barriers are there
      // A lane for each four lines and each CTA.
      constexpr int kVector = 4, kVectors = kLines / kVector;
      static_assert(kVectors * SplitParams::kMostCtas == gpu::kWarpSize);
      const int first = lane % kVectors * kVector, rank = lane / kVectors;
      unsigned four[kVector];
      XGEMM_UNROLL
      for (int i = 0; i < kVector; ++i) four[i] = gpu::shuffle(own, first + i);
      if (rank < p.ctas)
        gpu::write_remote_async(&smem.of_ctas[x.rank][first], smem.arrived, rank, four[0], four[1], four[2], four[3]);
    }
    gpu::mbarrier_wait(smem.arrived, 0);
    unsigned all = 0;
    XGEMM_UNROLL
    for (int i = 0; i < SplitParams::kMostCtas; i += 2)
      if (i + half < p.ctas) all = larger(all, gpu::read<gpu::Space::shared>(&smem.of_ctas[i + half][line]));
    return larger(all, gpu::shuffle_xor(all, kLines));
  }

  // Once for each line of the cluster.
  XGEMM_DEVICE static void write_factor(const Stretch& x, int line, const Line& of) {
    if (x.rank == 0 && line < x.lines) gpu::write<gpu::Space::global>(x.factors + line, of.factor);
  }

  // ---- Operands along k: a line of each warp ----

  // Of kWidth neighbours: those of lane l start kWidth l after those of lane 0. Zeros outside of the operand. All loads
  // are under way before the first element is used.
  template <int kWidth, int kLoad>
  XGEMM_DEVICE static void read_along_k(const float* line, int depth, float (&values)[kElements]) {
    const float* const from = fixed(line + gpu::lane_index() * kWidth);
    const int left = depth - gpu::lane_index() * kWidth;
    const auto read = [&](bool whole) {
      XGEMM_UNROLL
      for (int i = 0; i < kElements; i += kLoad) {
        const int k = i / kWidth * kWidth * gpu::kWarpSize + i % kWidth;
        gpu::Vector<float, kLoad> v{};
        if (whole || k < left) v = gpu::read_constant(reinterpret_cast<const gpu::Vector<float, kLoad>*>(from + k));
        XGEMM_UNROLL
        for (int e = 0; e < kLoad; ++e) values[i + e] = v[e];
      }
    };
    if (depth == SplitParams::kMostStretch) {
      read(true);
    } else {
      read(false);
    }
  }

  template <int kWidth>
  XGEMM_DEVICE static void write_along_k(std::uint16_t* to, int end, const unsigned (&words)[kElements / 2]) {
    to += gpu::lane_index() * kWidth;
    const int left = end - gpu::lane_index() * kWidth;
    constexpr int kStored = kWidth / 2;
    XGEMM_UNROLL
    for (int i = 0; i < kElements; i += kWidth) {
      const int k = i * gpu::kWarpSize;
      gpu::Vector<unsigned, kStored> v;
      XGEMM_UNROLL
      for (int e = 0; e < kStored; ++e) v[e] = words[i / 2 + e];
      if (k < left) gpu::write<gpu::Space::global>(reinterpret_cast<gpu::Vector<unsigned, kStored>*>(to + k), v);
    }
  }

  XGEMM_DEVICE static void run_along_k(const Params& p, SharedStorage& smem, const Stretch& x) {
    const int line = gpu::warp_index();
    const bool exists = line < x.lines;
    const float* const from = x.from + line * x.operand.mn_stride;
    const int depth = exists ? x.depth : 0;
    float values[kElements];
    const bool by_fours = x.depth % 4 == 0 && is_aligned(from, 16);
    if (by_fours) {
      read_along_k<4, 4>(from, depth, values);
    } else if (x.depth % 2 == 0 && is_aligned(from, 8)) {
      read_along_k<2, 2>(from, depth, values);
    } else {
      read_along_k<2, 1>(from, depth, values);
    }
    float largest = 0;
    XGEMM_UNROLL
    for (int i = 0; i < kElements; ++i) largest = largest_of(values[i], largest);
    unsigned own = bits_of(largest);
    XGEMM_UNROLL
    for (int mask = gpu::kWarpSize / 2; mask > 0; mask /= 2) own = larger(own, gpu::shuffle_xor(own, mask));
    const unsigned all = exchange(p, smem, x, gpu::lane_index() == line ? own : 0);

    const Line of = Line::of(gpu::shuffle(all, line), p.least_element);
    if (gpu::lane_index() == 0) write_factor(x, line, of);
    bool unsafe = !of.safe;
    unsigned high[kElements / 2], low[kElements / 2];
    XGEMM_UNROLL
    for (int i = 0; i < kElements / 2; ++i)
      unsafe = split(of, values[2 * i], values[2 * i + 1], high[i], low[i]) || unsafe;
    if (exists) {
      std::uint16_t* const to = x.to + line * static_cast<int>(p.ld);
      if (by_fours) {
        write_along_k<4>(to, x.end, high);
        write_along_k<4>(to + x.operand.part, x.end, low);
      } else {
        write_along_k<2>(to, x.end, high);
        write_along_k<2>(to + x.operand.part, x.end, low);
      }
    }
    if (unsafe) decline(p);
  }

  // ---- Others: 64 of k of each warp ----

  // By vectors of kWidth lines. A lane's element i * kWidth + e is of line(e) at k(i), and k(i + 1) follows k(i) where
  // i is even: word(i / 2).
  template <int kWidth>
  struct Turn {
    static constexpr int kLanes = kLines / kWidth;  // that read the lines of a k
    static constexpr int kRows = gpu::kWarpSize / kLanes;
    static constexpr int kLoads = kElements / kWidth;

    XGEMM_DEVICE static int line(int e) { return gpu::lane_index() % kLanes * kWidth + e; }
    XGEMM_DEVICE static int word(int i) { return gpu::lane_index() / kLanes + i * kRows; }
  };

  template <int kWidth>
  XGEMM_DEVICE static void read_along_mn(const float* first, std::int64_t mn_stride, std::int64_t k_stride, int lines,
                                         int depth, float (&values)[kElements]) {
    using T = Turn<kWidth>;
    using Vector = gpu::Vector<float, kWidth>;
    const float* const from = first + (T::line(0) * mn_stride + 2 * T::word(0) * k_stride);
    const int left = T::line(0) < lines ? depth - 2 * T::word(0) : 0;
    constexpr std::int64_t kBytes = sizeof(float);
    const std::int64_t near = gpu::opaque(k_stride * kBytes), far = gpu::opaque((2 * T::kRows - 1) * k_stride * kBytes);
    const auto read = [&](bool whole) {
      auto at = reinterpret_cast<std::int64_t>(from);
      XGEMM_UNROLL
      for (int i = 0; i < T::kLoads; ++i) {
        Vector v{};
        if (whole || i / 2 * 2 * T::kRows + i % 2 < left) v = gpu::read_constant(reinterpret_cast<const Vector*>(at));
        at += i % 2 == 0 ? near : far;
        XGEMM_UNROLL
        for (int e = 0; e < kWidth; ++e) values[i * kWidth + e] = v[e];
      }
    };
    if (lines == kLines && depth >= kWarpK) {
      read(true);
    } else {
      read(false);
    }
  }

  // The largest elements of the warp, of line lane % 16.
  template <int kWidth>
  XGEMM_DEVICE static unsigned largest_along_mn(const float (&values)[kElements]) {
    using T = Turn<kWidth>;
    unsigned own[kWidth];
    XGEMM_UNROLL
    for (int e = 0; e < kWidth; ++e) {
      float largest = 0;
      XGEMM_UNROLL
      for (int i = 0; i < T::kLoads; ++i) largest = largest_of(values[i * kWidth + e], largest);
      own[e] = bits_of(largest);
      XGEMM_UNROLL
      for (int mask = gpu::kWarpSize / 2; mask >= T::kLanes; mask /= 2)
        own[e] = larger(own[e], gpu::shuffle_xor(own[e], mask));
    }
    unsigned result = own[0];
    if constexpr (kWidth > 1) {
      const int line = gpu::lane_index() % kLines;
      XGEMM_UNROLL
      for (int e = 0; e < kWidth; ++e) {
        const unsigned other = gpu::shuffle(own[e], line / kWidth);
        if (line % kWidth == e) result = other;
      }
    }
    return result;
  }

  // One part of the warp's elements.
  template <int kWidth>
  XGEMM_DEVICE static void write_along_mn(unsigned (&shared)[kLines][kPitch], std::uint16_t* part, int ld, int lines,
                                          const unsigned (&words)[kElements / 2]) {
    using T = Turn<kWidth>;
    gpu::sync_warp();
    XGEMM_UNROLL
    for (int i = 0; i < kElements / 2; ++i)
      gpu::write<gpu::Space::shared>(&shared[T::line(i % kWidth)][T::word(i / kWidth)], words[i]);
    gpu::sync_warp();
    constexpr int kVector = 4, kVectors = kWords / kVector, kRows = gpu::kWarpSize / kVectors;
    const int first = gpu::lane_index() / kVectors, word = gpu::lane_index() % kVectors * kVector;
    std::uint16_t* to = fixed(part + (first * ld + 2 * word));
    XGEMM_UNROLL
    for (int i = 0; i < kLines; i += kRows) {
      const int line = first + i;
      using Pair = gpu::Vector<unsigned, 2>;
      const Pair a = gpu::read<gpu::Space::shared>(reinterpret_cast<const Pair*>(&shared[line][word]));
      const Pair b = gpu::read<gpu::Space::shared>(reinterpret_cast<const Pair*>(&shared[line][word + 2]));
      const gpu::Vector<unsigned, kVector> v = {a[0], a[1], b[0], b[1]};
      if (line < lines) gpu::write<gpu::Space::global>(reinterpret_cast<gpu::Vector<unsigned, kVector>*>(to), v);
      to += kRows * ld;
    }
  }

  template <int kWidth>
  XGEMM_DEVICE static void run_along_mn(const Params& p, SharedStorage& smem, const Stretch& x) {
    using T = Turn<kWidth>;
    const int warp = gpu::warp_index(), k = warp * kWarpK;
    const SplitOperand& operand = x.operand;
    float values[kElements];
    read_along_mn<kWidth>(x.from + k * operand.k_stride, operand.mn_stride, operand.k_stride, x.lines, x.depth - k,
                          values);
    const unsigned largest = exchange(p, smem, x, largest_along_mn<kWidth>(values));
    if (warp == 0 && gpu::lane_index() < kLines) write_factor(x, gpu::lane_index(), Line::of(largest, p.least_element));
    bool unsafe = false;
    unsigned high[kElements / 2], low[kElements / 2];
    XGEMM_UNROLL
    for (int e = 0; e < kWidth; ++e) {
      const Line of = Line::of(gpu::shuffle(largest, T::line(e)), p.least_element);
      unsafe = unsafe || !of.safe;
      XGEMM_UNROLL
      for (int i = 0; i < T::kLoads / 2; ++i) {
        const int at = i * kWidth + e;
        unsafe = split(of, values[2 * i * kWidth + e], values[(2 * i + 1) * kWidth + e], high[at], low[at]) || unsafe;
      }
    }
    if (k < x.end) {
      write_along_mn<kWidth>(smem.words[warp], x.to + k, static_cast<int>(p.ld), x.lines, high);
      write_along_mn<kWidth>(smem.words[warp], x.to + k + operand.part, static_cast<int>(p.ld), x.lines, low);
    }
    if (unsafe) decline(p);
  }
};

}  // namespace xgemm::kernels
