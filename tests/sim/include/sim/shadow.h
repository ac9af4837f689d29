// Shadow memory: for each granule of a memory, its last write and the reads since. From these follow races
// (read after write, write after read, write after write with no synchronisation in between) and reads of memory that
// nobody has written.
//
// Three reads are kept. That is exact as long as the threads that synchronise with one of the kept readers also do with
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
  static constexpr int kReads = 3;
  Event write;
  Event read[kReads];

  // The event that races with a read by this thread, or null.
  const Event* conflict_of_read(const ThreadClock& clock) const {
    return write.clock != 0 && !clock.has_seen(write.thread, write.clock) ? &write : nullptr;
  }
  // To overwrite something, it is enough to know that its use is over.
  const Event* conflict_of_write(const ThreadClock& clock) const {
    if (write.clock != 0 && !clock.knows_over(write.thread, write.clock)) return &write;
    for (const Event& event : read)
      if (event.clock != 0 && !clock.knows_over(event.thread, event.clock)) return &event;
    return nullptr;
  }

  void note_read(const ThreadClock& clock, Site site) {
    note_read(clock, {clock.now(), static_cast<std::uint16_t>(clock.thread()), site});
  }
  // A read by an agent, on behalf of this thread.
  void note_read(const ThreadClock& clock, const Event& event) {
    if (read[0].clock == 0 || read[0].thread == event.thread) {  // the first are filled first
      read[0] = event;
      return;
    }
    // A reader whose read this thread has seen is covered by this thread: whoever sees this read has seen that one.
    for (Event& r : read) {
      if (r.clock != 0 && r.thread == event.thread) {
        r = event;
        return;
      }
    }
    int same_warp = -1;
    for (int i = 0; i < kReads; ++i) {
      if (read[i].clock == 0 || clock.has_seen(read[i].thread, read[i].clock)) {
        read[i] = event;
        return;
      }
      for (int j = 0; j < i; ++j)
        if (read[j].thread / 32 == read[i].thread / 32) same_warp = i;
    }
    if (same_warp >= 0) read[same_warp] = event;
  }
  void note_write(const ThreadClock& clock, Site site) {
    note_write({clock.now(), static_cast<std::uint16_t>(clock.thread()), site});
  }
  void note_write(const Event& event) {
    write = event;
    for (Event& r : read) r.clock = 0;
  }
};

}  // namespace xgemm::sim
