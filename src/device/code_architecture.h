// Which of the architectures that the library was built for a GPU's code is made for.
#pragma once

#include <algorithm>
#include <span>

namespace xgemm::device {

// 10 * major + minor, like compute_capability: the newest one whose code the GPU runs; 0 where there is none. Code of
// instructions that came later is not there, even if the GPU has them. CUDA builds only.
int code_architecture(int compute_capability);

// The same of lists: machine code, which runs on later GPUs of the same major version alone, and PTX, which the driver
// compiles for any later one.
inline int newest_of(int compute_capability, std::span<const int> machine_code, std::span<const int> ptx) {
  int newest = 0;
  for (const int architecture : machine_code)
    if (architecture <= compute_capability && architecture / 10 == compute_capability / 10)
      newest = std::max(newest, architecture);
  for (const int architecture : ptx)
    if (architecture <= compute_capability) newest = std::max(newest, architecture);
  return newest;
}

}  // namespace xgemm::device
