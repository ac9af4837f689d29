// Walking over the pieces of a staged product.
#include "transfer/staging_walk.h"

namespace xgemm::transfer {

StagedProduct::StagedProduct(const Problem& problem_, const StagingPlan& plan_, const Paths& paths_,
                             std::byte* device_memory)
    : problem(problem_), plan(plan_), paths(paths_) {
  const auto place = [&](const OperandSlots& planned) {
    const DeviceSlots slots = {device_memory, planned.bytes, planned.count};
    device_memory += planned.bytes * planned.count;
    return slots;
  };
  a = place(plan.a);
  b = place(plan.b);
  c = place(plan.c);
}

void InputWalk::stage() {
  load_ = load_count_ = 0;
  if (at_end()) return;
  const StagingPlan& plan = product_.plan;
  piece_ = plan.piece(product_.problem, index_);
  if (plan.staged.a && (a_loads_ == 0 || piece_.a_part != a_part_)) add(Load::Operand::a, a_loads_++);
  if (plan.staged.b && (b_loads_ == 0 || piece_.b_part != b_part_)) add(Load::Operand::b, b_loads_++);
  if (plan.staged.c && product_.problem.reads_c()) add(Load::Operand::c, index_);
  a_part_ = piece_.a_part;
  b_part_ = piece_.b_part;
}

void InputWalk::add(Load::Operand operand, std::int64_t number) {
  const auto make = [&](Path path, const void* data, const StagedPart& part, const DeviceSlots& slots) {
    return Load{
        operand, path, merged(part.block), static_cast<const std::byte*>(data) + part.host_offset, slots.slot(number),
        number,  -1};
  };
  const Problem& p = product_.problem;
  Load& load = loads_[static_cast<std::size_t>(load_count_++)];
  switch (operand) {
    case Load::Operand::a:
      load = make(product_.paths.a, p.a.data, part_of_a(p, piece_), product_.a);
      load.device = product_.paths.a_device;
      return;
    case Load::Operand::b:
      load = make(product_.paths.b, p.b.data, part_of_b(p, piece_), product_.b);
      load.device = product_.paths.b_device;
      return;
    case Load::Operand::c:
      load = make(product_.paths.c, p.c.data, part_of_c(p, piece_), product_.c);
      return;
  }
}

void OutputWalk::stage() {
  chunk_ = 0;
  if (!product_.plan.staged.c || index_ == product_.plan.pieces) return;
  const StagedPart part = part_of_c(product_.problem, product_.plan.piece(product_.problem, index_));
  block_ = merged(part.block);
  chunking_ = Chunking(block_, product_.plan.chunk_bytes);
  host_ = static_cast<std::byte*>(product_.problem.c.data) + part.host_offset;
  slot_ = product_.c.slot(index_);
}

std::vector<Piece> OutputWalk::rest() const {
  std::vector<Piece> rest;
  if (index_ == product_.plan.pieces) return rest;
  if (index_ == 0 && chunk_ == 0) return {whole_of(product_.problem)};
  std::int64_t next = index_;
  if (chunk_ > 0) {
    const Piece piece = product_.plan.piece(product_.problem, next++);
    // Packed bytes are done in order, and merging has not moved them.
    rest = rest_of(product_.problem, piece, has_chunk() ? chunk().packed_offset : block_.packed_bytes());
  }
  for (; next < product_.plan.pieces; ++next) rest.push_back(product_.plan.piece(product_.problem, next));
  return rest;
}

}  // namespace xgemm::transfer
