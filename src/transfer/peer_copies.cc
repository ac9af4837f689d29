// What is copied between GPUs, and where to.
#include "transfer/peer_copies.h"

#include "core/status.h"

namespace xgemm::transfer {
namespace {

constexpr std::int64_t kAlignment = 512;

bool is_elsewhere(const runtime::PointerLocation& at, int ordinal) {
  return at.location == runtime::Location::device && at.device >= 0 && at.device != ordinal;
}

}  // namespace

PeerCopies peer_copies(const Problem& problem, const runtime::Placement& placement, int ordinal) {
  const Piece whole = whole_of(problem);
  PeerCopies copies;
  const auto place = [&](std::int64_t bytes) {
    const std::int64_t offset = copies.bytes;
    copies.bytes += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  };
  if (is_elsewhere(placement.a, ordinal)) {
    copies.operands.a = true;
    copies.a_offset = place(part_of_a(problem, whole).block.packed_bytes());
  }
  if (is_elsewhere(placement.b, ordinal)) {
    copies.operands.b = true;
    copies.b_offset = place(part_of_b(problem, whole).block.packed_bytes());
  }
  if (is_elsewhere(placement.alpha, ordinal)) {
    copies.alpha = true;
    copies.alpha_offset = place(size_of(problem.sums()));
  }
  if (is_elsewhere(placement.beta, ordinal)) {
    copies.beta = true;
    copies.beta_offset = place(size_of(problem.sums()));
  }
  return copies;
}

Problem on_copies(const Problem& problem, const PeerCopies& copies, std::byte* memory) {
  Problem p = problem_in_slots(problem, whole_of(problem), copies.operands,
                               {memory + copies.a_offset, memory + copies.b_offset, nullptr});
  if (copies.alpha) p.alpha.device = memory + copies.alpha_offset;
  if (copies.beta) p.beta.device = memory + copies.beta_offset;
  return p;
}

std::string to_string(const PeerCopies& copies) {
  std::string what;
  for (const auto& [is_copied, name] : {std::pair{copies.operands.a, "A"}, std::pair{copies.operands.b, "B"},
                                        std::pair{copies.alpha, "alpha"}, std::pair{copies.beta, "beta"}})
    if (is_copied) what += (what.empty() ? "" : ", ") + std::string(name);
  return format("copied from other GPUs, in the order of the stream: %s; %.2f MiB of device memory\n", what.c_str(),
                static_cast<double>(copies.bytes) / (1 << 20));
}

}  // namespace xgemm::transfer
