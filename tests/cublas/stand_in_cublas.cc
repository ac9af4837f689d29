// libcublas.so.12 and libcublas.so.13 without a GPU (stand_in.h). Sgemm_v2 asks GemmEx by its exported name, as
// libraries do that reach their own functions through the loader.
#include <atomic>
#include <cstddef>
#include <mutex>
#include <set>

#include "cublas/forms.h"
#include "stand_in.h"
#include "stand_in_product.h"

using namespace xgemm::cublas;

namespace {

struct State {
  HandleState state;
};

std::atomic<int> calls{0};
std::mutex lock;
std::set<Handle>& handles = *new std::set<Handle>;  // products may be asked for after main()
std::string last_call;

constexpr int kInvalidValue = 7;

State* state_of(Handle handle) {
  const std::lock_guard<std::mutex> guard(lock);
  return handles.contains(handle) ? static_cast<State*>(handle) : nullptr;
}

void remember(std::string text) {
  ++calls;
  const std::lock_guard<std::mutex> guard(lock);
  last_call = std::move(text);
}

int compute(Handle handle, const Call& call) {
  if (state_of(handle) == nullptr) return kNotInitialized;
  if (call.alpha == nullptr || call.beta == nullptr) return kInvalidValue;
  return xgemm::test::multiply_by_definition(call, xgemm::test::scalar(call.alpha, call.compute),
                                             xgemm::test::scalar(call.beta, call.compute))
             ? kSuccess
             : kInvalidValue;
}

}  // namespace

extern "C" {

#pragma GCC visibility push(default)

int cublasCreate_v2(Handle* handle) {
  *handle = new State;
  const std::lock_guard<std::mutex> guard(lock);
  handles.insert(*handle);
  return kSuccess;
}
int cublasDestroy_v2(Handle handle) {
  const std::lock_guard<std::mutex> guard(lock);
  if (handles.erase(handle) == 0) return kNotInitialized;
  delete static_cast<State*>(handle);
  return kSuccess;
}

#define STATE_FUNCTIONS(Name, Type, member)                  \
  int cublasSet##Name(Handle handle, Type value) {           \
    if (state_of(handle) == nullptr) return kNotInitialized; \
    static_cast<State*>(handle)->state.member = value;       \
    return kSuccess;                                         \
  }                                                          \
  int cublasGet##Name(Handle handle, Type* value) {          \
    if (state_of(handle) == nullptr) return kNotInitialized; \
    *value = static_cast<State*>(handle)->state.member;      \
    return kSuccess;                                         \
  }
STATE_FUNCTIONS(Stream_v2, void*, stream)
STATE_FUNCTIONS(PointerMode_v2, int, pointer_mode)
STATE_FUNCTIONS(MathMode, int, math_mode)
STATE_FUNCTIONS(SmCountTarget, int, sm_count_target)

int cublasSetWorkspace_v2(Handle handle, void*, std::size_t) {
  return state_of(handle) != nullptr ? kSuccess : kNotInitialized;
}

int cublasGemmEx XGEMM_PARAMETERS_gemm_ex(int);

#define FUNCTION(symbol, form, type, compute_type_of_row, Int)                                                         \
  int symbol XGEMM_PARAMETERS_##form(Int) {                                                                            \
    remember(text_of_call(#symbol, XGEMM_NAMES_##form));                                                               \
    if (std::string(#symbol) == "cublasSgemm_v2") {                                                                    \
      const Call x = XGEMM_CALL_##form(#symbol, type, compute_type_of_row);                                            \
      return cublasGemmEx(handle, x.transa, x.transb, int(x.m), int(x.n), int(x.k), x.alpha, x.a.data, kReal32F,       \
                          int(x.a.ld), x.b.data, kReal32F, int(x.b.ld), x.beta, const_cast<void*>(x.c.data), kReal32F, \
                          int(x.c.ld), kCompute32F, kDefaultAlgorithm);                                                \
    }                                                                                                                  \
    return compute(handle, XGEMM_CALL_##form(#symbol, type, compute_type_of_row));                                     \
  }
#define XGEMM_CUBLAS_ROUTINE(name, form, type, compute_type_of_row) \
  FUNCTION(name, form, type, compute_type_of_row, int)              \
  FUNCTION(name##_64, form, type, compute_type_of_row, std::int64_t)
#include "cublas/names.def"

int stand_in_calls() {
  return calls;
}
const char* stand_in_last_call() {
  return last_call.c_str();
}

#pragma GCC visibility pop

}  // extern "C"
