// Rows for compute capability 9.x.
#include "tuning/table.h"

namespace xgemm::tuning {
namespace {

constexpr KernelRow kRows[] = {
    {"naive_", 18, 4, 8, 3.0, "H200"},
    {"smem_tiled_", 45, 40, 2, 3.0, "H200"},
    {"thread_tiled_f32", 270, 130, 3, 5.0, "H200"},
    {"thread_tiled_f16", 200, 100, 3, 5.0, "H200"},
    {"double_buffered_f32_128x64x8_s2_v4", 285, 160, 3, 5.0, "H200"},
    {"double_buffered_f32_128x128x16_s3_v4", 350, 325, 2, 5.0,
     "H200, 4096^3: 47.2 TFLOP/s NN, 50.7 NT, 43.3 TN, 47.2 TT"},
    {"double_buffered_f32_128x64x16_s3_v4", 340, 250, 3, 5.0, "H200, 4096^3: 47.6 TFLOP/s NN"},
    {"double_buffered_f32_128x64x16_s3_v1", 280, 200, 3, 5.0, "H200"},
    {"double_buffered_f32_64x64x16_s3_v4", 227, 120, 4, 4.0, "H200, 2048^3: 30.0 TFLOP/s"},
    {"double_buffered_f32_64x64x16_s3_v1", 190, 100, 4, 4.0, "H200"},
    {"double_buffered_f16_128x64x16_s2_v8", 260, 130, 3, 5.0, "H200"},
    {"double_buffered_f16_128x64x16_s2_v1", 230, 110, 3, 5.0, "H200"},
    {"double_buffered_f16_128x64x16_s4_v8", 270, 140, 3, 5.0, "H200"},
    {"double_buffered_f16_64x64x16_s2_v1", 170, 90, 4, 4.0, "H200"},
    {"double_buffered_f16_64x64x16_s3_v8", 190, 100, 4, 4.0, "H200"},
};

}  // namespace

const Table kSm90 = {"sm90", 90, kRows, sizeof(kRows) / sizeof(kRows[0])};

}  // namespace xgemm::tuning
