// The architectures of the build, as src/CMakeLists.txt tells them.
#include "device/code_architecture.h"

namespace xgemm::device {

int code_architecture(int compute_capability) {
#if defined(XGEMM_MACHINE_CODE)
  constexpr int kNone = 1000;  // an empty list is no array
  constexpr int kMachineCode[] = {XGEMM_MACHINE_CODE kNone}, kPtx[] = {XGEMM_PTX kNone};
  return newest_of(compute_capability, kMachineCode, kPtx);
#else  // for all
  return compute_capability;
#endif
}

}  // namespace xgemm::device
