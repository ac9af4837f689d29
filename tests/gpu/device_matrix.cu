// See device_matrix.h. All work is in the calling thread's own stream, and done when the functions return.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "device_matrix.h"

namespace xgemm::gpu_test {
namespace {

constexpr double kConstant = 2.0;  // as in support/oracle.h
constexpr int kThreads = 256;

// An element type: its bits, to be compared without meaning, how they are made and read, bits of a significand, the
// largest number, and half of the distance of subnormal ones.
template <class T>
struct Format;
template <>
struct Format<double> {
  using Bits = unsigned long long;
  using Value = double;
  static constexpr Bits kGuard = 0x7ff8a5a5a5a5a5a5u;
  static constexpr int kPrecision = 53;
  static constexpr double kMax = DBL_MAX, kTiny = 0;
  static constexpr double kRoundoff = 0x1p-53, kSmallest = 0x1p-1074;  // of sums
  static __device__ Bits round(double value) { return static_cast<Bits>(__double_as_longlong(value)); }
  static __device__ double widen(Bits bits) { return __longlong_as_double(static_cast<long long>(bits)); }
};
// The others' sums are fp32.
struct SingleSums {
  using Value = float;
  static constexpr double kRoundoff = 0x1p-24, kSmallest = 0x1p-149;
};
template <>
struct Format<float> : SingleSums {
  using Bits = std::uint32_t;
  static constexpr Bits kGuard = 0x7fc5a5a5u;
  static constexpr int kPrecision = 24;
  static constexpr double kMax = FLT_MAX, kTiny = 0x1p-150;
  static __device__ Bits round(float value) { return __float_as_uint(value); }
  static __device__ float widen(Bits bits) { return __uint_as_float(bits); }
};
template <>
struct Format<Tf32> : Format<float> {
  static constexpr int kPrecision = 11;
};
template <>
struct Format<Half> : SingleSums {
  using Bits = std::uint16_t;
  static constexpr Bits kGuard = 0x7ea5;
  static constexpr int kPrecision = 11;
  static constexpr double kMax = 65504, kTiny = 0x1p-25;
  static __device__ Bits round(float value) { return __half_as_ushort(__float2half_rn(value)); }
  static __device__ float widen(Bits bits) { return __half2float(__ushort_as_half(bits)); }
};
template <>
struct Format<Bfloat16> : SingleSums {
  using Bits = std::uint16_t;
  static constexpr Bits kGuard = 0x7fe5;
  static constexpr int kPrecision = 8;
  static constexpr double kMax = 0x1.fep127, kTiny = 0x1p-134;
  static __device__ Bits round(float value) { return __bfloat16_as_ushort(__float2bfloat16_rn(value)); }
  static __device__ float widen(Bits bits) { return __uint_as_float(static_cast<unsigned>(bits) << 16); }
};
template <class T>
using BitsOf = typename Format<T>::Bits;

// A sum that judges others: in twice the precision of double, by exact products and sums with their errors kept.
struct WideSum {
  double high = 0, low = 0;

  __device__ void add_product(double u, double v) {
    const double product = __dmul_rn(u, v);
    const double error = __fma_rn(u, v, -product);
    const double sum = __dadd_rn(high, product);
    const double part = __dsub_rn(sum, high);
    const double lost = __dadd_rn(__dsub_rn(high, __dsub_rn(sum, part)), __dsub_rn(product, part));
    high = sum;
    if (isfinite(sum)) low = __dadd_rn(low, __dadd_rn(lost, error));
  }
  __device__ double value() const { return isfinite(high) ? high + low : high; }
};

__device__ std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

template <class T>
__device__ typename Format<T>::Value value_of(const Contents& c, std::int64_t x, std::int64_t i, std::int64_t j) {
  using Value = typename Format<T>::Value;
  if (i == c.special_i && j == c.special_j) return static_cast<Value>(c.special);
  const std::uint64_t r =
      mixed(c.seed * 0x9e3779b97f4a7c15u + mixed(x * 0x632be59bd9b4e019u + i) + j * 0xd1342543de82ef95u);
  if (c.integers) return static_cast<Value>(static_cast<int>((r >> 32) % 5) - 2);
  constexpr int kBits = Format<T>::kPrecision;
  constexpr std::int64_t kHalf = std::int64_t{1} << (kBits - 1);
  return static_cast<Value>(static_cast<std::int64_t>(r >> (64 - kBits)) - kHalf) / kHalf;
}

// Which element a place in the storage is; false for a guard.
__host__ __device__ bool locate(const Layout& l, std::int64_t index, std::int64_t* x, std::int64_t* i,
                                std::int64_t* j) {
  std::int64_t at = index - (kBand + l.shift);
  if (at < 0 || l.rows == 0 || l.cols == 0) return false;
  *x = l.batch > 1 ? at / l.stride : 0;
  if (*x >= l.batch) *x = l.batch - 1;
  at -= *x * (l.batch > 1 ? l.stride : 0);
  *j = at / l.ld;
  *i = at % l.ld;
  return *j < l.cols && *i < l.rows;
}

template <class T>
__device__ BitsOf<T> initial_bits(const Layout& l, const Contents& c, std::int64_t index) {
  std::int64_t x, i, j;
  if (c.poisoned || !locate(l, index, &x, &i, &j)) return Format<T>::kGuard;
  return Format<T>::round(value_of<T>(c, x, i, j));
}

template <class T>
__global__ void fill_kernel(BitsOf<T>* storage, Layout l, Contents c, std::int64_t elements) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; e < elements; e += step)
    storage[e] = initial_bits<T>(l, c, e);
}

struct Failure {
  unsigned long long first;  // the lowest index that failed
  unsigned long long count;
  double actual, expected, bound;
};
constexpr unsigned long long kNone = ~0ull;

__device__ void report(Failure* failure, std::int64_t index) {
  atomicAdd(&failure->count, 1ull);
  atomicMin(&failure->first, static_cast<unsigned long long>(index));
}

template <class T>
__global__ void unchanged_kernel(const BitsOf<T>* storage, Layout l, Contents c, std::int64_t elements,
                                 Failure* failure) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; e < elements; e += step)
    if (storage[e] != initial_bits<T>(l, c, e)) report(failure, e);
}

struct Side {
  Layout layout;
  Contents contents;
};

// What one rounding to T costs at most.
template <class T>
__device__ double half_ulp(double x) {
  return fmax(ldexp(fabs(x), -Format<T>::kPrecision), Format<T>::kTiny);
}

// A and B of T, C of U.
template <class T, class U>
__device__ void expect(const Product& p, const Side& a, const Side& b, const Side& c, std::int64_t x, std::int64_t i,
                       std::int64_t j, double* value, double* bound) {
  WideSum sum;
  double result = 0, magnitude = 0;
  const bool reads = p.alpha != 0 && p.k > 0;
  if (reads) {
    const std::int64_t xa = a.layout.batch > 1 ? x : 0, xb = b.layout.batch > 1 ? x : 0;
    for (std::int64_t l = 0; l < p.k; ++l) {
      const double u = p.transa == 'N' ? value_of<T>(a.contents, xa, i, l) : value_of<T>(a.contents, xa, l, i);
      const double v = p.transb == 'N' ? value_of<T>(b.contents, xb, l, j) : value_of<T>(b.contents, xb, j, l);
      sum.add_product(u, v);
      magnitude += fabs(u * v);
    }
    result = p.alpha * sum.value();
    magnitude *= fabs(p.alpha);
  }
  if (p.beta != 0) {
    const double before = value_of<U>(c.contents, x, i, j);
    result += p.beta * before;
    magnitude += fabs(p.beta * before);
  }
  *value = result;
  // Sums of integers are exact.
  const bool exact = a.contents.integers && b.contents.integers && (p.beta == 0 || c.contents.integers);
  *bound =
      exact ? 0
            : kConstant * Format<T>::kRoundoff * ((reads ? p.k : 0) + 2) * magnitude + (p.k + 2) * Format<T>::kSmallest;
  if (sizeof(U) == 2) *bound += half_ulp<U>(fabs(result) + *bound);
}

template <class T>
__device__ bool acceptable(double actual, double expected, double bound) {
  if (isnan(expected)) return isnan(actual);
  if (isinf(expected)) return actual == expected;
  if (isinf(actual)) return signbit(actual) == signbit(expected) && fabs(expected) + bound > Format<T>::kMax;
  return fabs(actual - expected) <= bound;
}

// Tiles go wrong at their edges.
__device__ bool on_edge(std::int64_t i, std::int64_t extent) {
  return i == 0 || i == extent - 1 || i % 128 == 0 || i % 128 == 127;
}

template <class T, class U>
__global__ void judge_kernel(const BitsOf<U>* storage, Product p, Side a, Side b, Side c, std::int64_t elements,
                             int period, Failure* failure) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; e < elements; e += step) {
    std::int64_t x, i, j;
    if (!locate(c.layout, e, &x, &i, &j)) {
      if (storage[e] != Format<U>::kGuard) report(failure, e);
      continue;
    }
    if (!contains(p.fill, i, j)) {
      if (storage[e] != initial_bits<U>(c.layout, c.contents, e)) report(failure, e);
      continue;
    }
    if (period > 1) {
      const std::uint64_t r = mixed(static_cast<std::uint64_t>(e) + 77) % static_cast<std::uint64_t>(period);
      const bool edge = on_edge(i, p.m) && on_edge(j, p.n);
      if (r != 0 && !(edge && r < 64)) continue;
    }
    double expected, bound;
    expect<T, U>(p, a, b, c, x, i, j, &expected, &bound);
    if (!acceptable<U>(Format<U>::widen(storage[e]), expected, bound)) report(failure, e);
  }
}

template <class T, class U>
__global__ void describe_kernel(const BitsOf<U>* storage, Product p, Side a, Side b, Side c, Failure* failure) {
  std::int64_t x, i, j;
  const auto e = static_cast<std::int64_t>(failure->first);
  failure->actual = Format<U>::widen(storage[e]);
  if (locate(c.layout, e, &x, &i, &j)) expect<T, U>(p, a, b, c, x, i, j, &failure->expected, &failure->bound);
}

const cudaStream_t kStream = cudaStreamPerThread;

int grid_for(std::int64_t elements) {
  return static_cast<int>(std::clamp<std::int64_t>((elements + kThreads - 1) / kThreads, 1, 1 << 16));
}

// Device memory that kernels of this file use.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes) { XGEMM_CHECK_CUDA(cudaMallocAsync(&memory_, bytes, kStream)); }
  ~Scratch() { cudaFreeAsync(memory_, kStream); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void* get() const { return memory_; }

 private:
  void* memory_ = nullptr;
};

bool on_device(Memory memory) {
  return memory == Memory::device || memory == Memory::managed;
}

// Runs look(storage on the device, failure) and fetches the failure.
template <class T, class Look>
Failure look_at(const T* storage, std::size_t bytes, const Look& look) {
  cudaPointerAttributes attributes{};
  XGEMM_CHECK_CUDA(cudaPointerGetAttributes(&attributes, storage));
  const bool there = attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  Scratch copy(there ? 1 : bytes), report(sizeof(Failure));
  const void* source = storage;
  if (!there) {
    XGEMM_CHECK_CUDA(cudaMemcpyAsync(copy.get(), storage, bytes, cudaMemcpyDefault, kStream));
    source = copy.get();
  }
  Failure failure{kNone, 0, 0, 0, 0};
  XGEMM_CHECK_CUDA(cudaMemcpyAsync(report.get(), &failure, sizeof failure, cudaMemcpyDefault, kStream));
  look(static_cast<const BitsOf<T>*>(source), static_cast<Failure*>(report.get()));
  XGEMM_CHECK_CUDA(cudaGetLastError());
  XGEMM_CHECK_CUDA(cudaMemcpyAsync(&failure, report.get(), sizeof failure, cudaMemcpyDefault, kStream));
  XGEMM_CHECK_CUDA(cudaStreamSynchronize(kStream));
  return failure;
}

std::string place(const Layout& l, unsigned long long index) {
  const std::int64_t at = static_cast<std::int64_t>(index) - l.offset();
  char text[160];
  std::snprintf(text, sizeof text, "place %lld of %lld x %lld, ld %lld (column %lld, row %lld)",
                static_cast<long long>(at), static_cast<long long>(l.rows), static_cast<long long>(l.cols),
                static_cast<long long>(l.ld), static_cast<long long>(l.ld ? at / l.ld : 0),
                static_cast<long long>(l.ld ? at % l.ld : 0));
  return text;
}

// Keeps the memory of Scratch and operands in the pool: a test makes thousands.
void keep_pool_memory() {
  cudaMemPool_t pool;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess || cudaDeviceGetDefaultMemPool(&pool, device) != cudaSuccess) return;
  std::uint64_t threshold = std::uint64_t{1} << 30;
  cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold);
}

}  // namespace

const char* name_of(Memory memory) {
  switch (memory) {
    case Memory::device:
      return "device";
    case Memory::managed:
      return "managed";
    case Memory::pageable:
      return "pageable";
    case Memory::page_locked:
      return "page-locked";
    case Memory::registered:
      return "registered";
  }
  return "?";
}

bool is_hopper() {
  int device = 0, major = 0, minor = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "cudaDeviceGetAttribute");
  return major == 9 && minor == 0;
}

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) ADD_FAILURE() << what << ": " << cudaGetErrorString(error);
}

const std::string& no_device() {
  static const std::string reason = [] {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) return std::string("no GPU: ") + cudaGetErrorString(error);
    if (count == 0) return std::string("no GPU");
    keep_pool_memory();
    return std::string();
  }();
  return reason;
}

std::size_t free_device_bytes() {
  std::size_t free_bytes = 0, total = 0;
  XGEMM_CHECK_CUDA(cudaMemGetInfo(&free_bytes, &total));
  return free_bytes;
}

template <class T>
Operand<T>::Operand(const Layout& layout, const Contents& contents, Memory memory)
    : layout_(layout), contents_(contents), memory_(memory) {
  void* p = nullptr;
  switch (memory) {
    case Memory::device:
      XGEMM_CHECK_CUDA(cudaMallocAsync(&p, bytes(), kStream));
      break;
    case Memory::managed:
      XGEMM_CHECK_CUDA(cudaMallocManaged(&p, bytes()));
      break;
    case Memory::page_locked:
      XGEMM_CHECK_CUDA(cudaMallocHost(&p, bytes()));
      break;
    case Memory::pageable:
    case Memory::registered:
      p = std::aligned_alloc(4096, (bytes() + 4095) / 4096 * 4096);
      if (memory == Memory::registered) XGEMM_CHECK_CUDA(cudaHostRegister(p, (bytes() + 4095) / 4096 * 4096, 0));
      break;
  }
  storage_ = static_cast<T*>(p);
  if (storage_ != nullptr) refill();
}

template <class T>
Operand<T>::~Operand() {
  if (storage_ == nullptr) return;
  switch (memory_) {
    case Memory::device:
      cudaFreeAsync(storage_, kStream);
      break;
    case Memory::managed:
      cudaFree(storage_);
      break;
    case Memory::page_locked:
      cudaFreeHost(storage_);
      break;
    case Memory::registered:
      cudaHostUnregister(storage_);
      [[fallthrough]];
    case Memory::pageable:
      std::free(storage_);
      break;
  }
}

template <class T>
Operand<T>& Operand<T>::operator=(Operand&& other) noexcept {
  std::swap(layout_, other.layout_);
  std::swap(contents_, other.contents_);
  std::swap(memory_, other.memory_);
  std::swap(storage_, other.storage_);
  return *this;
}

template <class T>
void Operand<T>::refill() {
  const std::int64_t elements = layout_.elements();
  Scratch made(on_device(memory_) ? 1 : bytes());
  void* target = on_device(memory_) ? static_cast<void*>(storage_) : made.get();
  fill_kernel<T>
      <<<grid_for(elements), kThreads, 0, kStream>>>(static_cast<BitsOf<T>*>(target), layout_, contents_, elements);
  XGEMM_CHECK_CUDA(cudaGetLastError());
  if (!on_device(memory_)) XGEMM_CHECK_CUDA(cudaMemcpyAsync(storage_, made.get(), bytes(), cudaMemcpyDefault, kStream));
  XGEMM_CHECK_CUDA(cudaStreamSynchronize(kStream));
}

template <class T>
testing::AssertionResult Operand<T>::unchanged() const {
  const std::int64_t elements = layout_.elements();
  const Failure f = look_at(storage_, bytes(), [&](const BitsOf<T>* storage, Failure* failure) {
    unchanged_kernel<T><<<grid_for(elements), kThreads, 0, kStream>>>(storage, layout_, contents_, elements, failure);
  });
  if (f.first == kNone) return testing::AssertionSuccess();
  return testing::AssertionFailure() << f.count << " elements were written, the first at " << place(layout_, f.first);
}

namespace {
bool is_guard(const Layout& l, unsigned long long index) {
  std::int64_t x, i, j;
  return !locate(l, static_cast<std::int64_t>(index), &x, &i, &j);
}
}  // namespace

template <class T, class U>
testing::AssertionResult judge(const Product& p, const Operand<T>& a, const Operand<T>& b, const Operand<U>& c,
                               int period) {
  if (testing::AssertionResult same = a.unchanged(); !same)
    return testing::AssertionFailure() << "A: " << same.message();
  if (testing::AssertionResult same = b.unchanged(); !same)
    return testing::AssertionFailure() << "B: " << same.message();
  const std::int64_t elements = c.layout().elements();
  const Side sa{a.layout(), a.contents()}, sb{b.layout(), b.contents()}, sc{c.layout(), c.contents()};
  const Failure f = look_at(c.storage(), c.bytes(), [&](const BitsOf<U>* storage, Failure* failure) {
    judge_kernel<T, U><<<grid_for(elements), kThreads, 0, kStream>>>(storage, p, sa, sb, sc, elements, period, failure);
  });
  if (f.first == kNone) return testing::AssertionSuccess();
  const Failure d = look_at(c.storage(), c.bytes(), [&](const BitsOf<U>* storage, Failure* failure) {
    cudaMemcpyAsync(failure, &f, sizeof f, cudaMemcpyDefault, kStream);
    describe_kernel<T, U><<<1, 1, 0, kStream>>>(storage, p, sa, sb, sc, failure);
  });
  char numbers[128];
  std::snprintf(numbers, sizeof numbers, "%.9g, expected %.12g, bound %.3g", d.actual, d.expected, d.bound);
  return testing::AssertionFailure() << f.count << " elements of C are wrong, the first at "
                                     << place(c.layout(), f.first) << ": "
                                     << (is_guard(c.layout(), f.first) ? "a guard was written" : numbers) << "; "
                                     << p.transa << p.transb << " m=" << p.m << " n=" << p.n << " k=" << p.k
                                     << " alpha=" << p.alpha << " beta=" << p.beta << " batch=" << p.batch
                                     << " lda=" << a.layout().ld << " ldb=" << b.layout().ld << " shifts "
                                     << a.layout().shift << " " << b.layout().shift << " " << c.layout().shift;
}

namespace {
template <class T>
__global__ void same_bits_kernel(const BitsOf<T>* x, const BitsOf<T>* y, std::int64_t elements, Failure* failure) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; e < elements; e += step)
    if (x[e] != y[e]) report(failure, e);
}
}  // namespace

template <class T>
bool same_bits(const Operand<T>& x, const Operand<T>& y) {
  if (x.bytes() != y.bytes()) return false;
  Scratch copy(y.bytes());
  XGEMM_CHECK_CUDA(cudaMemcpyAsync(copy.get(), y.storage(), y.bytes(), cudaMemcpyDefault, kStream));
  const std::int64_t elements = x.layout().elements();
  const Failure f = look_at(x.storage(), x.bytes(), [&](const BitsOf<T>* storage, Failure* failure) {
    same_bits_kernel<T>
        <<<grid_for(elements), kThreads, 0, kStream>>>(storage, static_cast<BitsOf<T>*>(copy.get()), elements, failure);
  });
  return f.first == kNone;
}

// ---- Against another library --------------------------------------------------------------------------------------

namespace {

// op(A) in memory, as rows of k elements; op(B)^T likewise.
template <class T>
struct Lines {
  const BitsOf<T>* data;  // the first element
  std::int64_t count, k;
  std::int64_t line_step, k_step, matrix_step;

  __device__ float at(std::int64_t x, std::int64_t line, std::int64_t l) const {
    return Format<T>::widen(data[x * matrix_step + line * line_step + l * k_step]);
  }
};

template <class T>
Lines<T> lines_of(const Operand<T>& operand, bool k_along_columns, std::int64_t count, std::int64_t k) {
  const Layout& l = operand.layout();
  const std::int64_t along = 1, across = l.ld;
  return {reinterpret_cast<const BitsOf<T>*>(operand.data()),
          count,
          k,
          k_along_columns ? across : along,
          k_along_columns ? along : across,
          l.batch > 1 ? l.stride : 0};
}
template <class T>
Lines<T> rows_of_a(const Product& p, const Operand<T>& a) {
  return lines_of(a, p.transa != 'N', p.m, p.k);
}
template <class T>
Lines<T> columns_of_b(const Product& p, const Operand<T>& b) {
  return lines_of(b, p.transb == 'N', p.n, p.k);
}

// 2-norms of lines, a warp for each.
template <class T>
__global__ void norms_kernel(Lines<T> lines, std::int64_t matrices, float* norms) {
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (blockDim.x / 32);
  for (std::int64_t w = static_cast<std::int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
       w < lines.count * matrices; w += warps) {
    double sum = 0;
    for (std::int64_t l = threadIdx.x % 32; l < lines.k; l += 32) {
      const double v = lines.at(w / lines.count, w % lines.count, l);
      sum += v * v;
    }
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0) norms[w] = static_cast<float>(sqrt(sum));
  }
}

template <class U>
__global__ void compare_kernel(const BitsOf<U>* storage, const BitsOf<U>* other, Product p, Side c, const float* rows,
                               const float* columns, std::int64_t elements, bool exactly, Failure* failure) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; e < elements; e += step) {
    std::int64_t x, i, j;
    if (!locate(c.layout, e, &x, &i, &j)) {
      if (storage[e] != Format<U>::kGuard) report(failure, e);
      continue;
    }
    const double ours = Format<U>::widen(storage[e]), theirs = Format<U>::widen(other[e]);
    double bound = 0;
    if (!exactly) {
      double magnitude = fabs(p.alpha) * static_cast<double>(rows[x * p.m + i]) * columns[x * p.n + j];
      if (p.beta != 0) magnitude += fabs(p.beta * value_of<U>(c.contents, x, i, j));
      bound = kConstant * Format<U>::kRoundoff * (p.k + 2) * magnitude + (p.k + 2) * Format<U>::kSmallest;
      if (sizeof(U) == 2) bound += half_ulp<U>(fabs(theirs) + bound);
      bound *= 2;
    }
    // Equal infinities are equal; a NaN of either fails.
    if (!(ours == theirs || fabs(ours - theirs) <= bound)) {
      report(failure, e);
      // Of many that fail at once any: told as an example.
      failure->actual = ours, failure->expected = theirs, failure->bound = bound;
    }
  }
}

constexpr int kTile = 16;

// Sums of squares of C - alpha op(A) op(B) and of the product.
template <class T>
__global__ void error_kernel(Lines<T> a, Lines<T> b, const BitsOf<T>* c, std::int64_t ldc, double alpha, double* sums) {
  __shared__ double rows[kTile][kTile + 1], columns[kTile][kTile + 1];
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kTile + threadIdx.x;
  const std::int64_t j = static_cast<std::int64_t>(blockIdx.y) * kTile + threadIdx.y;
  WideSum sum;
  for (std::int64_t l0 = 0; l0 < a.k; l0 += kTile) {
    const std::int64_t la = l0 + threadIdx.y, lb = l0 + threadIdx.x;
    rows[threadIdx.x][threadIdx.y] = i < a.count && la < a.k ? a.at(0, i, la) : 0.0;
    columns[threadIdx.y][threadIdx.x] = j < b.count && lb < a.k ? b.at(0, j, lb) : 0.0;
    __syncthreads();
    for (int l = 0; l < kTile; ++l) sum.add_product(rows[threadIdx.x][l], columns[threadIdx.y][l]);
    __syncthreads();
  }
  const double product = alpha * sum.value();
  double difference = 0;
  if (i < a.count && j < b.count)  // what sum.low adds to its own rounding is all that is lost
    difference = alpha == 1 ? (Format<T>::widen(c[i + j * ldc]) - sum.high) - sum.low
                            : Format<T>::widen(c[i + j * ldc]) - product;
  double errors = difference * difference, norm = product * product;
  for (int step = 16; step > 0; step /= 2) {
    errors += __shfl_xor_sync(~0u, errors, step);
    norm += __shfl_xor_sync(~0u, norm, step);
  }
  if ((threadIdx.y * kTile + threadIdx.x) % 32 == 0) {
    atomicAdd(&sums[0], errors);
    atomicAdd(&sums[1], norm);
  }
}

}  // namespace

template <class T, class U>
testing::AssertionResult compare(const Product& p, const Operand<T>& a, const Operand<T>& b, const Operand<U>& c,
                                 const Operand<U>& other, bool exactly) {
  const auto batch = static_cast<std::size_t>(p.batch);
  Scratch rows(static_cast<std::size_t>(p.m) * batch * sizeof(float) + 4);
  Scratch columns(static_cast<std::size_t>(p.n) * batch * sizeof(float) + 4);
  if (!exactly) {
    const Lines<T> lines_a = rows_of_a(p, a), lines_b = columns_of_b(p, b);
    norms_kernel<T>
        <<<grid_for(p.m * p.batch * 32), kThreads, 0, kStream>>>(lines_a, p.batch, static_cast<float*>(rows.get()));
    norms_kernel<T>
        <<<grid_for(p.n * p.batch * 32), kThreads, 0, kStream>>>(lines_b, p.batch, static_cast<float*>(columns.get()));
    XGEMM_CHECK_CUDA(cudaGetLastError());
  }
  const std::int64_t elements = c.layout().elements();
  const Failure f = look_at(c.storage(), c.bytes(), [&](const BitsOf<U>* storage, Failure* failure) {
    compare_kernel<U><<<grid_for(elements), kThreads, 0, kStream>>>(
        storage, reinterpret_cast<const BitsOf<U>*>(other.storage()), p, Side{c.layout(), c.contents()},
        static_cast<const float*>(rows.get()), static_cast<const float*>(columns.get()), elements, exactly, failure);
  });
  if (f.first == kNone) return testing::AssertionSuccess();
  char numbers[160];
  std::snprintf(numbers, sizeof numbers, "for example %.9g against %.9g, bound %.3g", f.actual, f.expected, f.bound);
  return testing::AssertionFailure() << f.count << " elements differ, the first at " << place(c.layout(), f.first)
                                     << ": " << numbers;
}

template <class T>
double normwise_error(const Product& p, const Operand<T>& a, const Operand<T>& b, const Operand<T>& c) {
  Scratch scratch(2 * sizeof(double));
  XGEMM_CHECK_CUDA(cudaMemsetAsync(scratch.get(), 0, 2 * sizeof(double), kStream));
  const dim3 grid(static_cast<unsigned>((p.m + kTile - 1) / kTile), static_cast<unsigned>((p.n + kTile - 1) / kTile));
  error_kernel<T><<<grid, dim3(kTile, kTile), 0, kStream>>>(
      rows_of_a(p, a), columns_of_b(p, b), reinterpret_cast<const BitsOf<T>*>(c.data()), c.layout().ld,
      static_cast<double>(p.alpha), static_cast<double*>(scratch.get()));
  XGEMM_CHECK_CUDA(cudaGetLastError());
  double sums[2] = {0, 0};
  XGEMM_CHECK_CUDA(cudaMemcpyAsync(sums, scratch.get(), sizeof sums, cudaMemcpyDefault, kStream));
  XGEMM_CHECK_CUDA(cudaStreamSynchronize(kStream));
  return std::sqrt(sums[0] / sums[1]);
}

#define XGEMM_INSTANTIATE(T)                                                                               \
  template class Operand<T>;                                                                               \
  template double normwise_error(const Product&, const Operand<T>&, const Operand<T>&, const Operand<T>&); \
  template bool same_bits(const Operand<T>&, const Operand<T>&);
XGEMM_INSTANTIATE(float)
XGEMM_INSTANTIATE(double)
XGEMM_INSTANTIATE(Half)
XGEMM_INSTANTIATE(Bfloat16)
XGEMM_INSTANTIATE(Tf32)
#undef XGEMM_INSTANTIATE
#define XGEMM_INSTANTIATE(T, U)                                                                                      \
  template testing::AssertionResult judge(const Product&, const Operand<T>&, const Operand<T>&, const Operand<U>&,   \
                                          int);                                                                      \
  template testing::AssertionResult compare(const Product&, const Operand<T>&, const Operand<T>&, const Operand<U>&, \
                                            const Operand<U>&, bool);
XGEMM_INSTANTIATE(float, float)
XGEMM_INSTANTIATE(double, double)
XGEMM_INSTANTIATE(Half, Half)
XGEMM_INSTANTIATE(Half, float)
XGEMM_INSTANTIATE(Bfloat16, Bfloat16)
XGEMM_INSTANTIATE(Bfloat16, float)
XGEMM_INSTANTIATE(Tf32, float)
#undef XGEMM_INSTANTIATE

namespace {
struct LateCopies {
  LateCopy all[4];
};
__global__ void late_kernel(LateCopies copies) {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < 50000);
  for (const LateCopy& copy : copies.all)
    for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < copy.bytes;
         i += std::size_t{gridDim.x} * blockDim.x)
      static_cast<unsigned char*>(copy.to)[i] = static_cast<const unsigned char*>(copy.from)[i];
}
}  // namespace

void write_late(const std::array<LateCopy, 4>& copies, cudaStream_t stream) {
  LateCopies all;
  for (std::size_t i = 0; i < copies.size(); ++i) all.all[i] = copies[i];
  late_kernel<<<32, 256, 0, stream>>>(all);
  XGEMM_CHECK_CUDA(cudaGetLastError());
}

namespace {
__global__ void busy_kernel(volatile int* flag) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (*flag == 0 && now - start < 5000000000ull);
}
}  // namespace

BusyStream::BusyStream(cudaStream_t stream) : stream_(stream) {
  void* p = nullptr;
  XGEMM_CHECK_CUDA(cudaHostAlloc(&p, sizeof(int), cudaHostAllocMapped));
  flag_ = static_cast<volatile int*>(p);
  *flag_ = 0;
  busy_kernel<<<1, 1, 0, stream_>>>(flag_);
  XGEMM_CHECK_CUDA(cudaGetLastError());
}

BusyStream::~BusyStream() {
  release();
  cudaStreamSynchronize(stream_);
  cudaFreeHost(const_cast<int*>(flag_));
}

void BusyStream::release() {
  *flag_ = 1;
}

}  // namespace xgemm::gpu_test
