// What the planner knows about the speed of kernels: measured rows, one file per architecture.
//
// A row says how fast an instance runs when it fills the GPU, and what a launch of it costs besides. The planner's cost
// model turns these into a time for any shape. Rows are data: a new measurement changes no code.
#pragma once

#include <string_view>

namespace xgemm::tuning {

struct KernelRow {
  std::string_view kernel;  // the instances whose names start with this
  double gflops_per_sm;     // sustained by an SM that is full of CTAs of a large product
  double gflops_per_cta;    // by a CTA alone on its SM
  int ctas_per_sm;          // that fit on an SM at the same time
  double launch_us;         // launch, first loads and last stores
  std::string_view measured_on;
};

struct Table {
  std::string_view name;
  int architecture;  // the major compute capability; 0: of any
  const KernelRow* rows;
  int row_count;
};

extern const Table kSm90;
extern const Table kGeneric;

// The table for a GPU (10 * major + minor).
const Table& table_for(int compute_capability);

// The row with the longest prefix of the instance's name; null when the table has none.
const KernelRow* find_row(const Table& table, std::string_view kernel_name);

}  // namespace xgemm::tuning
