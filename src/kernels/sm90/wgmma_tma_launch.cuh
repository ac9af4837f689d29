// The host side of wgmma_tma: tensor maps, rasterization, clusters, launch.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "kernels/common/params.h"
#include "kernels/sm90/wgmma_tma.cuh"

namespace xgemm::kernels {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, 1)
    wgmma_tma_entry(const __grid_constant__ typename Kernel::Params params) {
  extern __shared__ __align__(1024) unsigned char dynamic_shared[];
  if constexpr (gpu::kArch >= Kernel::kMinArch) {
    Kernel::run(params, *reinterpret_cast<typename Kernel::SharedStorage*>(dynamic_shared));
  }
}

// Choices of a launch; 0 leaves them to the launcher.
struct WgmmaTmaLaunch {
  int raster_group = 0;  // cluster tiles; negative: along columns of D
  int max_ctas = 0;
  bool dependent = true;  // programmatic dependent launch
};

namespace wgmma_tma_detail {

constexpr int kMaxDevices = 64;

// How many clusters of this kernel a device holds at a time. Opts in to the shared memory on the way.
template <class Kernel>
cudaError_t resident_clusters(int& clusters) {
  static std::array<std::atomic<int>, kMaxDevices> cache{};
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  if (device < kMaxDevices && (clusters = cache[device].load(std::memory_order_relaxed)) > 0) return cudaSuccess;
  constexpr int kBytes = sizeof(typename Kernel::SharedStorage);
  error = cudaFuncSetAttribute(wgmma_tma_entry<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  if constexpr (Kernel::kClusterSize == 1) {
    int sms = 0;
    int per_sm = 0;
    error = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    if (error != cudaSuccess) return error;
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, wgmma_tma_entry<Kernel>, Kernel::kThreads, kBytes);
    if (error != cudaSuccess) return error;
    clusters = sms * per_sm;
  } else {
    if constexpr (Kernel::kClusterSize > 8) {
      error = cudaFuncSetAttribute(wgmma_tma_entry<Kernel>, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
      if (error != cudaSuccess) return error;
    }
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {Kernel::kClusterSize, 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(Kernel::kClusterSize);
    config.blockDim = dim3(Kernel::kThreads);
    config.dynamicSmemBytes = kBytes;
    config.attrs = &attribute;
    config.numAttrs = 1;
    error = cudaOccupancyMaxActiveClusters(&clusters, wgmma_tma_entry<Kernel>, &config);
    if (error != cudaSuccess) return error;
  }
  if (clusters <= 0) return cudaErrorInvalidConfiguration;
  if (device < kMaxDevices) cache[device].store(clusters, std::memory_order_relaxed);
  return cudaSuccess;
}

// mn: the axis that the operand shares with C; k the other. Strides in elements.
struct Operand {
  const void* data;
  std::int64_t mn_extent, mn_stride, k_stride, batch_stride;
};

inline TensorBox operand_box(const Operand& o, gpu::Major major, std::int64_t k, std::int64_t batch, int piece,
                             int box) {
  const bool batched = batch > 1 && o.batch_stride != 0;
  const std::int64_t z = batched ? batch : 1;
  if (major == gpu::Major::k) return {o.data, k, o.mn_extent, z, o.mn_stride, o.batch_stride, 64, box, 128};
  return {o.data, o.mn_extent, k, z, o.k_stride, o.batch_stride, piece, box, piece * 2};
}

}  // namespace wgmma_tma_detail

template <class Element, WgmmaTmaConfig kConfig>
cudaError_t launch_wgmma_tma(const GemmParams& g, cudaStream_t stream, const WgmmaTmaLaunch& options = {}) {
  using Kernel = WgmmaTma<Element, kConfig>;
  using Shape = typename Kernel::Shape;
  using wgmma_tma_detail::Operand;
  int clusters = 0;
  cudaError_t error = wgmma_tma_detail::resident_clusters<Kernel>(clusters);
  if (error != cudaSuccess) return error;

  const Operand a{g.a.data, g.m, g.a.row_stride, g.a.col_stride, g.a.batch_stride};
  const Operand b{g.b.data, g.n, g.b.col_stride, g.b.row_stride, g.b.batch_stride};
  const Operand& x = kConfig.transposed ? b : a;
  const Operand& y = kConfig.transposed ? a : b;

  typename Kernel::Params p;
  const bool reads_ab = g.k > 0 && (g.alpha != 0.0f || g.alpha_device != nullptr);
  if (reads_ab) {
    error =
        encode_tensor_map(p.x, wgmma_tma_detail::operand_box(x, Shape::kMajorX, g.k, g.batch_count, 64, Shape::kBoxX));
    if (error != cudaSuccess) return error;
    error = encode_tensor_map(
        p.y, wgmma_tma_detail::operand_box(y, Shape::kMajorY, g.k, g.batch_count, Shape::kPieceY, Shape::kBoxY));
    if (error != cudaSuccess) return error;
  }
  constexpr int kRowBytes = (kConfig.transposed ? Shape::kChunk : 64) * 2;
  TensorBox c_box{g.c.data,
                  g.m,
                  g.n,
                  g.batch_count,
                  g.c.col_stride,
                  g.c.batch_stride,
                  kRowBytes / 2,
                  kConfig.transposed ? 64 : Shape::kChunk,
                  kRowBytes == 16 ? 0 : kRowBytes};
  p.m = static_cast<int>(g.m);
  p.n = static_cast<int>(g.n);
  p.c_whole_m = p.m / 8 * 8;
  p.c_data = g.c.data;
  p.c_ld = g.c.col_stride;
  p.c_batch = g.c.batch_stride;
  error = encode_tensor_map(p.c_old, c_box);
  if (error != cudaSuccess) return error;
  p.c = p.c_old;
  if (p.c_whole_m != p.m && p.c_whole_m != 0) {
    c_box.extent_x = p.c_whole_m;
    error = encode_tensor_map(p.c, c_box);
    if (error != cudaSuccess) return error;
  }
  if (!reads_ab) p.x = p.y = p.c;  // prefetched, never used
  p.alpha_device = g.alpha_device;
  p.beta_device = g.beta_device;
  p.alpha = g.alpha;
  p.beta = g.beta;
  p.k = static_cast<int>(g.k);
  p.x_batch_step = x.batch_stride != 0 ? 1 : 0;
  p.y_batch_step = y.batch_stride != 0 ? 1 : 0;

  const auto tiles = [](std::int64_t extent, int tile) { return static_cast<unsigned>((extent + tile - 1) / tile); };
  p.tiles_rows = tiles(kConfig.transposed ? g.n : g.m, Shape::kTileRows * Kernel::kClusterRows);
  p.tiles_columns = tiles(kConfig.transposed ? g.m : g.n, Shape::kTileColumns * Kernel::kClusterColumns);
  p.batch_count = static_cast<unsigned>(g.batch_count);
  const unsigned all = p.tiles_rows * p.tiles_columns * p.batch_count;
  if (options.max_ctas > 0) clusters = std::min(clusters, std::max(1, options.max_ctas / Kernel::kClusterSize));
  const unsigned launched = std::min(all, static_cast<unsigned>(clusters));

  // CTAs that run at the same time should cover a square of C: they then read the fewest different slices.
  const double row_extent = Shape::kTileRows * Kernel::kClusterRows;
  const double column_extent = Shape::kTileColumns * Kernel::kClusterColumns;
  if (options.raster_group != 0) {
    p.raster_columns = options.raster_group < 0;
    p.raster_group = static_cast<unsigned>(std::abs(options.raster_group));
  } else {
    p.raster_columns = false;
    p.raster_group = static_cast<unsigned>(std::lround(std::sqrt(launched * column_extent / row_extent)));
  }
  p.raster_group = std::clamp(p.raster_group, 1u, p.raster_columns ? p.tiles_columns : p.tiles_rows);

  cudaLaunchAttribute attributes[2];
  unsigned count = 0;
  if constexpr (Kernel::kClusterSize > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count++].val.clusterDim = {Kernel::kClusterSize, 1, 1};
  }
  if (options.dependent) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(launched * Kernel::kClusterSize);
  config.blockDim = dim3(Kernel::kThreads);
  config.dynamicSmemBytes = sizeof(typename Kernel::SharedStorage);
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  return cudaLaunchKernelEx(&config, wgmma_tma_entry<Kernel>, p);
}

#define XGEMM_DEFINE_WGMMA_TMA_LAUNCHER(name, ...)                                              \
  cudaError_t launch_##name(const GemmParams& params, cudaStream_t stream) {                    \
    return launch_wgmma_tma<gpu::ElementOf<(__VA_ARGS__).type>, (__VA_ARGS__)>(params, stream); \
  }

}  // namespace xgemm::kernels
