// Calls of libxgemm.
#include "cublas/library.h"

#include <dlfcn.h>

#include <string>

#include "core/environment.h"
#include "core/loader.h"
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

constexpr const char* kName = "libxgemm.so.0";

// What the process has loaded, else what lies beside this library, else what the loader finds. A RUNPATH is no help
// where something stands in front of dlopen() and is its caller: profilers and sanitizers do.
void* open_shared_object() {
  if (void* const loaded = dlopen(kName, RTLD_NOW | RTLD_NOLOAD)) return loaded;
  Dl_info info{};
  static const char here = 0;
  if (dladdr(&here, &info) != 0 && info.dli_fname != nullptr) {
    const std::string file = info.dli_fname;
    const std::size_t folder = file.rfind('/');
    if (folder != std::string::npos)
      if (void* const beside = dlopen((file.substr(0, folder + 1) + kName).c_str(), RTLD_NOW | RTLD_LOCAL))
        return beside;
  }
  return dlopen(kName, RTLD_NOW | RTLD_LOCAL);
}

struct Opened {
  Functions functions;
  std::string complaint;  // "" where all are there
};

Opened open_library() {
  Opened opened;
  Functions& known = opened.functions;
  void* const library = open_shared_object();
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    if (!find_function(library, name, &function)) missing = name;
  };
  if (library != nullptr) {
    find(known.create, "xgemm_create");
    find(known.destroy, "xgemm_destroy");
    find(known.set_stream, "xgemm_set_stream");
    find(known.set_workspace, "xgemm_set_workspace");
    find(known.set_scalar_location, "xgemm_set_scalar_location");
    find(known.gemm, "xgemm_gemm");
    find(known.last_error, "xgemm_last_error");
    if (missing == nullptr) return opened;
  }
  const char* const error = library == nullptr ? dlerror() : nullptr;
  opened.complaint = format("%s cannot be used, and cuBLAS computes everything: %s", kName,
                            missing != nullptr ? missing
                            : error != nullptr ? error
                                               : "no reason is given");
  return opened;
}

// Null where it cannot be opened.
const Functions* functions() {
  static Loaded<Opened> known;
  const Opened& opened = known.get(open_library, [](const Opened& o) {
    if (!o.complaint.empty()) print_line(o.complaint);
  });
  return opened.complaint.empty() ? &opened.functions : nullptr;
}

// A context of our own for each thread: the default one belongs to the program. A product after the thread's variables
// are gone makes one that stays.
constinit thread_local xgemm_context* thread_context = nullptr;

struct EndOfThread {
  ~EndOfThread() {
    if (thread_context != nullptr) functions()->destroy(thread_context);
    thread_context = nullptr;
  }
};

int make_context() {
  thread_local const EndOfThread destroys_it;
  static_cast<void>(destroys_it);
  return functions()->create(&thread_context);
}

}  // namespace

bool has_library() {
  return functions() != nullptr;
}

int multiply(const Request& request, void* c) {
  const Functions& xgemm = *functions();
  int code = thread_context != nullptr ? 0 : make_context();
  xgemm_context* const context = thread_context;
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
