// Encodes tensor maps through the driver entry point, fetched once.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/common/sm90/tensor_map.h"

#include <cudaTypedefs.h>

namespace xgemm::kernels {
namespace {

using EncodeTiled = PFN_cuTensorMapEncodeTiled_v12000;

EncodeTiled find_encode_tiled() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t error = cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found);
#endif
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) return nullptr;
  return reinterpret_cast<EncodeTiled>(function);
}

CUtensorMapSwizzle swizzle_of(int bytes) {
  switch (bytes) {
    case 128:
      return CU_TENSOR_MAP_SWIZZLE_128B;
    case 64:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case 32:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    default:
      return CU_TENSOR_MAP_SWIZZLE_NONE;
  }
}

}  // namespace

cudaError_t encode_tensor_map(TensorMap& map, const TensorBox& box) {
  static const EncodeTiled encode = find_encode_tiled();
  if (encode == nullptr) return cudaErrorNotSupported;
  // Along an axis of one element the stride is never used, but has to look like one.
  const auto stride_bytes = [&](std::int64_t extent, std::int64_t stride) {
    return static_cast<cuuint64_t>(extent > 1 ? stride * box.element_bytes : 16);
  };
  constexpr cuuint64_t kEntries = cuuint64_t{1} << BoxEntry::kBits, kEntryBytes = 1 << BoxEntry::kStepBits;
  const cuuint64_t extents[4] = {static_cast<cuuint64_t>(box.extent_x), static_cast<cuuint64_t>(box.extent_y),
                                 box.anywhere ? kEntries : static_cast<cuuint64_t>(box.extent_z),
                                 box.anywhere ? kEntries : 1};
  const cuuint64_t strides[3] = {stride_bytes(box.extent_y, box.stride_y),
                                 box.anywhere ? kEntryBytes : stride_bytes(box.extent_z, box.stride_z),
                                 box.anywhere ? kEntryBytes * kEntries : 16};
  const cuuint32_t boxes[4] = {static_cast<cuuint32_t>(box.box_x), static_cast<cuuint32_t>(box.box_y), 1, 1};
  const cuuint32_t steps[4] = {1, 1, 1, 1};
  void* const data = box.anywhere ? nullptr : const_cast<void*>(box.data);
  // Rows that do not start on 128 bytes would fetch lines that nobody asked for. Lines of 256 bytes are no better:
  // where an operand is read once, the memory gives a thirtieth less.
  const bool whole_lines =
      reinterpret_cast<std::uintptr_t>(data) % 128 == 0 && (box.extent_y <= 1 || strides[0] % 128 == 0);
  const CUtensorMapL2promotion promotion =
      whole_lines ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B : CU_TENSOR_MAP_L2_PROMOTION_NONE;
  const CUtensorMapDataType type = box.tf32                 ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
                                   : box.element_bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                   : box.element_bytes == 4 ? CU_TENSOR_MAP_DATA_TYPE_UINT32
                                                            : CU_TENSOR_MAP_DATA_TYPE_UINT64;
  const CUresult result =
      encode(&map, type, box.anywhere ? 4 : 3, data, extents, strides, boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
             swizzle_of(box.swizzle_bytes), promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace xgemm::kernels
