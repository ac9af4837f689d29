// Accesses of memory and their checks. SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <cstring>
#include <string>

#include "sim/machine.h"

namespace xgemm::sim {
namespace detail {
namespace {

std::string bytes_at(std::size_t bytes, std::size_t offset) {
  return std::to_string(bytes) + " bytes at offset " + std::to_string(offset);
}

const char* verb(Access access) {
  return access == Access::read ? "reads " : "writes ";
}

// Where an address is relative to the nearest matrix, in words.
std::string nearest(GlobalMemory& memory, std::uintptr_t address) {
  for (std::uintptr_t distance = 1; distance <= (1u << 20); distance *= 2) {
    if (auto* region = memory.find(address - distance)) {
      return "beyond " + region->region.name + ", " + std::to_string(address - region->end) +
             " bytes after its last element";
    }
    if (auto* region = memory.find(address + distance)) {
      return "before " + region->region.name + ", " + std::to_string(region->begin - address) + " bytes";
    }
  }
  return "far from every matrix";
}

}  // namespace

bool check_shared_bounds(Thread& thread, std::uintptr_t address, std::size_t bytes, Loc loc) {
  SharedMemory& shared = thread.cta->shared;
  if (!shared.contains(address, bytes)) {
    fail(Fault::shared_bounds, loc,
         bytes_at(bytes, shared.offset(address)) + " of " + std::to_string(shared.size()) + " bytes of shared memory");
    return false;
  }
  if (address % bytes != 0) {
    fail(Fault::misaligned, loc, bytes_at(bytes, shared.offset(address)) + " of shared memory");
    return false;
  }
  return true;
}

void report_shared_read(Thread& thread, const SharedMemory::Cell& cell, std::size_t offset, Loc loc) {
  if (cell.pending == SharedMemory::Cell::kOpaque) {
    fail(Fault::barrier_misuse, loc, "reads the mbarrier at offset " + std::to_string(offset) + " as data");
  } else if (cell.pending != 0) {
    fail(Fault::async_not_waited, loc,
         "reads shared memory at offset " + std::to_string(offset) + " before the copy into it has been waited for",
         &cell.shadow.write);
  } else if (cell.shadow.write.clock == 0) {
    fail(Fault::uninitialised_read, loc,
         "reads shared memory at offset " + std::to_string(offset) + ", which nobody has written");
  } else if (const Event* event = cell.shadow.conflict_of_read(thread.clock)) {
    const bool of_agent = thread.machine->is_agent(event->thread);
    fail(of_agent ? Fault::async_not_waited : Fault::shared_race, loc,
         "reads shared memory at offset " + std::to_string(offset) +
             (of_agent ? ", written by a copy that it has not waited for"
                       : ", written by another thread with no barrier in between"),
         event);
  }
}

void report_shared_write(Thread& thread, const SharedMemory::Cell& cell, std::size_t offset, Loc loc) {
  if (cell.pending == SharedMemory::Cell::kOpaque) {
    fail(Fault::barrier_misuse, loc, "writes over the mbarrier at offset " + std::to_string(offset));
  } else if (cell.pending != 0) {
    fail(Fault::async_not_waited, loc,
         "writes shared memory at offset " + std::to_string(offset) + " while a copy into it is under way",
         &cell.shadow.write);
  } else if (const Event* event = cell.shadow.conflict_of_write(thread.clock)) {
    const bool was_write = event == &cell.shadow.write;
    const bool of_agent = thread.machine->is_agent(event->thread);
    fail(of_agent ? Fault::async_not_waited : Fault::shared_race, loc,
         "overwrites shared memory at offset " + std::to_string(offset) + (was_write ? ", written" : ", read") +
             (of_agent ? " by a unit that it has not waited for" : " by another thread with no barrier in between"),
         event);
  }
}

bool check_global(Thread& thread, std::uintptr_t address, std::size_t bytes, Access access, Loc loc, const Event* as) {
  if (!thread.may_use_global_memory) {
    fail(Fault::grid_dependency, loc, "uses global memory before it has waited for earlier kernels");
    thread.may_use_global_memory = true;
  }
  GlobalMemory& memory = thread.machine->memory();
  GlobalMemory::Mapped* const region = memory.find(address);
  if (region == nullptr || address + bytes > region->end) {
    fail(Fault::global_bounds, loc,
         std::string(verb(access)) + std::to_string(bytes) + " bytes " + nearest(memory, address));
    return false;
  }
  const auto element_bytes = static_cast<std::size_t>(region->region.element_bytes);
  const std::size_t start = address - region->begin;
  // A vector is aligned to its size; so is cp.async, whatever part of it comes from the source.
  if ((bytes & (bytes - 1)) == 0 && address % bytes != 0) {
    fail(Fault::misaligned, loc,
         std::string(verb(access)) + std::to_string(bytes) + " bytes of " + region->region.name);
    return false;
  }
  if (!may(region->region.access, access)) {
    fail(Fault::global_permission, loc,
         std::string(verb(access)) + region->region.name +
             (access == Access::write ? ", which is read-only" : ", which must not be read here"));
    return false;
  }
  const auto first = static_cast<std::int64_t>(start / element_bytes);
  const auto last = static_cast<std::int64_t>((start + bytes - 1) / element_bytes);
  if (!region->are_valid(first, last - first + 1)) {
    fail(Fault::global_bounds, loc,
         std::string(verb(access)) + std::to_string(bytes) + " bytes between the lines of " + region->region.name);
    return false;
  }
  if (!region->writable || !thread.machine->options().check_races) return true;
  const Event mine =
      as != nullptr ? *as : Event{thread.clock.now(), static_cast<std::uint16_t>(thread.clock.thread()), site_of(loc)};
  const auto cta = static_cast<std::int32_t>(thread.cta->index);
  for (std::int64_t element = first; element <= last; ++element) {
    GlobalMemory::Mapped::Cell& cell = region->cell(element);
    // Between CTAs nothing orders accesses; within one the clocks tell.
    const Event* conflict = nullptr;
    ShadowCell& shadow = cell.shadow;
    if (shadow.write.clock != 0 && cell.write_cta != cta) {
      conflict = &shadow.write;
    } else if (shadow.write.clock != 0 && !thread.clock.has_seen(shadow.write.thread, shadow.write.clock)) {
      conflict = &shadow.write;
    }
    if (access == Access::write && conflict == nullptr) {
      for (int r = 0; r < 2; ++r) {
        const Event& event = shadow.read[r];
        if (event.clock == 0) continue;
        if (cell.read_cta[r] != cta || !thread.clock.has_seen(event.thread, event.clock)) conflict = &event;
      }
    }
    if (conflict != nullptr) {
      fail(Fault::global_race, loc,
           std::string(verb(access)) + "an element of " + region->region.name + " that another thread " +
               (conflict == &shadow.write ? "writes" : "reads"),
           conflict);
    }
    if (access == Access::write) {
      shadow.note_write(mine);
      cell.write_cta = cta;
    } else {
      // One reader is kept for each of two CTAs or threads; more readers than that add nothing to a first conflict.
      const int slot = shadow.read[0].clock == 0 || (cell.read_cta[0] == cta &&
                                                     thread.clock.has_seen(shadow.read[0].thread, shadow.read[0].clock))
                           ? 0
                           : 1;
      shadow.read[slot] = mine;
      cell.read_cta[slot] = cta;
    }
  }
  return true;
}

}  // namespace detail

template <std::size_t kBytes, bool kMayBeUnwritten>
void read_shared(const void* from, void* to, Loc loc) {
  Thread& thread = current();
  SharedMemory& shared = thread.cta->shared;
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  if ((address & (kBytes - 1)) != 0 || !shared.contains(address, kBytes)) {
    if (!detail::check_shared_bounds(thread, address, kBytes, loc)) {
      std::memset(to, kPoison, kBytes);
      return;
    }
  }
  const std::size_t offset = shared.offset(address);
  if (thread.machine->options().check_races) {
    const Site site = site_of(loc);
    for (SharedMemory::Cell *cell = shared.first_cell(offset), *end = shared.end_cell(offset, kBytes); cell != end;
         ++cell) {
      const bool unwritten = !kMayBeUnwritten && cell->shadow.write.clock == 0;
      if (cell->pending != 0 || unwritten || cell->shadow.conflict_of_read(thread.clock)) {
        detail::report_shared_read(thread, *cell, offset, loc);
      }
      cell->shadow.note_read(thread.clock, site);
    }
  }
  std::memcpy(to, from, kBytes);
  detail::count(thread, Traffic::shared_load, offset, kBytes, loc);
  detail::maybe_preempt(thread);
}

template <std::size_t kBytes>
void write_shared(void* to, const void* from, Loc loc) {
  Thread& thread = current();
  SharedMemory& shared = thread.cta->shared;
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  if ((address & (kBytes - 1)) != 0 || !shared.contains(address, kBytes)) {
    if (!detail::check_shared_bounds(thread, address, kBytes, loc)) return;
  }
  const std::size_t offset = shared.offset(address);
  if (thread.machine->options().check_races) {
    const Site site = site_of(loc);
    for (SharedMemory::Cell *cell = shared.first_cell(offset), *end = shared.end_cell(offset, kBytes); cell != end;
         ++cell) {
      if (cell->pending != 0 || cell->shadow.conflict_of_write(thread.clock)) {
        detail::report_shared_write(thread, *cell, offset, loc);
      }
      cell->shadow.note_write(thread.clock, site);
      cell->pending = 0;
    }
  }
  std::memcpy(to, from, kBytes);
  detail::count(thread, Traffic::shared_store, offset, kBytes, loc);
  detail::maybe_preempt(thread);
}

template <std::size_t kBytes>
void read_global(const void* from, void* to, Loc loc) {
  Thread& thread = current();
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  if (!detail::check_global(thread, address, kBytes, Access::read, loc)) {
    std::memset(to, kPoison, kBytes);
    return;
  }
  std::memcpy(to, from, kBytes);
  detail::count(thread, Traffic::global_load, address, kBytes, loc);
  detail::maybe_preempt(thread);
}

template <std::size_t kBytes>
void write_global(void* to, const void* from, Loc loc) {
  Thread& thread = current();
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  if (!detail::check_global(thread, address, kBytes, Access::write, loc)) return;
  std::memcpy(to, from, kBytes);
  detail::count(thread, Traffic::global_store, address, kBytes, loc);
  detail::maybe_preempt(thread);
}

template void read_shared<1>(const void*, void*, Loc);
template void write_shared<1>(void*, const void*, Loc);
template void read_global<1>(const void*, void*, Loc);
template void write_global<1>(void*, const void*, Loc);
template void read_shared<2>(const void*, void*, Loc);
template void write_shared<2>(void*, const void*, Loc);
template void read_global<2>(const void*, void*, Loc);
template void write_global<2>(void*, const void*, Loc);
template void read_shared<4>(const void*, void*, Loc);
template void read_shared<4, true>(const void*, void*, Loc);
template void write_shared<4>(void*, const void*, Loc);
template void read_global<4>(const void*, void*, Loc);
template void write_global<4>(void*, const void*, Loc);
template void read_shared<8>(const void*, void*, Loc);
template void write_shared<8>(void*, const void*, Loc);
template void read_global<8>(const void*, void*, Loc);
template void write_global<8>(void*, const void*, Loc);
template void read_shared<16>(const void*, void*, Loc);
template void write_shared<16>(void*, const void*, Loc);
template void read_global<16>(const void*, void*, Loc);
template void write_global<16>(void*, const void*, Loc);

}  // namespace xgemm::sim
