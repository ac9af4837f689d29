// Implementation of dynamic_library.h. SPDX-License-Identifier: BSD-3-Clause
#include "bench/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>

namespace xgemm::perf {
namespace {

// AddressSanitizer refuses RTLD_DEEPBIND, because its own interceptors would be bypassed.
#if defined(__SANITIZE_ADDRESS__)
constexpr int kOpenFlags = RTLD_NOW | RTLD_LOCAL;
#else
constexpr int kOpenFlags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

}  // namespace

DynamicLibrary::DynamicLibrary(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    handle_ = dlopen(name.c_str(), kOpenFlags);
    if (handle_ != nullptr) {
      error_.clear();
      return;
    }
    if (error_.empty()) error_ = dlerror();
  }
}

std::string DynamicLibrary::path() const {
  link_map* map = nullptr;
  if (handle_ == nullptr || dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return "";
  return map->l_name;
}

void* DynamicLibrary::symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

std::string file_of_address(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
  return info.dli_fname;
}

std::string file_name(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

}  // namespace xgemm::perf
