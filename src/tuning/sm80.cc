// Rows for compute capability 8.x.
#include "tuning/table.h"

namespace xgemm::tuning {
namespace {

constexpr KernelRow kRows[] = {
    {"naive_", 5.0, 8, 3.0, "estimate, not measured"},
};

}  // namespace

const Table kSm80 = {"sm80", 80, kRows, sizeof(kRows) / sizeof(kRows[0])};

}  // namespace xgemm::tuning
