// ldmatrix and stmatrix. SPDX-License-Identifier: BSD-3-Clause
#include "sim/fragments.h"

#include <cstring>

namespace xgemm::sim {
namespace {

using detail::kMatrixRows;
using detail::MatricesPayload;

constexpr int kRowBytes = kMatrixRows * 2;

// Where element e (0 or 1) of a lane's fragment lies in its matrix.
struct Place {
  int row, col;
};
Place place_of(int lane, int e, bool transpose) {
  const int along = 2 * (lane % 4) + e, across = lane / 4;
  return transpose ? Place{along, across} : Place{across, along};
}

// Calls f(element of a row in memory, register of a fragment, its half) for all elements that the warp moves.
template <class F>
void for_each_element(LanePayloads& lanes, bool transpose, F f) {
  const auto payload = [&](int lane) -> MatricesPayload& {
    return *static_cast<MatricesPayload*>(lanes[static_cast<std::size_t>(lane)]);
  };
  for (int matrix = 0; matrix < payload(0).count; ++matrix)
    for (int lane = 0; lane < kWarpSize; ++lane)
      for (int e = 0; e < 2; ++e) {
        const Place place = place_of(lane, e, transpose);
        f(payload(kMatrixRows * matrix + place.row).row[place.col], payload(lane).fragment[matrix], e);
      }
}

// An instruction is known by its name: lanes in different forms of it diverge.
const char* load_name(int count, bool transpose) {
  if (transpose) return count == 4 ? "ldmatrix.x4.trans" : count == 2 ? "ldmatrix.x2.trans" : "ldmatrix.x1.trans";
  return count == 4 ? "ldmatrix.x4" : count == 2 ? "ldmatrix.x2" : "ldmatrix.x1";
}
const char* store_name(int count, bool transpose) {
  if (transpose) return count == 4 ? "stmatrix.x4.trans" : count == 2 ? "stmatrix.x2.trans" : "stmatrix.x1.trans";
  return count == 4 ? "stmatrix.x4" : count == 2 ? "stmatrix.x2" : "stmatrix.x1";
}

bool gives_address(int count) {
  return current().lane() < kMatrixRows * count;
}

}  // namespace

namespace detail {

template <bool kTranspose>
void rows_to_fragments(LanePayloads& lanes) {
  for_each_element(lanes, kTranspose, [](std::uint16_t element, std::uint32_t& fragment, int half) {
    fragment |= static_cast<std::uint32_t>(element) << (16 * half);
  });
}

template <bool kTranspose>
void fragments_to_rows(LanePayloads& lanes) {
  for_each_element(lanes, kTranspose, [](std::uint16_t& element, std::uint32_t fragment, int half) {
    element = static_cast<std::uint16_t>(fragment >> (16 * half));
  });
}

template void rows_to_fragments<false>(LanePayloads&);
template void rows_to_fragments<true>(LanePayloads&);
template void fragments_to_rows<false>(LanePayloads&);
template void fragments_to_rows<true>(LanePayloads&);

}  // namespace detail

void load_matrices(int count, bool transpose, std::uint32_t* m, const void* row, Loc loc) {
  MatricesPayload payload{.count = count, .row = {}, .fragment = {}};
  if (gives_address(count)) read_shared<kRowBytes>(row, payload.row, loc);
  // What a faulty call leaves behind is poison.
  std::memset(m, kPoison, static_cast<std::size_t>(count) * sizeof *m);
  if (!warp_execute(load_name(count, transpose), &payload,
                    transpose ? detail::rows_to_fragments<true> : detail::rows_to_fragments<false>, loc)) {
    return;
  }
  std::memcpy(m, payload.fragment, static_cast<std::size_t>(count) * sizeof *m);
}

void store_matrices(int count, bool transpose, void* row, const std::uint32_t* m, Loc loc) {
  MatricesPayload payload{.count = count, .row = {}, .fragment = {}};
  std::memcpy(payload.fragment, m, static_cast<std::size_t>(count) * sizeof *m);
  if (!warp_execute(store_name(count, transpose), &payload,
                    transpose ? detail::fragments_to_rows<true> : detail::fragments_to_rows<false>, loc)) {
    return;
  }
  if (gives_address(count)) write_shared<kRowBytes>(row, payload.row, loc);
}

}  // namespace xgemm::sim
