// Checking XGEMM_FORCE_KERNEL against the list of kernels.
#include "plan/forced_kernel.h"

#include "core/environment.h"
#include "core/once.h"
#include "kernels/instances.h"

namespace xgemm::plan {

const std::string& forced_kernel() {
  static Once<std::string> result;
  return result.get([] {
    const std::string& name = environment().force_kernel;
    if (name.empty() || kernels::is_kernel_or_family(name)) return name;
    complain("XGEMM_FORCE_KERNEL", name, kernels::family_names() + " or one of their instances (xgemm_kernel_name)");
    return std::string();
  });
}

}  // namespace xgemm::plan
