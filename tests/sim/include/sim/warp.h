// Operations that the lanes of a warp execute together.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "sim/machine.h"

namespace xgemm::sim {

// What each lane brought; null for lanes outside the mask.
using LanePayloads = std::array<void*, kWarpSize>;

// Waits until all lanes of `mask` have come to the operation called `name`; the last one then runs act(payloads), which
// reads and writes the payloads of all of them. Shuffles, matrix instructions and the like are each one such call.
// orders_memory: what a lane has written before is seen by the others afterwards.
void warp_meet(const char* name, std::uint32_t mask, void* payload, void (*act)(LanePayloads&), bool orders_memory,
               Loc loc);

// The same for an instruction that PTX calls .aligned: all 32 lanes execute it, and all at the same place of the
// program. It orders no memory. False, after a report, where that cannot be.
bool warp_execute(const char* name, void* payload, void (*act)(LanePayloads&), Loc loc);

inline void sync_warp(std::uint32_t mask, Loc loc) {
  warp_meet("__syncwarp", mask, nullptr, nullptr, true, loc);
}

// value from the lane `source`, of 32 bits.
enum class Shuffle { index, exclusive_or };
std::uint32_t shuffle(Shuffle kind, std::uint32_t value, int operand, std::uint32_t mask, Loc loc);

}  // namespace xgemm::sim
