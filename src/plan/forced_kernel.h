// The kernel or family that XGEMM_FORCE_KERNEL names.
#pragma once

#include <string>

namespace xgemm::plan {

// "" when the planner is free to choose. A name that no kernel of this build has is reported once and ignored.
const std::string& forced_kernel();

}  // namespace xgemm::plan
