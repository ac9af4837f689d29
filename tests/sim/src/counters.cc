// Requests, wavefronts and sectors. SPDX-License-Identifier: BSD-3-Clause
#include "sim/counters.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

namespace xgemm::sim {
namespace {

constexpr int kWarp = 32;
constexpr std::uint64_t kBanks = 32;
constexpr std::uint64_t kBankBytes = 4;
constexpr std::uint64_t kSectorBytes = 32;

template <class T>
std::int64_t count_distinct(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  return std::unique(values.begin(), values.end()) - values.begin();
}

}  // namespace

const char* to_string(Traffic traffic) {
  switch (traffic) {
    case Traffic::shared_load:
      return "shared load";
    case Traffic::shared_store:
      return "shared store";
    case Traffic::global_load:
      return "global load";
    case Traffic::global_store:
      return "global store";
  }
  return "?";
}

Cost shared_cost(std::span<const LaneAccess> lanes, int bytes) {
  const std::size_t part = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  Cost cost;
  std::vector<std::uint64_t> words;
  for (std::size_t first = 0; first < lanes.size(); first += part) {
    words.clear();
    for (const LaneAccess& lane : lanes.subspan(first, std::min(part, lanes.size() - first))) {
      if (!lane.active) continue;
      const std::uint64_t begin = lane.address / kBankBytes;
      const std::uint64_t end = (lane.address + static_cast<std::uint64_t>(bytes) - 1) / kBankBytes + 1;
      for (std::uint64_t word = begin; word < end; ++word) words.push_back(word);
    }
    if (words.empty()) continue;
    words.resize(static_cast<std::size_t>(count_distinct(words)));
    std::array<std::int64_t, kBanks> in_bank{};
    for (const std::uint64_t word : words) ++in_bank[word % kBanks];
    cost.units += *std::max_element(in_bank.begin(), in_bank.end());
    cost.ideal += 1;
  }
  return cost;
}

Cost global_cost(std::span<const LaneAccess> lanes, int bytes) {
  std::vector<std::uint64_t> sectors, touched;
  for (const LaneAccess& lane : lanes) {
    if (!lane.active) continue;
    for (std::uint64_t byte = lane.address; byte < lane.address + static_cast<std::uint64_t>(bytes); ++byte) {
      touched.push_back(byte);
    }
    const std::uint64_t last = (lane.address + static_cast<std::uint64_t>(bytes) - 1) / kSectorBytes;
    for (std::uint64_t sector = lane.address / kSectorBytes; sector <= last; ++sector) sectors.push_back(sector);
  }
  const std::int64_t distinct_bytes = count_distinct(touched);
  return {count_distinct(sectors), (distinct_bytes + 31) / 32};
}

void Counting::add_warp(std::span<std::vector<AccessRecord>*> lanes) {
  // The n-th execution of a place: what each lane did.
  struct Request {
    int bytes = 0;
    std::array<LaneAccess, kWarp> lanes{};
  };
  struct Executions {
    std::array<std::size_t, kWarp> done{};  // by each lane
    std::vector<Request> requests;
  };
  std::map<std::pair<Site, Traffic>, Executions> places;
  bool any = false;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    for (const AccessRecord& record : *lanes[lane]) {
      any = true;
      Executions& executions = places[{record.site, record.traffic}];
      const std::size_t n = executions.done[lane]++;
      if (n >= executions.requests.size()) executions.requests.resize(n + 1);
      if (record.bytes == 0) continue;
      Request& request = executions.requests[n];
      request.bytes = std::max<int>(request.bytes, record.bytes);
      request.lanes[lane] = {true, record.address};
    }
    lanes[lane]->clear();
  }
  if (!any) return;
  for (const auto& [place, executions] : places) {
    for (const Request& request : executions.requests) {
      if (request.bytes == 0) continue;  // skipped by all
      add_request(place.first, place.second, request.lanes, request.bytes);
    }
  }
}

void Counting::add_request(Site site, Traffic traffic, std::span<const LaneAccess> lanes, int bytes) {
  const Cost cost = is_shared(traffic) ? shared_cost(lanes, bytes) : global_cost(lanes, bytes);
  LineCounters& line = by_site_[{site, traffic, bytes}];
  line.requests += 1;
  line.units += cost.units;
  line.ideal += cost.ideal;
}

Counters Counting::result() const {
  std::map<std::tuple<std::string, unsigned, Traffic, int>, LineCounters> by_line;
  for (const auto& [key, counters] : by_site_) {
    const auto& [site, traffic, bytes] = key;
    const Loc loc = location_of(site);
    LineCounters& line = by_line[{loc.file(), loc.line(), traffic, bytes}];
    line.file = loc.file();
    line.line = loc.line();
    line.traffic = traffic;
    line.bytes = bytes;
    line.requests += counters.requests;
    line.units += counters.units;
    line.ideal += counters.ideal;
  }
  Counters result;
  for (auto& [key, line] : by_line) result.lines.push_back(line);
  return result;
}

LineCounters Counters::total(Traffic traffic) const {
  LineCounters sum;
  sum.traffic = traffic;
  for (const LineCounters& line : lines) {
    if (line.traffic != traffic) continue;
    sum.requests += line.requests;
    sum.units += line.units;
    sum.ideal += line.ideal;
  }
  return sum;
}

}  // namespace xgemm::sim
