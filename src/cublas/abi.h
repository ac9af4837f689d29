// The interface of cuBLAS and cublasLt, as far as it concerns products: numbers from its documentation, so that nothing
// of NVIDIA's is needed to build. Enumerations travel as int, pointers as void*. Versions 12 and 13 agree in all of it;
// the test `cublas.abi` compares it with NVIDIA's headers where they are installed.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace xgemm::cublas {

using Handle = void*;  // cublasHandle_t and cublasLtHandle_t

// cublasStatus_t
enum : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kExecutionFailed = 13,
  kInternalError = 14,
};

// cublasOperation_t
enum : int { kOpN = 0, kOpT = 1, kOpC = 2 };

// cublasPointerMode_t, cublasLtPointerMode_t
enum : int { kScalarsOnHost = 0, kScalarsOnDevice = 1 };

// cublasMath_t: a mode in the lowest two bits, and flags
enum : int {
  kDefaultMath = 0,
  kTensorOpMath = 1,
  kPedanticMath = 2,
  kTf32Math = 3,
  kMathModes = 3,
  kEmulatedBf16x9Math = 4,
  kEmulatedFp64Math = 8,
};

// cublasGemmAlgo_t
enum : int {
  kDefaultAlgorithm = -1,
  kLastAlgorithm = 23,
  kDefaultTensorOpAlgorithm = 99,
  kLastTensorOpAlgorithm = 115,
  kAutotuneAlgorithm = 999,
};

// cublasComputeType_t
enum : int {
  kCompute16F = 64,
  kCompute16FPedantic = 65,
  kCompute32F = 68,
  kCompute32FPedantic = 69,
  kCompute64F = 70,
  kCompute64FPedantic = 71,
  kCompute32FFast16F = 74,
  kCompute32FFast16BF = 75,
  kCompute32FFastTF32 = 77,
  kCompute32FEmulated16BFx9 = 78,
  kCompute64FEmulatedFixedPoint = 79,
};

// cudaDataType_t
enum : int { kReal32F = 0, kReal64F = 1, kReal16F = 2, kReal16BF = 14 };

// cublasLtMatmulDescAttributes_t
enum : int {
  kMatmulComputeType = 0,
  kMatmulScaleType = 1,
  kMatmulPointerMode = 2,
  kMatmulTransA = 3,
  kMatmulTransB = 4,
  kMatmulTransC = 5,
  kMatmulFillMode = 6,
  kMatmulEpilogue = 7,
  kMatmulBias = 8,
  kMatmulBiasBatchStride = 10,
  kMatmulAux = 11,
  kMatmulAuxLd = 12,
  kMatmulAuxBatchStride = 13,
  kMatmulSmCountTarget = 15,
  kMatmulAScale = 17,
  kMatmulBScale = 18,
  kMatmulCScale = 19,
  kMatmulDScale = 20,
  kMatmulAmaxD = 21,
  kMatmulAuxType = 22,
  kMatmulAuxScale = 23,
  kMatmulAuxAmax = 24,
  kMatmulBiasType = 26,
  kMatmulAtomicRows = 27,  // these four before 13 alone
  kMatmulAtomicCols = 28,
  kMatmulAtomicIn = 29,
  kMatmulAtomicOut = 30,
};

enum : int { kFillFull = 2 };  // cublasFillMode_t

// cublasLtMatrixLayoutAttribute_t
enum : int {
  kLayoutType = 0,
  kLayoutOrder = 1,
  kLayoutRows = 2,
  kLayoutCols = 3,
  kLayoutLd = 4,
  kLayoutBatchCount = 5,
  kLayoutBatchStride = 6,
  kLayoutPlaneOffset = 7,
  kLayoutBatchMode = 8,  // from 13 on
};

enum : int { kOrderCol = 0, kOrderRow = 1 };  // cublasLtOrder_t
enum : int { kBatchStrided = 0 };             // cublasLtBatchMode_t

// cublasLtEpilogue_t. The function that GELU stands for is its approximation by tanh. A bias has an element for each
// row of D.
enum : int {
  kEpilogueDefault = 1,
  kEpilogueRelu = 2,
  kEpilogueBias = 4,
  kEpilogueReluBias = kEpilogueRelu | kEpilogueBias,
  kEpilogueGelu = 32,
  kEpilogueGeluBias = kEpilogueGelu | kEpilogueBias,
  kEpilogueAux = 128,
  kEpilogueReluAux = kEpilogueRelu | kEpilogueAux,
  kEpilogueReluAuxBias = kEpilogueReluAux | kEpilogueBias,
  kEpilogueGeluAux = kEpilogueGelu | kEpilogueAux,
  kEpilogueGeluAuxBias = kEpilogueGeluAux | kEpilogueBias,
};

// The functions that are asked for the state of a handle or a descriptor.
using GetStream = int(Handle, void** stream);
using GetInt = int(Handle, int* value);  // cublasGetPointerMode_v2, cublasGetMathMode, cublasGetSmCountTarget
using GetAttribute = int(const void* descriptor, int attribute, void* value, std::size_t size, std::size_t* written);

}  // namespace xgemm::cublas
