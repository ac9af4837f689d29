// Register budgets. SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>
#include <vector>

#include "sim/sm90/warpgroup.h"
#include "sim/warp.h"

namespace xgemm::sim {
namespace {

constexpr int kRegistersOfSm = 65536;
constexpr int kMaxAtLaunch = 255;
constexpr std::size_t kWarpsPerGroup = 4;

// What __launch_bounds__(threads, ctas_per_sm) lets the compiler give each thread.
int at_launch(const Cta& cta) {
  return std::min(kMaxAtLaunch, kRegistersOfSm / (static_cast<int>(cta.threads.size()) * cta.ctas_per_sm) / 8 * 8);
}

struct Pool {    // of a CTA
  int free = 0;  // of a thread of 32 each
  std::vector<Thread*> waiting;
  std::vector<std::vector<int>> asked;  // by each warpgroup, one call after the other
};

struct Registers {  // of a warp
  int now = 0;      // of a thread; 0: as at launch
  int wanted = 0;   // by the last acquisition
  std::size_t calls = 0;
};

struct Call {
  int registers;
  bool release;
  Loc loc;
};

// Once for the warp, when its lanes have met.
void change(LanePayloads& lanes) {
  const Call& call = *static_cast<const Call*>(lanes[0]);
  const Thread& thread = current();
  Cta& cta = *thread.cta;
  const auto warp = static_cast<std::size_t>(thread.warp());
  Pool& pool = cta.state<Pool>();
  Registers& mine = cta.warps[warp].state<Registers>();
  if (mine.now == 0) mine.now = at_launch(cta);

  // The warps of a warpgroup do the same.
  pool.asked.resize(cta.warps.size() / kWarpsPerGroup + 1);
  std::vector<int>& asked = pool.asked[warp / kWarpsPerGroup];
  const int code = call.release ? -call.registers : call.registers;
  if (mine.calls == asked.size()) asked.push_back(code);
  if (asked[mine.calls++] != code) {
    fail(Fault::registers, call.loc, "another warp of the warpgroup calls setmaxnreg with another number");
  }

  mine.wanted = mine.now;
  if (call.registers < 24 || call.registers > 256 || call.registers % 8 != 0) {
    fail(Fault::registers, call.loc,
         "setmaxnreg of " + std::to_string(call.registers) + ": a multiple of 8 from 24 to 256");
  } else if (call.release ? call.registers > mine.now : call.registers < mine.now) {
    fail(Fault::registers, call.loc,
         std::string(call.release ? "releases down to " : "acquires up to ") + std::to_string(call.registers) +
             " registers, of " + std::to_string(mine.now));
  } else if (call.release) {
    pool.free += mine.now - call.registers;
    mine.now = mine.wanted = call.registers;
    for (Thread* waiter : pool.waiting) waiter->machine->wake(*waiter);
    pool.waiting.clear();
  } else {
    mine.wanted = call.registers;
  }
}

}  // namespace

void release_registers(int registers, Loc loc) {
  Call call{registers, true, loc};
  warp_execute("setmaxnreg.dec", &call, change, loc);
}

void acquire_registers(int registers, Loc loc) {
  Call call{registers, false, loc};
  if (!warp_execute("setmaxnreg.inc", &call, change, loc)) return;
  Thread& thread = current();
  Pool& pool = thread.cta->state<Pool>();
  Registers& mine = thread.cta->warps[static_cast<std::size_t>(thread.warp())].state<Registers>();
  while (mine.now < mine.wanted) {
    if (const int more = mine.wanted - mine.now; pool.free >= more) {
      pool.free -= more;
      mine.now = mine.wanted;
      return;
    }
    pool.waiting.push_back(&thread);
    thread.wait_detail = [&pool, &mine] {
      return "for " + std::to_string(mine.wanted - mine.now) + " registers a thread, of which there are " +
             std::to_string(pool.free);
    };
    thread.machine->wait("acquire_registers", loc);
    thread.wait_detail = nullptr;
  }
}

}  // namespace xgemm::sim
