// Walking the loader's list.
#include "host/loaded_objects.h"

#include <dlfcn.h>
#include <link.h>

#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "core/loader.h"

namespace xgemm::host {
namespace {

// Calls visit(info) -> bool for each object until it says true. An exception goes around the loader, not through it.
template <class Visit>
void for_each_object(Visit&& visit) {
  struct Call {
    Visit& visit;
    std::exception_ptr thrown;
  } call{visit, nullptr};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* c) -> int {
        auto& [its_visit, thrown] = *static_cast<Call*>(c);
        try {
          return its_visit(*info);
        } catch (...) {
          thrown = std::current_exception();
          return 1;
        }
      },
      &call);
  if (call.thrown != nullptr) std::rethrow_exception(call.thrown);
}

bool contains(const dl_phdr_info& info, std::uintptr_t address) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& part = info.dlpi_phdr[i];
    if (part.p_type == PT_LOAD && address - (info.dlpi_addr + part.p_vaddr) < part.p_memsz) return true;
  }
  return false;
}

}  // namespace

LoadedObject object_of(const void* address) {
  LoadedObject found;
  for_each_object([&](const dl_phdr_info& info) {
    if (!contains(info, reinterpret_cast<std::uintptr_t>(address))) return false;
    found.base = info.dlpi_phdr;
    found.file = info.dlpi_name;
    return true;
  });
  return found;
}

std::vector<std::string> loaded_files(const char* part) {
  std::vector<std::string> files;
  for_each_object([&](const dl_phdr_info& info) {
    const char* const slash = std::strrchr(info.dlpi_name, '/');
    if (std::strstr(slash != nullptr ? slash : info.dlpi_name, part) != nullptr) files.emplace_back(info.dlpi_name);
    return false;
  });
  return files;
}

std::vector<std::string> loaded_files_behind_links(const char* part) {
  std::vector<std::string> files;
  for_each_object([&](const dl_phdr_info& info) {
    char path[PATH_MAX];
    if (std::strncmp(info.dlpi_name, "/", 1) != 0 || realpath(info.dlpi_name, path) == nullptr) return false;
    const char* tail = std::strrchr(path, '/');
    while (tail > path && *--tail != '/') {
    }
    if (std::strstr(tail, part) != nullptr) files.emplace_back(info.dlpi_name);
    return false;
  });
  return files;
}

void* find_in_loaded(const char* part, const char* symbol) {
  const AskingLoader asking;
  for (const std::string& file : loaded_files(part))
    if (void* handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
      void* const found = dlsym(handle, symbol);
      dlclose(handle);
      if (found != nullptr) return found;
    }
  return nullptr;
}

}  // namespace xgemm::host
