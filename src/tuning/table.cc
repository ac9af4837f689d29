// Looking rows up.
#include "tuning/table.h"

namespace xgemm::tuning {

const Table& table_for(int compute_capability) {
  return compute_capability / 10 == kSm90.architecture ? kSm90 : kGeneric;
}

const KernelRow* find_row(const Table& table, std::string_view kernel_name) {
  const KernelRow* best = nullptr;
  for (int i = 0; i < table.row_count; ++i) {
    const KernelRow& row = table.rows[i];
    if (kernel_name.substr(0, row.kernel.size()) != row.kernel) continue;
    if (best == nullptr || row.kernel.size() > best->kernel.size()) best = &row;
  }
  return best;
}

}  // namespace xgemm::tuning
