// What a call tells about its way: the line of XGEMM_VERBOSE and the text of xgemm_explain.
#pragma once

#include <cstdint>
#include <string>

#include "core/problem.h"
#include "core/status.h"
#include "dispatch/decision.h"

namespace xgemm::dispatch {

// The line, in the form that the benchmark's --replay reads. time_us: below 0 where it was not taken. fallbacks: parts
// of an emulated product that the GPU had to compute strictly, as far as is known. gpu_failure: "", or why the GPU did
// not do all that the route gave to it, which takes a line of its own.
void print_call(const Problem& problem, const Decision& decision, Status status, const std::string& gpu_failure,
                double time_us, std::int64_t fallbacks);

// Where the product was computed, in words: "staged", "cpu openblas", "device" and the kernel.
std::string place_of(const Problem& problem, const Decision& decision, bool cpu_took_over);

// How the decision would be carried out, and why it was taken. Fails as the call would for want of a device or a
// kernel.
Status explain_decision(const Problem& problem, const Decision& decision, std::string* text);

}  // namespace xgemm::dispatch
