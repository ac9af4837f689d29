// How a product with host operands is cut into pieces for the GPU. Pure: no CUDA call, so that every decision is a unit
// test.
//
// C is cut along m and n, never along k: each element of C is one sum of one kernel, rounded once, as on the device
// route. One of A and B is resident (loaded in blocks that stay for many pieces), the other is streamed in panels:
//
//       streams columns: A resident               streams rows: B resident
//             B  ┌──┬──┬──┬──┐                          B  ┌───────────┐
//                │p0│p1│p2│p3│                             │ resident  │
//                └──┴──┴──┴──┘                             └───────────┘
//     A ┌──────┐ ┌──┬──┬──┬──┐                A ┌──────┐   ┌───────────┐
//       │      │ │C0│C1│C2│C3│                  │  p0  │   │    C0     │
//       │ res. │ │  │  │  │  │                  ├──────┤   ├───────────┤
//       │      │ │  │  │  │  │                  │  p1  │   │    C1     │
//       └──────┘ └──┴──┴──┴──┘                  └──────┘   └───────────┘
//
// A resident operand that does not fit is loaded block by block, and the panels pass once per block. Small products of
// a batch share a piece.
//
// Of a triangle of C, pieces that have nothing of it are left out.
//
// The kernel, and so the order in which it sums, is chosen for each piece by its extents. So that the same call gives
// the same bits, the cut depends on the problem, on how much memory the device has in all, and on which operands are on
// the host, and never on how much memory is free: where that is scarce, the same pieces pass through fewer slots.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/problem.h"
#include "transfer/staging_copy.h"

namespace xgemm::transfer {

// Which operands have to be copied; the others are used where they are.
struct StagedOperands {
  bool a = false, b = false, c = false;
};

// Buffers of an operand on the device. Nothing when it is used in place or not at all.
struct OperandSlots {
  int count = 0;
  std::int64_t bytes = 0;  // of one slot
};

// One launch: products [first_product, first_product + products) of the batch, rows [i, i + m), columns [j, j + n) of
// C.
struct Piece {
  std::int64_t first_product = 0, products = 0;
  std::int64_t i = 0, m = 0;
  std::int64_t j = 0, n = 0;
  // Numbers that change exactly when another part of A (B) is needed than by the piece before.
  std::int64_t a_part = 0, b_part = 0;

  bool operator==(const Piece&) const = default;
};

struct StagingPlan {
  StagedOperands staged;
  bool streams_columns = true;            // panels along n with A resident; else along m with B resident
  std::int64_t group = 1;                 // products of the batch in a piece
  std::int64_t m_piece = 0, n_piece = 0;  // of all but the last ones
  std::int64_t groups = 0, m_pieces = 0, n_pieces = 0;
  std::int64_t pieces = 0;  // their product, of a triangle fewer
  int depth = 0;            // slots of an operand that changes from piece to piece, at most
  OperandSlots a, b, c;
  std::int64_t device_bytes = 0;             // all slots together
  std::int64_t bytes_in = 0, bytes_out = 0;  // over the link, loads that are repeated included
  std::int64_t chunk_bytes = 0;              // unit of the copies through page-locked memory
  bool fits = false;                         // within the device memory it was made for

  Piece piece(const Problem& problem, std::int64_t index) const;

  // The panels that have pieces beside a block of the resident operand.
  struct Panels {
    std::int64_t first = 0, count = 0;
  };
  Panels panels_of(const Problem& problem, std::int64_t block) const;
};

// device_bytes bounds the slots. When even the smallest pieces need more, the plan says what they need, and that it
// does not fit. The problem computes something (problem.does_nothing() is false).
StagingPlan plan_staging(const Problem& problem, StagedOperands staged, std::int64_t device_bytes);

// The device memory that staging allows itself on a GPU of that size: a quarter, at most 4 GiB. More would not be
// faster.
std::int64_t staging_budget(std::int64_t device_memory_bytes);

// The plan for a GPU: within that budget, or within all of its memory when a piece cannot be smaller.
StagingPlan plan_staging_on(const Problem& problem, StagedOperands staged, std::int64_t device_memory_bytes);

// The same pieces through fewer slots. False when there are none to do without.
bool take_fewer_slots(const Problem& problem, StagingPlan* plan);

// Leading dimension, in elements, of a staged matrix: a multiple of 128 bytes, or else 16, unless the padding would
// cost more over the link than alignment gains in the kernel.
std::int64_t staged_ld(std::int64_t rows, DType type);

// The parts of A, B and C that a piece works on, as columns of bytes. Host distances are those of the problem, device
// distances those of the slot. The host address is relative to the operand's data.
struct StagedPart {
  ColumnBlock block;
  std::int64_t host_offset = 0;   // bytes
  std::int64_t ld = 0;            // on the device, elements
  std::int64_t batch_stride = 0;  // on the device, elements
};
StagedPart part_of_a(const Problem& problem, const Piece& piece);
StagedPart part_of_b(const Problem& problem, const Piece& piece);
StagedPart part_of_c(const Problem& problem, const Piece& piece);

// All of a problem.
Piece whole_of(const Problem& problem);

// The piece as a problem of its own, its operands being used in place. Of a triangle of C, it is the block that begins
// at (piece.i, piece.j): core/triangle.h tells what to compute of it.
Problem problem_of(const Problem& problem, const Piece& piece);

// The same as the kernel gets it: with the slots of the operands that are staged.
struct SlotAddresses {
  void *a = nullptr, *b = nullptr, *c = nullptr;
};
Problem problem_in_slots(const Problem& problem, const Piece& piece, StagedOperands staged, const SlotAddresses& slots);

// What is left of a piece of C when its first packed_bytes bytes, as part_of_c() packs them, are done: one part per
// rectangle, none when nothing is left.
std::vector<Piece> rest_of(const Problem& problem, const Piece& piece, std::int64_t packed_bytes);

// A few lines: the cut, the slots, the traffic.
std::string to_string(const StagingPlan& plan);

}  // namespace xgemm::transfer
