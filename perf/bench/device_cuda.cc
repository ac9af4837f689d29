// A GPU as a device: the one file of the benchmark that calls the CUDA runtime (linked statically, so that the program
// starts on machines without a driver). SPDX-License-Identifier: BSD-3-Clause
#include "bench/device.h"

#if XGEMM_HAVE_CUDA
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>

namespace xgemm::perf {
namespace {

/// The benchmark has no use for a device that fails in its own copies and events: the run ends with CUDA's words.
void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw std::runtime_error(fmt::format("{}: {} ({})", what, cudaGetErrorString(status), cudaGetErrorName(status)));
}

class Graph final : public RecordedCalls {
 public:
  explicit Graph(cudaGraphExec_t graph) : graph_(graph) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() override { cudaGraphExecDestroy(graph_); }
  cudaGraphExec_t get() const { return graph_; }

 private:
  cudaGraphExec_t graph_;
};

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index) {
    check(cudaSetDevice(index), "cudaSetDevice");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaEventCreate(&start_), "cudaEventCreate");
    check(cudaEventCreate(&stop_), "cudaEventCreate");
    read_facts(index);
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice() override {
    cudaEventDestroy(stop_);
    cudaEventDestroy(start_);
    cudaStreamDestroy(stream_);
  }

  const DeviceFacts& facts() const override { return facts_; }

  void* allocate(char kind, std::size_t bytes) override {
    if (kind == 'h') return std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    void* memory = nullptr;
    const cudaError_t status = kind == 'm' ? cudaMallocManaged(&memory, bytes) : cudaMalloc(&memory, bytes);
    if (status == cudaSuccess) return memory;
    cudaGetLastError();  // out of memory is an answer here, not an error that a later call should report
    return nullptr;
  }
  void release(char kind, void* memory) override {
    if (kind == 'h')
      std::free(memory);
    else
      cudaFree(memory);
  }
  std::size_t available(char kind) const override {
    if (kind == 'h') return host_memory_available();
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free_bytes, &total), "cudaMemGetInfo");
    return free_bytes;
  }

  void copy(void* to, const void* from, std::size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "cudaMemcpy");
    check(cudaStreamSynchronize(stream_), "cudaMemcpy");
  }
  void fill(void* memory, int value, std::size_t bytes) override {
    cudaPointerAttributes attributes{};
    const bool known = cudaPointerGetAttributes(&attributes, memory) == cudaSuccess;
    if (!known || attributes.type == cudaMemoryTypeUnregistered) {
      cudaGetLastError();
      std::fill_n(static_cast<unsigned char*>(memory), bytes, static_cast<unsigned char>(value));
      return;
    }
    check(cudaMemsetAsync(memory, value, bytes, stream_), "cudaMemset");
    check(cudaStreamSynchronize(stream_), "cudaMemset");
  }

  void* stream() const override { return stream_; }
  std::string synchronize() override {
    cudaError_t status = cudaStreamSynchronize(stream_);
    if (status == cudaSuccess) status = cudaGetLastError();
    return status == cudaSuccess ? "" : fmt::format("{} ({})", cudaGetErrorString(status), cudaGetErrorName(status));
  }

  double time(const std::function<void()>& calls) override {
    check(cudaEventRecord(start_, stream_), "cudaEventRecord");
    calls();
    return finish_timing();
  }

  std::unique_ptr<RecordedCalls> record(const std::function<void()>& calls, std::string& why) override {
    cudaError_t status = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
    if (status == cudaSuccess) calls();
    cudaGraph_t graph = nullptr;
    if (status == cudaSuccess) status = cudaStreamEndCapture(stream_, &graph);
    cudaGraphExec_t executable = nullptr;
    if (status == cudaSuccess) status = cudaGraphInstantiate(&executable, graph, 0);
    if (graph != nullptr) cudaGraphDestroy(graph);
    if (status == cudaSuccess) return std::make_unique<Graph>(executable);
    cudaGetLastError();
    why = cudaGetErrorString(status);
    return nullptr;
  }

  double time(RecordedCalls& calls) override {
    check(cudaEventRecord(start_, stream_), "cudaEventRecord");
    check(cudaGraphLaunch(static_cast<Graph&>(calls).get(), stream_), "cudaGraphLaunch");
    return finish_timing();
  }

 private:
  double finish_timing() {
    check(cudaEventRecord(stop_, stream_), "cudaEventRecord");
    check(cudaEventSynchronize(stop_), "the measured calls");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_, stop_), "cudaEventElapsedTime");
    return milliseconds * 1e3;
  }

  void read_facts(int index) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
    facts_.is_gpu = true;
    facts_.name = properties.name;
    facts_.compute_capability = fmt::format("{}.{}", properties.major, properties.minor);
    facts_.pci_bus_id =
        fmt::format("{:08x}:{:02x}:{:02x}.0", properties.pciDomainID, properties.pciBusID, properties.pciDeviceID);
    facts_.units = properties.multiProcessorCount;
    facts_.cache_bytes = properties.l2CacheSize;
    facts_.host_cache_bytes = xgemm::perf::host_cache_bytes();
    int version = 0;
    check(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
    facts_.runtime_version = version_text(version);
    check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
    facts_.driver_cuda_version = version_text(version);
  }

  DeviceFacts facts_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
};

}  // namespace

std::unique_ptr<Device> make_cuda_device(int index, std::string& why) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    cudaGetLastError();
    why = status == cudaSuccess ? "no GPU" : cudaGetErrorString(status);
    return nullptr;
  }
  if (index < 0 || index >= count) {
    why = fmt::format("there is no GPU {} (0 to {} are there)", index, count - 1);
    return nullptr;
  }
  try {
    return std::make_unique<CudaDevice>(index);
  } catch (const std::runtime_error& error) {
    why = error.what();
    return nullptr;
  }
}

}  // namespace xgemm::perf

#else  // built without CUDA

namespace xgemm::perf {

std::unique_ptr<Device> make_cuda_device(int, std::string& why) {
  why = "this program was built without CUDA";
  return nullptr;
}

}  // namespace xgemm::perf

#endif
