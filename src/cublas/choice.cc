// The properties of products that cuBLAS had better compute: those that libxgemm loses as often as not, or loses much
// of where it loses (docs/benchmarking.md, on an H100 and an H200). What else is small, thin, shallow or misaligned
// wins in the mean: of the sets wild, short-batches, thin-batches and eight-bytes 1.2 to 1.7.
#include "cublas/choice.h"

#include <algorithm>
#include <cstdint>

namespace xgemm::cublas {
namespace {

constexpr int kMeasured = 90;  // compute capability

// Where its products start in memory, and how far apart their rows are: TMA wants multiples of 16 bytes.
bool tma_reaches(const void* data, std::int64_t ld, std::int64_t element) {
  constexpr std::int64_t kBytes = 16;
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data) % kBytes) == 0 && ld * element % kBytes == 0;
}

// Whether kernels read the operands by TMA or in vectors. Of a product with a vector the matrix counts, and the vector
// only beside lines along k, with whose vectors its own are multiplied.
bool comes_in_vectors(const xgemm_args& x, std::int64_t element) {
  const bool a = tma_reaches(x.a, x.lda, element), b = tma_reaches(x.b, x.ldb, element);
  if (x.m > 1 && x.n > 1) return a && b;
  const bool vector_a = tma_reaches(x.a, 0, element) && (x.transa != 'N' || x.lda == 1);
  const bool vector_b = tma_reaches(x.b, 0, element) && (x.transb == 'N' || x.ldb == 1);
  if (x.n > 1) return b && (x.transb != 'N' || vector_a);
  if (x.m > 1) return a && (x.transa == 'N' || vector_b);
  return vector_a && vector_b;
}

bool needs_finishing(const xgemm_args& x) {
  return x.activation != XGEMM_NO_ACTIVATION || x.bias != nullptr || x.old_c != nullptr;
}

// By the kernel of the product (core/finishing.h, FamilyInfo::finishes): with a bias and GELU 1.08 in the mean of 26
// shapes in 16 bits on an H200, 0.92 at the least, and 1.24 and 1.26 of 60 in strict fp32 on both GPUs. There the
// families for vectors and few columns leave it to a pass, and so does the largest tile, which is 3 % of a C of 2048 x
// 2048 and half as much with twice the k.
bool is_finished_by_kernels(const xgemm_args& x, bool emulates, bool reads_c) {
  if (reads_c || x.old_c != nullptr || x.aux != nullptr) return false;
  if (x.type == XGEMM_F32) {
    const bool large = x.m * x.n >= 3'500'000 && x.k < 4000;
    return !emulates && x.math_mode != XGEMM_MATH_TF32 + 1 && std::min({x.m, x.n, x.k}) >= 32 && !large;
  }
  const bool has_16_bits = (x.type == XGEMM_F16 || x.type == XGEMM_BF16) && x.type_c == XGEMM_C_SAME;
  return has_16_bits && x.transb == 'N' && x.m % 8 == 0 && tma_reaches(x.c, x.ldc, 2);
}

}  // namespace

const char* why_cublas(const xgemm_args& x, const Gpu& gpu, bool reads_c) {
  if (gpu.compute_capability != kMeasured) return "a GPU without measurements";
  const std::int64_t narrow = std::min(x.m, x.n), shortest = std::min(narrow, x.k);
  const bool emulates = x.math_mode == XGEMM_MATH_FP32_EMULATED + 1;
  const std::int64_t element = x.type == XGEMM_F64 ? 8 : x.type == XGEMM_F32 ? 4 : 2;
  const bool aligned = comes_in_vectors(x, element);
  // 0.97 to 1.03 from 512 to 8192, and 1.33 to 1.43 of 1023, 2047 and 4095.
  if (x.type == XGEMM_F64 && (aligned || shortest < 1000)) return "double precision";
  // 1.05 to 1.52 in fp32 and 1.28 to 5.8 in 16 bits of 16x16x16, 32x32x32 and 33x31x29. Of larger ones in fp32 1.15 in
  // the mean where TMA reaches the lines, and 0.73 to 1.1 elsewhere; in 16 bits 0.7 to 1.5, and 1.1 in the mean,
  // but 1.4 to 3.6 of large ones with lines that TMA does not reach. What has an epilogue or is to be TF32 is copied.
  if (x.batch_kind == XGEMM_BATCH_POINTERS) {
    if (x.math_mode == XGEMM_MATH_TF32 + 1 || emulates || needs_finishing(x))
      return "arrays of pointers to matrices that would be copied";
    const bool reached = tma_reaches(nullptr, x.lda, element) && tma_reaches(nullptr, x.ldb, element);
    const bool gains = x.type == XGEMM_F32 ? reached : element == 2 && !reached && shortest >= 500;
    if (std::max({x.m, x.n, x.k}) <= 40 || gains) return nullptr;
    return "arrays of pointers to matrices that are not tiny";
  }
  const bool batch = x.batch_count > 1;
  // A pass over C after the product (core/finishing.h), which cuBLAS fuses: on an H100 3 % of 4096x4096x4096 in fp32
  // and 30 % in bf16. Beside that, what emulation wins is much.
  if (needs_finishing(x) && !is_finished_by_kernels(x, emulates, reads_c) &&
      !(emulates && x.type == XGEMM_F32 && !batch && shortest >= 1000))
    return "an epilogue that is a pass of its own";
  if (x.math_mode == XGEMM_MATH_TF32 + 1) {
    if (batch) return "a batch in TF32, without measurements";
    // From 512 to 8192 on an H100 and an H200 NN has 1.03 to 1.48, TT 1.005 to 1.40, TN 1.02 to 1.36, NT 0.98 to 1.6,
    // and what is not aligned 1.6 to 2.6.
    if (shortest < 512) return "a small product in TF32, without measurements";
    return nullptr;
  }
  // Short rows that start anywhere, and rows with gaps: down to 0.64 in 16 bits and 0.77 in fp32.
  if (narrow == 1 && !aligned) return "a product with a vector, not aligned";
  // Warps bring what TMA cannot, which is slow where tiles are neither few nor large: 0.87 and 0.91 of 2049x513x300.
  if (x.type == XGEMM_F32 && !aligned && narrow >= 128 && x.k > 16 && shortest < 900)
    return "operands that are not aligned";
  return nullptr;
}

}  // namespace xgemm::cublas
