// The copy engine. SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "async_proxy.h"
#include "mbarrier_state.h"
#include "sim/sm90/tma.h"

namespace xgemm::sim {
namespace {

using kernels::BoxEntry;
using kernels::TensorBox;

constexpr std::size_t kChunkBytes = 16;  // what a swizzle moves as a whole

std::size_t row_bytes(const TensorBox& map) {
  return static_cast<std::size_t>(map.box_x * map.element_bytes);
}
std::size_t box_bytes(const TensorBox& map) {
  return row_bytes(map) * static_cast<std::size_t>(map.box_y);
}

bool check_map(const TensorBox& map, int x, BoxEntry entry, Loc loc) {
  const auto refuse = [loc](std::string why) {
    fail(Fault::tensor_map, loc, std::move(why));
    return false;
  };
  constexpr std::int64_t kMaxExtent = std::int64_t{1} << 32;
  constexpr std::int64_t kMaxStride = std::int64_t{1} << 40;
  if (map.anywhere != (entry.w >= 0)) return refuse("coordinates of another rank than the map's");
  if (!map.anywhere && reinterpret_cast<std::uintptr_t>(map.data) % 16 != 0)
    return refuse("the tensor is not aligned to 16 bytes");
  const std::int64_t extent_z = map.anywhere ? 1 : map.extent_z;
  for (const std::int64_t extent : {map.extent_x, map.extent_y, extent_z}) {
    if (extent < 1 || extent > kMaxExtent) return refuse("an extent of " + std::to_string(extent) + " elements");
  }
  for (const auto& [extent, stride] : {std::pair{map.extent_y, map.stride_y}, {extent_z, map.stride_z}}) {
    if (extent == 1) continue;
    if (stride < 0 || stride * map.element_bytes % 16 != 0 || stride * map.element_bytes >= kMaxStride) {
      return refuse("a stride of " + std::to_string(stride) + " elements: no multiple of 16 bytes below 2^40");
    }
  }
  if (map.box_x < 1 || map.box_x > 256 || map.box_y < 1 || map.box_y > 256) {
    return refuse("a box of " + std::to_string(map.box_x) + " x " + std::to_string(map.box_y) + ": 1 to 256 elements");
  }
  if (map.element_bytes != 2 && map.element_bytes != 4 && map.element_bytes != 8)
    return refuse("elements of two, four or eight bytes");
  if (row_bytes(map) % 16 != 0) return refuse("rows of a box are multiples of 16 bytes");
  if (x * map.element_bytes % 16 != 0)
    return refuse("a box from element " + std::to_string(x) + " on: boxes begin on multiples of 16 bytes");
  if (map.swizzle_bytes != 0 && map.swizzle_bytes != 32 && map.swizzle_bytes != 64 && map.swizzle_bytes != 128) {
    return refuse("a swizzle of " + std::to_string(map.swizzle_bytes) + " bytes");
  }
  if (map.swizzle_bytes != 0 && row_bytes(map) > static_cast<std::size_t>(map.swizzle_bytes)) {
    return refuse("rows of " + std::to_string(row_bytes(map)) + " bytes are wider than the swizzle of " +
                  std::to_string(map.swizzle_bytes));
  }
  return true;
}

// Of the box in shared memory.
bool check_place(const TensorBox& map, const void* shared, Loc loc) {
  Thread& thread = current();
  const auto address = reinterpret_cast<std::uintptr_t>(shared);
  const std::size_t bytes = box_bytes(map);
  if (!thread.cta->shared.contains(address, bytes)) {
    fail(Fault::shared_bounds, loc, "a box of " + std::to_string(bytes) + " bytes in shared memory");
    return false;
  }
  const std::size_t alignment = std::max<std::size_t>(128, swizzle_atom(map.swizzle_bytes));
  const std::size_t offset = thread.cta->shared.offset(address);
  if (offset % alignment == 0) return true;
  fail(Fault::misaligned, loc,
       "a box at offset " + std::to_string(offset) + " of shared memory; with a swizzle of " +
           std::to_string(map.swizzle_bytes) + " bytes it starts on multiples of " + std::to_string(alignment));
  return false;
}

// Where a matrix lies that is found by its address, which is rounded down.
std::uintptr_t address_of(BoxEntry entry) {
  return ((static_cast<std::uintptr_t>(entry.w) << BoxEntry::kBits) + static_cast<std::uintptr_t>(entry.z))
         << BoxEntry::kStepBits;
}

// One row of a box, as far as it lies in the tensor.
struct Run {
  std::size_t box_offset;  // before swizzling
  std::uintptr_t address;
  std::size_t bytes;
};

// begin_x, end_x: of the elements that are moved.
std::vector<Run> runs_of(const TensorBox& map, std::int64_t begin_x, std::int64_t end_x, std::int64_t x, std::int64_t y,
                         BoxEntry entry) {
  std::vector<Run> runs;
  const std::int64_t first = std::max<std::int64_t>(begin_x, 0);
  const std::int64_t end = std::min(x + map.box_x, end_x);
  if (first >= end) return runs;
  if (!map.anywhere && (entry.z < 0 || entry.z >= map.extent_z)) return runs;
  const std::uintptr_t matrix = map.anywhere
                                    ? address_of(entry)
                                    : reinterpret_cast<std::uintptr_t>(map.data) +
                                          static_cast<std::uintptr_t>(entry.z * map.stride_z * map.element_bytes);
  for (std::int64_t row = 0; row < map.box_y; ++row) {
    if (y + row < 0 || y + row >= map.extent_y) continue;
    const std::int64_t element = first + (y + row) * map.stride_y;
    runs.push_back(
        {static_cast<std::size_t>(row) * row_bytes(map) + static_cast<std::size_t>((first - x) * map.element_bytes),
         matrix + static_cast<std::uintptr_t>(element * map.element_bytes),
         static_cast<std::size_t>((end - first) * map.element_bytes)});
  }
  return runs;
}

// Elements that a kernel may access, the accesses noted as `event`.
bool check_runs(Thread& thread, const std::vector<Run>& runs, int element_bytes, Access access, const Event& event,
                Loc loc) {
  GlobalMemory& memory = thread.machine->memory();
  for (const Run& run : runs) {
    const GlobalMemory::Mapped* const region = memory.find(run.address);
    if (region != nullptr && !region->writable && thread.may_use_global_memory && may(region->region.access, access) &&
        run.address + run.bytes <= region->end && region->region.element_bytes == element_bytes) {
      const auto first =
          static_cast<std::int64_t>((run.address - region->begin) / static_cast<unsigned>(element_bytes));
      const auto count = static_cast<std::int64_t>(run.bytes / static_cast<unsigned>(element_bytes));
      if (region->are_valid(first, count)) continue;
    }
    for (std::size_t at = 0; at < run.bytes; at += static_cast<unsigned>(element_bytes)) {
      if (!detail::check_global(thread, run.address + at, element_bytes, access, loc, &event)) return false;
    }
  }
  return true;
}

// Calls f(offset in shared memory, offset in the box, bytes) for the parts of a run that the swizzle keeps together.
template <class F>
void for_each_part(const TensorBox& map, std::size_t base, const Run& run, F f) {
  for (std::size_t at = run.box_offset; at < run.box_offset + run.bytes;) {
    const std::size_t end = std::min(run.box_offset + run.bytes, (at / kChunkBytes + 1) * kChunkBytes);
    f(swizzled(base + at, map.swizzle_bytes), at - run.box_offset, end - at);
    at = end;
  }
}

// Elements of fp32, each to the nearest TF32, of two the even one. Inf and NaN stay what they are.
void round_to_tf32(unsigned char* bytes, std::size_t size) {
  constexpr std::uint32_t kCutOff = 0x1fff, kQuiet = 0x00400000;
  for (std::size_t at = 0; at < size; at += sizeof(float)) {
    float x;
    std::memcpy(&x, bytes + at, sizeof x);
    auto bits = std::bit_cast<std::uint32_t>(x);
    bits = std::isnan(x) ? bits | kQuiet : std::isinf(x) ? bits : bits + kCutOff / 2 + (bits >> 13 & 1);
    bits &= ~kCutOff;
    std::memcpy(bytes + at, &bits, sizeof bits);
  }
}

// ---- Loads ----

struct Load {
  TensorBox map;
  int x;               // where the box begins
  std::size_t offset;  // in shared memory
  std::vector<Run> runs;
  bool good;
  MbarrierState* barrier;
  std::uint32_t number;
  Loc loc;
};

Event event_of(const Load& load) {
  return {load.barrier->phase + 1, static_cast<std::uint16_t>(load.barrier->agent), site_of(load.loc)};
}

void start(Thread& thread, const Load& load) {
  Cta& cta = *load.barrier->cta;
  SharedMemory& shared = cta.shared;
  const std::size_t bytes = box_bytes(load.map);
  const Event event = event_of(load);
  note_reach(cta, event);
  if (thread.machine->options().check_races) {
    bool good = true;
    for (auto *cell = shared.first_cell(load.offset), *end = shared.end_cell(load.offset, bytes); cell != end; ++cell) {
      if (good && (cell->pending != 0 || cell->shadow.conflict_of_write(thread.clock))) {
        good = false;
        detail::report_shared_write(thread, *cell, load.offset, load.loc);
      } else if (good && lacks_fence(*thread.machine, cell->shadow.write, thread.clock) &&
                 !thread.state<Fences>().cover(cell->shadow.write.thread, cell->shadow.write.clock)) {
        good = false;
        fail(
            Fault::proxy_fence, load.loc,
            "the copy engine writes over shared memory that a thread has written with no fence_async_shared() after it",
            &cell->shadow.write);
      }
      cell->shadow.note_write(event);
      cell->pending = load.number;
    }
  }
  std::memset(shared.base() + load.offset, kPoison, bytes);
}

void land(Thread& thread, const Load& load) {
  Cta& cta = *load.barrier->cta;
  SharedMemory& shared = cta.shared;
  if (cta.running == 0) {
    fail(Fault::cluster_misuse, load.loc, "a load ends in the shared memory of a CTA that has ended");
    return;
  }
  const std::size_t bytes = box_bytes(load.map);
  const Event event = event_of(load);
  note_reach(cta, event);
  // Whoever has written in between was reported, and loses.
  std::memset(shared.base() + load.offset, load.good ? 0 : kPoison, bytes);
  if (load.good) {
    for (const Run& run : load.runs) {
      const auto* const from = reinterpret_cast<const unsigned char*>(run.address);
      // What lies before the lines is memory, of which nothing is known; what lies before the tensor is zero.
      const int unknown = std::max(load.map.before - std::max(load.x, 0), 0) * load.map.element_bytes;
      const Run before{run.box_offset - static_cast<std::size_t>(unknown), 0, static_cast<std::size_t>(unknown)};
      for_each_part(load.map, load.offset, before, [&](std::size_t to, std::size_t, std::size_t size) {
        std::memset(shared.base() + to, kPoison, size);
      });
      for_each_part(load.map, load.offset, run, [&](std::size_t to, std::size_t at, std::size_t size) {
        std::memcpy(shared.base() + to, from + at, size);
        if (load.map.tf32) round_to_tf32(shared.base() + to, size);
      });
    }
  }
  if (thread.machine->options().check_races) {
    for (auto *cell = shared.first_cell(load.offset), *end = shared.end_cell(load.offset, bytes); cell != end; ++cell) {
      if (cell->pending != load.number) continue;
      cell->pending = 0;
      cell->shadow.write = event;
    }
  }
  complete_bytes(*load.barrier, static_cast<std::int64_t>(bytes), load.loc);
}

// ---- Stores ----

struct StoreGroup {
  int unread = 0;  // stores that have not read their source
  int stores = 0;
};

struct Stores {  // of a thread
  int agent = -1;
  StoreGroup* open = nullptr;
  std::deque<std::shared_ptr<StoreGroup>> groups;  // not waited for; the last one is open if `open` is not null
  Clock committed = 0;
  bool waiting = false;
  ThreadClock::Learned learned;
};

Stores& stores_of(Thread& thread) {
  Stores& stores = thread.state<Stores>();
  if (stores.agent >= 0) return stores;
  stores.agent = thread.machine->new_agent(*thread.cta, "the copy engine");
  thread.cta->at_thread_end.push_back([owner = &thread, &stores](Thread& ending) {
    if (&ending != owner) return;
    int left = 0;
    for (const auto& group : stores.groups) left += group->stores;
    if (left == 0) return;
    fail(Fault::left_in_flight, Loc(),
         "the thread ends with " + std::to_string(left) +
             " stores under way, without having waited until they have read its shared memory");
  });
  return stores;
}

}  // namespace

bool check_async_read(Thread& thread, const SharedMemory::Cell& cell, std::size_t offset, const char* what, Loc loc) {
  if (cell.pending != 0 || cell.shadow.write.clock == 0 || cell.shadow.conflict_of_read(thread.clock)) {
    detail::report_shared_read(thread, cell, offset, loc);
  } else if (lacks_fence(*thread.machine, cell.shadow.write, thread.clock)) {
    fail(Fault::proxy_fence, loc,
         std::string(what) + " shared memory at offset " + std::to_string(offset) +
             " that a thread has written with no fence_async_shared() between that and the barrier",
         &cell.shadow.write);
  } else {
    return true;
  }
  return false;
}

void tma_load(void* destination, const TensorBox& map, void* barrier, unsigned cta_mask, int x, int y, BoxEntry entry,
              Loc loc) {
  Thread& thread = current();
  const auto barrier_address = reinterpret_cast<std::uintptr_t>(barrier);
  if (!check_map(map, x, entry, loc) || !check_place(map, destination, loc) ||
      !detail::check_shared_bounds(thread, barrier_address, 8, loc)) {
    return;
  }
  if (cta_mask == 0) fail(Fault::cluster_misuse, loc, "a multicast to no CTA");
  Load load{map,
            x,
            thread.cta->shared.offset(reinterpret_cast<std::uintptr_t>(destination)),
            runs_of(map, std::max(x, map.before), map.extent_x, x, y, entry),
            false,
            nullptr,
            0,
            loc};
  if (map.anywhere && load.runs.empty()) {
    fail(Fault::tensor_map, loc, "nothing of the box is in a matrix that is found by its address");
    return;
  }
  bool checked = false;
  for (int rank = 0; cta_mask >> rank != 0; ++rank) {
    if ((cta_mask >> rank & 1) == 0) continue;
    Cta* const cta = reach(rank, "a multicast to shared memory", loc);
    if (cta == nullptr) continue;
    load.barrier = find_mbarrier(*cta, thread.cta->shared.offset(barrier_address), true, loc);
    if (load.barrier == nullptr) continue;
    // Of a matrix off 16 bytes poison comes.
    if (!std::exchange(checked, true))
      load.good = !(map.anywhere && thread.machine->memory().starts_behind(address_of(entry))) &&
                  check_runs(thread, load.runs, map.element_bytes, Access::read, event_of(load), loc);
    load.number = next_copy(*cta);
    start(thread, load);
    thread.machine->defer(thread, [&thread, load] { land(thread, load); });
  }
  detail::maybe_preempt(thread);
}

void tma_store(const TensorBox& map, const void* source, int x, int y, BoxEntry entry, Loc loc) {
  if (!check_map(map, x, entry, loc) || !check_place(map, source, loc)) return;
  Thread& thread = current();
  SharedMemory& shared = thread.cta->shared;
  Stores& stores = stores_of(thread);
  if (stores.open == nullptr) {
    stores.groups.push_back(std::make_shared<StoreGroup>());
    stores.open = stores.groups.back().get();
  }
  const std::size_t offset = shared.offset(reinterpret_cast<std::uintptr_t>(source));
  const std::size_t bytes = box_bytes(map);
  const Event event{stores.committed + 1, static_cast<std::uint16_t>(stores.agent), site_of(loc)};
  if (thread.machine->options().check_races) {
    bool good = true;
    for (auto *cell = shared.first_cell(offset), *end = shared.end_cell(offset, bytes); cell != end; ++cell) {
      good = good && check_async_read(thread, *cell, offset, "the copy engine reads", loc);
      cell->shadow.note_read(thread.clock, event);
    }
  }
  const std::int64_t grain = 16 / map.element_bytes;  // of stores along the contiguous axis
  const std::int64_t end_x = (map.extent_x + grain - 1) / grain * grain;
  std::vector<Run> runs = runs_of(map, x, end_x, x, y, entry);
  if (!check_runs(thread, runs, map.element_bytes, Access::write, event, loc)) runs.clear();
  ++stores.open->stores;
  ++stores.open->unread;
  thread.machine->defer(thread, [&thread, &stores, map, offset, runs = std::move(runs), group = stores.groups.back()] {
    const unsigned char* const base = thread.cta->shared.base();
    for (const Run& run : runs) {
      auto* const to = reinterpret_cast<unsigned char*>(run.address);
      for_each_part(map, offset, run, [&](std::size_t from, std::size_t at, std::size_t size) {
        std::memcpy(to + at, base + from, size);
      });
    }
    --group->unread;
    if (std::exchange(stores.waiting, false)) thread.machine->wake(thread);
  });
  detail::maybe_preempt(thread);
}

void tma_store_commit(Loc) {
  Stores& stores = stores_of(current());
  if (stores.open == nullptr) stores.groups.push_back(std::make_shared<StoreGroup>());
  stores.open = nullptr;
  ++stores.committed;
}

void tma_store_wait_read(int pending_groups, Loc loc) {
  Thread& thread = current();
  Stores& stores = stores_of(thread);
  const std::size_t open = stores.open != nullptr ? 1 : 0;
  while (stores.groups.size() - open > static_cast<std::size_t>(pending_groups)) {
    if (stores.groups.front()->unread == 0) {
      stores.groups.pop_front();
      continue;
    }
    stores.waiting = true;
    thread.machine->wait("tma_store_wait_read", loc);
  }
  const auto unfinished = static_cast<Clock>(stores.groups.size() - open);
  thread.clock.learn(stores.agent, stores.committed - unfinished, stores.learned);
}

void fence_async_shared() {
  Thread& thread = current();
  Fences& fences = thread.state<Fences>();
  fences.async_proxy.push_back(thread.clock.tick());
  fences.known = thread.clock;
}

}  // namespace xgemm::sim
