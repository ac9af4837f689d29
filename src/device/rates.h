// What a GPU sustains: the numbers that cost models turn work into time by.
//
// CUDA says most of them. What it does not say (what the power limit leaves of the tensor cores' rate, how far real
// loads come of what the memory has on paper) is in a row for each GPU model that was measured, and derived from these
// for the others. A row of one's own is written by `./run calibrate` to the file that XGEMM_GPU_RATES names, by default
// xgemm/gpu_rates in $XDG_CONFIG_HOME or ~/.config, and goes before all others. A line of it:
//
//     sm_ghz l2_tbs memory_tbs tensor_tflops the name of the GPU
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xgemm::device {

struct Rates {
  double sm_ghz = 1.755;       // clock of the SMs under load
  double l2_tbs = 9.0;         // from the L2 to all SMs
  double memory_tbs = 3.0;     // of the memory, reads mostly
  double tensor_tflops = 850;  // 16-bit products with fp32 sums, under the power limit

  bool operator==(const Rates&) const = default;
};

// What CUDA says of a GPU.
struct Nameplate {
  std::string_view name;
  int compute_capability = 0;  // 10 * major + minor
  int sm_count = 0;
  double sm_ghz = 0;      // the highest clock; 0: not known
  double memory_tbs = 0;  // clock times width of the bus; 0: not known
};

struct GpuRow {
  std::string name;
  Rates rates;
};

// The row of the GPU's name in `own`, else a measured one, else derived.
Rates rates_of(const Nameplate& gpu, const std::vector<GpuRow>& own = {});

// Lines as above; # starts a comment. What is not a row is left out and, with `complaints`, said there.
std::vector<GpuRow> parse_gpu_rows(std::string_view text, std::string* complaints = nullptr);

// The rows of the file that the environment names, read once; none where there is no such file.
const std::vector<GpuRow>& own_gpu_rows();

}  // namespace xgemm::device
