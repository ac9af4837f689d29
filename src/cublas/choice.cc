// The properties of products that libxgemm loses, from docs/results (264 shapes in fp16 on an H100 and an H200, 72 in
// fp32 on an H100) and from 29 batches and 30 misaligned shapes on an H100. Of all others it wins more than it loses,
// by 4 to 7 % in fp16 and 15 % in fp32 in the mean.
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

bool has_epilogue(const xgemm_args& x) {
  return x.activation != XGEMM_NO_ACTIVATION || x.bias != nullptr || x.old_c != nullptr;
}

// By the kernel of the product (core/finishing.h, kernels/wgmma_tma/family.cc): with a bias and GELU 1.08 in the mean
// of 26 shapes on an H200, 0.92 at the least.
bool is_finished_by_kernels(const xgemm_args& x, bool reads_c) {
  const bool has_16_bits = (x.type == XGEMM_F16 || x.type == XGEMM_BF16) && x.type_c == XGEMM_C_SAME;
  return has_16_bits && x.transb == 'N' && x.m % 8 == 0 && tma_reaches(x.c, x.ldc, 2) && !reads_c &&
         x.old_c == nullptr && x.aux == nullptr;
}

}  // namespace

const char* why_cublas(const xgemm_args& x, const Gpu& gpu, bool emulates, bool reads_c) {
  if (gpu.compute_capability != kMeasured) return "a GPU without measurements";
  // 0.92 in the mean of nine squares on an H200.
  if (x.type == XGEMM_F64) return "double precision";
  // The matrices are copied before a product and after it: at 2.5 TB/s, of n x n of them, that takes 1700 / n of the
  // product's time in 16 bits and 240 / n in fp32, more than what is won of batches.
  if (x.batch_kind == XGEMM_BATCH_POINTERS) return "arrays of pointers, whose matrices would be copied";
  const std::int64_t narrow = std::min(x.m, x.n);
  const bool batch = x.batch_count > 1;
  // A pass over C after the product (core/finishing.h), which cuBLAS fuses: on an H100 3 % of 4096x4096x4096 in fp32
  // and 30 % in bf16. Beside that, what emulation wins is much.
  if (has_epilogue(x) && !is_finished_by_kernels(x, reads_c) &&
      !(emulates && x.type == XGEMM_F32 && !batch && std::min(narrow, x.k) >= 1000))
    return "an epilogue that is a pass of its own";
  const std::int64_t element = x.type == XGEMM_F32 ? 4 : 2;
  const bool aligned = tma_reaches(x.a, x.lda, element) && tma_reaches(x.b, x.ldb, element);
  if (x.math_mode == XGEMM_MATH_TF32 + 1) {
    if (batch) return "a batch in TF32, without measurements";
    // From 512 to 8192 on an H100 and an H200 NN has 1.03 to 1.48, TT 1.005 to 1.40, TN 1.02 to 1.36, NT 0.98 to 1.6,
    // and what is not aligned 1.6 to 2.6.
    if (std::min(narrow, x.k) < 512) return "a small product in TF32, without measurements";
    return nullptr;
  }
  // A product of a batch has a CTA of its own, which small ones do not fill: 0.66 and 0.55 for 4096 of 32x32x32. The
  // others win by 6 % in fp16; in fp32 by 8 %, and lose 5 % where their sums are longer than it takes to store C.
  if (batch && narrow < (x.type == XGEMM_F32 ? 128 : 64)) return "a batch of small products";
  if (batch && x.type == XGEMM_F32 && x.k > 128) return "a batch of long sums";
  if (x.type == XGEMM_F32) {
    // The memory's speed is all that counts, and cuBLAS has it: 0.92 in the mean of six.
    if (narrow == 1) return "a product with a vector";
    // What TMA cannot bring, warps do, which is too slow for tiles in between: 0.83 to 0.91 from 511 to 2048.
    const bool in_between = std::min(narrow, x.k) > 256 && std::min(narrow, x.k) < 4000;
    if (!aligned && in_between) return "operands that are not aligned";
    return nullptr;
  }
  // 0.6 to 1.06 up to 127, 1.1 to 5.0 above.
  if (!aligned && std::min(narrow, x.k) < 128) return "small operands that are not aligned";
  return nullptr;
}

}  // namespace xgemm::cublas
