// A few columns: weights times a few tokens, as decoding has them. Every lane multiplies what it brought of X, which
// changes no places and is read once for each eight columns; Y, which lies along k, is there for all warps:
//
//   X along k: lanes along k, 8 rows a warp          X along its rows: 8 lanes along them, 4 k each, as Y has them
//
//          k: 0             128                            k: 0    4    8    12   16
//            +---------------+-----                         +----+----+----+----+----
//   warp     | lane 0 1 2 .. | warp 4     16 bytes   lane 0 |::::|    |    |    |        4 rows
//            |               |            a copy          1 |    |    |    |    |
//            +---------------+-----                      .. |    | 8..| 16 | 24 |
//   warp 1   |               |                            7 |    |    |    |    |
//
// Both go by cp.async to a ring of slots: a step of 256 of k. CTAs are persistent, and bring the next tile's steps
// while they end one. Lanes that share k add their sums at the end, in as many steps as there are bits in their
// numbers: in each a lane keeps half of its sums, and adds to them what another one has of that half. Warps that share
// k add theirs in shared memory; and where tiles are few, or do not go round, so do CTAs of a cluster (exchange.cuh).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/kernel.cuh"
#include "kernels/skinny/exchange.cuh"
#include "kernels/skinny/instances.h"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue>
struct FewColumns {
  using Element = gpu::ElementOf<kConfig.type>;
  using ElementC = gpu::ElementOf<kConfig.type_c>;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr SkinnyShape kShape = SkinnyShape::of(kConfig);
  static constexpr bool kStreamsB = kShape.streams_b, kAlongK = kShape.along_k;
  static constexpr int kRows = kShape.rows, kWidth = kShape.width;
  static constexpr int kTileM = kConfig.cta_m, kTileN = kConfig.cta_n, kTileK = kConfig.cta_k;
  static constexpr int kStages = kConfig.stages, kVector = kConfig.vector;
  static constexpr int kWarps = SkinnyShape::kWarps;
  static constexpr int kThreads = kWarps * gpu::kWarpSize;
  static constexpr int kMinBlocksPerSm = 1;
  static constexpr bool kStartsEarly = true;
  static_assert(kVector == 4, "a lane multiplies vectors of 16 bytes");

  // Of a step of X a lane makes so many copies.
  static constexpr int kCopies = 8;
  static constexpr int kRowsOfWarp = kAlongK ? kCopies : kRows;
  static constexpr int kRowsOfLane = kAlongK ? kCopies : kVector;
  static constexpr int kGroups = kRows / kRowsOfWarp, kShares = kWarps / kGroups;  // of warps: of rows, and of k
  static constexpr int kDepth = kTileK / kShares;                                  // of a warp's step
  static_assert(kRowsOfWarp * kDepth == kCopies * gpu::kWarpSize * kVector && kRows % kRowsOfWarp == 0);
  // Lanes from one to the next that has the same rows; all those above them share k.
  static constexpr int kRowLanes = kAlongK ? 1 : kRows / kVector;

  static constexpr int kSums = kRowsOfLane * kWidth;               // of a lane
  static constexpr int kOwn = kSums * kRowLanes / gpu::kWarpSize;  // which it has at the end
  static constexpr int kAtOnce = kWidth < 8 ? kWidth : 8;          // columns of which it has a vector
  static_assert(kOwn >= 1 && kWidth % kAtOnce == 0 && (kAlongK || kOwn % kVector == 0));
  // Of Y's step a thread brings vectors of one k, of every so many columns.
  static constexpr int kColumnVectors = kTileK / kVector, kColumnStep = kThreads / kColumnVectors;
  static_assert(kThreads % kColumnVectors == 0 && kWidth % kColumnStep == 0);

  // Sums wait column by column, which lie so that neither lanes with neighbouring rows nor those with neighbouring
  // columns meet in a bank.
  static constexpr int kSumLine = kRows + gpu::kWarpSize / kWidth;
  // Of the sums that CTAs exchange: a row, and four columns.
  static constexpr int kEntries = kRows * kWidth / 4;
  static_assert(kEntries <= kThreads);
  using Exchange = VectorExchange<float, kEntries, SkinnyShape::kMostSharers>;

  struct Slot {
    SharedArray<float, kCopies * gpu::kWarpSize * kVector> x[kWarps];
    SharedArray<float, kWidth * kTileK> y;
  };
  struct SharedStorage {
    Slot slots[kStages];
    SharedArray<float, kSumLine * kWidth> sums[kShares];
    typename Exchange::SharedStorage exchange;
  };
  static_assert(sizeof(SharedStorage) == SkinnyShape::ring_bytes(kConfig));

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage& smem) {
    gpu::grid_launch_dependents();
    const Epilogue epilogue = Epilogue::make_early(p);
    const int sharers = p.schedule.cluster.k;
    Exchange exchange(sharers);
    Bringer bringer(p, epilogue.has_product);
    gpu::grid_wait_dependencies();
    XGEMM_NO_UNROLL
    for (int s = 0; s < kStages - 1; ++s) bringer.bring(p, smem.slots[s]);
    int slot = 0, free_slot = kStages - 1;
    const auto multiply_unit = [&](const Unit& unit) {
      float sums[kSums] = {};
      const bool has_rows = (kStreamsB ? unit.col : unit.row) + first_row() < (kStreamsB ? p.n : p.m);
      XGEMM_NO_UNROLL
      for (int left = static_cast<int>(unit.depth); left > 0; left -= kTileK) {
        gpu::copy_async_wait<kStages - 2>();
        gpu::sync_threads();  // and all threads have multiplied the step before, whose slot is free
        bringer.bring(p, smem.slots[free_slot]);
        free_slot = slot;
        if (has_rows) multiply(smem.slots[slot], sums);
        slot = slot + 1 < kStages ? slot + 1 : 0;
      }
      gpu::sync_warp();
      add_over_lanes<gpu::kWarpSize / 2>(sums);
      leave_sums(smem, sums);
      gpu::sync_threads();
      if (sharers > 1) add_over_ctas(smem, exchange, sharers);
      if (Exchange::stores(sharers)) {
        store_unit<kConfig, kTileM, kTileN>(epilogue, p, unit, 0, 0, [&](const auto& c) {
          XGEMM_NO_UNROLL
          for (int i = gpu::thread_index(); i < kRows * kWidth; i += kThreads) {
            // Neighbours in C, which are rows of X times Y or, in its transpose, columns.
            const int row = kStreamsB ? i / kWidth : i % kRows, column = kStreamsB ? i % kWidth : i / kRows;
            const float sum = sum_of_warps(smem, row, column);
            kStreamsB ? c.store(column, row, sum) : c.store(row, column, sum);
          }
        });
      }
      gpu::sync_threads();
    };
    for_each_unit_32<kTileM, kTileN, kTileK>(p, epilogue.has_product, multiply_unit, sharers);
    gpu::copy_async_wait<0>();
  }

 private:
  using Four = gpu::Vector<float, kVector>;

  // Where in a tile, and in a step, what a lane multiplies begins: its first row, its first k, and from there the row
  // or the k of each of its copies.
  XGEMM_DEVICE static int first_row() {
    return kAlongK ? gpu::warp_index() % kGroups * kRowsOfWarp : gpu::lane_index() % kRowLanes * kVector;
  }
  XGEMM_DEVICE static int first_k() {
    return gpu::warp_index() / kGroups * kDepth + gpu::lane_index() / kRowLanes * kVector;
  }
  static constexpr int kNextVector = gpu::kWarpSize / kRowLanes * kVector;  // of k that a lane has
  XGEMM_DEVICE static constexpr int step_of(int copy) {
    return kAlongK ? copy : copy / kVector * kNextVector + copy % kVector;
  }

  // What a thread brings, step by step, unit by unit.
  class Bringer {
   public:
    XGEMM_DEVICE Bringer(const TileParams& p, bool has_product)
        : units_(has_product ? static_cast<unsigned>(p.schedule.units) : 0),
          index_(static_cast<unsigned>(gpu::block_x())) {
      if (const unsigned sharers = p.schedule.cluster.k; sharers > 1) index_ /= sharers;
      begin(p);
    }

    // The next step, if there is one.
    XGEMM_DEVICE void bring(const TileParams& p, Slot& slot) {
      if (left_ > 0) {
        const std::int64_t of_b = kAlongK ? p.b.col_stride : p.b.row_stride;
        const std::int64_t x_stride = kStreamsB ? of_b : kAlongK ? p.a.row_stride : p.a.col_stride;
        const std::int64_t y_stride = kStreamsB ? p.a.row_stride : p.b.col_stride;
        float* const to_x = slot.x[gpu::warp_index()].data + gpu::lane_index() * kVector;
        const auto copy_x = [&](int i, int bytes) {
          gpu::copy_async<16>(to_x + i * (gpu::kWarpSize * kVector), x_ + step_of(i) * x_stride, bytes);
        };
        if (left_ >= kTileK && rows_ == kRowsOfLane) {
          XGEMM_UNROLL
          for (int i = 0; i < kCopies; ++i) copy_x(i, 16);
        } else if (rows_ > 0) {
          const int left = left_ - first_k();
          XGEMM_UNROLL
          for (int i = 0; i < kCopies; ++i)
            copy_x(i, kAlongK ? (i < rows_ ? bytes(left) : 0) : (step_of(i) < left ? bytes(rows_) : 0));
        }
        const int k_of_y = gpu::thread_index() % kColumnVectors * kVector;
        float* const to_y = slot.y.data + gpu::thread_index() / kColumnVectors * kTileK + k_of_y;
        if (left_ >= kTileK && columns_ > kWidth - kColumnStep) {
          XGEMM_UNROLL
          for (int j = 0; j < kWidth; j += kColumnStep) gpu::copy_async<16>(to_y + j * kTileK, y_ + j * y_stride);
        } else {
          const int of_y = bytes(left_ - k_of_y);
          XGEMM_UNROLL
          for (int j = 0; j < kWidth; j += kColumnStep)
            gpu::copy_async<16>(to_y + j * kTileK, y_ + j * y_stride, j < columns_ ? of_y : 0);
        }
        x_ += kAlongK ? kTileK : kTileK * x_stride, y_ += kTileK, left_ -= kTileK;
        if (left_ <= 0) {
          index_ += p.schedule.clusters;
          begin(p);
        }
      }
      gpu::copy_async_commit();
    }

   private:
    // Of a vector, of which so many elements are inside.
    XGEMM_DEVICE static int bytes(int inside) { return 4 * (inside <= 0 ? 0 : inside < kVector ? inside : kVector); }

    // The next unit that has something of K: a part of it, or a share, may be empty.
    XGEMM_DEVICE void begin(const TileParams& p) {
      left_ = 0;
      XGEMM_NO_UNROLL
      for (; index_ < units_; index_ += p.schedule.clusters) {
        const Unit unit = unit_at_32<kTileM, kTileN, kTileK>(p, index_, p.schedule.cluster.k);
        left_ = static_cast<int>(unit.depth);
        if (left_ <= 0) continue;
        if constexpr (kStreamsB) {
          begin(view_b<kConfig>(p, unit).transposed(), unit.col, view_a<kConfig>(p, unit).transposed(), unit.row);
        } else {
          begin(view_a<kConfig>(p, unit), unit.row, view_b<kConfig>(p, unit), unit.col);
        }
        return;
      }
    }
    template <class X, class Y>
    XGEMM_DEVICE void begin(const X& x, std::int64_t row, const Y& y, std::int64_t column) {
      row += first_row(), column += gpu::thread_index() / kColumnVectors;
      x_ = x.address(row, first_k());
      y_ = y.address(gpu::thread_index() % kColumnVectors * kVector, column);
      rows_ = x.template block<kRowsOfLane, 1>(row, 0).rows();
      columns_ = y.template block<1, kWidth>(0, column).cols();
    }

    unsigned units_, index_;
    int left_;            // of k
    int rows_, columns_;  // from the thread's first on
    const float* x_;
    const float* y_;
  };

  XGEMM_DEVICE static void multiply(const Slot& slot, float (&sums)[kSums]) {
    const float* const x = slot.x[gpu::warp_index()].data + gpu::lane_index() * kVector;
    const float* const y = slot.y.data + first_k();
    const auto copy_of_x = [&](int i) {
      return gpu::read<Space::shared>(reinterpret_cast<const Four*>(x + i * (gpu::kWarpSize * kVector)));
    };
    const auto read_y = [&](int column, int k) {
      return gpu::read<Space::shared>(reinterpret_cast<const Four*>(y + column * kTileK + k));
    };
    if constexpr (kAlongK) {
      XGEMM_UNROLL
      for (int first = 0; first < kWidth; first += kAtOnce) {
        Four factors[kAtOnce];
        XGEMM_UNROLL
        for (int j = 0; j < kAtOnce; ++j) factors[j] = read_y(first + j, 0);
        XGEMM_UNROLL
        for (int r = 0; r < kCopies; ++r) {
          const Four elements = copy_of_x(r);
          XGEMM_UNROLL
          for (int e = 0; e < kVector; ++e) {
            XGEMM_UNROLL
            for (int j = 0; j < kAtOnce; ++j) add(elements[e], factors[j][e], sums[r * kWidth + first + j]);
          }
        }
      }
    } else {
      XGEMM_UNROLL
      for (int v = 0; v < kCopies / kVector; ++v) {
        Four elements[kVector];
        XGEMM_UNROLL
        for (int e = 0; e < kVector; ++e) elements[e] = copy_of_x(v * kVector + e);
        XGEMM_UNROLL
        for (int j = 0; j < kWidth; ++j) {
          const Four factors = read_y(j, v * kNextVector);
          XGEMM_UNROLL
          for (int e = 0; e < kVector; ++e) {
            XGEMM_UNROLL
            for (int r = 0; r < kVector; ++r) add(elements[e][r], factors[e], sums[j * kVector + r]);
          }
        }
      }
    }
  }
  XGEMM_DEVICE static void add(float x, float y, float& sum) { sum = gpu::fma(x, y, sum); }

  // Of lanes that have the same rows, each keeps as many sums, first: those from its place among them times kOwn on.
  template <int kDistance>
  XGEMM_DEVICE static void add_over_lanes(float (&sums)[kSums]) {
    constexpr int kHalf = kOwn * kDistance / kRowLanes;
    const bool upper = (gpu::lane_index() & kDistance) != 0;
    XGEMM_UNROLL
    for (int i = 0; i < kHalf; ++i) {
      const float low = sums[i], high = sums[kHalf + i];
      sums[i] = (upper ? high : low) + gpu::shuffle_xor(upper ? low : high, kDistance);
    }
    if constexpr (kDistance > kRowLanes) add_over_lanes<kDistance / 2>(sums);
  }
  XGEMM_DEVICE static void leave_sums(SharedStorage& smem, const float (&sums)[kSums]) {
    float* const of_share = smem.sums[gpu::warp_index() / kGroups].data + first_row();
    const int first = gpu::lane_index() / kRowLanes * kOwn;  // of the lane's rows
    if constexpr (kAlongK) {
      XGEMM_UNROLL
      for (int i = 0; i < kOwn; ++i)
        gpu::write<Space::shared>(of_share + (first + i) % kWidth * kSumLine + (first + i) / kWidth, sums[i]);
    } else {
      XGEMM_UNROLL
      for (int i = 0; i < kOwn; i += kVector) {
        const Four of_column = {{sums[i], sums[i + 1], sums[i + 2], sums[i + 3]}};
        gpu::write<Space::shared>(reinterpret_cast<Four*>(of_share + (first + i) / kVector * kSumLine), of_column);
      }
    }
  }
  // Of the warps that share k.
  XGEMM_DEVICE static float sum_of_warps(const SharedStorage& smem, int row, int column) {
    float sum = 0.0f;
    XGEMM_UNROLL
    for (int share = 0; share < kShares; ++share)
      sum += gpu::read<Space::shared>(smem.sums[share].data + column * kSumLine + row);
    return sum;
  }
  // Leaves the sums of all CTAs where the first share of the first one had its own.
  XGEMM_DEVICE static void add_over_ctas(SharedStorage& smem, Exchange& exchange, int sharers) {
    const int entry = gpu::thread_index() < kEntries ? gpu::thread_index() : -1;
    const int row = gpu::thread_index() % kRows, column = gpu::thread_index() / kRows * 4;
    Four sums{};
    XGEMM_UNROLL
    for (int e = 0; e < 4; ++e) {
      if (entry >= 0) sums[e] = sum_of_warps(smem, row, column + e);
    }
    sums = exchange.run(smem.exchange, sharers, entry, sums);
    XGEMM_UNROLL
    for (int share = 0; share < kShares; ++share) {
      XGEMM_UNROLL
      for (int e = 0; e < 4; ++e) {
        if (entry >= 0)
          gpu::write<Space::shared>(smem.sums[share].data + (column + e) * kSumLine + row, share == 0 ? sums[e] : 0.0f);
      }
    }
    gpu::sync_threads();
  }
};

}  // namespace xgemm::kernels
