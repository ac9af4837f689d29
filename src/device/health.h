// Whether a GPU still works. After some failures, of anybody's kernel in the process or of the hardware, every CUDA
// call fails until the process ends.
#pragma once

namespace xgemm::device {

// After a CUDA call has failed: looks whether the device still works.
void check_health(int ordinal);

// False from the moment on when check_health() found that it does not.
bool is_healthy(int ordinal);

}  // namespace xgemm::device
