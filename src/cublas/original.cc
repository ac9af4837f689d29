// Finding functions of cuBLAS. Frameworks load it into a scope of their own, where RTLD_NEXT and RTLD_DEFAULT do not
// look: a library that is loaded anywhere is found by its name.
#include "cublas/original.h"

#include <dlfcn.h>

#include "core/environment.h"
#include "core/loader.h"
#include "core/status.h"

namespace xgemm::cublas {
namespace {

constexpr int kVersions[] = {12, 13};

const char* name_of(Library library) {
  return library == Library::cublas ? "libcublas" : "libcublasLt";
}

// The handle is kept: a function that has been found stays where it is.
void* loaded(Library library, int version) {
  return dlopen(format("%s.so.%d", name_of(library), version).c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

}  // namespace

void* Original::find() noexcept try {
  const AskingLoader asking;
  void* in = loaded(library_, version_);
  // A program that was linked with this library may have another cuBLAS than its newest. Their interfaces agree.
  for (const int other : kVersions)
    if (in == nullptr) in = loaded(library_, other);
  // Looked for in that library and what it needs, which we are not.
  void* const function = in != nullptr ? dlsym(in, name_) : nullptr;
  if (function != nullptr) found_.store(function, std::memory_order_release);
  if (function == nullptr && !complained_.exchange(true))
    print_line(format("%s was called, but the process has loaded no %s.so.%d that has it", name_, name_of(library_),
                      version_));
  return function;
} catch (...) {
  return nullptr;
}

}  // namespace xgemm::cublas
