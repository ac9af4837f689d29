// XGEMM_VERBOSE=summary: what a process multiplied, where and for how long, told when it ends.
#pragma once

#include <string>

#include "core/problem.h"
#include "core/status.h"

namespace xgemm::dispatch {

// A product that was run: where, as for people ("staged", "cpu openblas"), and for how long. cpu_us: how long the CPU
// took for the same product, negative where it was not asked.
void count_product(const Problem& problem, const std::string& where, Status status, double time_us, double cpu_us);

// For XGEMM_VERBOSE=compare: has the CPU compute the product of host operands, into a copy of C, and returns how long
// it took; negative where shapes like this one have been compared often enough, or there is no memory for it.
double compare_with_cpu(const Problem& problem);

// Prints what was counted, if anything, in one piece, and forgets it. The end of the process does it.
void print_summary() noexcept;

}  // namespace xgemm::dispatch
