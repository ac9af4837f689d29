// Reading XGEMM_CUBLAS and NVIDIA_TF32_OVERRIDE.
#include "cublas/mode.h"

#include <cstdlib>
#include <string_view>

#include "core/environment.h"
#include "core/once.h"

namespace xgemm::cublas {
namespace {

Mode read_mode() {
  const char* const set = std::getenv("XGEMM_CUBLAS");
  const std::string_view value = set != nullptr ? set : "";
  if (value.empty() || value == "auto") return Mode::automatic;
  if (value == "always") return Mode::always;
  if (value == "never") return Mode::never;
  if (value == "compare") return Mode::compare;
  complain("XGEMM_CUBLAS", set, "auto, always, never, compare");
  return Mode::automatic;
}

bool read_forbids_tf32() {
  const char* const set = std::getenv("NVIDIA_TF32_OVERRIDE");
  return set != nullptr && std::string_view(set) == "0";
}

}  // namespace

bool forbids_tf32() {
  static Once<bool> known;
  return known.get(read_forbids_tf32);
}

Mode mode() {
  static Once<Mode> known;
  return known.get(read_mode);
}

}  // namespace xgemm::cublas
