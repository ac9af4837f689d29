// cp.async. SPDX-License-Identifier: BSD-3-Clause
#include "sim/copy_async.h"

#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "sim/sm90/mbarrier.h"

namespace xgemm::sim {
namespace {

struct Copy {
  std::size_t offset;  // in shared memory
  std::size_t bytes;
  unsigned char data[16];
  std::uint32_t number;
  Site site;
};

using Group = std::vector<Copy>;

struct Copies {
  Group open;                // issued since the last commit
  std::deque<Group> groups;  // committed, oldest first
  Group over;                // the last one that has landed: its storage is used again
};

struct CopyNumber {
  std::uint32_t last = 0;
};

void land(Thread& thread, const Copy& copy) {
  SharedMemory& shared = thread.cta->shared;
  if (!thread.machine->options().check_races) {
    std::memcpy(shared.base() + copy.offset, copy.data, copy.bytes);
    return;
  }
  // Bytes that somebody has overwritten meanwhile (reported then) keep what they have.
  SharedMemory::Cell* const begin = shared.first_cell(copy.offset);
  const auto cells = static_cast<std::size_t>(shared.end_cell(copy.offset, copy.bytes) - begin);
  const std::size_t granule = copy.bytes / cells;
  for (std::size_t i = 0; i < cells; ++i) {
    if (begin[i].pending != copy.number) continue;
    std::memcpy(shared.base() + copy.offset + i * granule, copy.data + i * granule, granule);
    begin[i].pending = 0;
    begin[i].shadow.note_write(thread.clock, copy.site);
  }
}

}  // namespace

void copy_async(int size, void* destination, const void* source, int source_bytes, Loc loc) {
  Thread& thread = current();
  SharedMemory& shared = thread.cta->shared;
  const auto bytes = static_cast<std::size_t>(size);
  const auto to = reinterpret_cast<std::uintptr_t>(destination);
  const auto from = reinterpret_cast<std::uintptr_t>(source);
  if (source_bytes < 0 || source_bytes > size) {
    fail(
        Fault::global_bounds, loc,
        "cp.async of " + std::to_string(size) + " bytes, " + std::to_string(source_bytes) + " of them from the source");
    return;
  }
  if (from % bytes != 0) {
    fail(Fault::misaligned, loc,
         "the source of a cp.async of " + std::to_string(size) + " bytes is not aligned to them");
    return;
  }
  if (!detail::check_shared_bounds(thread, to, bytes, loc)) return;

  Copy copy{};
  copy.offset = shared.offset(to);
  copy.bytes = bytes;
  copy.site = site_of(loc);
  copy.number = ++thread.cta->state<CopyNumber>().last;
  if (source_bytes > 0) {
    if (!detail::check_global(thread, from, static_cast<std::size_t>(source_bytes), Access::read, loc)) {
      std::memset(copy.data, kPoison, sizeof copy.data);
    } else {
      std::memcpy(copy.data, source, static_cast<std::size_t>(source_bytes));
      detail::count(thread, Traffic::global_load, from, bytes, loc);
    }
  } else {
    skip(Traffic::global_load, loc);
  }
  detail::count(thread, Traffic::shared_store, copy.offset, bytes, loc);

  if (thread.machine->options().check_races) {
    for (SharedMemory::Cell *cell = shared.first_cell(copy.offset), *end = shared.end_cell(copy.offset, bytes);
         cell != end; ++cell) {
      if (cell->pending != 0 || cell->shadow.conflict_of_write(thread.clock)) {
        detail::report_shared_write(thread, *cell, copy.offset, loc);
      }
      cell->shadow.note_write(thread.clock, copy.site);
      cell->pending = copy.number;
    }
  }
  std::memset(destination, kPoison, bytes);
  thread.state<Copies>().open.push_back(copy);
  detail::maybe_preempt(thread);
}

void copy_async_commit() {
  Copies& copies = current().state<Copies>();
  copies.groups.push_back(std::move(copies.open));
  copies.open = std::move(copies.over);
  copies.open.clear();
}

void copy_async_wait(int pending_groups) {
  Thread& thread = current();
  Copies& copies = thread.state<Copies>();
  while (static_cast<int>(copies.groups.size()) > pending_groups) {
    for (const Copy& copy : copies.groups.front()) land(thread, copy);
    copies.over = std::move(copies.groups.front());
    copies.groups.pop_front();
  }
}

void copy_async_arrive(void* barrier, Loc loc) {
  // The copies appear now, but are nobody's to read before the phase is over: that is when their clock is seen.
  copy_async_commit();
  copy_async_wait(0);
  mbarrier_arrive(barrier, loc);
}

}  // namespace xgemm::sim
