// Our numbers and parameters of cuBLAS's interface beside those of NVIDIA's headers; compiles or does not.
#include <cublasLt.h>
#include <cublas_v2.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cublas/abi.h"
#include "cublas/forms.h"

namespace ours = xgemm::cublas;

#define SAME(name, theirs) static_assert(static_cast<int>(ours::name) == static_cast<int>(theirs))
SAME(kSuccess, CUBLAS_STATUS_SUCCESS);
SAME(kNotInitialized, CUBLAS_STATUS_NOT_INITIALIZED);
SAME(kExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
SAME(kInternalError, CUBLAS_STATUS_INTERNAL_ERROR);
SAME(kOpN, CUBLAS_OP_N);
SAME(kOpT, CUBLAS_OP_T);
SAME(kOpC, CUBLAS_OP_C);
SAME(kScalarsOnHost, CUBLAS_POINTER_MODE_HOST);
SAME(kScalarsOnDevice, CUBLAS_POINTER_MODE_DEVICE);
SAME(kScalarsOnHost, CUBLASLT_POINTER_MODE_HOST);
SAME(kScalarsOnDevice, CUBLASLT_POINTER_MODE_DEVICE);
SAME(kDefaultMath, CUBLAS_DEFAULT_MATH);
SAME(kTensorOpMath, CUBLAS_TENSOR_OP_MATH);
SAME(kPedanticMath, CUBLAS_PEDANTIC_MATH);
SAME(kTf32Math, CUBLAS_TF32_TENSOR_OP_MATH);
SAME(kDefaultAlgorithm, CUBLAS_GEMM_DEFAULT);
SAME(kLastAlgorithm, CUBLAS_GEMM_ALGO23);
SAME(kDefaultTensorOpAlgorithm, CUBLAS_GEMM_DEFAULT_TENSOR_OP);
SAME(kLastTensorOpAlgorithm, CUBLAS_GEMM_ALGO15_TENSOR_OP);
SAME(kCompute16F, CUBLAS_COMPUTE_16F);
SAME(kCompute16FPedantic, CUBLAS_COMPUTE_16F_PEDANTIC);
SAME(kCompute32F, CUBLAS_COMPUTE_32F);
SAME(kCompute32FPedantic, CUBLAS_COMPUTE_32F_PEDANTIC);
SAME(kCompute64F, CUBLAS_COMPUTE_64F);
SAME(kCompute64FPedantic, CUBLAS_COMPUTE_64F_PEDANTIC);
SAME(kCompute32FFast16F, CUBLAS_COMPUTE_32F_FAST_16F);
SAME(kCompute32FFast16BF, CUBLAS_COMPUTE_32F_FAST_16BF);
SAME(kCompute32FFastTF32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(kReal32F, CUDA_R_32F);
SAME(kReal64F, CUDA_R_64F);
SAME(kReal16F, CUDA_R_16F);
SAME(kReal16BF, CUDA_R_16BF);
SAME(kMatmulComputeType, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE);
SAME(kMatmulScaleType, CUBLASLT_MATMUL_DESC_SCALE_TYPE);
SAME(kMatmulPointerMode, CUBLASLT_MATMUL_DESC_POINTER_MODE);
SAME(kMatmulTransA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(kMatmulTransB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(kMatmulTransC, CUBLASLT_MATMUL_DESC_TRANSC);
SAME(kMatmulFillMode, CUBLASLT_MATMUL_DESC_FILL_MODE);
SAME(kFillFull, CUBLAS_FILL_MODE_FULL);
SAME(kMatmulEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(kMatmulBias, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(kMatmulBiasBatchStride, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
SAME(kMatmulAux, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
SAME(kMatmulAuxLd, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
SAME(kMatmulAuxBatchStride, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE);
SAME(kMatmulAuxType, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE);
SAME(kMatmulAuxScale, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER);
SAME(kMatmulAuxAmax, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER);
SAME(kMatmulBiasType, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
SAME(kMatmulSmCountTarget, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET);
SAME(kMatmulAScale, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
SAME(kMatmulBScale, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
SAME(kMatmulCScale, CUBLASLT_MATMUL_DESC_C_SCALE_POINTER);
SAME(kMatmulDScale, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER);
SAME(kMatmulAmaxD, CUBLASLT_MATMUL_DESC_AMAX_D_POINTER);
SAME(kLayoutType, CUBLASLT_MATRIX_LAYOUT_TYPE);
SAME(kLayoutOrder, CUBLASLT_MATRIX_LAYOUT_ORDER);
SAME(kLayoutRows, CUBLASLT_MATRIX_LAYOUT_ROWS);
SAME(kLayoutCols, CUBLASLT_MATRIX_LAYOUT_COLS);
SAME(kLayoutLd, CUBLASLT_MATRIX_LAYOUT_LD);
SAME(kLayoutBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(kLayoutBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(kLayoutPlaneOffset, CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET);
SAME(kOrderCol, CUBLASLT_ORDER_COL);
SAME(kOrderRow, CUBLASLT_ORDER_ROW);
SAME(kEpilogueDefault, CUBLASLT_EPILOGUE_DEFAULT);
SAME(kEpilogueRelu, CUBLASLT_EPILOGUE_RELU);
SAME(kEpilogueBias, CUBLASLT_EPILOGUE_BIAS);
SAME(kEpilogueReluBias, CUBLASLT_EPILOGUE_RELU_BIAS);
SAME(kEpilogueGelu, CUBLASLT_EPILOGUE_GELU);
SAME(kEpilogueGeluBias, CUBLASLT_EPILOGUE_GELU_BIAS);
SAME(kEpilogueReluAux, CUBLASLT_EPILOGUE_RELU_AUX);
SAME(kEpilogueReluAuxBias, CUBLASLT_EPILOGUE_RELU_AUX_BIAS);
SAME(kEpilogueGeluAux, CUBLASLT_EPILOGUE_GELU_AUX);
SAME(kEpilogueGeluAuxBias, CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
#if CUBLAS_VERSION >= 130000
SAME(kEmulatedBf16x9Math, CUBLAS_FP32_EMULATED_BF16X9_MATH);
SAME(kAutotuneAlgorithm, CUBLAS_GEMM_AUTOTUNE);
SAME(kEmulatedFp64Math, CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH);
SAME(kCompute64FEmulatedFixedPoint, CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT);
SAME(kCompute32FEmulated16BFx9, CUBLAS_COMPUTE_32F_EMULATED_16BFX9);
SAME(kLayoutBatchMode, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE);
SAME(kBatchStrided, CUBLASLT_BATCH_MODE_STRIDED);
#endif

// Two functions that are called alike: as many parameters, each a pointer on both sides or an integer of the same size.
template <class Ours, class Theirs>
constexpr bool is_passed_alike = std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> && sizeof(Ours) == sizeof(Theirs);
template <class Ours, class Theirs>
constexpr bool are_called_alike = false;
template <class... Ours, class... Theirs>
requires(sizeof...(Ours) ==
         sizeof...(Theirs)) constexpr bool are_called_alike<int (*)(Ours...), cublasStatus_t (*)(Theirs...)> =
    (is_passed_alike<Ours, Theirs> && ...);

// The functions with 64-bit integers: some of the others are overloaded in NVIDIA's header. Ours are declared from the
// forms where the names do not collide.
namespace declared {
#define XGEMM_CUBLAS_ROUTINE(name, form, type, compute) int of_##name XGEMM_PARAMETERS_##form(std::int64_t);
#include "cublas/names.def"
}  // namespace declared

#define XGEMM_CUBLAS_ROUTINE(name, form, type, compute) \
  static_assert(are_called_alike<decltype(&declared::of_##name), decltype(&::name##_64)>);
#include "cublas/names.def"

static_assert(sizeof(cublasLtMatmulDescAttributes_t) == sizeof(int));
