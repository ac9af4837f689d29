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

// cudaMemcpy2DAsync does not know of two GPUs.
cudaError_t copy_peer_matrix(const ColumnBlock& block, std::byte* to, int to_device, const std::byte* from,
                             int from_device, cudaStream_t stream) {
  const auto width = static_cast<std::size_t>(block.width), columns = static_cast<std::size_t>(block.columns);
  if (block.columns == 1) return cudaMemcpyPeerAsync(to, to_device, from, from_device, width, stream);
  if (block.packed_pitch <= kMaxCopyPitch && block.pitch <= kMaxCopyPitch) {
    cudaMemcpy3DPeerParms copy{};
    copy.srcDevice = from_device;
    copy.srcPtr = {const_cast<std::byte*>(from), static_cast<std::size_t>(block.pitch), width, columns};
    copy.dstDevice = to_device;
    copy.dstPtr = {to, static_cast<std::size_t>(block.packed_pitch), width, columns};
    copy.extent = {width, columns, 1};
    return cudaMemcpy3DPeerAsync(&copy, stream);
  }
  cudaError_t error = cudaSuccess;
  for (std::int64_t j = 0; j < block.columns && error == cudaSuccess; ++j)
    error =
        cudaMemcpyPeerAsync(to + j * block.packed_pitch, to_device, from + j * block.pitch, from_device, width, stream);
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

cudaError_t pack_from_peer(const ColumnBlock& block, std::byte* to, int to_device, const std::byte* from,
                           int from_device, cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  for (std::int64_t i = 0; i < block.matrices && error == cudaSuccess; ++i)
    error = copy_peer_matrix(block, to + i * block.columns * block.packed_pitch, to_device,
                             from + i * block.matrix_pitch, from_device, stream);
  return error;
}

}  // namespace xgemm::transfer
