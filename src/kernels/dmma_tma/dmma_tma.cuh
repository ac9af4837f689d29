// dmma_tma: products of doubles on the tensor cores of sm_90, fed by the copy engine or by producer warps.
//
//   warps 0 ..         consumers: DMMA (m16n8k8) on the slots,     ring of kStages slots in shared memory
//                      then the epilogue                           slot: [ slice of A | slice of B ]
//   last warpgroup     producers: TMA, by one thread, of operands that are aligned; words of cp.async of others
//
//             empty[s]                       full[s]
//   producer --wait--> TMA, cp.async --bytes, arrivals--> --wait--> DMMA ---arrive---> empty[s]
//
// No barrier of all warps: each waits for the slots that it reads, and warps that share a tensor core drift apart, so
// that one multiplies while the other waits, reads or stores. CTAs are persistent: the slices of the next tile are on
// their way while the sums of this one are stored.
//
// Fragments are read from operands as the copy engine's 128-byte swizzle leaves them, whichever way they lie, without
// bank conflicts: a product does not care in which order it is told rows, columns and k, as long as A and B agree about
// k (DmmaFragmentReader).
//
// The instruction's rows are columns of C, its columns rows of C: what a lane holds of a column are then pairs.
//
// Edges: beyond m, n and k stand zeros. Parts of K (split tiles) end on whole slices.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/kernel.cuh"
#include "kernels/common/mma.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/sm90/tma.cuh"
#include "kernels/common/sm90/warpgroup.cuh"
#include "kernels/dmma_tma/arguments.h"

namespace xgemm::kernels {

// How a warp reads a slice of an operand: blocks of 16 rows (of op(A); of op(B) transposed) and 8 k, in two halves of
// eight rows each. Lane 4 g + c gets from half j of a block the two elements of row place(g, j), k = c and c + 4.
//
//   along m (n)    a line of 16 rows for each k. A half has two neighbouring rows in each of four chunks of 16 bytes.
//                  16 lanes, which share an access, read two chunks, four apart, from four lines
//   along k        a line of 16 k for each row. They read two neighbouring chunks from four lines, two apart
//
// Either way that is all banks, since the swizzle is chunk ^ line % 8.
template <bool kAlongK>
struct DmmaFragmentReader {
  static constexpr int kBlockBytes = 2048;  // from a block of rows to the next: 16 lines of 128 bytes

  int at;  // in bytes: of the first element of the first block that a lane reads

  XGEMM_DEVICE static int place(int g, int j) {
    return kAlongK ? (g & 1) << 2 | (g & 2) | g >> 2 | j << 3 : (g & 1) | g >> 2 << 1 | j << 2 | (g & 2) << 2;
  }

  // first: of the warp's rows in the slice; a multiple of 16.
  XGEMM_DEVICE static DmmaFragmentReader make(int first, int lane) {
    const int g = lane / 4, c = lane % 4;
    const int line = kAlongK ? place(g, 0) : c, element = kAlongK ? c : place(g, 0);
    return {first / 16 * kBlockBytes + line * 128 + (element / 2 ^ line % 8) * 16 + element % 2 * 8};
  }

  // The same, as something that is worked out from now on: what follows from it takes no registers over a step.
  XGEMM_DEVICE DmmaFragmentReader renewed() const { return {gpu::opaque(at)}; }

  // Element h of half j of a block. The swizzle is linear: what changes the chunk is an exclusive or.
  XGEMM_DEVICE double read(const unsigned char* slice, int step, int block, int j, int h) const {
    const int offset = block * kBlockBytes + (kAlongK ? (at ^ (32 * h + 64 * step)) + j * 1024
                                                      : (at ^ (32 * j + 64 * h)) + h * 512 + step * 1024);
    return gpu::read<gpu::Space::shared>(reinterpret_cast<const double*>(slice + offset));
  }
};

template <TileConfig kConfig, class Epilogue = LinearCombinationOf<kConfig.type>>
struct DmmaTma {
  using Element = double;
  using ElementC = double;
  using Params = DmmaTmaParams;
  static constexpr int kTileM = kConfig.cta_m, kTileN = kConfig.cta_n, kTileK = kConfig.cta_k;
  static constexpr int kWarpM = kConfig.warp_m, kWarpN = kConfig.warp_n;
  static constexpr int kStages = kConfig.stages;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr int kConsumerWarps = kConfig.threads() / gpu::kWarpSize;
  static constexpr int kThreads = kConfig.threads() + kDmmaProducerThreads;
  static constexpr int kMinArch = 900;
  static constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;  // all that there are for 384 threads
  static constexpr bool kAAlongK = kConfig.a_contiguous == Axis::col;
  static constexpr bool kBAlongK = kConfig.b_contiguous == Axis::row;
  static_assert(kConfig.type == DType::f64 && kConfig.type_c == DType::f64);
  static_assert(kTileK == kDmmaPanel, "a line along k is a row of the swizzle, and a panel has as many lines");
  static_assert(kTileM % kWarpM == 0 && kTileN % kWarpN == 0, "warps share a tile out evenly");
  static_assert(kWarpM % 16 == 0 && kWarpN % 16 == 0, "fragments are read in blocks of 16");
  static_assert(kTileM <= 256 && kTileN <= 256, "extent of a TMA box");
  static_assert(kConsumerWarps == 8, "else registers are to be shared out otherwise");

  struct Slot {
    unsigned char a[kTileM * kTileK * sizeof(double)];
    unsigned char b[kTileN * kTileK * sizeof(double)];
  };
  struct SharedStorage {
    alignas(1024) Slot slots[kStages];
    alignas(16) double staged[kConsumerWarps][8 * kWarpM];
    gpu::Mbarrier full[kStages];
    gpu::Mbarrier empty[kStages];
  };

  XGEMM_DEVICE static void run(const Params& p, SharedStorage& smem) {
    if (gpu::thread_index() == 0) {
      if (p.a_bulk) gpu::tma_prefetch_map(p.a_map);
      if (p.b_bulk) gpu::tma_prefetch_map(p.b_map);
      // A slot is full when what TMA brings has come, which one thread announces, and the words of all producers.
      const int arrivals = (p.a_bulk || p.b_bulk ? 1 : 0) + (p.a_bulk && p.b_bulk ? 0 : kDmmaProducerThreads);
      for (int s = 0; s < kStages; ++s) {
        gpu::mbarrier_init(smem.full[s], arrivals);
        gpu::mbarrier_init(smem.empty[s], kConsumerWarps);
      }
      gpu::mbarrier_init_fence();
    }
    gpu::sync_threads();
    gpu::grid_launch_dependents();
    const bool has_product = Epilogue::make_early(p).has_product;
    Ring ring;
    if (gpu::shuffle(gpu::warp_index(), 0) >= kConsumerWarps) {  // uniform, and the compiler knows it
      gpu::release_registers<kProducerRegisters>();
      const int thread = gpu::thread_index() - kConfig.threads();
      if (p.a_bulk && p.b_bulk && thread != 0) return;
      for_each_unit_32<kTileM, kTileN, kTileK>(p, has_product,
                                               [&](const Unit& unit) { produce(p, smem, ring, unit, thread); });
    } else {
      gpu::acquire_registers<kConsumerRegisters>();
      for_each_unit_32<kTileM, kTileN, kTileK>(p, has_product, [&](const Unit& begun) {
        // What is kept from unit to unit would take registers from the mainloop: it is worked out anew.
        const int thread = gpu::opaque(gpu::thread_index());
        const int warp = gpu::shuffle(thread / gpu::kWarpSize, 0), lane = thread % gpu::kWarpSize;
        if (begun.row + warp_m(warp) >= p.m || begun.col + warp_n(warp) >= p.n) {
          return pass(smem, ring, slices(begun));
        }
        const Readers readers = {ReaderA::make(warp_m(warp), lane), ReaderB::make(warp_n(warp), lane)};
        Sums sums = {};
        multiply(smem, ring, slices(begun), readers, sums);
        const auto index = static_cast<unsigned>(gpu::opaque(static_cast<int>(begun.index)));
        const Unit unit = unit_at_32<kTileM, kTileN, kTileK>(p, index);
        const auto own = static_cast<unsigned>(gpu::opaque(gpu::thread_index()));
        gpu::grid_wait_dependencies();
        store(p, smem, unit, own / gpu::kWarpSize, own % gpu::kWarpSize, sums);
      });
    }
  }

 private:
  using ReaderA = DmmaFragmentReader<kAAlongK>;
  using ReaderB = DmmaFragmentReader<kBAlongK>;
  struct Readers {
    ReaderA a;
    ReaderB b;
  };

  // Where a warp's part of the CTA tile begins.
  XGEMM_DEVICE static int warp_m(int warp) { return warp % (kTileM / kWarpM) * kWarpM; }
  XGEMM_DEVICE static int warp_n(int warp) { return warp / (kTileM / kWarpM) * kWarpN; }

  static constexpr int kBlocksM = kWarpM / 16, kBlocksN = kWarpN / 16;
  // Of a block of columns, a block of rows, and those of the latter that one instruction computes: its result.
  using Sums = double[kBlocksN][kBlocksM][2][4];

  // A position in the ring of slots. `phase` is the parity that consumers wait for.
  struct Ring {
    int slot = 0;
    unsigned phase = 0;

    XGEMM_DEVICE void next() {
      if (++slot == kStages) slot = 0, phase ^= 1;
    }
  };

  XGEMM_DEVICE static int slices(const Unit& unit) { return static_cast<int>((unit.depth + kTileK - 1) / kTileK); }

  // ---- The producer ----

  // An operand's slices of a unit. kExtent: of the tile along mn, the axis that the operand shares with C.
  template <int kExtent, bool kAlongK>
  struct Loader {
    bool bulk;
    int mn, batch;  // what TMA is told
    int left;       // of mn, from there on
    const double* data;
    std::int64_t line_stride;

    static constexpr int kBytes = kExtent * kTileK * int{sizeof(double)};
    static constexpr int kLine = kAlongK ? kTileK : kExtent;  // elements of a line

    XGEMM_DEVICE static Loader make(bool bulk, const ConstMatrixArg& x, std::int64_t line_stride, const Unit& unit,
                                    std::int64_t mn, std::int64_t extent) {
      const std::int64_t left = extent - mn;
      return {bulk,
              static_cast<int>(mn),
              static_cast<int>(x.batch_stride != 0 ? unit.batch : 0),
              static_cast<int>(left < kExtent ? left : kExtent),
              static_cast<const double*>(x.data) + unit.batch * x.batch_stride + mn * (kAlongK ? line_stride : 1) +
                  unit.k * (kAlongK ? 1 : line_stride),
              line_stride};
    }

    XGEMM_DEVICE void copy_bulk(unsigned char* slice, const gpu::TensorMap& map, gpu::Mbarrier& full, int k) const {
      if constexpr (kAlongK) {
        gpu::tma_load(slice, map, full, k, mn, batch);
      } else {
        XGEMM_UNROLL
        for (int i = 0; i < kExtent; i += kDmmaPanel)
          gpu::tma_load(slice + i * (kTileK * int{sizeof(double)}), map, full, mn + i, k, batch);
      }
    }

    // By all producers: neighbours copy neighbours, to where TMA would put them. done, depth: slices of the unit before
    // this one, in k, and what there is of K from it on.
    XGEMM_DEVICE void copy_words(unsigned char* slice, int done, int depth, int thread) const {
      const double* const source = data + done * (kAlongK ? std::int64_t{1} : line_stride);
      if (left == kExtent && depth >= kTileK) {
        copy_slice<true>(slice, source, depth, thread);
      } else {
        copy_slice<false>(slice, source, depth, thread);
      }
    }

   private:
    // kWhole: all of the slice exists. An address follows from the one before, or differs by a constant.
    template <bool kWhole>
    XGEMM_DEVICE void copy_slice(unsigned char* slice, const double* source, int depth, int thread) const {
      constexpr int kRun = kAlongK ? kTileK : gpu::kWarpSize;  // neighbours
      constexpr int kLinesAtOnce = kDmmaProducerThreads / kRun;
      const int first = thread / kRun, at = thread % kRun;
      const int lines = kAlongK ? left : depth, run = kAlongK ? depth : left;
      const double* from = source + first * line_stride + at;
      const int even = offset(first, at), odd = offset(first + kLinesAtOnce, at);
      XGEMM_UNROLL
      for (int line = 0; line < (kAlongK ? kExtent : kTileK); line += kLinesAtOnce) {
        const int to =
            line / kLinesAtOnce % 2 == 0 ? even + line * kLineBytes : odd + (line - kLinesAtOnce) * kLineBytes;
        const bool inside = kWhole || first + line < lines;
        XGEMM_UNROLL
        for (int i = 0; i < kLine; i += kRun)
          gpu::copy_async<8>(slice + to + i / kDmmaPanel * kPanelBytes, from + i,
                             kWhole || (inside && at + i < run) ? 8 : 0);
        from += kLinesAtOnce * line_stride;
      }
    }

    // Where element `at` of a line lies in a slice.
    static constexpr int kLineBytes = kDmmaPanel * int{sizeof(double)}, kPanelBytes = kTileK * kLineBytes;
    XGEMM_DEVICE static int offset(int line, int at) {
      const int column = at % kDmmaPanel;
      return at / kDmmaPanel * kPanelBytes + line * kLineBytes + (column / 2 ^ line % 8) * 16 + column % 2 * 8;
    }
    // The swizzle comes again after eight lines, that is after one or two steps.
    static_assert(kAlongK || (2 * kDmmaProducerThreads / gpu::kWarpSize == 8 && kExtent % gpu::kWarpSize == 0));
  };

  XGEMM_DEVICE static void produce(const Params& p, SharedStorage& smem, Ring& ring, const Unit& unit, int thread) {
    using LoaderA = Loader<kTileM, kAAlongK>;
    using LoaderB = Loader<kTileN, kBAlongK>;
    const auto a = LoaderA::make(p.a_bulk, p.a, kAAlongK ? p.a.row_stride : p.a.col_stride, unit, unit.row, p.m);
    const auto b = LoaderB::make(p.b_bulk, p.b, kBAlongK ? p.b.col_stride : p.b.row_stride, unit, unit.col, p.n);
    const int first = static_cast<int>(unit.k), depth = static_cast<int>(unit.depth);
    gpu::grid_wait_dependencies();
    XGEMM_NO_UNROLL
    for (int done = 0; done < depth; done += kTileK) {
      Slot& slot = smem.slots[ring.slot];
      gpu::Mbarrier& full = smem.full[ring.slot];
      gpu::mbarrier_wait(smem.empty[ring.slot], ring.phase ^ 1);
      if (thread == 0 && (a.bulk || b.bulk)) {
        gpu::mbarrier_arrive_expect(full, (a.bulk ? LoaderA::kBytes : 0) + (b.bulk ? LoaderB::kBytes : 0));
        if (a.bulk) a.copy_bulk(slot.a, p.a_map, full, first + done);
        if (b.bulk) b.copy_bulk(slot.b, p.b_map, full, first + done);
      }
      if (!a.bulk || !b.bulk) {
        if (!a.bulk) a.copy_words(slot.a, done, depth - done, thread);
        if (!b.bulk) b.copy_words(slot.b, done, depth - done, thread);
        gpu::copy_async_arrive(full);
      }
      ring.next();
    }
  }

  // ---- The consumers ----

  // By all lanes of a warp that has read what it needs of a slot.
  XGEMM_DEVICE static void release(SharedStorage& smem, int slot) {
    gpu::sync_warp();
    if (gpu::lane_index() == 0) gpu::mbarrier_arrive(smem.empty[slot]);
  }

  // A warp with nothing inside of C.
  XGEMM_DEVICE static void pass(SharedStorage& smem, Ring& ring, int slices) {
    XGEMM_NO_UNROLL
    for (int slice = 0; slice < slices; ++slice) {
      gpu::mbarrier_wait(smem.full[ring.slot], ring.phase);
      release(smem, ring.slot);
      ring.next();
    }
  }

  // As the instruction wants them: its rows, of columns of C, and its columns.
  struct Fragments {
    double n[kBlocksN][4];
    double m[kBlocksM][2][2];
  };

  XGEMM_DEVICE static void read_n(const Readers& readers, const Slot& slot, int step, int block, int j,
                                  double (&f)[4]) {
    XGEMM_UNROLL
    for (int h = 0; h < 2; ++h) f[2 * h + j] = readers.b.read(slot.b, step, block, j, h);
  }
  XGEMM_DEVICE static void read_m(const Readers& readers, const Slot& slot, int step, int block, double (&f)[2][2]) {
    XGEMM_UNROLL
    for (int j = 0; j < 2; ++j) {
      XGEMM_UNROLL
      for (int h = 0; h < 2; ++h) f[j][h] = readers.a.read(slot.a, step, block, j, h);
    }
  }

  // The products of a step, and the fragments of the next one. Those of n are there twice; those of a block of m make
  // way for the next ones as soon as all products with them have begun.
  XGEMM_DEVICE static void multiply_step(Fragments& f, const Readers& kept, const Slot& next, int next_step,
                                         Sums& sums) {
    const Readers readers = {kept.a.renewed(), kept.b.renewed()};
    constexpr int kHalves = 2 * kBlocksN;
    double next_n[kBlocksN][4];
    XGEMM_UNROLL
    for (int i = 0; i < kBlocksM; ++i) {
      XGEMM_UNROLL
      for (int v = i * kHalves / kBlocksM; v < (i + 1) * kHalves / kBlocksM; ++v)
        read_n(readers, next, next_step, v / 2, v % 2, next_n[v / 2]);
      XGEMM_UNROLL
      for (int j = 0; j < 2; ++j) {
        XGEMM_UNROLL
        for (int n = 0; n < kBlocksN; ++n) gpu::mma<double>(sums[n][i][j], f.n[n], f.m[i][j]);
      }
      read_m(readers, next, next_step, i, f.m[i]);
    }
    XGEMM_UNROLL
    for (int n = 0; n < kBlocksN; ++n) {
      XGEMM_UNROLL
      for (int e = 0; e < 4; ++e) f.n[n][e] = next_n[n][e];
    }
  }

  // Adds the products of the next `slices` slots.
  XGEMM_DEVICE static void multiply(SharedStorage& smem, Ring& ring, int slices, const Readers& readers, Sums& sums) {
    if (slices == 0) return;
    Fragments f;
    gpu::mbarrier_wait(smem.full[ring.slot], ring.phase);
    {
      const Slot& slot = smem.slots[ring.slot];
      XGEMM_UNROLL
      for (int v = 0; v < 2 * kBlocksN; ++v) read_n(readers, slot, 0, v / 2, v % 2, f.n[v / 2]);
      XGEMM_UNROLL
      for (int i = 0; i < kBlocksM; ++i) read_m(readers, slot, 0, i, f.m[i]);
    }
    XGEMM_NO_UNROLL
    for (int left = slices; left > 0; --left) {
      const int slot = ring.slot;
      multiply_step(f, readers, smem.slots[slot], 1, sums);
      ring.next();
      // After the last slice its first fragments are read once more: loads that depend on a condition cost moves.
      if (left > 1) gpu::mbarrier_wait(smem.full[ring.slot], ring.phase);
      multiply_step(f, readers, smem.slots[left > 1 ? ring.slot : slot], 0, sums);
      release(smem, slot);
    }
  }

  // ---- The epilogue ----

  // Where the sums of a warp go: its part of C, or of a tile of sums in the workspace.
  struct Target {
    double* c;
    std::int64_t ld;
    int rows, columns;  // of the part that exist
    bool pairs;         // columns start on 16 bytes
    Fill fill;
    int diagonal;  // of a triangle: in which row, from the part's first on, it meets the first column

    // The rows of a column that are read and written: [begin, end).
    struct Rows {
      int begin, end;
      XGEMM_DEVICE bool contains(int row) const { return row >= begin && row < end; }
    };
    XGEMM_DEVICE Rows rows_of(int column) const {
      const int on = diagonal + column;
      Rows r = {0, column < columns ? rows : 0};
      if (fill == Fill::lower) r.begin = on;
      if (fill == Fill::upper && on + 1 < r.end) r.end = on + 1;
      return r;
    }
  };

  XGEMM_DEVICE static Target target(const Params& p, const Unit& unit, int warp) {
    const int first_row = warp_m(warp), first_column = warp_n(warp);
    if (unit.is_partial(p)) {
      double* const tile = static_cast<double*>(p.partials) + p.schedule.partial_index(unit.index) * (kTileM * kTileN);
      return {tile + first_column * kTileM + first_row, kTileM, kWarpM, kWarpN, true, Fill::full, 0};
    }
    const std::int64_t row = unit.row + first_row, column = unit.col + first_column, ld = p.c.col_stride;
    double* const c = static_cast<double*>(p.c.data) + unit.batch * p.c.batch_stride + column * ld + row;
    const auto least = [](std::int64_t x, int most) { return x < most ? static_cast<int>(x) : most; };
    return {c,
            ld,
            least(p.m - row, kWarpM),
            least(p.n - column, kWarpN),
            (reinterpret_cast<std::uintptr_t>(c) | static_cast<std::uintptr_t>(ld) * sizeof(double)) % 16 == 0,
            p.fill,
            static_cast<int>(column - row)};
  }

  // Eight columns at a time, a half of a block, through shared memory: a warp then stores whole columns of its part.
  XGEMM_DEVICE static void store(const Params& p, SharedStorage& smem, const Unit& unit, unsigned warp, unsigned lane,
                                 const Sums& sums) {
    const Target to = target(p, unit, static_cast<int>(warp));
    const Epilogue epilogue = Epilogue::make(p);
    const bool partial = unit.is_partial(p), reads = !partial && epilogue.reads_c();
    const std::int64_t row = unit.row + warp_m(int(warp)), column = unit.col + warp_n(int(warp));
    double* const staged = smem.staged[warp];
    XGEMM_NO_UNROLL
    for (int half = 0; half < 2 * kBlocksN; ++half) {
      XGEMM_UNROLL
      for (int own = 0; own < 2 * kBlocksN; ++own)
        if (own == half) stage(staged, sums[own / 2], own % 2, lane);  // registers are chosen at compile time
      gpu::sync_warp();
      constexpr int kPairs = kWarpM / 2, kCount = 8 * kPairs / gpu::kWarpSize, kAhead = kCount % 4 == 0 ? 4 : kCount;
      XGEMM_NO_UNROLL
      for (int first = 0; first < kCount; first += kAhead) {
        gpu::Vector<double, 2> old[kAhead] = {};
        const auto place = [&](int v, auto f) {
          const unsigned index = static_cast<unsigned>(first + v) * gpu::kWarpSize + lane;
          const int g = static_cast<int>(index / kPairs), i = static_cast<int>(2 * (index % kPairs)),
                    j = half / 2 * 16 + ReaderB::place(g, half % 2);
          const auto inside = to.rows_of(j);
          f(g, i, j, to.c + j * to.ld + i, inside, to.pairs && inside.contains(i) && inside.contains(i + 1));
        };
        if (reads) {
          XGEMM_UNROLL
          for (int v = 0; v < kAhead; ++v)
            place(v, [&](int, int i, int, const double* at, const auto& inside, bool as_pair) {
              if (as_pair) {
                old[v] = gpu::read<gpu::Space::global>(reinterpret_cast<const gpu::Vector<double, 2>*>(at));
              } else {
                XGEMM_UNROLL
                for (int e = 0; e < 2; ++e)
                  if (inside.contains(i + e)) old[v][e] = gpu::read<gpu::Space::global>(at + e);
              }
            });
        }
        XGEMM_UNROLL
        for (int v = 0; v < kAhead; ++v)
          place(v, [&](int g, int i, int j, double* at, const auto& inside, bool as_pair) {
            auto value = gpu::read<gpu::Space::shared>(
                reinterpret_cast<const gpu::Vector<double, 2>*>(staged + staged_at(g, i)));
            if (!partial) {
              XGEMM_UNROLL
              for (int e = 0; e < 2; ++e)
                value[e] = reads ? epilogue.template apply<true>(value[e], old[v][e], row + i + e, column + j, p)
                                 : epilogue.template apply<false>(value[e], 0.0, row + i + e, column + j, p);
            }
            if (as_pair) {
              gpu::write<gpu::Space::global>(reinterpret_cast<gpu::Vector<double, 2>*>(at), value);
            } else {
              XGEMM_UNROLL
              for (int e = 0; e < 2; ++e)
                if (inside.contains(i + e)) gpu::write<gpu::Space::global>(at + e, value[e]);
            }
          });
      }
      gpu::sync_warp();
    }
  }

  // Where row i of column g of eight is staged: without conflicts for stage() and for whole columns.
  XGEMM_DEVICE static int staged_at(int g, int i) { return g * kWarpM + (i ^ (g & 3) << 2); }

  XGEMM_DEVICE static void stage(double* staged, const double (&sums)[kBlocksM][2][4], int half, unsigned lane) {
    const int g = static_cast<int>(lane / 4), c = static_cast<int>(lane % 4);
    XGEMM_UNROLL
    for (int v = 0; v < 2 * kBlocksM; ++v) {
      const auto at = [&](int e) { return staged + staged_at(g, v / 2 * 16 + ReaderA::place(2 * c + e, v % 2)); };
      const double* const pair = &sums[v / 2][v % 2][2 * half];
      if constexpr (kAAlongK) {
        XGEMM_UNROLL
        for (int e = 0; e < 2; ++e) gpu::write<gpu::Space::shared>(at(e), pair[e]);
      } else {  // neighbours
        gpu::write<gpu::Space::shared>(reinterpret_cast<gpu::Vector<double, 2>*>(at(0)),
                                       gpu::Vector<double, 2>{{pair[0], pair[1]}});
      }
    }
  }
};

}  // namespace xgemm::kernels
