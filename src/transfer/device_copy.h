// Columns between memory that the copy engine reaches. CUDA builds only.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "transfer/staging_copy.h"

namespace xgemm::transfer {

// Enqueues the copy of a block from its place to its packed form, or back.
enum class Direction { pack, unpack };
cudaError_t copy_block(const ColumnBlock& block, std::byte* to, const std::byte* from, Direction direction,
                       cudaStream_t stream);

// Enqueues the copy of a block to its packed form on another GPU, whether or not the two reach each other's memory.
cudaError_t pack_from_peer(const ColumnBlock& block, std::byte* to, int to_device, const std::byte* from,
                           int from_device, cudaStream_t stream);

}  // namespace xgemm::transfer
