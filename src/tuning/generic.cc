// Rows for GPUs without a table of their own: the order of the kernels, not their speed.
#include "tuning/table.h"

namespace xgemm::tuning {
namespace {

constexpr KernelRow kRows[] = {
    {"naive_", 15, 2.2, 8, 3.0, "the order of an H200, not measured"},
    {"smem_tiled_", 34.5, 18, 2, 3.0, "the order of an H200, not measured"},
    {"thread_tiled_f32", 243, 131, 3, 5.0, "the order of an H200, not measured"},
    {"thread_tiled_f16", 180, 100, 3, 5.0, "the order of an H200, not measured"},
    {"double_buffered_f32_128x64x8_s2_v4", 250, 135, 3, 5.0, "the order of an H200, not measured"},
    {"double_buffered_f32_128x128x16_s3_v4", 357, 320, 2, 5.0, "the order of an H200, not measured"},
    {"double_buffered_f32_128x128x16_s3_v4_nt", 384, 350, 2, 5.0, "the order of an H200, not measured"},
    {"double_buffered_f32_128x128x16_s3_v4_tn", 328, 300, 2, 5.0, "the order of an H200, not measured"},
    {"double_buffered_f32_128x64x16_s3_v4", 350, 265, 4, 5.0, "the order of an H200, not measured"},
    {"double_buffered_f32_64x128x16_s3_v4", 320, 265, 4, 5.0, "the order of an H200, not measured"},
    {"double_buffered_f32_128x64x16_s3_v1", 250, 140, 3, 5.0, "the order of an H200, not measured"},
    {"double_buffered_f32_64x64x16_s3_v4", 235, 105, 4, 4.0, "the order of an H200, not measured"},
    {"double_buffered_f32_64x64x16_s3_v1", 190, 90, 4, 4.0, "the order of an H200, not measured"},
    {"double_buffered_f16_128x64x16_s2_v8", 230, 125, 3, 5.0, "the order of an H200, not measured"},
    {"double_buffered_f16_128x64x16_s2_v1", 200, 110, 3, 5.0, "the order of an H200, not measured"},
    {"double_buffered_f16_64x64x16_s2_v1", 150, 85, 4, 4.0, "the order of an H200, not measured"},
    {"wmma_padded_f16_128x256x32_p0", 850, 850, 1, 6.0, "the order of an H200, not measured"},
    {"wmma_padded_f16_128x256x32_p8", 1800, 1800, 1, 5.0, "the order of an H200, not measured"},
    {"mma_swizzled_f16_128x256x32_s4_v8", 3100, 3100, 1, 3.0, "the order of an H200, not measured"},
    {"mma_swizzled_f16_128x128x32_s4_v8", 2900, 2600, 2, 3.5, "the order of an H200, not measured"},
    {"mma_swizzled_f16_64x64x64_s4_v8", 2000, 1600, 3, 3.0, "the order of an H200, not measured"},
    {"mma_swizzled_f16_64x64x64_s2_v1", 690, 540, 3, 2.0, "the order of an H200, not measured"},
    {"mma_swizzled_bf16_128x256x32_s4_v8", 3100, 3100, 1, 3.0, "the order of an H200, not measured"},
    {"mma_swizzled_bf16_128x128x32_s4_v8", 2900, 2600, 2, 3.5, "the order of an H200, not measured"},
    {"mma_swizzled_bf16_64x64x64_s4_v8", 2000, 1600, 3, 3.0, "the order of an H200, not measured"},
    {"mma_swizzled_bf16_64x64x64_s2_v1", 690, 540, 3, 2.0, "the order of an H200, not measured"},
    {"mma_swizzled_f16f32_128x128x32_s4_v8", 2900, 2600, 2, 3.5, "the order of an H200, not measured"},
    {"mma_swizzled_f16f32_64x64x64_s4_v8", 2000, 1600, 3, 3.0, "the order of an H200, not measured"},
    {"mma_swizzled_f16f32_64x64x64_s2_v1", 690, 540, 3, 2.0, "the order of an H200, not measured"},
    {"mma_swizzled_bf16f32_128x128x32_s4_v8", 2900, 2600, 2, 3.5, "the order of an H200, not measured"},
    {"mma_swizzled_bf16f32_64x64x64_s4_v8", 2000, 1600, 3, 3.0, "the order of an H200, not measured"},
    {"mma_swizzled_bf16f32_64x64x64_s2_v1", 690, 540, 3, 2.0, "the order of an H200, not measured"},
    {"naive_f64", 7.5, 1.1, 8, 3.0, "the order of an H200, not measured"},
    {"smem_tiled_f64", 17, 9, 2, 3.0, "the order of an H200, not measured"},
    {"mma_swizzled_f64_128x128x16_s4", 410, 410, 1, 6.0, "the order of an H100, not measured"},
    {"mma_swizzled_f64_128x64x16_s4", 430, 322, 2, 6.0, "the order of an H100, not measured"},
    {"mma_swizzled_f64_32x32x32_s4", 335, 150, 3, 2.5, "the order of an H100, not measured"},
    {"mma_swizzled_f64_128x128x16_s4_v1", 360, 360, 1, 6.0, "the order of an H100, not measured"},
    {"mma_swizzled_f64_32x32x32_s4_v1", 270, 125, 3, 2.5, "the order of an H100, not measured"},
};

}  // namespace

const Table kGeneric = {"generic", 0, kRows, sizeof(kRows) / sizeof(kRows[0])};

}  // namespace xgemm::tuning
