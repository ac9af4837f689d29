// The producers of an ffma_tma CTA: one warpgroup that keeps the ring full. Whatever way an operand comes, a slot ends
// up with the same panels (cta.cuh), and the consumers do not know of it.
//
//   along m (or n), aligned    TMA, by a thread of each warp
//   along k, aligned           TMA, then turned where it lies; a slot by one warp
//   along m (or n)             words of cp.async, a warp on 32 columns of a row
//   along k                    words of cp.async, a warp on 8 k of 4 columns: whole sectors of memory, and all banks
//
// Of matrices that are found by pointers, A and B come as words where one of them starts off 16 bytes.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/epilogue.cuh"
#include "kernels/common/matrix_view.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/sm90/tma.cuh"
#include "kernels/common/sm90/warpgroup.cuh"
#include "kernels/common/target.cuh"
#include "kernels/common/units.cuh"
#include "kernels/ffma_tma/cta.cuh"

namespace xgemm::kernels {

// Turns blocks that lie along k: a row for each of 32 columns of m (or n), whose chunks TMA has swizzled over the width
// of the row. Turned, a block has a row for each k. It consists of squares of 4 x 4, of which a warp turns eight at a
// time: four lanes read the rows of a square, and stmatrix, which has each word of a chunk from another lane, writes
// its columns. The eight lie on a diagonal, and so meet all banks; those of a warp's turn change places with one
// another.
//
// Consumers leave producers few instructions: where lanes read and write is worked out once. stmatrix also for what
// ordinary stores would do to the consumers: with such in the kernel, the assembler finds a worse order for their
// products.
template <int kTileK>
struct FfmaTmaTurner {
  static constexpr int kPanel = FfmaTmaConfig::kPanel;
  static constexpr int kDepth = FfmaTmaConfig::block_k(kTileK);  // of K
  static constexpr int kFloats = kDepth * kPanel;                // of a block
  static constexpr int kChunks = kDepth / 4;                     // of a row, and diagonals
  static constexpr int kTogether = 4;                            // diagonals that change places
  static_assert(kChunks % kTogether == 0);
  using Chunk = gpu::Vector<std::uint32_t, 4>;

  int from[kChunks], to[kChunks];  // of a lane's chunks, by diagonals; in bytes

  XGEMM_DEVICE static FfmaTmaTurner make(int lane) {
    FfmaTmaTurner t;
    XGEMM_UNROLL
    for (int d = 0; d < kChunks; ++d) {
      const int row = lane;  // four of each square
      const int swizzle = row * kDepth / kPanel;
      t.from[d] = gpu::opaque(16 * (row * kChunks + (row / 4 ^ d ^ swizzle) % kChunks));  // kept, not worked out again
      const int square = lane % 8, k = (square ^ d) % kChunks * 4 + lane / 8;
      t.to[d] = gpu::opaque(16 * (k * (kPanel / 4) + (square ^ k % 8)));
    }
    return t;
  }

  XGEMM_DEVICE void run(float* block) const {
    auto* const bytes = reinterpret_cast<unsigned char*>(block);
    XGEMM_UNROLL
    for (int first = 0; first < kChunks; first += kTogether) {
      Chunk rows[kTogether];
      XGEMM_UNROLL
      for (int d = 0; d < kTogether; ++d)
        rows[d] = gpu::read<gpu::Space::shared>(reinterpret_cast<const Chunk*>(bytes + from[first + d]));
      gpu::sync_warp();
      XGEMM_UNROLL
      for (int d = 0; d < kTogether; ++d) gpu::store_matrices<false>(bytes + to[first + d], rows[d].data);
    }
  }
};

// One operand's slices of a unit. kExtent: of the CTA tile along mn, the axis that the operand shares with C. kWarp: of
// a consumer warp. Panels that no warp with something inside of C reads are not loaded. kFollows: matrices are found by
// pointers.
template <int kExtent, int kTileK, int kWarp, int kWarps, bool kFollows>
struct PanelLoader {
  static constexpr int kPanel = FfmaTmaConfig::kPanel;
  static constexpr int kPanels = FfmaTmaConfig::whole_panels(kExtent) / kPanel;
  static constexpr int kPanelFloats = kTileK * kPanel;
  static constexpr int kSliceBytes = kPanels * kPanelFloats * 4;
  static constexpr bool kLoops = kWarps == 1;  // a warp copies all of a slice, in little code
  static_assert(kTileK % 8 == 0);
  using Turner = FfmaTmaTurner<kTileK>;

  PanelLoad kind;                                          // where comes_so
  int mn;                                                  // the first column
  int left;                                                // columns from there on
  std::conditional_t<kFollows, gpu::BoxEntry, int> entry;  // of the batch, as TMA is told
  const float* data;
  std::int64_t mn_stride, k_stride;
  bool comes_so = true;  // TMA brings nothing that starts off 16 bytes

  XGEMM_DEVICE static PanelLoader make(PanelLoad kind, const ConstMatrixArg& x, std::int64_t mn_stride,
                                       std::int64_t k_stride, const Unit& unit, std::int64_t mn, std::int64_t extent) {
    const std::int64_t left = extent - mn;
    const auto within = static_cast<int>(left < kExtent ? left : kExtent);
    if constexpr (kFollows) {
      const float* const matrix = uniform_entry_of<const float>(x, unit.batch, x.by_pointers());
      return {kind,
              static_cast<int>(mn),
              within,
              gpu::BoxEntry::at(matrix),
              matrix + mn * mn_stride,
              mn_stride,
              k_stride,
              by_words(kind) || gpu::BoxEntry::holds(matrix)};
    } else {
      return {kind,
              static_cast<int>(mn),
              within,
              static_cast<int>(x.batch_stride != 0 ? unit.batch : 0),
              static_cast<const float*>(x.data) + unit.batch * x.batch_stride + mn * mn_stride,
              mn_stride,
              k_stride};
    }
  }

  // The same, of which nothing is known: what follows from it is worked out anew.
  XGEMM_DEVICE PanelLoader opaque() const {
    PanelLoader x = *this;
    x.left = gpu::opaque(left);
    x.data = gpu::opaque(data);
    x.mn_stride = gpu::opaque(mn_stride);
    x.k_stride = gpu::opaque(k_stride);
    return x;
  }

  XGEMM_DEVICE int panels() const {
    constexpr int kOfWarp = kWarp < kPanel ? 1 : kWarp / kPanel;
    return (left + kWarp - 1) / kWarp * kOfWarp;
  }

  // Of the panels that TMA brings along m (or n), a warp asks for every kStep-th. What comes for it, in bytes.
  template <int kStep>
  XGEMM_DEVICE int bytes(int warp) const {
    return (panels() - warp + kStep - 1) / kStep * (kPanelFloats * 4);
  }

  template <int kStep>
  XGEMM_DEVICE void copy_bulk(const gpu::TensorMap& map, float* slice, gpu::Mbarrier& full, std::int64_t k,
                              int warp) const {
    const int count = panels();
    XGEMM_UNROLL
    for (int i = 0; i < kPanels; i += kStep) {
      const int panel = i + warp;
      if (panel < count) {
        // No box may be outside of the matrix as a whole (TensorBox::anywhere); what is there is not stored.
        const int existing = kFollows && panel * kPanel >= left ? 0 : panel;
        gpu::tma_load(slice + panel * kPanelFloats, map, full, mn + existing * kPanel, static_cast<int>(k), entry);
      }
    }
  }

  // Blocks along k, each where it will lie when it has been turned. Where a panel is one block, all come at once.
  XGEMM_DEVICE void copy_to_turn(const gpu::TensorMap& map, float* slice, gpu::Mbarrier& landed, std::int64_t k) const {
    const int x = static_cast<int>(k);
    static_assert(!kFollows || kTileK == Turner::kDepth, "no box is outside of the matrix as a whole");
    if constexpr (kTileK == Turner::kDepth) {
      gpu::tma_load(slice, map, landed, x, mn, entry);
    } else {
      XGEMM_UNROLL
      for (int panel = 0; panel < kPanels; ++panel) {
        XGEMM_UNROLL
        for (int row = 0; row < kTileK; row += Turner::kDepth)
          gpu::tma_load(slice + panel * kPanelFloats + row * kPanel, map, landed, x + row, mn + panel * kPanel, entry);
      }
    }
  }

  XGEMM_DEVICE void turn(const Turner& turner, float* slice) const {
    const int count = panels() * (kTileK / Turner::kDepth);
    XGEMM_NO_UNROLL
    for (int block = 0; block < count; ++block) turner.run(slice + block * Turner::kFloats);
  }

  // Where a lane of a warp of a team begins to copy the slice at k.
  XGEMM_DEVICE const float* first_word(std::int64_t k, int warp, int lane) const {
    return lies_along_k() ? data + (4 * warp + lane / 8) * mn_stride + (k + lane % 8)
                          : data + (k + warp) * k_stride + lane;
  }
  XGEMM_DEVICE bool has_lines() const { return (lies_along_k() ? k_stride : mn_stride) == 1; }

  // By a warp of a team. from: its first_word(); depth: what there is of K from there on.
  XGEMM_DEVICE void copy_words(float* slice, const float* from, std::int64_t depth, int warp, int lane) const {
    if (depth < kTileK) {
      copy_lines<Part::last>(slice, from, static_cast<int>(depth), warp, lane);
    } else if (kLoops && kExtent % kPanel == 0 && left == kExtent) {
      copy_lines<Part::whole>(slice, from, kTileK, warp, lane);
    } else {
      copy_lines<Part::edge>(slice, from, kTileK, warp, lane);
    }
  }

  // The same in little code, whatever the strides.
  XGEMM_DEVICE void copy_any(float* slice, std::int64_t k, std::int64_t depth, int warp, int lane) const {
    const int lanes_k = k_stride == 1 ? 8 : 1, lanes_mn = gpu::kWarpSize / lanes_k;
    const int columns = panels() * kPanel;
    const int lane_k = lane & (lanes_k - 1);
    const std::int64_t step = lanes_k * k_stride;
    XGEMM_NO_UNROLL
    for (int column = warp * lanes_mn + lane / lanes_k; column < columns; column += kWarps * lanes_mn) {
      const int rows = column >= left ? 0 : depth < kTileK ? static_cast<int>(depth) : kTileK;
      const int place = offset(column / 4, column % 4, 0);
      const float* from = data + column * mn_stride + (k + lane_k) * k_stride;
      XGEMM_NO_UNROLL
      for (int row = lane_k; row < kTileK; row += lanes_k, from += step) {
        const bool inside = row < rows;
        gpu::copy_async<4>(slice + (row * kPanel + (place ^ (row & 7) * 4)), inside ? from : data, inside ? 4 : 0);
      }
    }
  }

 private:
  // What exists of a slice. Beyond, zeros come.
  enum class Part { whole, edge, last };

  XGEMM_DEVICE bool lies_along_k() const { return kind == PanelLoad::words_k || kind == PanelLoad::turned; }

  template <Part kPart>
  XGEMM_DEVICE void copy_lines(float* slice, const float* from, int rows, int warp, int lane) const {
    if (lies_along_k()) {
      copy_along_k<kPart>(slice, from, rows, warp, lane);
    } else {
      copy_along_mn<kPart>(slice, from, rows, warp, lane);
    }
  }

  // Turns of the loops over panels and rows that stand one behind the other. More would take registers, or, of what is
  // rare or long, room in the instruction caches.
  static constexpr int turns(Part part) {
    if (part == Part::whole) return kExtent;
    return part == Part::edge && kExtent * kTileK < 4096 ? 2 : 1;
  }

  // A warp copies 8 k of 4 columns, a chunk.
  template <Part kPart>
  XGEMM_DEVICE void copy_along_k(float* slice, const float* from, int rows, int warp, int lane) const {
    constexpr int kTurns = turns(kPart), kChunks = (kExtent < kPanel ? kExtent : kPanel) / 4;
    const int lane_k = lane % 8, lane_mn = lane / 8;
    const std::int64_t step = 4 * kWarps * mn_stride;
    const int first = offset(warp, lane_mn, lane_k);
    XGEMM_UNROLL_BY(kTurns)
    for (int panel = 0; panel < kPanels; ++panel) {
      if (kTurns == 1 && panel >= panels()) break;
      const int place = gpu::opaque(first);
      const int within = left - (panel * kPanel + 4 * warp + lane_mn);
      XGEMM_UNROLL_BY(kPart != Part::whole && kLoops ? 4 : 8)
      for (int chunk = 0; chunk < kChunks; chunk += kWarps) {
        float* const to = slice + panel * kPanelFloats + (place ^ chunk * 4);
        XGEMM_UNROLL
        for (int row = 0; row < kTileK; row += 8)
          copy<kPart>(to + row * kPanel, from + row, 4 * chunk < within, row + lane_k < rows);
        from = gpu::opaque(from + step);
      }
    }
  }

  // A warp copies a row of some panels.
  template <Part kPart>
  XGEMM_DEVICE void copy_along_mn(float* slice, const float* first_row, int rows, int warp, int lane) const {
    constexpr int kMost = kPart == Part::whole ? 8 : 4, kTogether = kPanels < kMost ? kPanels : kMost;
    const std::int64_t step = kWarps * k_stride;
    const int first = offset(lane / 4, lane % 4, warp);
    XGEMM_NO_UNROLL
    for (int panel = 0; panel < kPanels; panel += kTogether) {
      if (panel >= panels()) break;
      const float* from = first_row + panel * kPanel;
      const int within = left - (panel * kPanel + lane);
      XGEMM_UNROLL_BY(turns(kPart))
      for (int row = 0; row < kTileK; row += 8) {
        const int place = gpu::opaque(first);
        XGEMM_UNROLL_BY(kPart != Part::whole && kLoops ? 4 : 8)
        for (int r = 0; r < 8; r += kWarps) {
          float* const to = slice + (panel * kPanelFloats + row * kPanel) + (place ^ r * (kPanel + 4));
          XGEMM_UNROLL
          for (int i = 0; i < kTogether; ++i)
            copy<kPart>(to + i * kPanelFloats, from + i * kPanel, i * kPanel < within, row + r + warp < rows);
          from = gpu::opaque(from + step);
        }
      }
    }
  }

  template <Part kPart>
  XGEMM_DEVICE static void copy(float* to, const float* from, bool inside, bool in_k) {
    gpu::copy_async<4>(to, from, (kPart == Part::whole || inside) && (kPart != Part::last || in_k) ? 4 : 0);
  }

  // Where column 4 * chunk + e of row `row` lies in a slice.
  XGEMM_DEVICE static int offset(int chunk, int e, int row) {
    return chunk / 8 * kPanelFloats + row * kPanel + (chunk % 8 ^ row % 8) * 4 + e;
  }
};

template <FfmaTmaConfig kConfig, class Epilogue>
struct FfmaTmaProducer {
  using Cta = FfmaTmaCta<kConfig>;
  static constexpr bool kFollow = kFollows<Epilogue>;
  // Of a team, and of one that brings no words. Any unit may come as words where pointers lead to the matrices.
  static constexpr int kWarps = kConfig.team_warps(true), kBulkWarps = kConfig.team_warps(kFollow);
  using LoaderA = PanelLoader<Cta::kTileM, Cta::kTileK, kConfig.warp_m(), kWarps, kFollow>;
  using LoaderB = PanelLoader<Cta::kTileN, Cta::kTileK, kConfig.warp_n(), kWarps, kFollow>;

  XGEMM_DEVICE static void prefetch_maps(const FfmaTmaParams& p) {
    if (by_tma(p.a_load)) gpu::tma_prefetch_map(p.a_map);
    if (by_tma(p.b_load)) gpu::tma_prefetch_map(p.b_map);
  }

  XGEMM_DEVICE static void run(const FfmaTmaParams& p, typename Cta::SharedStorage& smem, int producer) {
    const int lane = gpu::lane_index();
    const bool bulk = p.a_load == PanelLoad::bulk && p.b_load == PanelLoad::bulk;
    const bool turns = p.a_load == PanelLoad::turned || p.b_load == PanelLoad::turned;
    if (!kFollow && bulk && lane != 0) return;
    if constexpr (kFollow) {
      gpu::grid_wait_dependencies();  // pointers are read at once
    } else {
      if (!holds_early(p.condition)) return;
    }
    if (turns) {
      turn(p, smem, producer, lane);
    } else if (bulk) {
      fill<true>(p, smem, producer, kFollow ? lane : 0);
    } else {
      fill<false>(p, smem, producer, lane);
    }
  }

 private:
  XGEMM_DEVICE static LoaderA loader_a(const FfmaTmaParams& p, const Unit& unit) {
    return LoaderA::make(p.a_load, p.a, p.a.row_stride, p.a.col_stride, unit, unit.row, p.m);
  }
  XGEMM_DEVICE static LoaderB loader_b(const FfmaTmaParams& p, const Unit& unit) {
    return LoaderB::make(p.b_load, p.b, p.b.col_stride, p.b.row_stride, unit, unit.col, p.n);
  }

  // The slice at k. Of the loader nothing is kept but itself: beside many sums there are no registers for more.
  template <class Loader>
  XGEMM_DEVICE static void copy_words(const Loader& x, float* slice, std::int64_t k, std::int64_t depth, int warp,
                                      int lane) {
    const Loader y = x.opaque();
    lane = gpu::opaque(lane);
    k = gpu::opaque(k);
    depth = gpu::opaque(depth);
    if (y.has_lines()) {
      y.copy_words(slice, y.first_word(k, warp, lane), depth, warp, lane);
    } else {
      y.copy_any(slice, k, depth, warp, lane);
    }
  }

  // A unit of which a matrix starts off 16 bytes, by words alone, from the warp's next slice on, every step-th. What a
  // slot waits for is told for all units alike: an arrival of each thread for such words, and of what else there is,
  // which arrive() says. By the warps of a team from `warp` to `end`, which this one stands for.
  template <class Arrive>
  XGEMM_DEVICE static void fill_with_words(typename Cta::SharedStorage& smem, const Unit& unit, const LoaderA& a,
                                           const LoaderB& b, typename Cta::Ring& ring, int& slice, int step, int warp,
                                           int end, int lane, const Arrive& arrive) {
    const int slices = Cta::slices(unit.depth);
    XGEMM_NO_UNROLL
    for (; slice < slices; slice += step) {
      const std::int64_t done = static_cast<std::int64_t>(slice) * Cta::kTileK;
      float* const slot = smem.slots[ring.slot];
      gpu::mbarrier_wait(smem.empty[ring.slot], ring.phase ^ 1);
      XGEMM_NO_UNROLL
      for (int w = warp; w < end; ++w) {
        copy_words(a, slot, unit.k + done, unit.depth - done, w, lane);
        copy_words(b, slot + Cta::kBFloats, unit.k + done, unit.depth - done, w, lane);
      }
      gpu::copy_async_arrive(smem.full[ring.slot]);
      arrive();
      ring.skip(step);
    }
    slice -= slices;
  }

  // The same, where `from` is the slice's first word, and becomes that of the next one that is this warp's.
  template <class Loader>
  XGEMM_DEVICE static void copy_words(const Loader& x, float* slice, std::int64_t k, std::int64_t depth, int warp,
                                      int lane, const float*& from) {
    if constexpr (kConfig.many_sums()) {
      copy_words(x, slice, k, depth, warp, lane);
    } else {
      if (x.has_lines()) {
        x.copy_words(slice, from, depth, warp, lane);
      } else {
        x.copy_any(slice, k, depth, warp, lane);
      }
      from = gpu::opaque(from + Cta::kProducerWarps / kWarps * Cta::kTileK * x.k_stride);
    }
  }

  // By a team of warps for each slot: by TMA alone, or also by words. What a loop has no code for, it need not pass: a
  // product waits for its first slot.
  template <bool kBulk>
  XGEMM_DEVICE static void fill(const FfmaTmaParams& p, typename Cta::SharedStorage& smem, int producer, int lane) {
    constexpr int kTeamWarps = kBulk ? kBulkWarps : kWarps, kTeams = Cta::kProducerWarps / kTeamWarps;
    const int warp = producer % kTeamWarps;
    const bool bulk_a = kBulk || p.a_load == PanelLoad::bulk;
    const bool bulk_b = kBulk || p.b_load == PanelLoad::bulk;
    const Epilogue epilogue = Epilogue::make_early(p);
    int slice = producer / kTeamWarps;  // the team's next one, of the unit
    bool fences = false;                // TMA may write over words
    typename Cta::Ring ring;
    ring.skip(slice);
    const auto load = [&](const Unit& unit) {
      const LoaderA a = loader_a(p, unit);
      const LoaderB b = loader_b(p, unit);
      if constexpr (kFollow) {
        if (!(a.comes_so && b.comes_so)) {
          fences = true;
          return fill_with_words(smem, unit, a, b, ring, slice, kTeams, warp, warp + 1, lane, [&] {
            gpu::Mbarrier& full = smem.full[ring.slot];
            if ((bulk_a || bulk_b) && lane == 0) gpu::mbarrier_arrive(full);
            if (!bulk_a) gpu::copy_async_arrive(full);
            if (!bulk_b) gpu::copy_async_arrive(full);
          });
        }
      }
      const int bytes =
          (bulk_a ? a.template bytes<kTeamWarps>(warp) : 0) + (bulk_b ? b.template bytes<kTeamWarps>(warp) : 0);
      const int slices = Cta::slices(unit.depth);
      const std::int64_t first = unit.k + static_cast<std::int64_t>(slice) * Cta::kTileK;
      const float* from_a = a.first_word(first, warp, lane);
      const float* from_b = b.first_word(first, warp, lane);
      gpu::grid_wait_dependencies();  // as late as can be: a product waits for its first slice
      XGEMM_NO_UNROLL
      for (; slice < slices; slice += kTeams) {
        const std::int64_t done = static_cast<std::int64_t>(slice) * Cta::kTileK;
        const std::int64_t k = unit.k + done, depth = unit.depth - done;
        float* const slot = smem.slots[ring.slot];
        gpu::Mbarrier& full = smem.full[ring.slot];
        gpu::mbarrier_wait(smem.empty[ring.slot], ring.phase ^ 1);
        if constexpr (kFollow && kBulk) gpu::sync_warp();  // all lanes have seen this phase
        if (kFollow && lane == 0) gpu::mbarrier_arrive_times(full, gpu::kWarpSize);
        if (lane == 0 && (bulk_a || bulk_b)) {
          if (kFollow && fences) gpu::fence_async_shared();
          gpu::mbarrier_arrive_expect(full, bytes);
          if (bulk_a) a.template copy_bulk<kTeamWarps>(p.a_map, slot, full, k, warp);
          if (bulk_b) b.template copy_bulk<kTeamWarps>(p.b_map, slot + Cta::kBFloats, full, k, warp);
        }
        if constexpr (!kBulk) {
          if (!bulk_a) {
            copy_words(a, slot, k, depth, warp, lane, from_a);
            gpu::copy_async_arrive(full);
          }
          if (!bulk_b) {
            copy_words(b, slot + Cta::kBFloats, k, depth, warp, lane, from_b);
            gpu::copy_async_arrive(full);
          }
        }
        ring.skip(kTeams);
      }
      slice -= slices;
    };
    for_each_unit_32<Cta::kTileM, Cta::kTileN, Cta::kTileK>(p, epilogue.has_product, load, Cta::sharers(p));
  }

  // By a warp for each slot, which turns there what TMA has brought for it along k. On a busy SM it gets on slowly, and
  // has the time of several slots for its own.
  XGEMM_DEVICE static void turn(const FfmaTmaParams& p, typename Cta::SharedStorage& smem, int warp, int lane) {
    const bool turned_a = p.a_load == PanelLoad::turned, turned_b = p.b_load == PanelLoad::turned;
    const auto turner = FfmaTmaTurner<Cta::kTileK>::make(lane);
    const Epilogue epilogue = Epilogue::make_early(p);
    int slice = warp;
    typename Cta::Ring ring;
    ring.skip(slice);
    const auto load = [&](const Unit& unit) {
      const LoaderA a = loader_a(p, unit);
      const LoaderB b = loader_b(p, unit);
      if constexpr (kFollow) {
        if (!(a.comes_so && b.comes_so)) {
          return fill_with_words(smem, unit, a, b, ring, slice, Cta::kProducerWarps, 0, kWarps, lane, [&] {
            gpu::Mbarrier& full = smem.full[ring.slot];
            if (lane == 0) gpu::mbarrier_arrive(smem.landed[ring.slot]);
            gpu::mbarrier_wait(smem.landed[ring.slot], ring.phase);
            gpu::sync_warp();  // all lanes have seen this phase: another warp may be the next to use the slot
            if (lane != 0) return;
            gpu::mbarrier_arrive(full);
            if (!(turned_a && turned_b)) gpu::mbarrier_arrive(full);
          });
        }
      }
      const int slices = Cta::slices(unit.depth);
      gpu::grid_wait_dependencies();  // as in fill()
      XGEMM_NO_UNROLL
      for (; slice < slices; slice += Cta::kProducerWarps) {
        const std::int64_t k = unit.k + static_cast<std::int64_t>(slice) * Cta::kTileK;
        float* const slice_a = smem.slots[ring.slot];
        float* const slice_b = slice_a + Cta::kBFloats;
        gpu::Mbarrier& landed = smem.landed[ring.slot];
        gpu::Mbarrier& full = smem.full[ring.slot];
        gpu::mbarrier_wait(smem.empty[ring.slot], ring.phase ^ 1);
        if (lane == 0) {
          gpu::fence_async_shared();  // TMA writes over what was turned
          gpu::mbarrier_arrive_expect(landed,
                                      (turned_a ? LoaderA::kSliceBytes : 0) + (turned_b ? LoaderB::kSliceBytes : 0));
          if (turned_a) a.copy_to_turn(p.a_map, slice_a, landed, k);
          if (turned_b) b.copy_to_turn(p.b_map, slice_b, landed, k);
          if (!(turned_a && turned_b)) {
            gpu::mbarrier_arrive_expect(full, turned_a ? b.template bytes<1>(0) : a.template bytes<1>(0));
            if (!turned_a) a.template copy_bulk<1>(p.a_map, slice_a, full, k, 0);
            if (!turned_b) b.template copy_bulk<1>(p.b_map, slice_b, full, k, 0);
          }
        }
        gpu::mbarrier_wait(landed, ring.phase);
        if (turned_a) a.turn(turner, slice_a);
        if (turned_b) b.turn(turner, slice_b);
        gpu::sync_warp();
        if (lane == 0) gpu::mbarrier_arrive_times(full, kFollow ? 1 + gpu::kWarpSize : 1);
        ring.skip(Cta::kProducerWarps);
      }
      slice -= slices;
    };
    for_each_unit_32<Cta::kTileM, Cta::kTileN, Cta::kTileK>(p, epilogue.has_product, load, Cta::sharers(p));
  }
};

}  // namespace xgemm::kernels
