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
    {"double_buffered_f16_128x64x16_s2_v8", 230, 125, 3, 5.0, "scaled from f32"},
    {"double_buffered_f16_128x64x16_s2_v1", 200, 110, 3, 5.0, "scaled from f32"},
    {"double_buffered_f16_128x64x16_s4_v8", 240, 135, 3, 5.0, "scaled from f32"},
    {"double_buffered_f16_64x64x16_s2_v1", 150, 85, 4, 4.0, "scaled from f32"},
    {"double_buffered_f16_64x64x16_s3_v8", 180, 95, 4, 4.0, "scaled from f32"},
    {"wmma_padded_f16_128x256x32_p0", 1900, 1900, 1, 6.0, "placed by reasoning, not measured"},
    {"wmma_padded_f16_128x256x32_p8", 2500, 2500, 1, 6.0, "placed by reasoning, not measured"},
    {"mma_swizzled_f16_128x256x32_s4_v8", 3800, 3800, 1, 6.0, "placed by reasoning, not measured"},
    {"mma_swizzled_f16_128x128x32_s4_v8", 3600, 2400, 2, 5.0, "placed by reasoning, not measured"},
    {"mma_swizzled_f16_64x64x64_s4_v8", 2400, 1000, 3, 4.0, "placed by reasoning, not measured"},
    {"mma_swizzled_f16_128x128x32_s6_v1", 2200, 1800, 2, 5.0, "placed by reasoning, not measured"},
    {"mma_swizzled_f16_64x64x32_s6_v1", 1500, 700, 3, 4.0, "placed by reasoning, not measured"},
    {"mma_swizzled_bf16_128x256x32_s4_v8", 3800, 3800, 1, 6.0, "placed by reasoning, not measured"},
    {"mma_swizzled_bf16_128x128x32_s4_v8", 3600, 2400, 2, 5.0, "placed by reasoning, not measured"},
    {"mma_swizzled_bf16_64x64x64_s4_v8", 2400, 1000, 3, 4.0, "placed by reasoning, not measured"},
    {"mma_swizzled_bf16_128x128x32_s6_v1", 2200, 1800, 2, 5.0, "placed by reasoning, not measured"},
    {"mma_swizzled_bf16_64x64x32_s6_v1", 1500, 700, 3, 4.0, "placed by reasoning, not measured"},
};

}  // namespace

const Table kSm90 = {"sm90", 90, kRows, sizeof(kRows) / sizeof(kRows[0])};

}  // namespace xgemm::tuning
