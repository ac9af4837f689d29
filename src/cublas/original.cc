// Finding functions of cuBLAS. Frameworks load it into a scope of their own, where RTLD_NEXT and RTLD_DEFAULT do not
// look: a library that is loaded anywhere is found by its name. Wheels that bring their libraries along give them other
// names (libcublas-3b81d170.so.12), but leave the version nodes of their symbols.
#include "cublas/original.h"

#include <dlfcn.h>

#include <string>

#include "core/environment.h"
#include "core/loader.h"
#include "core/status.h"
#include "host/loaded_objects.h"

namespace xgemm::cublas {
namespace {

constexpr int kVersions[] = {12, 13};

const char* name_of(Library library) {
  return library == Library::cublas ? "libcublas" : "libcublasLt";
}

std::string soname(Library library, int version) {
  return format("%s.so.%d", name_of(library), version);
}

// Null where it is not loaded. The handle is kept: a function that has been found stays where it is.
void* loaded(Library library, int version) {
  return dlopen(soname(library, version).c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

void* find_in_renamed(const char* name, Library library, int version) {
  const std::string node = soname(library, version);
  for (const std::string& file : host::loaded_files(name_of(library)))
    if (void* const in = dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD))
      if (void* const function = dlvsym(in, name, node.c_str())) return function;
  return nullptr;
}

// In a library and what it needs, which we are not.
void* look_for(const char* name, Library library, int version) {
  if (void* const in = loaded(library, version)) return dlsym(in, name);
  if (void* const function = find_in_renamed(name, library, version)) return function;
  // A library may have cuBLAS in itself, and a program that was linked with this one another version than it names.
  // Their interfaces agree.
  if (void* const function = dlsym(RTLD_NEXT, name)) return function;
  for (const int other : kVersions)
    if (void* const in = loaded(library, other)) return dlsym(in, name);
  return nullptr;
}

}  // namespace

void* Original::find() noexcept try {
  const AskingLoader asking;
  void* const function = look_for(name_, library_, version_);
  if (function != nullptr) found_.store(function, std::memory_order_release);
  if (function == nullptr && !complained_.exchange(true))
    print_line(format("%s was called, but the process has loaded no %s.so.%d that has it", name_, name_of(library_),
                      version_));
  return function;
} catch (...) {
  return nullptr;
}

}  // namespace xgemm::cublas
