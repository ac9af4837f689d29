// mma.sync. SPDX-License-Identifier: BSD-3-Clause
#include "sim/mma.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "sim/warp.h"
#include "xgemm/float16.hpp"

namespace xgemm::sim {
namespace {

constexpr int kM = 16, kN = 8, kK = 16;

// One lane's part; d, a and b are its fragments.
struct Payload {
  DType type;
  float* d;
  const std::uint32_t* a;
  const std::uint32_t* b;
};

float value_of(DType type, std::uint32_t register_pair, int e) {
  const auto bits = static_cast<std::uint16_t>(register_pair >> (16 * e));
  return type == DType::bf16 ? bfloat16_to_float(bits) : half_to_float(bits);
}

template <int kBlocks>  // of kN columns
void multiply(LanePayloads& lanes) {
  constexpr int kColumns = kBlocks * kN;
  float a[kK][kM], b[kK][kColumns], d[kM][kColumns];
  const auto for_each_lane = [&](auto f) {
    for (int lane = 0; lane < kWarpSize; ++lane) {
      f(*static_cast<const Payload*>(lanes[static_cast<std::size_t>(lane)]), lane / 4, 2 * (lane % 4));
    }
  };
  for_each_lane([&](const Payload& p, int g, int t2) {
    for (int e = 0; e < 2; ++e) {
      for (int i = 0; i < 4; ++i) a[t2 + e + 8 * (i / 2)][g + 8 * (i % 2)] = value_of(p.type, p.a[i], e);
      for (int i = 0; i < 2 * kBlocks; ++i) b[t2 + e + 8 * (i % 2)][g + 8 * (i / 2)] = value_of(p.type, p.b[i], e);
      for (int i = 0; i < 2 * kBlocks; ++i) d[g + 8 * (i % 2)][t2 + e + 8 * (i / 2)] = p.d[2 * i + e];
    }
  });
  for (int i = 0; i < kM; ++i)
    for (int k = 0; k < kK; ++k)
      for (int j = 0; j < kColumns; ++j) d[i][j] += a[k][i] * b[k][j];
  for_each_lane([&](const Payload& p, int g, int t2) {
    for (int e = 0; e < 2; ++e)
      for (int i = 0; i < 2 * kBlocks; ++i) p.d[2 * i + e] = d[g + 8 * (i % 2)][t2 + e + 8 * (i / 2)];
  });
}

// One lane's part of a product of doubles.
struct DoublePayload {
  double* d;
  const double* a;
  const double* b;
};

void multiply_doubles(LanePayloads& lanes) {
  constexpr int kDepth = 8;
  double a[kDepth][kM], b[kDepth][kN];
  const auto for_each_lane = [&](auto f) {
    for (int lane = 0; lane < kWarpSize; ++lane)
      f(*static_cast<const DoublePayload*>(lanes[static_cast<std::size_t>(lane)]), lane / 4, lane % 4);
  };
  for_each_lane([&](const DoublePayload& p, int g, int t) {
    for (int i = 0; i < 4; ++i) a[t + 4 * (i / 2)][g + 8 * (i % 2)] = p.a[i];
    for (int i = 0; i < 2; ++i) b[t + 4 * i][g] = p.b[i];
  });
  for_each_lane([&](const DoublePayload& p, int g, int t) {
    for (int i = 0; i < 4; ++i)
      for (int k = 0; k < kDepth; ++k) p.d[i] = __builtin_fma(a[k][g + 8 * (i / 2)], b[k][2 * t + i % 2], p.d[i]);
  });
}

}  // namespace

void mma(double (&d)[4], const double (&a)[4], const double (&b)[2], Loc loc) {
  DoublePayload payload{d, a, b};
  if (!warp_execute("mma.m16n8k8.f64", &payload, multiply_doubles, loc))
    std::fill(std::begin(d), std::end(d), std::numeric_limits<double>::quiet_NaN());
}

void mma(DType type, float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], Loc loc) {
  Payload payload{type, d, a, b};
  const char* const name = type == DType::bf16 ? "mma.m16n8k16.bf16" : "mma.m16n8k16.f16";
  if (!warp_execute(name, &payload, multiply<1>, loc))
    std::fill(std::begin(d), std::end(d), std::numeric_limits<float>::quiet_NaN());
}

void mma_pair(DType type, float (&d)[8], const std::uint32_t (&a)[4], const std::uint32_t (&b)[4], Loc loc) {
  Payload payload{type, d, a, b};
  const char* const name = type == DType::bf16 ? "wmma.mma.m16n16k16.bf16" : "wmma.mma.m16n16k16.f16";
  if (!warp_execute(name, &payload, multiply<2>, loc))
    std::fill(std::begin(d), std::end(d), std::numeric_limits<float>::quiet_NaN());
}

}  // namespace xgemm::sim
