// Numbers for source places. SPDX-License-Identifier: BSD-3-Clause
#include "sim/location.h"

#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace xgemm::sim {
namespace {

struct Table {
  std::mutex mutex;
  std::unordered_map<const void*, Site> by_key;
  std::vector<Loc> locations{Loc()};
};

Table& table() {
  static Table instance;
  return instance;
}

}  // namespace

Site detail::find_site(Loc loc) {
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  const auto found = t.by_key.find(loc.key());
  if (found != t.by_key.end()) return found->second;
  // A program with more places than numbers lumps the last ones together.
  if (t.locations.size() > 0xfffe) return 0xfffe;
  const Site site = static_cast<Site>(t.locations.size());
  t.locations.push_back(loc);
  t.by_key.emplace(loc.key(), site);
  return site;
}

Loc location_of(Site site) {
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  return t.locations[site];
}

std::string to_string(Loc loc) {
  std::string_view file = loc.file();
  if (const auto slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
  return file.empty() ? "?" : std::string(file) + ":" + std::to_string(loc.line());
}

}  // namespace xgemm::sim
