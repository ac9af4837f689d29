// Reading handles, and the workspaces that they were given.
#include "cublas/handle.h"

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <map>

#include "core/once.h"
#include "cublas/original.h"

namespace xgemm::cublas {
namespace {

constexpr std::uintptr_t kAlignment = 256;  // of xgemm_set_workspace

struct Getters {
  int version;
  Original stream{"cublasGetStream_v2", Library::cublas, version};
  Original pointer_mode{"cublasGetPointerMode_v2", Library::cublas, version};
  Original math_mode{"cublasGetMathMode", Library::cublas, version};
  Original sm_count_target{"cublasGetSmCountTarget", Library::cublas, version};
};
constinit Getters getters[] = {{.version = 12}, {.version = 13}};

// cuBLAS allows a handle in several threads, whose launches may then alternate on its stream: each product of libxgemm
// has its scratch space to itself, so that a workspace is for the thread that set it, and others have the pool.
struct Lent {
  Workspace workspace;
  pthread_t thread;
};

// Never destroyed: products may be asked for while the process ends. Under the lock that a fork takes.
using Workspaces = std::map<Handle, Lent>;
constinit Workspaces* workspaces = nullptr;
constinit std::atomic<bool> any{false};

}  // namespace

Workspace aligned(void* memory, std::size_t bytes) {
  const std::uintptr_t skipped = -reinterpret_cast<std::uintptr_t>(memory) % kAlignment;
  if (memory == nullptr || bytes <= skipped) return {};
  return {static_cast<char*>(memory) + skipped, bytes - skipped};
}

bool read_state(int version, Handle handle, HandleState* state) {
  Getters& get = getters[version - 12];
  if (get.stream.call<GetStream>(handle, &state->stream) != kSuccess ||
      get.pointer_mode.call<GetInt>(handle, &state->pointer_mode) != kSuccess ||
      get.math_mode.call<GetInt>(handle, &state->math_mode) != kSuccess ||
      get.sm_count_target.call<GetInt>(handle, &state->sm_count_target) != kSuccess)
    return false;
  if (any.load(std::memory_order_acquire)) {
    const Making making;
    if (const auto found = workspaces->find(handle);
        found != workspaces->end() && pthread_equal(found->second.thread, pthread_self()) != 0)
      state->workspace = found->second.workspace;
  }
  return true;
}

void remember_workspace(Handle handle, void* memory, std::size_t bytes) noexcept try {
  const Making making;
  if (workspaces == nullptr) workspaces = new Workspaces;
  workspaces->insert_or_assign(handle, Lent{aligned(memory, bytes), pthread_self()});
  any.store(true, std::memory_order_release);
} catch (...) {
  forget_workspace(handle);
}

void forget_workspace(Handle handle) noexcept {
  if (!any.load(std::memory_order_acquire)) return;
  const Making making;
  // What was known stays as an entry: programs set stream and workspace before each call.
  if (const auto found = workspaces->find(handle); found != workspaces->end()) found->second.workspace = {};
}

void forget_handle(Handle handle) noexcept {
  if (!any.load(std::memory_order_acquire)) return;
  const Making making;
  workspaces->erase(handle);
}

}  // namespace xgemm::cublas
