// The program and the libraries that the process has loaded.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace xgemm::host {

struct LoadedObject {
  const void* base = nullptr;  // null: none
  const char* file = nullptr;
};

// The one that the address is in. dladdr() looks through all of its symbols besides, which are 20,000 in a BLAS.
LoadedObject object_of(const void* address);

// The files whose names, without folders, contain `part`, in the order in which they were loaded.
std::vector<std::string> loaded_files(const char* part);

// The same of what links lead to, with its folder: a distribution's libblas.so.3 may be "blis-openmp/libblas.so.3".
std::vector<std::string> loaded_files_behind_links(const char* part);

// The symbol of this name that one of these files itself has, or null. For libraries out of the program's sight, as
// Python's extensions bring them.
void* find_in_loaded(const char* part, const char* symbol);

}  // namespace xgemm::host
