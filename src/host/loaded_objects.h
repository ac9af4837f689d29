// The program and the libraries that the process has loaded.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace xgemm::host {

struct LoadedObject {
  const void* base = nullptr;  // null: none
  std::string file;
};

// The one that the address is in. dladdr() looks through all of its symbols besides, which are 20,000 in a BLAS.
LoadedObject object_of(const void* address);

}  // namespace xgemm::host
