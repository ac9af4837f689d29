// Rates of a GPU: device copy, fused multiply-adds in fp32, fp16 tensor cores with fp32 sums on random data.
//
// The tensor kernel of Hopper multiplies what lies in shared memory over and over with wgmma, two warpgroups of 64 x
// 256 per SM; other GPUs run WMMA from registers. Random operands matter: what tensor cores reach is limited by power,
// and power depends on the bits that toggle. SPDX-License-Identifier: BSD-3-Clause
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <algorithm>
#include <functional>

#include "bench/ceilings.h"

namespace xgemm::perf {
namespace {

constexpr int kChains = 8;  // independent sums of a thread
constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 4;
constexpr double kBurstSeconds = 0.3;  // long enough for the power limit to bite
constexpr int kSlabs = 4;              // slices of k = 16 in shared memory

__global__ void multiply_add(float* sink, int steps, float factor, float term) {
  float sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = static_cast<float>(threadIdx.x + i);
#pragma unroll 16
  for (int step = 0; step < steps; ++step)
    for (int i = 0; i < kChains; ++i) sums[i] = fmaf(sums[i], factor, term);
  float total = 0;
  for (int i = 0; i < kChains; ++i) total += sums[i];
  if (total == -1) *sink = total;  // never: the sums cannot be dropped
}

/// Anything that looks like noise of unit size.
__device__ half noise(unsigned index) {
  unsigned bits = index * 2654435761u;
  bits ^= bits >> 15;
  bits *= 2246822519u;
  bits ^= bits >> 13;
  return __float2half(static_cast<float>(bits & 0xffff) * (4.0f / 65536) - 2.0f);
}

/// Four warps' worth of 16 x 16 x 16 products from registers.
__global__ void __launch_bounds__(kThreads) wmma_rate(float* sink, int steps) {
  using namespace nvcuda;
  __shared__ half tile[2][16 * 16];
  for (int i = threadIdx.x; i < 16 * 16; i += blockDim.x) {
    tile[0][i] = noise(i);
    tile[1][i] = noise(i + 1000);
  }
  __syncthreads();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[4];
  wmma::load_matrix_sync(a, tile[0], 16);
  wmma::load_matrix_sync(b, tile[1], 16);
  // Different sums: equal ones would be computed once.
  for (int i = 0; i < 4; ++i) wmma::fill_fragment(sums[i], static_cast<float>(i));
  for (int step = 0; step < steps; ++step)
    for (auto& sum : sums) wmma::mma_sync(sum, a, b, sum);
  // All elements: products of which nothing is used would not be computed.
  float total = 0;
  for (auto& sum : sums)
    for (int i = 0; i < sum.num_elements; ++i) total += sum.x[i];
  if (total == -1) *sink = total;
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
/// Shared memory without swizzle: 8 x 16-byte core matrices, neighbours along k 128 bytes apart, along m or n 256.
__device__ unsigned long long descriptor(const void* shared) {
  const auto address = static_cast<unsigned long long>(__cvta_generic_to_shared(shared));
  return (address & 0x3ffff) >> 4 | 128ull >> 4 << 16 | 256ull >> 4 << 32;
}

__device__ __forceinline__ void wgmma_64x256x16(float (&d)[128], unsigned long long a, unsigned long long b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
      "%128, %129, 1, 1, 1, 0, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),
        "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),
        "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
        "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]),
        "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]),
        "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]),
        "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]),
        "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]),
        "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]),
        "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]),
        "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]),
        "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
      : "l"(a), "l"(b));
}
#endif

/// steps times kSlabs products of 64 x 256 x 16 per warpgroup.
__global__ void __launch_bounds__(kThreads) wgmma_rate(float* sink, int steps) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ __align__(128) half a[2][kSlabs][64 * 16];
  __shared__ __align__(128) half b[kSlabs][256 * 16];
  for (int i = threadIdx.x; i < 2 * kSlabs * 64 * 16; i += blockDim.x) a[0][0][i] = noise(i);
  for (int i = threadIdx.x; i < kSlabs * 256 * 16; i += blockDim.x) b[0][i] = noise(i + 100000);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const int warpgroup = threadIdx.x / 128;
  float sums[128];
#pragma unroll
  for (int i = 0; i < 128; ++i) sums[i] = 0;
  for (int step = 0; step < steps; ++step) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int slab = 0; slab < kSlabs; ++slab)
      wgmma_64x256x16(sums, descriptor(a[warpgroup][slab]), descriptor(b[slab]));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
#pragma unroll
  for (int i = 0; i < 128; ++i)
    if (sums[i] == -1) *sink = sums[i];
#endif
}

/// Operations per second of a kernel that does `per_step` of them a step: one launch to calibrate, one that lasts.
double rate(Device& device, double per_step, const std::function<void(int)>& launch) {
  int steps = 2000;
  device.time([&] { launch(steps); });
  const double microseconds = device.time([&] { launch(steps); });
  if (cudaGetLastError() != cudaSuccess || !(microseconds > 0)) return 0;
  steps = static_cast<int>(std::clamp(steps * kBurstSeconds * 1e6 / microseconds, 1e3, 1e9));
  const double seconds = device.time([&] { launch(steps); }) * 1e-6;
  return cudaGetLastError() == cudaSuccess ? per_step * steps / seconds : 0;
}

double copy_rate(Device& device, cudaStream_t stream) {
  const std::size_t bytes = std::min<std::size_t>(std::size_t{1} << 30, device.available('d') / 4);
  void* const from = device.allocate('d', bytes);
  void* const to = device.allocate('d', bytes);
  double best = 0;
  if (from != nullptr && to != nullptr) {
    device.fill(from, 1, bytes);
    constexpr int kCopies = 8;
    for (int repeat = 0; repeat < 4; ++repeat) {
      const double microseconds = device.time([&] {
        for (int i = 0; i < kCopies; ++i) cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
      });
      best = std::max(best, 2.0 * kCopies * static_cast<double>(bytes) / microseconds * 1e-3);
    }
  }
  device.release('d', from);
  device.release('d', to);
  return best;
}

}  // namespace

Ceilings measure_cuda_ceilings(Device& device) {
  const auto stream = static_cast<cudaStream_t>(device.stream());
  const int sms = device.facts().units;
  auto* const sink = static_cast<float*>(device.allocate('d', 256));
  if (sink == nullptr) return {};
  Ceilings ceilings;
  ceilings.copy_gbs = copy_rate(device, stream);
  const double chains = 2.0 * kChains * kThreads * kBlocksPerSm * sms;
  ceilings.fp32_tflops = 1e-12 * rate(device, chains, [&](int steps) {
                           multiply_add<<<kBlocksPerSm * sms, kThreads, 0, stream>>>(sink, steps, 0.999999f, 1e-6f);
                         });
  if (device.facts().compute_capability == "9.0") {
    const double products = 2.0 * 64 * 256 * 16 * kSlabs * (kThreads / 128) * sms;
    ceilings.fp16_tensor_tflops =
        1e-12 * rate(device, products, [&](int steps) { wgmma_rate<<<sms, kThreads, 0, stream>>>(sink, steps); });
  } else {
    const double products = 2.0 * 16 * 16 * 16 * 4 * (kThreads / 32) * kBlocksPerSm * sms;
    ceilings.fp16_tensor_tflops = 1e-12 * rate(device, products, [&](int steps) {
                                    wmma_rate<<<kBlocksPerSm * sms, kThreads, 0, stream>>>(sink, steps);
                                  });
  }
  device.release('d', sink);
  return ceilings;
}

}  // namespace xgemm::perf
