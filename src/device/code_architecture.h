// Which of the architectures that the library was built for a GPU's code is made for. CUDA builds only.
#pragma once

namespace xgemm::device {

// 10 * major + minor, like compute_capability: the newest one up to it; 0 where there is none. Code of instructions
// that came later is not there, even if the GPU has them.
int code_architecture(int compute_capability);

}  // namespace xgemm::device
