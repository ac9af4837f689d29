// Packing a problem's fields into the words of a key.
#include "plan/plan_key.h"

#include <type_traits>

#include "core/problem_fields.h"

namespace xgemm::plan {
namespace {

// Puts fields one after another into words that were zero; without words it only counts them.
class Packer {
 public:
  constexpr explicit Packer(std::uint64_t* words) : words_(words) {}

  constexpr void exact(const char*, std::int64_t x) { add(static_cast<std::uint64_t>(x), 64); }
  constexpr void step(const char* name, std::int64_t x) { exact(name, x); }
  template <class Enum>
  constexpr void exact(const char*, Enum x) {
    static_assert(std::is_enum_v<Enum> && sizeof(Enum) == 1);
    add(static_cast<unsigned char>(x), 8);
  }
  constexpr void address(const char*, const void* x) {
    add(words_ == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(x) % kKeyAlignment, 8);
  }
  constexpr void factor(const char*, const Scalar& x) { add(x.is(0.0f), 1); }
  template <class T>
  constexpr void unplanned(const char*, const T&) {}
  constexpr void presence(const char*, const void* x) { add(x != nullptr, 1); }
  constexpr void device(int ordinal) { add(static_cast<unsigned>(ordinal), 32); }

  constexpr std::size_t words() const { return (static_cast<std::size_t>(bits_) + 63) / 64; }

 private:
  // A field never crosses a word.
  constexpr void add(std::uint64_t x, int bits) {
    if (bits_ % 64 + bits > 64) bits_ = (bits_ + 63) / 64 * 64;
    if (words_ != nullptr) words_[bits_ / 64] |= x << bits_ % 64;
    bits_ += bits;
  }

  std::uint64_t* words_;
  int bits_ = 0;
};

constexpr std::size_t words_of_a_key() {
  const Problem any;
  Packer packer(nullptr);
  packer.device(0);
  visit_fields(any, packer);
  return packer.words();
}

}  // namespace

PlanKey::PlanKey(const Problem& problem, int device) {
  static_assert(words_of_a_key() == std::tuple_size_v<decltype(words_)>);
  Packer packer(words_.data());
  packer.device(device);
  visit_fields(problem, packer);
}

std::uint64_t PlanKey::hash() const {
  std::uint64_t h = 0;
  for (const std::uint64_t word : words_) {
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  }
  return h;
}

}  // namespace xgemm::plan
