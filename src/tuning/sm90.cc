// Rows for compute capability 9.x.
#include "tuning/table.h"

namespace xgemm::tuning {
namespace {

constexpr KernelRow kRows[] = {
    {"naive_", 24.5, 3.5, 8, 3.0, "H200, 4096^3: 3.26 TFLOP/s"},
    {"smem_tiled_", 34.5, 18, 2, 3.0, "H200, 4096^3: 4.56 TFLOP/s"},
    {"thread_tiled_f32", 243, 131, 3, 5.0, "H200, 4096^3: 32.1 TFLOP/s NN; 1024^3: 16.8"},
    {"thread_tiled_f16", 180, 100, 3, 5.0, "scaled from f32"},
    {"double_buffered_f32_128x64x8_s2_v4", 250, 135, 3, 5.0, "scaled from thread_tiled_f32"},
    {"double_buffered_f32_128x128x16_s3_v4", 357, 320, 2, 5.0,
     "H200, 4096^3: 47.3 TFLOP/s NN, 47.1 TT; 1024^3: 20.3 NN"},
    {"double_buffered_f32_128x128x16_s3_v4_nt", 384, 350, 2, 5.0, "H200, 4096^3: 50.7 TFLOP/s; 1024^3: 22.4"},
    {"double_buffered_f32_128x128x16_s3_v4_tn", 328, 300, 2, 5.0, "H200, 4096^3: 43.4 TFLOP/s; 1024^3: 19.2"},
    {"double_buffered_f32_128x64x16_s3_v4", 350, 265, 4, 5.0, "H200, 4096^3: 47.6 TFLOP/s NN; 1024^3: 33.1"},
    {"double_buffered_f32_64x128x16_s3_v4", 320, 265, 4, 5.0, "H200, 1024^3: 33.1 TFLOP/s TT"},
    {"double_buffered_f32_128x64x16_s3_v1", 250, 140, 3, 5.0, "scaled from f32 v4"},
    {"double_buffered_f32_64x64x16_s3_v4", 235, 105, 4, 4.0, "H200, 4096^3: 31.2 TFLOP/s NN; 1024^3: 26.4"},
    {"double_buffered_f32_64x64x16_s3_v1", 190, 90, 4, 4.0, "scaled from v4"},
    {"wmma_padded_f16_128x256x32_p0", 850, 850, 1, 6.0, "H200, 4096^3: 107 TFLOP/s NN, 144 TN"},
    {"wmma_padded_f16_128x256x32_p8", 1800, 1800, 1, 5.0, "H200, 4096^3: 231 TFLOP/s NN, 218 TN"},
    {"mma_swizzled_f16_128x256x32_s4_v8", 3100, 3100, 1, 3.0, "H200, 4096^3: 398 TFLOP/s NN, 375 TT; 1024^3: 100"},
    {"mma_swizzled_f16_128x128x32_s4_v8", 2900, 2600, 2, 3.5, "H200, 4096^3: 385 TFLOP/s NN, 349 TT; 1024^3: 143"},
    {"mma_swizzled_f16_64x64x64_s4_v8", 2000, 1600, 3, 3.0, "H200, 4096^3: 262 TFLOP/s NN; 1024^3: 212, 512^3: 55"},
    {"mma_swizzled_f16_64x64x64_s2_v1", 690, 540, 4, 2.0, "H200, 623 small products"},
    {"mma_swizzled_bf16_128x256x32_s4_v8", 3100, 3100, 1, 3.0, "as f16"},
    {"mma_swizzled_bf16_128x128x32_s4_v8", 2900, 2600, 2, 3.5, "as f16"},
    {"mma_swizzled_bf16_64x64x64_s4_v8", 2000, 1600, 3, 3.0, "as f16"},
    {"mma_swizzled_bf16_64x64x64_s2_v1", 690, 540, 4, 2.0, "as f16"},
    {"mma_swizzled_f16f32_128x128x32_s4_v8", 2900, 2600, 2, 3.5, "as C in fp16"},
    {"mma_swizzled_f16f32_64x64x64_s4_v8", 2000, 1600, 3, 3.0, "as C in fp16"},
    {"mma_swizzled_f16f32_64x64x64_s2_v1", 690, 540, 4, 2.0, "as C in fp16"},
    {"mma_swizzled_bf16f32_128x128x32_s4_v8", 2900, 2600, 2, 3.5, "as C in fp16"},
    {"mma_swizzled_bf16f32_64x64x64_s4_v8", 2000, 1600, 3, 3.0, "as C in fp16"},
    {"mma_swizzled_bf16f32_64x64x64_s2_v1", 690, 540, 4, 2.0, "as C in fp16"},
    {"naive_f64", 12, 1.8, 8, 3.0, "scaled from f32"},
    {"smem_tiled_f64", 17, 9, 2, 3.0, "scaled from f32"},
    {"mma_swizzled_f64_128x128x16_s4", 410, 410, 1, 6.0,
     "H100: 52.4 TFLOP/s at 2048^3, 52.8 at 4096^3, 54.2 at 8192^3"},
    {"mma_swizzled_f64_128x64x16_s4", 430, 322, 2, 6.0, "H100: 53.7 TFLOP/s at 3072^3 NN, 50.8 at 2048^3"},
    {"mma_swizzled_f64_32x32x32_s4", 335, 150, 3, 2.5, "H100: 32.4 TFLOP/s at 768^3, 26.5 at 512^3, 6.6 at 256^3"},
    {"mma_swizzled_f64_128x128x16_s4_v1", 360, 360, 1, 6.0, "H100: 47.6 TFLOP/s at 8192^3"},
    {"dmma_tma_f64_128x128x16", 472, 472, 1, 5.0, "H200: 55.3 TFLOP/s at 2048^3 NN, 54.9 at 4096^3, 54.0 at 8192^3"},
    {"dmma_tma_f64_128x64x16", 462, 462, 1, 2.5, "H200: 53.4 TFLOP/s at 1024^3 NN, 53.8 at 2048^3, 54.5 at 3072^3"},
    {"dmma_tma_f64_96x64x16", 458, 458, 1, 2.5, "H200: 36.8 TFLOP/s at 768^3 NN, 51.7 at 1536^3, 55.2 at 4096^3"},
    {"mma_swizzled_f64_32x32x32_s4_v1", 270, 125, 3, 2.5, "scaled from v2"},
};

}  // namespace

const Table kSm90 = {"sm90", 9, kRows, sizeof(kRows) / sizeof(kRows[0])};

}  // namespace xgemm::tuning
