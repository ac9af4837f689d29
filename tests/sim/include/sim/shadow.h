// Shadow memory: for each granule of a memory, its last write and the reads since. From these follow races
// (read after write, write after read, write after write with no synchronisation in between) and reads of memory that
// nobody has written.
//
// Two reads are kept. That is exact as long as the threads that synchronise with one of the kept readers also do with
// the others; to that end readers of different warps are preferred.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "sim/clock.h"
#include "sim/location.h"

namespace xgemm::sim {

struct Event {
  Clock clock = 0;  // 0: never
  std::uint16_t thread = 0;
  Site site = 0;
};

struct ShadowCell {
  Event write;
  Event read[2];

  // The event that races with a read by this thread, or null.
  const Event* conflict_of_read(const ThreadClock& clock) const {
    return write.clock != 0 && !clock.has_seen(write.thread, write.clock) ? &write : nullptr;
  }
  const Event* conflict_of_write(const ThreadClock& clock) const {
    if (const Event* event = conflict_of_read(clock)) return event;
    for (const Event& event : read)
      if (event.clock != 0 && !clock.has_seen(event.thread, event.clock)) return &event;
    return nullptr;
  }

  void note_read(const ThreadClock& clock, Site site) {
    const Event event{clock.now(), static_cast<std::uint16_t>(clock.thread()), site};
    // A reader whose read this thread has seen is covered by this thread: whoever sees this read has seen that one.
    if (read[0].clock == 0 || clock.has_seen(read[0].thread, read[0].clock)) {
      read[0] = event;
    } else if (read[1].clock == 0 || clock.has_seen(read[1].thread, read[1].clock) ||
               read[0].thread / 32 == read[1].thread / 32) {
      read[1] = event;
    }
  }
  void note_write(const ThreadClock& clock, Site site) {
    write = {clock.now(), static_cast<std::uint16_t>(clock.thread()), site};
    read[0].clock = read[1].clock = 0;
  }
};

}  // namespace xgemm::sim
