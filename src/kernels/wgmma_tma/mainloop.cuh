// The mainloop of a wgmma_tma consumer: slots of the ring to sums in registers, under an MmaPolicy.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/sm90/wgmma.cuh"
#include "kernels/common/target.cuh"
#include "kernels/wgmma_tma/cta.cuh"

namespace xgemm::kernels {

template <WgmmaTmaConfig kConfig>
struct WgmmaTmaMainloop {
  using Cta = WgmmaTmaCta<kConfig>;
  using Sums = typename Cta::Sums;
  using Ring = typename Cta::Ring;
  using Place = typename Cta::Place;
  using SharedStorage = typename Cta::SharedStorage;

  // One descriptor for each operand; slots, planes, slabs and steps of K are offsets from it. An X that goes through
  // registers has none.
  std::uint64_t x, y;

  // first: the ring's first slot.
  XGEMM_DEVICE static WgmmaTmaMainloop make(SharedStorage& smem, int tile_group, int first = 0) {
    // group_row * kRowBytes is the way to a consumer's rows in either layout: K-major rows have so many bytes, and
    // MN-major pieces kPieceX rows for kTileK * kPieceX elements.
    static_assert(Cta::kTileK * Cta::kElementBytes == Cta::kRowBytes);
    // An address has too few bits for that of a slot which is not there: from the first one that is, so far back.
    const auto& slot = smem.slots[first];
    WgmmaTmaMainloop mainloop{};
    if constexpr (!kConfig.x_through_registers()) {
      mainloop.x = gpu::wgmma_advance(gpu::wgmma_descriptor(slot.x, Cta::kRowBytes, Cta::kLeadingX, Cta::kStrideX),
                                      Cta::group_row(tile_group) * Cta::kRowBytes - first * kConfig.slot_bytes());
    }
    mainloop.y = gpu::wgmma_advance(gpu::wgmma_descriptor(slot.y, Cta::kSwizzleY, Cta::kLeadingY, Cta::kStrideY),
                                    Cta::group_column(tile_group) * Cta::kRowBytes - first * kConfig.slot_bytes());
    return mainloop;
  }

  // The sums of the next `slices` slots, zeros for a consumer that is not inside of C. Of ping-pong consumers this one
  // passes its turn on when the last slot has arrived, if `passes_turn`. bf16: of kernels for either type.
  XGEMM_DEVICE void run(SharedStorage& smem, const Place& place, Ring& ring, int slices, Sums& sums, bool inside,
                        bool passes_turn, int group, bool bf16) const {
    clear(sums);
    if (!inside) {
      Cta::pass_slots(smem, place, ring, slices);
      if (passes_turn) Cta::pass_turn(smem, group);
      return;
    }
    // Where the ring begins somewhere else, by code of its own: with a first slot that is known at run time alone, the
    // compiler works the descriptors out anew for each slice.
    if constexpr (Cta::kMayShareSm) {
      if (ring.first != 0) [[unlikely]]
        return make(smem, 0, ring.first)
            .multiply(smem, place, ring, ring.first, slices, sums, passes_turn, group, bf16);
    }
    multiply(smem, place, ring, 0, slices, sums, passes_turn, group, bf16);
  }

 private:
  // first: the ring's first slot.
  XGEMM_DEVICE void multiply(SharedStorage& smem, const Place& place, Ring& ring, int first, int slices, Sums& sums,
                             bool passes_turn, int group, bool bf16) const {
    if constexpr (kConfig.x_through_registers()) {
      multiply_fragments(smem, place, ring, first, slices, sums, passes_turn, group);
    } else if constexpr (kConfig.has_either_type()) {
      if (bf16) {
        multiply_slots<gpu::ElementOf<DType::bf16>>(smem, place, ring, first, slices, sums, passes_turn, group);
      } else {
        multiply_slots<gpu::ElementOf<DType::f16>>(smem, place, ring, first, slices, sums, passes_turn, group);
      }
    } else if constexpr (Cta::kPlanes == 1) {
      multiply_slots<typename Cta::Element>(smem, place, ring, first, slices, sums, passes_turn, group);
    } else {
      if (slices <= MmaPolicy::kShortSlices) {
        multiply_parts<true>(smem, place, ring, slices, sums);
      } else {
        multiply_parts<false>(smem, place, ring, slices, sums);
      }
    }
  }

  // Here rather than by the first wgmma: registers that it ignores would count as live through the loop over tiles, and
  // be saved.
  XGEMM_DEVICE static void clear(Sums& sums) {
    XGEMM_UNROLL
    for (int i = 0; i < Cta::kSlabs; ++i) {
      XGEMM_UNROLL
      for (int j = 0; j < Cta::kSlabRegisters; ++j) sums[i][j] = 0.0f;
    }
    keep(sums);
  }

  template <class Element>
  XGEMM_DEVICE void multiply_slots(SharedStorage& smem, const Place& place, Ring& ring, int first, int slices,
                                   Sums& sums, bool passes_turn, int group) const {
    int previous = 0;
    XGEMM_NO_UNROLL
    for (int slice = 0; slice < slices; ++slice) {
      gpu::mbarrier_wait(smem.full[ring.slot], ring.phase);
      gpu::wgmma_fence();
      multiply_steps<true, Element>(ring.slot, 0, kSteps, sums);
      gpu::wgmma_commit();
      gpu::wgmma_wait<1>();
      if (slice > 0) Cta::release(smem, previous, place);
      previous = ring.slot;
      ring.next(first);
    }
    if (passes_turn) Cta::pass_turn(smem, group);
    gpu::wgmma_wait<0>();
    keep(sums);
    if (slices > 0) Cta::release(smem, previous, place);
  }

  // X through registers: the fragments of a slot are loaded while the products of the one before run, into registers
  // that an older one has left. So the tensor cores wait for the first fragments alone.
  XGEMM_DEVICE void multiply_fragments(SharedStorage& smem, const Place& place, Ring& ring, int first, int slices,
                                       Sums& sums, bool passes_turn, int group) const {
    Fragments fragments[2];
    int previous = -1;
    if (slices > 0) load_fragments(smem, ring, group, fragments[0]);
    const auto multiply_slot = [&](const Fragments& these, Fragments& next, bool more) {
      gpu::wgmma_fence();
      multiply_steps(ring.slot, these, sums);
      gpu::wgmma_commit();
      gpu::wgmma_wait<1>();
      if (previous >= 0) Cta::release(smem, previous, place);
      previous = ring.slot;
      ring.next(first);
      if (more) load_fragments(smem, ring, group, next);
    };
    XGEMM_NO_UNROLL
    for (int left = slices; left > 0; left -= 2) {
      multiply_slot(fragments[0], fragments[1], left > 1);
      if (left > 1) multiply_slot(fragments[1], fragments[0], left > 2);
    }
    if (passes_turn) Cta::pass_turn(smem, group);
    gpu::wgmma_wait<0>();
    keep(sums);
    if (previous >= 0) Cta::release(smem, previous, place);
  }

  // X and Y of a high and a low part. Tensor cores cut off what long sums would need: those of high parts are added to
  // sums in registers, after every slot, or, where all sums are short, after every half of one. Then what that addition
  // rounds off begins the next sum, and nothing is lost but what the tensor cores cut off: short sums in fp32 lose as
  // little (docs/numerics.md). The products of high and low parts are so much smaller that their sums may stay. They
  // run while the others are added, so that the tensor cores do not wait for that, or, of halves, not long.
  template <bool kCarries>
  XGEMM_DEVICE void multiply_parts(SharedStorage& smem, const Place& place, Ring& ring, int slices, Sums& sums) const {
    static_assert(Cta::kPlanes <= 2 && (Cta::kPlanes == 1 || !kConfig.ping_pong));
    constexpr int kTogether = kCarries ? kSteps / 2 : kSteps;
    Sums high, mixed;
    clear(high);
    clear(mixed);
    int previous = -1;
    XGEMM_NO_UNROLL
    for (int left = slices; left > 0; --left) {
      gpu::mbarrier_wait(smem.full[ring.slot], ring.phase);
      XGEMM_UNROLL
      for (int step = 0; step < kSteps; step += kTogether) {
        gpu::wgmma_fence();
        multiply_steps<kCarries>(ring.slot, step, step + kTogether, high, 0, 0);
        gpu::wgmma_commit();
        multiply_steps(ring.slot, step, step + kTogether, mixed, 0, 1);
        multiply_steps(ring.slot, step, step + kTogether, mixed, 1, 0);
        gpu::wgmma_commit();
        gpu::wgmma_wait<1>();
        if (step == 0 && previous >= 0) Cta::release(smem, previous, place);
        keep(high);
        if constexpr (kCarries) {
          carry(sums, high);
        } else {
          add(sums, 1.0f, high);
        }
      }
      previous = ring.slot;
      ring.next();
    }
    gpu::wgmma_wait<0>();
    keep(mixed);
    if constexpr (kCarries) {
      add(high, 1 / MmaPolicy::kLowScale, mixed);
      add(sums, 1.0f, high);
    } else {
      add(sums, 1 / MmaPolicy::kLowScale, mixed);
    }
    if (previous >= 0) Cta::release(smem, previous, place);
  }

  XGEMM_DEVICE static void add(Sums& sums, float factor, const Sums& more) {
    XGEMM_UNROLL
    for (int i = 0; i < Cta::kSlabs; ++i) {
      XGEMM_UNROLL
      for (int j = 0; j < Cta::kSlabRegisters; ++j) sums[i][j] = gpu::fma(factor, more[i][j], sums[i][j]);
    }
  }

  // Adds `more` to sums, and leaves in it what that rounds off: all of it where the sum is the larger one, and
  // otherwise but for an error of the same size.
  XGEMM_DEVICE static void carry(Sums& sums, Sums& more) {
    XGEMM_UNROLL
    for (int i = 0; i < Cta::kSlabs; ++i) {
      XGEMM_UNROLL
      for (int j = 0; j < Cta::kSlabRegisters; ++j) {
        const float sum = sums[i][j] + more[i][j];
        more[i][j] -= sum - sums[i][j];
        sums[i][j] = sum;
      }
    }
  }

  static constexpr int kSteps = Cta::kTileK / Cta::kMma.mma_k();  // instructions for the K of a slot

  // What a thread has of the X of a slot.
  using Fragments = float[kSteps][Cta::kSlabs][4];

  // From a tile of X with its rows contiguous, in pieces of 32 rows. The lines of neighbouring k have their rows in
  // different orders of the same banks: lanes that all read the first of their two k would meet in half of the banks,
  // so that every other one begins with the second.
  XGEMM_DEVICE static void load_fragments(SharedStorage& smem, const Ring& ring, int group, Fragments& fragments) {
    constexpr int kPiece = 32;
    static_assert(Cta::kPieceX == kPiece && Cta::kMma.mma_k() == 8);
    constexpr int kNextRows = 2 * 4, kOtherK = 4 * kPiece ^ 4 * 4;  // bits of a place in an atom of 8 lines
    const int lane = gpu::lane_index(), warp = gpu::warp_index() % gpu::kWarpsPerGroup;
    const bool swaps = lane % 2 != 0;
    const int k = lane % 4 + (swaps ? 4 : 0), row = warp % 2 * 16 + lane / 4, piece = warp / 2 * kPiece;
    const int first_row = Cta::group_row(kConfig.ping_pong ? 0 : group) + piece;
    const int place = gpu::opaque(first_row * Cta::kTileK + k * kPiece + ((row / 4 ^ k) * 4 + row % 4));
    gpu::mbarrier_wait(smem.full[ring.slot], ring.phase);
    const float* const tile = smem.slots[ring.slot].x[0];
    XGEMM_UNROLL
    for (int i = 0; i < Cta::kSlabs; ++i) {
      XGEMM_UNROLL
      for (int step = 0; step < kSteps; ++step) {
        XGEMM_UNROLL
        for (int half = 0; half < 2; ++half) {
          const float* const at = tile + (64 * i * Cta::kTileK + 8 * step * kPiece);
          const float a = gpu::read_for_wgmma(at + (place ^ half * kNextRows));
          const float b = gpu::read_for_wgmma(at + (place ^ half * kNextRows ^ kOtherK));
          fragments[step][i][half] = swaps ? b : a;
          fragments[step][i][2 + half] = swaps ? a : b;
        }
      }
    }
    gpu::sync_warp();  // before a lane releases the slot
  }

  // A slot's product of the X in fragments and Y, added to sums.
  XGEMM_DEVICE void multiply_steps(int slot, const Fragments& fragments, Sums& sums) const {
    const std::uint64_t slot_y = gpu::wgmma_advance(y, slot * kConfig.slot_bytes());
    XGEMM_UNROLL
    for (int step = 0; step < kSteps; ++step) {
      XGEMM_UNROLL
      for (int i = 0; i < Cta::kSlabs; ++i)
        gpu::wgmma_tf32<Cta::kGroupColumns>(sums[i], fragments[step][i],
                                            gpu::wgmma_advance(slot_y, step * Cta::kStepY));
    }
  }

  // The product of a plane of X and one of Y, over some steps of a slot's K, added to sums, or, without kAdds, in place
  // of them.
  template <bool kAdds = true, class Element = typename Cta::Element>
  XGEMM_DEVICE void multiply_steps(int slot, int begin, int end, Sums& sums, int plane_x = 0, int plane_y = 0) const {
    constexpr int kPlaneX = Cta::kXElements * Cta::kElementBytes;
    constexpr int kPlaneY = Cta::kYElements * Cta::kElementBytes;
    const std::uint64_t slot_x = gpu::wgmma_advance(x, slot * kConfig.slot_bytes() + plane_x * kPlaneX);
    const std::uint64_t slot_y = gpu::wgmma_advance(y, slot * kConfig.slot_bytes() + plane_y * kPlaneY);
    const auto multiply_step = [&](int step, auto adds) {
      XGEMM_UNROLL
      for (int i = 0; i < Cta::kSlabs; ++i) {
        gpu::wgmma<Element, Cta::kGroupColumns, Cta::kMajorX, Cta::kMajorY, adds>(
            sums[i], gpu::wgmma_advance(slot_x, step * Cta::kStepX + i * 64 * Cta::kRowBytes),
            gpu::wgmma_advance(slot_y, step * Cta::kStepY));
      }
    };
    multiply_step(begin, std::bool_constant<kAdds>{});
    XGEMM_UNROLL
    for (int step = begin + 1; step < end; ++step) multiply_step(step, std::true_type{});
  }

  XGEMM_DEVICE static void keep(Sums& sums) {
    XGEMM_UNROLL
    for (int i = 0; i < Cta::kSlabs; ++i) {
      XGEMM_UNROLL
      for (int j = 0; j < Cta::kSlabRegisters; ++j) gpu::keep_register(sums[i][j]);
    }
  }
};

}  // namespace xgemm::kernels
