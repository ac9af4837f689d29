// Calls of libxgemm.
#include "cublas/library.h"

#include <dlfcn.h>

#include <string>
#include <type_traits>

#include "core/environment.h"
#include "core/once.h"
#include "core/status.h"

namespace xgemm::cublas {
namespace {

struct Functions {
  decltype(&xgemm_create) create = nullptr;
  decltype(&xgemm_destroy) destroy = nullptr;
  decltype(&xgemm_set_stream) set_stream = nullptr;
  decltype(&xgemm_set_workspace) set_workspace = nullptr;
  decltype(&xgemm_set_scalar_location) set_scalar_location = nullptr;
  decltype(&xgemm_gemm) gemm = nullptr;
  decltype(&xgemm_last_error) last_error = nullptr;
};

// Null where it cannot be opened. It lies beside this library, whose RUNPATH says so.
const Functions* open_library() {
  constexpr const char* kName = "libxgemm.so.0";
  static constinit Functions known;
  void* const library = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr) missing = name;
  };
  if (library != nullptr) {
    find(known.create, "xgemm_create");
    find(known.destroy, "xgemm_destroy");
    find(known.set_stream, "xgemm_set_stream");
    find(known.set_workspace, "xgemm_set_workspace");
    find(known.set_scalar_location, "xgemm_set_scalar_location");
    find(known.gemm, "xgemm_gemm");
    find(known.last_error, "xgemm_last_error");
    if (missing == nullptr) return &known;
  }
  const char* const error = library == nullptr ? dlerror() : nullptr;
  print_line(format("%s cannot be used, and cuBLAS computes everything: %s", kName,
                    missing != nullptr ? missing
                    : error != nullptr ? error
                                       : "no reason is given"));
  return nullptr;
}

const Functions* functions() {
  static Once<const Functions*> opened;
  return opened.get(open_library);
}

// A context of our own for each thread: the default one belongs to the program.
class Context {
 public:
  Context() = default;
  ~Context() {
    if (context_ != nullptr) functions()->destroy(context_);
    context_ = nullptr;
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  int get(xgemm_context** context) {
    const int code = context_ != nullptr ? 0 : functions()->create(&context_);
    *context = context_;
    return code;
  }

 private:
  xgemm_context* context_ = nullptr;
};
thread_local Context thread_context;

}  // namespace

bool has_library() {
  return functions() != nullptr;
}

int multiply(const Request& request, void* c) {
  const Functions& xgemm = *functions();
  xgemm_context* context = nullptr;
  int code = thread_context.get(&context);
  if (code == 0) code = xgemm.set_stream(context, request.state.stream);
  if (code == 0) code = xgemm.set_workspace(context, request.state.workspace.memory, request.state.workspace.bytes);
  if (code == 0)
    code = xgemm.set_scalar_location(context,
                                     request.scalars_on_device() ? XGEMM_SCALARS_ON_DEVICE : XGEMM_SCALARS_ON_HOST);
  if (code != 0) return code;
  if (c == nullptr) return xgemm.gemm(context, &request.product);
  xgemm_args elsewhere = request.product;
  elsewhere.c = c;
  return xgemm.gemm(context, &elsewhere);
}

const char* error_of_library() {
  return functions()->last_error();
}

}  // namespace xgemm::cublas
