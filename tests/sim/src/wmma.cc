// WMMA loads and stores. SPDX-License-Identifier: BSD-3-Clause
#include "sim/wmma.h"

#include <cstring>
#include <string>

#include "sim/fragments.h"
#include "sim/warp.h"

namespace xgemm::sim {
namespace {

// The matrix that a lane names.
struct Matrix {
  const void* data;
  int ld;
  Loc loc;
};

struct LoadPayload : detail::MatricesPayload {
  Matrix matrix;
};

void check_uniform(const Matrix& first, const Matrix& other, const char* name) {
  if (other.data == first.data && other.ld == first.ld) return;
  fail(Fault::warp_divergence, first.loc, std::string(name) + " whose lanes name different matrices");
}

bool check_matrix(const char* name, const void* data, int ld, int element_bytes, Loc loc) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  if (address % 32 == 0 && ld * element_bytes % 16 == 0) return true;
  fail(Fault::misaligned, loc,
       std::string(name) + " of lines " + std::to_string(ld * element_bytes) + " bytes apart from an address that is " +
           std::to_string(address % 32) + " modulo 32: the first must be a multiple of 16 bytes, the second 0");
  return false;
}

template <bool kTranspose>
void load(LanePayloads& lanes) {
  for (int lane = 1; lane < kWarpSize; ++lane) {
    check_uniform(static_cast<LoadPayload*>(lanes[0])->matrix,
                  static_cast<LoadPayload*>(lanes[static_cast<std::size_t>(lane)])->matrix, "wmma.load");
  }
  detail::rows_to_fragments<kTranspose>(lanes);
}

}  // namespace

void wmma_load(WmmaOperand operand, bool column_major, std::uint32_t (&m)[4], const void* shared, int ld, Loc loc) {
  // Lines along k are rows of the 8x8 matrices; lines across k are transposed on the way.
  const bool along_k = (operand == WmmaOperand::a) != column_major;
  // The four matrices in the order of the registers: of A the one below comes second, of B the one further along k.
  const int lane = current().lane();
  const int matrix = lane / detail::kMatrixRows, r = lane % detail::kMatrixRows;
  const bool second_is_next_line = (operand == WmmaOperand::a) == along_k;
  const int line = r + 8 * (second_is_next_line ? matrix % 2 : matrix / 2);
  const int start = 8 * (second_is_next_line ? matrix / 2 : matrix % 2);

  LoadPayload payload{{.count = 4, .row = {}, .fragment = {}}, {shared, ld, loc}};
  std::memset(payload.row, kPoison, sizeof payload.row);
  if (check_matrix("wmma.load", shared, ld, sizeof(std::uint16_t), loc)) {
    read_shared<sizeof payload.row>(static_cast<const std::uint16_t*>(shared) + line * ld + start, payload.row, loc);
  }
  std::memset(m, kPoison, sizeof m);
  if (warp_execute(along_k ? "wmma.load" : "wmma.load, transposed", &payload, along_k ? load<false> : load<true>,
                   loc)) {
    std::memcpy(m, payload.fragment, sizeof m);
  }
}

void wmma_store(bool column_major, float* shared, const float (&d)[8], int ld, Loc loc) {
  Matrix matrix{shared, ld, loc};
  const bool executed = warp_execute(
      column_major ? "wmma.store, by columns" : "wmma.store", &matrix,
      [](LanePayloads& lanes) {
        for (void* lane : lanes) {
          check_uniform(*static_cast<Matrix*>(lanes[0]), *static_cast<Matrix*>(lane), "wmma.store");
        }
      },
      loc);
  if (!executed || !check_matrix("wmma.store", shared, ld, sizeof(float), loc)) return;
  const int g = current().lane() / 4, t2 = 2 * (current().lane() % 4);
  for (int pair = 0; pair < 4; ++pair) {
    const int row = g + 8 * (pair % 2), col = t2 + 8 * (pair / 2);
    if (column_major) {
      for (int e = 0; e < 2; ++e) write_shared<4>(shared + (col + e) * ld + row, &d[2 * pair + e], loc);
    } else {
      write_shared<8>(shared + row * ld + col, &d[2 * pair], loc);
    }
  }
}

}  // namespace xgemm::sim
