// Which memory the sums of split tiles get: pure, with the allocator as an argument.
#pragma once

#include <algorithm>
#include <cstddef>

namespace xgemm::runtime {

struct Scratch {
  void* data = nullptr;  // null: there is not even the least
  std::size_t bytes = 0;
  bool allocated = false;  // else it is what was lent
};

// As much as is wanted, lent or allocated; where that cannot be had, also after `trim` has given back what the library
// keeps, the largest half, quarter... in whole multiples of `least`, which computes the same in more launches.
// allocate(bytes): null where there is no memory.
template <class Allocate, class Trim>
Scratch find_scratch(std::size_t wanted, std::size_t least, void* lent, std::size_t lent_bytes,
                     const Allocate& allocate, const Trim& trim) {
  if (lent_bytes >= wanted) return {lent, lent_bytes, false};
  if (void* const data = allocate(wanted); data != nullptr) return {data, wanted, true};
  trim();
  for (std::size_t bytes = wanted;; bytes = std::max(least, bytes / 2 / least * least)) {
    if (lent_bytes >= bytes) return {lent, lent_bytes, false};
    if (void* const data = allocate(bytes); data != nullptr) return {data, bytes, true};
    if (bytes == least) return {};
  }
}

}  // namespace xgemm::runtime
