// Whether a GPU still works. After some failures, of anybody's kernel in the process or of the hardware, every CUDA
// call fails until the process ends.
#pragma once

namespace xgemm::device {

// After a CUDA call has failed: looks whether the device still works.
void check_health(int ordinal);

// False once check_health() has found the device broken.
bool is_healthy(int ordinal);

}  // namespace xgemm::device
