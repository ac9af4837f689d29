// Reads the environment once; complains about values that are not allowed.
#include "core/environment.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/compute.h"
#include "core/once.h"
#include "core/status.h"
#include "xgemm.h"

namespace xgemm {
namespace {

const char* value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

void read_verbose(Environment* result) {
  const char* value = value_of("XGEMM_VERBOSE");
  if (value == nullptr) return;
  if (std::strlen(value) == 1 && *value >= '0' && *value <= '2') {
    result->verbose = *value - '0';
    return;
  }
  result->compare = std::strcmp(value, "compare") == 0;
  result->summary = result->compare || std::strcmp(value, "summary") == 0;
  if (!result->summary) complain("XGEMM_VERBOSE", value, "0, 1, 2, summary, compare");
}

int read_math_mode() {
  const char* value = value_of("XGEMM_MATH");
  if (value == nullptr) return XGEMM_MATH_STRICT;
  for (const int mode : {XGEMM_MATH_STRICT, XGEMM_MATH_FP32_EMULATED, XGEMM_MATH_TF32})
    if (std::strcmp(value, name_of(static_cast<Compute>(mode))) == 0) return mode;
  complain("XGEMM_MATH", value, "strict, fp32_emulated, tf32");
  return XGEMM_MATH_STRICT;
}

std::string gpu_rates_file() {
  if (const char* value = value_of("XGEMM_GPU_RATES")) return value;
  if (const char* value = value_of("XDG_CONFIG_HOME")) return std::string(value) + "/xgemm/gpu_rates";
  if (const char* value = value_of("HOME")) return std::string(value) + "/.config/xgemm/gpu_rates";
  return "";
}

Environment read_environment() {
  Environment result;
  read_verbose(&result);
  if (const char* value = value_of("XGEMM_SUMMARY_FILE")) result.summary_file = value;
  result.math_mode = read_math_mode();
  if (const char* value = value_of("XGEMM_FORCE_KERNEL")) result.force_kernel = value;
  if (const char* value = value_of("XGEMM_CPU_BLAS")) result.cpu_blas = value;
  result.gpu_rates = gpu_rates_file();
  return result;
}

}  // namespace

const Environment& environment() {
  static Once<Environment> result;
  return result.get(read_environment);
}

void complain(const char* variable, const std::string& value, const std::string& allowed) {
  print_line(format("%s=%s is not one of: %s; it is ignored", variable, value.c_str(), allowed.c_str()));
}

void print_line(const std::string& text, int to) noexcept {
  // One write of what a pipe takes at once, so that lines of several threads and processes do not mix. The destination
  // failing is nothing we could report.
  try {
    constexpr std::size_t kMost = PIPE_BUF - 1;
    std::string line = "xgemm: " + text;
    if (line.size() > kMost) line.replace(kMost - 3, std::string::npos, "...");
    line += '\n';
    while (::write(to, line.data(), line.size()) < 0) {
      if (errno == EINTR) continue;
      pollfd end = {to, POLLOUT, 0};
      if (errno != EAGAIN || poll(&end, 1, -1) < 0) break;  // a pipe that does not block, and is full
    }
  } catch (...) {
  }
}

}  // namespace xgemm
