// Where in the source something happens. The kernel-facing functions take a Loc as defaulted last parameter, so every
// access, barrier and copy knows the line of the kernel that made it.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>

namespace xgemm::sim {

class Loc {
 public:
  constexpr Loc() = default;
  static constexpr Loc current(std::source_location where = std::source_location::current()) { return Loc(where); }

  const char* file() const { return where_.file_name(); }
  unsigned line() const { return where_.line(); }

  // Tells places apart: one address for each line, column and function instantiation.
  const void* key() const {
    static_assert(sizeof(std::source_location) == sizeof(void*));
    return std::bit_cast<const void*>(where_);
  }

 private:
  explicit constexpr Loc(std::source_location where) : where_(where) {}

  std::source_location where_;
};

// Places are numbered from 1 as they occur, so that they fit into a few bits of the shadow memory. 0 is no place.
using Site = std::uint16_t;

namespace detail {
struct SiteCache {
  static constexpr std::size_t kSize = 1024;
  struct Entry {
    const void* key = nullptr;
    Site site = 0;
  };
  Entry entries[kSize] = {};
};
inline constinit thread_local SiteCache site_cache;
Site find_site(Loc loc);
}  // namespace detail

inline Site site_of(Loc loc) {
  const auto bits = reinterpret_cast<std::uintptr_t>(loc.key());
  detail::SiteCache::Entry& entry = detail::site_cache.entries[(bits >> 3 ^ bits >> 13) % detail::SiteCache::kSize];
  if (entry.key != loc.key() || entry.site == 0) entry = {loc.key(), detail::find_site(loc)};
  return entry.site;
}
Loc location_of(Site site);

// "smem_tiled.cuh:71".
std::string to_string(Loc loc);

}  // namespace xgemm::sim
