// Warp-wide operations. SPDX-License-Identifier: BSD-3-Clause
#include "sim/warp.h"

#include <list>
#include <string>
#include <string_view>

namespace xgemm::sim {
namespace {

// Lanes on their way to one operation. Disjoint parts of a warp may be at different ones.
struct Meeting {
  std::string_view name;
  Event first;  // who came first, from where
  std::uint32_t mask = 0;
  std::uint32_t arrived = 0;
  LanePayloads payloads{};
  std::array<Thread*, kWarpSize> threads{};
  ClockJoin join;
};

struct Meetings {
  std::list<Meeting> open;
  std::list<Meeting> over;  // to be used again
};

struct ShufflePayload {
  Shuffle kind;
  std::uint32_t value;
  int operand;
  int lane;
  std::uint32_t result;
};

int lanes_of_warp(const Thread& thread) {
  return std::min<int>(kWarpSize, static_cast<int>(thread.cta->threads.size()) - thread.warp() * kWarpSize);
}

void meet(const char* name, bool aligned, std::uint32_t mask, void* payload, void (*act)(LanePayloads&),
          bool orders_memory, Loc loc) {
  Thread& thread = current();
  Cta& cta = *thread.cta;
  const std::uint32_t me = 1u << thread.lane();
  const int lanes = lanes_of_warp(thread);
  if (lanes < kWarpSize) mask &= (1u << lanes) - 1;
  if ((mask & me) == 0) {
    fail(Fault::warp_divergence, loc,
         std::string(name) + " by lane " + std::to_string(thread.lane()) + ", which is not in its own mask");
    return;
  }
  auto& [open, over] = cta.warps[static_cast<std::size_t>(thread.warp())].state<Meetings>();
  auto meeting = open.begin();
  for (; meeting != open.end(); ++meeting) {
    if (meeting->name == name && meeting->mask == mask && (meeting->arrived & me) == 0 &&
        (!aligned || meeting->first.site == site_of(loc))) {
      break;
    }
    if ((meeting->mask & me) != 0 && (meeting->arrived & me) == 0) {
      fail(
          Fault::warp_divergence, loc,
          std::string(name) + ", while other lanes of the warp wait in " + std::string(meeting->name) + " for this one",
          &meeting->first);
    }
  }
  if (meeting == open.end()) {
    if (over.empty()) over.emplace_back();
    meeting = over.begin();
    *meeting = {};
    open.splice(open.end(), over, meeting);
    meeting->name = name;
    meeting->first = {thread.clock.now(), static_cast<std::uint16_t>(thread.clock.thread()), site_of(loc)};
    meeting->mask = mask;
  }
  const auto lane = static_cast<std::size_t>(thread.lane());
  meeting->arrived |= me;
  meeting->payloads[lane] = payload;
  meeting->threads[lane] = &thread;
  if (orders_memory) meeting->join.release(thread.clock);
  if (meeting->arrived != meeting->mask) {
    thread.machine->wait(name, loc);
    return;
  }
  over.splice(over.begin(), open, meeting);
  Meeting& done = *meeting;
  if (act != nullptr) act(done.payloads);
  if (lanes == kWarpSize ? done.mask == 0xffffffffu : done.mask == (1u << lanes) - 1) {
    thread.machine->warp_met(cta, thread.warp());
  }
  for (Thread* other : done.threads) {
    if (other == nullptr) continue;
    if (orders_memory) done.join.acquire(other->clock);
    if (other != &thread) other->machine->wake(*other);
  }
  thread.machine->yield();
}

}  // namespace

void warp_meet(const char* name, std::uint32_t mask, void* payload, void (*act)(LanePayloads&), bool orders_memory,
               Loc loc) {
  meet(name, false, mask, payload, act, orders_memory, loc);
}

bool warp_execute(const char* name, void* payload, void (*act)(LanePayloads&), Loc loc) {
  if (const int lanes = lanes_of_warp(current()); lanes != kWarpSize) {
    fail(Fault::warp_divergence, loc, std::string(name) + " in a warp of " + std::to_string(lanes) + " lanes");
    return false;
  }
  meet(name, true, 0xffffffffu, payload, act, false, loc);
  return true;
}

std::uint32_t shuffle(Shuffle kind, std::uint32_t value, int operand, std::uint32_t mask, Loc loc) {
  ShufflePayload payload{kind, value, operand, current().lane(), value};
  warp_meet(
      "a shuffle", mask, &payload,
      [](LanePayloads& lanes) {
        for (void* lane : lanes) {
          if (lane == nullptr) continue;
          auto& mine = *static_cast<ShufflePayload*>(lane);
          int source = mine.operand & (kWarpSize - 1);
          if (mine.kind == Shuffle::exclusive_or) source = mine.lane ^ mine.operand;
          if (source < 0 || source >= kWarpSize) source = mine.lane;  // out of range: one's own value
          const auto* from = static_cast<const ShufflePayload*>(lanes[static_cast<std::size_t>(source)]);
          mine.result = from != nullptr ? from->value : 0xffffffffu;  // a lane outside the mask: undefined
        }
      },
      false, loc);
  return payload.result;
}

}  // namespace xgemm::sim
