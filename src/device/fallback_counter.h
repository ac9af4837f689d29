// How many products that could have been emulated were computed in fp32, because of what their operands held: counted
// by the GPUs, for verbose mode and xgemm_fp32_fallbacks().
#pragma once

#include <cstdint>

namespace xgemm::device {

// Of the current device, and in its reach; null where there is no memory for it. CUDA builds only.
unsigned* fallback_counter();

// Of all devices, as far as their work has run; 0 without CUDA.
std::int64_t fallbacks();

}  // namespace xgemm::device
