// Reads the environment once; complains about values that are not allowed.
#include "core/environment.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "core/once.h"
#include "core/status.h"
#include "xgemm.h"

namespace xgemm {
namespace {

const char* value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

int read_verbose() {
  const char* value = value_of("XGEMM_VERBOSE");
  if (value == nullptr) return 0;
  if (std::strlen(value) == 1 && *value >= '0' && *value <= '2') return *value - '0';
  complain("XGEMM_VERBOSE", value, "0, 1, 2");
  return 0;
}

int read_math_mode() {
  const char* value = value_of("XGEMM_MATH");
  if (value != nullptr && std::strcmp(value, "strict") != 0) complain("XGEMM_MATH", value, "strict");
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
  result.verbose = read_verbose();
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

void print_line(const std::string& text) noexcept {
  // One write, so that lines of several threads do not mix. The destination failing is nothing we could report.
  try {
    const std::string line = "xgemm: " + text + "\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  } catch (...) {
  }
}

}  // namespace xgemm
