// See fake_cuda_runtime.h.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "fake_cuda_runtime.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <thread>
#include <vector>

namespace {

struct Event {
  std::int64_t recorded = 0;   // by calls
  std::int64_t completed = 0;  // by the device
};

struct Operation {
  std::function<bool()> ready;
  std::function<void()> run;
};

using Queue = std::deque<Operation>;

struct World {
  fake_cuda::Settings settings;
  fake_cuda::Counts counts;
  std::thread::id thread;
  std::uint64_t random = 1;
  std::map<cudaStream_t, Queue> streams;
  std::map<void*, std::size_t> device, page_locked;
  std::map<const void*, std::size_t> registered;
  std::map<const void*, std::pair<std::size_t, int>> peers;  // bytes, and the GPU
  cudaError_t last_error = cudaSuccess;
};

World& world() {
  static World w;
  return w;
}

std::uint64_t draw() {
  std::uint64_t z = (world().random += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

cudaError_t set(cudaError_t error) {
  if (error != cudaSuccess) world().last_error = error;
  return error;
}

bool is_broken() {
  const World& w = world();
  return w.settings.breaks && w.settings.fail_at >= 0 && w.counts.calls > w.settings.fail_at;
}

// At the start of every call that may fail.
cudaError_t called() {
  World& w = world();
  if (std::this_thread::get_id() != w.thread) w.counts.wrong_thread = true;
  const int call = w.counts.calls++;
  const bool fails = call == w.settings.fail_at || is_broken();
  return set(fails ? cudaErrorLaunchFailure : cudaSuccess);
}

// Runs one operation at the head of a stream drawn at random. False when none can run.
bool advance() {
  std::vector<Queue*> ready;
  for (auto& [stream, queue] : world().streams)
    if (!queue.empty() && queue.front().ready()) ready.push_back(&queue);
  if (ready.empty()) return false;
  Queue& queue = *ready[draw() % ready.size()];
  const Operation operation = std::move(queue.front());
  queue.pop_front();
  operation.run();
  return true;
}

void add(
    cudaStream_t stream, std::function<void()> run, std::function<bool()> ready = [] { return true; }) {
  world().streams[stream].push_back({std::move(ready), std::move(run)});
}

Event& of(cudaEvent_t event) {
  return *reinterpret_cast<Event*>(event);
}

// Filled with NaNs of either type: what is read before it is written shows.
cudaError_t allocate_device(void** memory, std::size_t bytes) {
  World& w = world();
  if (w.counts.device_bytes + bytes > w.settings.device_bytes) return set(cudaErrorMemoryAllocation);
  *memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  std::memset(*memory, 0xff, bytes);
  w.device[*memory] = bytes;
  w.counts.device_bytes += bytes;
  w.counts.peak_device_bytes = std::max(w.counts.peak_device_bytes, w.counts.device_bytes);
  ++w.counts.allocations;
  ++w.counts.objects;
  return cudaSuccess;
}

cudaError_t free_device(void* memory) {
  World& w = world();
  w.counts.device_bytes -= w.device.at(memory);
  w.device.erase(memory);
  std::free(memory);
  --w.counts.objects;
  return cudaSuccess;
}

// 0, the GPU that calls are made for, for what is no other's.
int gpu_of(const void* data) {
  for (const auto& [start, place] : world().peers) {
    const auto offset = static_cast<const char*>(data) - static_cast<const char*>(start);
    if (offset >= 0 && static_cast<std::size_t>(offset) < place.first) return place.second;
  }
  return 0;
}

// Pageable memory is copied before the call returns, or rather: it must not be used here at all.
bool reachable(const void* data, std::size_t bytes) {
  const auto inside = [&](const auto& ranges) {
    for (const auto& [start, size] : ranges) {
      const auto* first = static_cast<const char*>(start);
      const auto* p = static_cast<const char*>(data);
      if (p >= first && p + bytes <= first + size) return true;
    }
    return false;
  };
  return inside(world().device) || inside(world().page_locked) || inside(world().registered) || gpu_of(data) != 0;
}

cudaError_t copy_columns(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaStream_t stream) {
  if (const cudaError_t error = called()) return error;
  if (width > to_pitch || width > from_pitch) return set(cudaErrorInvalidPitchValue);
  if (!reachable(to, (height - 1) * to_pitch + width) || !reachable(from, (height - 1) * from_pitch + width))
    return set(cudaErrorInvalidValue);
  ++world().counts.copies;
  add(stream, [=] {
    for (std::size_t i = 0; i < height; ++i)
      std::memcpy(static_cast<char*>(to) + i * to_pitch, static_cast<const char*>(from) + i * from_pitch, width);
  });
  return cudaSuccess;
}

}  // namespace

namespace fake_cuda {

void reset(const Settings& s) {
  for (const auto& [memory, bytes] : world().device) std::free(memory);  // what a broken device kept
  world() = World();
  world().settings = s;
  world().random = s.seed;
  world().thread = std::this_thread::get_id();
}

Settings& settings() {
  return world().settings;
}
Counts& counts() {
  return world().counts;
}

void enqueue(cudaStream_t stream, std::function<void()> work) {
  add(stream, std::move(work));
}

void register_host(const void* data, std::size_t bytes) {
  world().registered[data] = bytes;
}

void place_on_peer(const void* data, std::size_t bytes, int device) {
  world().peers[data] = {bytes, device};
}

}  // namespace fake_cuda

extern "C" {

cudaError_t cudaGetLastError() {
  const cudaError_t error = world().last_error;
  world().last_error = cudaSuccess;
  return error;
}
const char* cudaGetErrorString(cudaError_t) {
  return "an error of the fake runtime";
}
const char* cudaGetErrorName(cudaError_t) {
  return "cudaErrorFake";
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) {
  return called();
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = world().settings.has_pools;
  return called();
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  static cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  std::swap(current, *mode);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  if (const cudaError_t error = called()) return error;
  static std::uintptr_t next = 0x1000;
  *stream = reinterpret_cast<cudaStream_t>(next += 16);
  world().streams[*stream];
  ++world().counts.objects;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  world().streams.erase(stream);
  --world().counts.objects;
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = world().settings.capture;
  if (world().settings.capture_query != cudaSuccess) return set(world().settings.capture_query);
  return called();
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const cudaError_t error = called();
  ++world().counts.waits;
  while (!is_broken() && !world().streams[stream].empty()) {
    if (!advance()) {
      world().counts.stuck = true;
      return set(cudaErrorUnknown);
    }
  }
  return error;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  if (const cudaError_t error = called()) return error;
  *event = reinterpret_cast<cudaEvent_t>(new Event);
  ++world().counts.objects;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete &of(event);
  --world().counts.objects;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (const cudaError_t error = called()) return error;
  const std::int64_t number = ++of(event).recorded;
  add(stream, [event, number] { of(event).completed = number; });
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (const cudaError_t error = called()) return error;
  const std::int64_t number = of(event).recorded;
  add(
      stream, [] {}, [event, number] { return of(event).completed >= number; });
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (const cudaError_t error = called()) return error;
  for (std::uint64_t i = draw() % 4; i > 0; --i) advance();
  if (of(event).completed == of(event).recorded) return cudaSuccess;
  // The device makes progress whether or not it is looked at.
  if (!advance()) world().counts.stuck = true;
  return set(cudaErrorNotReady);
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (const cudaError_t error = called()) return error;
  return allocate_device(memory, bytes);
}
cudaError_t cudaFree(void* memory) {
  return free_device(memory);
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  if (const cudaError_t error = called()) return error;
  *pool = reinterpret_cast<cudaMemPool_t>(std::uintptr_t{0x10});
  ++world().counts.objects;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t) {
  --world().counts.objects;
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) {
  return cudaSuccess;
}
cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t, cudaStream_t) {
  if (const cudaError_t error = called()) return error;
  return allocate_device(memory, bytes);
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  add(stream, [memory] { free_device(memory); });
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  if (const cudaError_t error = called()) return error;
  if (bytes > world().settings.page_locked_bytes) return set(cudaErrorMemoryAllocation);
  *memory = std::malloc(bytes);
  world().page_locked[*memory] = bytes;
  ++world().counts.objects;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  world().page_locked.erase(memory);
  std::free(memory);
  --world().counts.objects;
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  *attributes = {};
  if (const cudaError_t error = called()) return error;
  for (const auto& [start, size] : world().registered) {
    const auto offset = static_cast<const char*>(data) - static_cast<const char*>(start);
    if (offset >= 0 && static_cast<std::size_t>(offset) < size) {
      attributes->type = cudaMemoryTypeHost;
      attributes->devicePointer = const_cast<void*>(data);
    }
  }
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  if (const cudaError_t error = called()) return error;
  if (!reachable(to, bytes) || !reachable(from, bytes)) return set(cudaErrorInvalidValue);
  ++world().counts.copies;
  add(stream, [=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind, cudaStream_t stream) {
  if (gpu_of(to) != 0 || gpu_of(from) != 0) return set(cudaErrorInvalidValue);
  return copy_columns(to, to_pitch, from, from_pitch, width, height, stream);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_gpu, const void* from, int from_gpu, std::size_t bytes,
                                cudaStream_t stream) {
  if (gpu_of(to) != to_gpu || gpu_of(from) != from_gpu) return set(cudaErrorInvalidValue);
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
}
cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* copy, cudaStream_t stream) {
  if (copy->srcDevice == copy->dstDevice || copy->extent.depth != 1 || gpu_of(copy->srcPtr.ptr) != copy->srcDevice ||
      gpu_of(copy->dstPtr.ptr) != copy->dstDevice)
    return set(cudaErrorInvalidValue);
  return copy_columns(copy->dstPtr.ptr, copy->dstPtr.pitch, copy->srcPtr.ptr, copy->srcPtr.pitch, copy->extent.width,
                      copy->extent.height, stream);
}

}  // extern "C"
