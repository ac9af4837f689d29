// Blocks through the copy engine: a matrix in one go where CUDA's limits on pitches allow it, else column by column.
#include "transfer/device_copy.h"

namespace xgemm::transfer {
namespace {

// CUDA's limit on the pitches of 2D copies.
constexpr std::int64_t kMaxCopyPitch = 0x7fffffff;

cudaError_t copy_matrix(const ColumnBlock& block, std::byte* to, std::int64_t to_pitch, const std::byte* from,
                        std::int64_t from_pitch, cudaStream_t stream) {
  const auto width = static_cast<std::size_t>(block.width);
  if (block.columns == 1) return cudaMemcpyAsync(to, from, width, cudaMemcpyDefault, stream);
  if (to_pitch <= kMaxCopyPitch && from_pitch <= kMaxCopyPitch)
    return cudaMemcpy2DAsync(to, static_cast<std::size_t>(to_pitch), from, static_cast<std::size_t>(from_pitch), width,
                             static_cast<std::size_t>(block.columns), cudaMemcpyDefault, stream);
  cudaError_t error = cudaSuccess;
  for (std::int64_t j = 0; j < block.columns && error == cudaSuccess; ++j)
    error = cudaMemcpyAsync(to + j * to_pitch, from + j * from_pitch, width, cudaMemcpyDefault, stream);
  return error;
}

}  // namespace

cudaError_t copy_block(const ColumnBlock& block, std::byte* to, const std::byte* from, Direction direction,
                       cudaStream_t stream) {
  const bool pack = direction == Direction::pack;
  const std::int64_t packed_step = block.columns * block.packed_pitch;
  const std::int64_t to_pitch = pack ? block.packed_pitch : block.pitch;
  const std::int64_t from_pitch = pack ? block.pitch : block.packed_pitch;
  const std::int64_t to_step = pack ? packed_step : block.matrix_pitch;
  const std::int64_t from_step = pack ? block.matrix_pitch : packed_step;
  cudaError_t error = cudaSuccess;
  for (std::int64_t i = 0; i < block.matrices && error == cudaSuccess; ++i)
    error = copy_matrix(block, to + i * to_step, to_pitch, from + i * from_step, from_pitch, stream);
  return error;
}

}  // namespace xgemm::transfer
