// The built-in blocked product: the loops of Goto's algorithm around a micro-kernel in registers.
//
//   for each  nc columns of C and B                        B(kc x nc) packed once, in slivers of nr columns
//     for each  kc of the inner dimension                  A(mc x kc) packed, in slivers of mr rows, stays in L2
//       for each  mc rows of C and A
//         micro-kernel: mr x nr of C in registers, one sliver of A times one of B
//
// Packing reads A and B through strides, so that transposed operands and any leading dimension cost nothing further.
// The slivers at the edges are filled up with zeros; what the micro-kernel makes of them (NaN included) is never
// stored.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "host/builtin_gemm.h"

#include <algorithm>
#include <cstring>

#include "host/aligned_buffer.h"

namespace xgemm::host {
namespace {

using std::int64_t;

constexpr int64_t kInner = 256;     // kc
constexpr int64_t kColumns = 2048;  // nc, rounded up to a multiple of nr

// GCC's vectors compile for every target; with wider registers than the target has they would be split.
template <class T>
struct VectorsOf {
  typedef T Bytes16 __attribute__((vector_size(16)));
  typedef T Bytes32 __attribute__((vector_size(32)));
};

// tile (mr x nr, column-major) := sliver of A (mr x k) * sliver of B (k x nr), mr = kVectors * lanes.
template <class Vector, int kVectors, int kTileColumns, class T>
[[gnu::always_inline]] inline void multiply_slivers(int64_t k, const T* a, const T* b, T* tile) {
  constexpr int kLanes = sizeof(Vector) / sizeof(T);
  // Every loop over these is unrolled, so that they live in registers.
  Vector sums[kTileColumns][kVectors] = {};
  for (int64_t p = 0; p < k; ++p) {
    Vector rows[kVectors];
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) std::memcpy(&rows[i], a + i * kLanes, sizeof(Vector));
#pragma GCC unroll 16
    for (int j = 0; j < kTileColumns; ++j)
#pragma GCC unroll 4
      for (int i = 0; i < kVectors; ++i) sums[j][i] += rows[i] * b[j];
    a += kVectors * kLanes;
    b += kTileColumns;
  }
#pragma GCC unroll 16
  for (int j = 0; j < kTileColumns; ++j)
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) std::memcpy(tile + (j * kVectors + i) * kLanes, &sums[j][i], sizeof(Vector));
}

template <class T>
struct MicroKernel {
  const char* isa;
  int rows, columns;  // mr, nr
  void (*multiply)(int64_t k, const T* a, const T* b, T* tile);
};

constexpr int kLargestTile = 16 * 6;

template <class T>
void multiply_generic(int64_t k, const T* a, const T* b, T* tile) {
  multiply_slivers<typename VectorsOf<T>::Bytes16, 2, 4>(k, a, b, tile);
}

#if defined(__x86_64__)
template <class T>
[[gnu::target("avx2,fma")]] void multiply_avx2(int64_t k, const T* a, const T* b, T* tile) {
  multiply_slivers<typename VectorsOf<T>::Bytes32, 2, 6>(k, a, b, tile);
}
#endif

template <class T>
const MicroKernel<T>& micro_kernel() noexcept {
#if defined(__x86_64__)
  static constexpr MicroKernel<T> avx2 = {"avx2", 64 / int{sizeof(T)}, 6, multiply_avx2<T>};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2;
#endif
  static constexpr MicroKernel<T> generic = {"generic", 32 / int{sizeof(T)}, 4, multiply_generic<T>};
  return generic;
}

int64_t rounded_up(int64_t x, int64_t multiple) {
  return (x + multiple - 1) / multiple * multiple;
}

// Packs `extent` lines of k elements into slivers of `width` lines, in which the lines' elements of one k are
// neighbours.
template <class T>
void pack(const T* from, int64_t extent, int64_t line_stride, int64_t k, int64_t k_stride, int64_t width, T* to) {
  for (int64_t first = 0; first < extent; first += width, to += width * k) {
    const T* sliver = from + first * line_stride;
    const int64_t lines = std::min(width, extent - first);
    if (lines < width) std::fill_n(to, width * k, T{0});
    if (line_stride == 1) {
      for (int64_t p = 0; p < k; ++p) std::copy_n(sliver + p * k_stride, lines, to + p * width);
    } else {
      for (int64_t i = 0; i < lines; ++i)
        for (int64_t p = 0; p < k; ++p) to[p * width + i] = sliver[i * line_stride + p * k_stride];
    }
  }
}

// C := alpha * tile + beta * C. beta = 0 does not read C.
template <class T>
void update(const T* tile, int64_t tile_rows, int64_t rows, int64_t columns, T alpha, T beta, T* c, int64_t ldc) {
  for (int64_t j = 0; j < columns; ++j, tile += tile_rows, c += ldc) {
    if (beta == T{0})
      for (int64_t i = 0; i < rows; ++i) c[i] = alpha * tile[i];
    else
      for (int64_t i = 0; i < rows; ++i) c[i] = alpha * tile[i] + beta * c[i];
  }
}

}  // namespace

const char* builtin_isa() noexcept {
  return micro_kernel<float>().isa;
}

template <class T>
Status builtin_gemm(const Gemm<T>& p) {
  using Buffer = AlignedBuffer<T>;
  const MicroKernel<T>& kernel = micro_kernel<T>();
  const int64_t mr = kernel.rows, nr = kernel.columns;
  const int64_t kc = std::min(kInner, p.k);
  const int64_t mc = std::min(8 * mr, rounded_up(p.m, mr));
  const int64_t nc = std::min(rounded_up(kColumns, nr), rounded_up(p.n, nr));

  const int64_t a_count = Buffer::rounded(mc * kc);
  const Buffer scratch(a_count + nc * kc);
  if (!scratch.ok()) return fail_without_memory();
  T* const packed_a = scratch.data();
  T* const packed_b = scratch.data() + a_count;

  const bool a_plain = p.transa == Op::none, b_plain = p.transb == Op::none;
  const int64_t a_row_stride = a_plain ? 1 : p.lda, a_inner_stride = a_plain ? p.lda : 1;
  const int64_t b_inner_stride = b_plain ? 1 : p.ldb, b_column_stride = b_plain ? p.ldb : 1;
  alignas(Buffer::kAlignment) T tile[kLargestTile];

  for (int64_t j0 = 0; j0 < p.n; j0 += nc) {
    const int64_t columns = std::min(nc, p.n - j0);
    for (int64_t p0 = 0; p0 < p.k; p0 += kc) {
      const int64_t inner = std::min(kc, p.k - p0);
      const T beta = p0 == 0 ? p.beta : T{1};
      pack(p.b + p0 * b_inner_stride + j0 * b_column_stride, columns, b_column_stride, inner, b_inner_stride, nr,
           packed_b);
      for (int64_t i0 = 0; i0 < p.m; i0 += mc) {
        const int64_t rows = std::min(mc, p.m - i0);
        pack(p.a + i0 * a_row_stride + p0 * a_inner_stride, rows, a_row_stride, inner, a_inner_stride, mr, packed_a);
        for (int64_t j = 0; j < columns; j += nr)
          for (int64_t i = 0; i < rows; i += mr) {
            kernel.multiply(inner, packed_a + i * inner, packed_b + j * inner, tile);
            update(tile, mr, std::min(mr, rows - i), std::min(nr, columns - j), p.alpha, beta,
                   p.c + (i0 + i) + (j0 + j) * p.ldc, p.ldc);
          }
      }
    }
  }
  return kOk;
}

template Status builtin_gemm(const Gemm<float>&);
template Status builtin_gemm(const Gemm<double>&);

}  // namespace xgemm::host
