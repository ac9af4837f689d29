// Rows for GPUs without a table of their own: the order of the kernels, not their speed.
#include "tuning/table.h"

namespace xgemm::tuning {
namespace {

constexpr KernelRow kRows[] = {
    {"naive_", 5.0, 8, 3.0, "estimate, not measured"},
};

}  // namespace

const Table kGeneric = {"generic", 0, kRows, sizeof(kRows) / sizeof(kRows[0])};

}  // namespace xgemm::tuning
