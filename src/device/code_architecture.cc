#include "device/code_architecture.h"

#include <algorithm>

namespace xgemm::device {

int code_architecture(int compute_capability) {
#if defined(XGEMM_BUILT_ARCHITECTURES)
  int newest = 0;
  for (int architecture : {XGEMM_BUILT_ARCHITECTURES})
    if (architecture <= compute_capability) newest = std::max(newest, architecture);
  return newest;
#else  // for all
  return compute_capability;
#endif
}

}  // namespace xgemm::device
