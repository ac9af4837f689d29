// Counters of memory traffic, for each source line of a kernel: what a profiler on the GPU would show.
//
// Lanes of a warp that execute the same access form one request. Lanes run one after the other here, so requests are
// put together afterwards: the n-th execution of a place by one lane belongs to the n-th by the others, counted from
// the last point where the warp met as a whole.
//
// Shared memory, in wavefronts (passes over the 32 banks of 4 bytes): accesses of up to 4 bytes are served for the
// whole warp at once, of 8 bytes by half warps, of 16 bytes by quarter warps. One pass serves any number of lanes as
// long as no bank is asked for two different words. The ideal is one pass for each part that has an active lane.
//
// Global memory, in sectors of 32 bytes that a request touches. The ideal is the number of sectors that the bytes would
// fill if they lay side by side.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "sim/location.h"

namespace xgemm::sim {

enum class Traffic : std::uint8_t { shared_load, shared_store, global_load, global_store };

const char* to_string(Traffic traffic);
inline bool is_shared(Traffic traffic) {
  return traffic == Traffic::shared_load || traffic == Traffic::shared_store;
}

// One lane's part of a request; an inactive lane has no part.
struct LaneAccess {
  bool active = false;
  std::uint64_t address = 0;  // of shared memory: the offset
};

struct Cost {
  std::int64_t units = 0;  // wavefronts or sectors
  std::int64_t ideal = 0;
};
Cost shared_cost(std::span<const LaneAccess> lanes, int bytes);
Cost global_cost(std::span<const LaneAccess> lanes, int bytes);

struct LineCounters {
  std::string file;
  unsigned line = 0;
  Traffic traffic = Traffic::shared_load;
  int bytes = 0;  // of one lane's access
  std::int64_t requests = 0;
  std::int64_t units = 0;
  std::int64_t ideal = 0;

  std::int64_t excess() const { return units - ideal; }  // bank conflicts, or sectors in vain
  double ratio() const { return ideal == 0 ? 1.0 : static_cast<double>(units) / static_cast<double>(ideal); }
};

struct Counters {
  std::vector<LineCounters> lines;  // by file, line, traffic, width

  LineCounters total(Traffic traffic) const;
};

// One access of one lane, as noted while it runs.
struct AccessRecord {
  Site site;
  Traffic traffic;
  std::uint8_t bytes;  // 0: the lane skipped the access
  std::uint64_t address;
};

class Counting {
 public:
  // The records of the (up to 32) lanes of a warp since they last met; empties them.
  void add_warp(std::span<std::vector<AccessRecord>*> lanes);
  void add_request(Site site, Traffic traffic, std::span<const LaneAccess> lanes, int bytes);
  Counters result() const;

 private:
  using Key = std::tuple<Site, Traffic, int>;
  std::map<Key, LineCounters> by_site_;
};

}  // namespace xgemm::sim
