// The async proxy: how the copy engine and the tensor cores see shared memory.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include "mbarrier_state.h"
#include "sim/machine.h"

namespace xgemm::sim {

// Where the swizzles put a byte: bits 4 to 6 of its address are combined with bits 7 to 9, as many as the width has.
constexpr std::size_t swizzled(std::size_t offset, int swizzle_bytes) {
  return swizzle_bytes == 0 ? offset : offset ^ (offset >> 3 & static_cast<std::size_t>(swizzle_bytes - 16));
}
// Bytes after which the pattern repeats; tiles start on a multiple.
constexpr std::size_t swizzle_atom(int swizzle_bytes) {
  return static_cast<std::size_t>(swizzle_bytes == 0 ? 16 : 8 * swizzle_bytes);
}

// Whether a thread wrote this last and did not make a fence_async_shared() that the user's clock knows of.
inline bool lacks_fence(Machine& machine, const Event& write, const ThreadClock& user) {
  if (write.clock == 0 || machine.is_agent(write.thread)) return false;
  return !fenced(machine.thread(write.thread).state<Fences>().async_proxy, write.clock, user.seen(write.thread));
}

// False, after a report, where something keeps an agent of the thread from reading the granule.
bool check_async_read(Thread& thread, const SharedMemory::Cell& cell, std::size_t offset, const char* what, Loc loc);

}  // namespace xgemm::sim
