// What a plan is remembered under: all that it depends on and nothing else, by the list of core/problem_fields.h.
#pragma once

#include <array>
#include <cstdint>

#include "core/problem.h"

namespace xgemm::plan {

// Alignment beyond this is not told apart: no kernel asks for more than lines of 128 bytes.
inline constexpr int kKeyAlignment = 256;

class PlanKey {
 public:
  PlanKey(const Problem& problem, int device);
  bool operator==(const PlanKey&) const = default;
  std::uint64_t hash() const;

  using Words = std::array<std::uint64_t, 16>;
  const Words& words() const { return words_; }

 private:
  Words words_{};
};

}  // namespace xgemm::plan
