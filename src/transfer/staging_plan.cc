// Cutting a product into pieces.
#include "transfer/staging_plan.h"

#include <algorithm>

#include "core/status.h"

namespace xgemm::transfer {
namespace {

using std::int64_t;

// Elements of C in a piece: enough tiles to fill a large GPU (2^21 are 128 tiles of 128 x 128, about one for each of
// its SMs), few enough for copies and kernels to overlap. Chosen by hand.
constexpr int64_t kMinPieceElements = int64_t{1} << 21;
constexpr int64_t kUsualPieceElements = int64_t{1} << 22;
constexpr int64_t kMaxPieceElements = int64_t{1} << 24;

// Small products of a batch share a piece up to this many bytes, and do so at least up to the second.
constexpr int64_t kMaxGroupBytes = int64_t{32} << 20;
constexpr int64_t kMinGroupBytes = int64_t{2} << 20;

// Extents of pieces are multiples of this where they can be: whole tiles, and aligned parts of operands used in place.
constexpr int64_t kPieceStep = 128;

// Slots are that many, so that one is filled or drained while the others are computed on.
constexpr int kResidentSlots = 2;
constexpr int kStreamedSlots = 3;

constexpr int64_t kSlotAlignment = 512;

// A small product is packed by several threads at once, a large one in chunks for which the link is at full speed.
constexpr int64_t kMinChunkBytes = int64_t{64} << 10;
constexpr int64_t kMaxChunkBytes = int64_t{1} << 20;

constexpr int64_t div_up(int64_t a, int64_t b) {
  return a / b + (a % b != 0);
}
constexpr int64_t round_up(int64_t a, int64_t b) {
  return div_up(a, b) * b;
}

// Products that saturate: sizes of plans that cannot fit anyway may pass 2^63.
constexpr int64_t kHuge = INT64_MAX / 16;
int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kHuge : std::min(product, kHuge);
}
int64_t plus(int64_t a, int64_t b) {
  return std::min(a + b, kHuge);
}

// Half of an extent, in whole steps while it has some.
int64_t halved(int64_t extent) {
  const int64_t half = div_up(extent, 2);
  return half >= kPieceStep ? round_up(half, kPieceStep) < extent ? round_up(half, kPieceStep) : half : half;
}

int64_t matrix_bytes(int64_t rows, int64_t cols, DType type) {
  return times(times(staged_ld(rows, type), cols), size_of(type));
}

// Bytes of the parts of one piece of full extents.
struct PieceBytes {
  int64_t a = 0, b = 0, c = 0;
};

PieceBytes bytes_of_piece(const Problem& p, const StagingPlan& plan) {
  const int64_t m = plan.m_piece, n = plan.n_piece;
  const bool a_none = p.a.op == Op::none, b_none = p.b.op == Op::none;
  PieceBytes bytes;
  const auto of = [&](int64_t rows, int64_t cols, DType type, bool shared) {
    const int64_t matrices = shared ? 1 : plan.group;
    return round_up(times(matrix_bytes(rows, cols, type), matrices), kSlotAlignment);
  };
  if (plan.staged.a) bytes.a = of(a_none ? m : p.k, a_none ? p.k : m, p.a.type, p.shares(p.a));
  if (plan.staged.b) bytes.b = of(b_none ? p.k : n, b_none ? n : p.k, p.b.type, p.shares(p.b));
  if (plan.staged.c) bytes.c = of(m, n, p.c.type, false);
  return bytes;
}

// How often the resident and the streamed operand are loaded, by the rule of Piece::a_part and b_part.
int64_t resident_loads(bool shared, int64_t groups, int64_t blocks) {
  return shared && blocks == 1 ? 1 : times(groups, blocks);
}
int64_t streamed_loads(bool shared, int64_t groups, int64_t blocks, int64_t panels) {
  if (panels > 1) return times(times(groups, blocks), panels);
  return shared ? 1 : groups;
}

// Counts, slots and sizes from group, m_piece, n_piece and depth.
void complete(const Problem& p, StagingPlan* plan) {
  plan->groups = div_up(p.batch_count, plan->group);
  plan->m_pieces = div_up(p.m, plan->m_piece);
  plan->n_pieces = div_up(p.n, plan->n_piece);
  const bool columns = plan->streams_columns;
  const int64_t blocks = columns ? plan->m_pieces : plan->n_pieces;
  const int64_t panels = columns ? plan->n_pieces : plan->m_pieces;
  const bool shares_a = p.shares(p.a), shares_b = p.shares(p.b);
  const int64_t resident = resident_loads(columns ? shares_a : shares_b, plan->groups, blocks);
  const int64_t streamed = streamed_loads(columns ? shares_b : shares_a, plan->groups, blocks, panels);
  const int64_t a_loads = columns ? resident : streamed, b_loads = columns ? streamed : resident;
  const int64_t rectangles = times(plan->m_pieces, plan->n_pieces);
  int64_t in_a_group = rectangles;
  if (p.fill != Fill::full) {
    in_a_group = 0;
    for (int64_t block = 0; block < blocks; ++block) in_a_group += plan->panels_of(p, block).count;
  }
  plan->pieces = times(plan->groups, in_a_group);

  const PieceBytes bytes = bytes_of_piece(p, *plan);
  const auto slots = [](bool staged, int64_t loads, int most) {
    return staged ? static_cast<int>(std::min<int64_t>(loads, most)) : 0;
  };
  const int streamed_slots = plan->depth, resident_slots = std::min(plan->depth, kResidentSlots);
  plan->a = {slots(plan->staged.a, a_loads, columns ? resident_slots : streamed_slots), bytes.a};
  plan->b = {slots(plan->staged.b, b_loads, columns ? streamed_slots : resident_slots), bytes.b};
  plan->c = {slots(plan->staged.c, plan->pieces, streamed_slots), bytes.c};
  plan->device_bytes =
      plus(plus(times(bytes.a, plan->a.count), times(bytes.b, plan->b.count)), times(bytes.c, plan->c.count));

  // What changes from piece to piece is there for those of a triangle alone.
  const auto of_pieces = [&](int64_t all, bool changes) {
    return !changes || in_a_group == rectangles ? all : all / rectangles * in_a_group;
  };
  // Edge pieces are counted as whole ones would be in proportion.
  const int64_t a_all = times(times(p.m, p.k), size_of(p.a.type)), b_all = times(times(p.k, p.n), size_of(p.b.type));
  const int64_t c_all = of_pieces(times(times(times(p.m, p.n), size_of(p.c.type)), p.batch_count), true);
  const int64_t a_parts = columns ? blocks : panels, b_parts = columns ? panels : blocks;
  plan->bytes_in = 0;
  if (plan->staged.a)
    plan->bytes_in =
        plus(plan->bytes_in, of_pieces(times(times(a_all / a_parts, a_loads), shares_a ? 1 : plan->group), !columns));
  if (plan->staged.b)
    plan->bytes_in =
        plus(plan->bytes_in, of_pieces(times(times(b_all / b_parts, b_loads), shares_b ? 1 : plan->group), columns));
  if (plan->staged.c && p.reads_c()) plan->bytes_in = plus(plan->bytes_in, c_all);
  plan->bytes_out = plan->staged.c ? c_all : 0;

  int64_t chunk = kMinChunkBytes;
  while (chunk < kMaxChunkBytes && times(chunk, 64) < plus(plan->bytes_in, plan->bytes_out)) chunk *= 2;
  plan->chunk_bytes = chunk;
}

// Products per piece: several when they are small.
int64_t choose_group(const Problem& p, const StagingPlan& plan) {
  if (p.batch_count == 1) return 1;
  const int64_t elements = times(p.m, p.n);
  if (elements >= kMinPieceElements) return 1;
  StagingPlan one = plan;
  one.group = 1;
  const PieceBytes bytes = bytes_of_piece(p, one);
  // Shared operands are in every piece, whatever its size.
  const int64_t per_product =
      std::max<int64_t>(1, plus(plus(p.shares(p.a) ? 0 : bytes.a, p.shares(p.b) ? 0 : bytes.b), bytes.c));
  const int64_t most = std::min(kUsualPieceElements / std::max<int64_t>(1, elements), kMaxGroupBytes / per_product);
  const int64_t least = div_up(kMinGroupBytes, per_product);
  // At least a few groups, if they are not too small, so that copies and kernels overlap.
  const int64_t wanted = std::min(most, std::max(least, div_up(p.batch_count, 4)));
  return std::clamp<int64_t>(wanted, 1, p.batch_count);
}

int64_t choose_panel(int64_t streamed_extent, int64_t other_extent) {
  const int64_t total = times(streamed_extent, other_extent);
  const int64_t elements =
      std::clamp(std::max(std::min(total / 4, kUsualPieceElements), total / 16), kMinPieceElements, kMaxPieceElements);
  const int64_t panel = round_up(std::max<int64_t>(1, elements / other_extent), 2 * kPieceStep);
  if (panel >= streamed_extent) return streamed_extent;
  // Panels of equal extents rather than a small last one.
  return round_up(div_up(streamed_extent, div_up(streamed_extent, panel)), kPieceStep);
}

}  // namespace

int64_t staging_budget(int64_t device_memory_bytes) {
  return std::min(device_memory_bytes / 4, int64_t{4} << 30);
}

int64_t staged_ld(int64_t rows, DType type) {
  const int64_t element = size_of(type);
  if (rows >= kHuge / element) return rows;
  const int64_t bytes = rows * element;
  if (const int64_t padded = round_up(bytes, 128); padded - bytes <= bytes / 8) return padded / element;
  if (const int64_t padded = round_up(bytes, 16); padded - bytes <= bytes / 4) return padded / element;
  return rows;
}

StagingPlan::Panels StagingPlan::panels_of(const Problem& problem, int64_t block) const {
  const int64_t extent = streams_columns ? m_piece : n_piece, panel = streams_columns ? n_piece : m_piece;
  const int64_t panels = streams_columns ? n_pieces : m_pieces;
  if (problem.fill == Fill::full) return {0, panels};
  // The diagonal runs through the block: all panels before its end, or all after its beginning.
  const int64_t begin = block * extent, end = std::min(begin + extent, problem.n);
  const bool before = (problem.fill == Fill::lower) == streams_columns;
  return before ? Panels{0, (end - 1) / panel + 1} : Panels{begin / panel, panels - begin / panel};
}

Piece StagingPlan::piece(const Problem& problem, int64_t index) const {
  const int64_t blocks = streams_columns ? m_pieces : n_pieces;
  const int64_t panels = streams_columns ? n_pieces : m_pieces;
  int64_t panel = index % panels;
  int64_t block = index / panels % blocks;
  int64_t in_group = index / panels / blocks;
  if (problem.fill != Fill::full) {
    in_group = index / (pieces / groups);
    panel = index % (pieces / groups);
    for (block = 0; panel >= panels_of(problem, block).count; ++block) panel -= panels_of(problem, block).count;
    panel += panels_of(problem, block).first;
  }
  const int64_t i_index = streams_columns ? block : panel;
  const int64_t j_index = streams_columns ? panel : block;
  Piece piece;
  piece.first_product = in_group * group;
  piece.products = std::min(group, problem.batch_count - piece.first_product);
  piece.i = i_index * m_piece;
  piece.m = std::min(m_piece, problem.m - piece.i);
  piece.j = j_index * n_piece;
  piece.n = std::min(n_piece, problem.n - piece.j);
  piece.a_part = (problem.shares(problem.a) ? 0 : in_group) * m_pieces + i_index;
  piece.b_part = (problem.shares(problem.b) ? 0 : in_group) * n_pieces + j_index;
  return piece;
}

StagingPlan plan_staging(const Problem& p, StagedOperands staged, int64_t device_bytes) {
  StagingPlan plan;
  plan.staged = staged;
  plan.m_piece = p.m;
  plan.n_piece = p.n;
  // The smaller operand is loaded first, alone; the larger one then streams past it while kernels run.
  const int64_t a_bytes = staged.a ? times(times(p.m, p.k), size_of(p.a.type)) : 0;
  const int64_t b_bytes = staged.b ? times(times(p.k, p.n), size_of(p.b.type)) : 0;
  plan.streams_columns = a_bytes == b_bytes ? p.n >= p.m || a_bytes > 0 : a_bytes < b_bytes;
  // An operand that a whole batch shares is loaded once when it is resident.
  const bool shares_a = p.shares(p.a), shares_b = p.shares(p.b);
  if (p.batch_count > 1 && shares_a != shares_b) plan.streams_columns = shares_a;
  plan.group = choose_group(p, plan);
  int64_t& panel = plan.streams_columns ? plan.n_piece : plan.m_piece;
  int64_t& block = plan.streams_columns ? plan.m_piece : plan.n_piece;
  if (plan.group == 1) panel = choose_panel(panel, block);
  plan.depth = kStreamedSlots;
  complete(p, &plan);

  while (plan.device_bytes > device_bytes) {
    if (plan.group > 1) {
      plan.group = div_up(plan.group, 2);
    } else if (panel > 4 * kPieceStep || (panel > 1 && panel >= block)) {
      panel = halved(panel);
    } else if (block > 1) {
      block = halved(block);
    } else if (!take_fewer_slots(p, &plan)) {  // pieces cannot be smaller
      break;
    }
    complete(p, &plan);
  }
  plan.fits = plan.device_bytes <= device_bytes;
  return plan;
}

StagingPlan plan_staging_on(const Problem& p, StagedOperands staged, int64_t device_memory_bytes) {
  const StagingPlan plan = plan_staging(p, staged, staging_budget(device_memory_bytes));
  return plan.fits ? plan : plan_staging(p, staged, device_memory_bytes);
}

bool take_fewer_slots(const Problem& p, StagingPlan* plan) {
  for (const int64_t before = plan->device_bytes; plan->depth > 1;) {
    --plan->depth;
    complete(p, plan);
    if (plan->device_bytes < before) return true;
  }
  return false;
}

StagedPart part_of_a(const Problem& p, const Piece& piece) {
  const bool none = p.a.op == Op::none;
  const int64_t element = size_of(p.a.type);
  const int64_t rows = none ? piece.m : p.k, cols = none ? p.k : piece.m;
  const bool shared = p.shares(p.a);
  StagedPart part;
  part.ld = staged_ld(rows, p.a.type);
  part.batch_stride = shared ? 0 : part.ld * cols;
  part.host_offset = (piece.first_product * p.a.batch_stride + p.a.offset(piece.i, 0)) * element;
  part.block = {rows * element,   cols, p.a.ld * element, shared ? 1 : piece.products, p.a.batch_stride * element,
                part.ld * element};
  return part;
}

StagedPart part_of_b(const Problem& p, const Piece& piece) {
  const bool none = p.b.op == Op::none;
  const int64_t element = size_of(p.b.type);
  const int64_t rows = none ? p.k : piece.n, cols = none ? piece.n : p.k;
  const bool shared = p.shares(p.b);
  StagedPart part;
  part.ld = staged_ld(rows, p.b.type);
  part.batch_stride = shared ? 0 : part.ld * cols;
  part.host_offset = (piece.first_product * p.b.batch_stride + p.b.offset(0, piece.j)) * element;
  part.block = {rows * element,   cols, p.b.ld * element, shared ? 1 : piece.products, p.b.batch_stride * element,
                part.ld * element};
  return part;
}

StagedPart part_of_c(const Problem& p, const Piece& piece) {
  const int64_t element = size_of(p.c.type);
  StagedPart part;
  part.ld = staged_ld(piece.m, p.c.type);
  part.batch_stride = part.ld * piece.n;
  part.host_offset = (piece.first_product * p.c.batch_stride + p.c.offset(piece.i, piece.j)) * element;
  part.block = {piece.m * element,          piece.n,          p.c.ld * element, piece.products,
                p.c.batch_stride * element, part.ld * element};
  if (!covers(p.fill, piece.i, piece.j, piece.m, piece.n)) {
    part.block.fill = p.fill;
    part.block.diagonal = (piece.j - piece.i) * element;
    part.block.element = element;
  }
  return part;
}

Piece whole_of(const Problem& p) {
  return {0, p.batch_count, 0, p.m, 0, p.n, 0, 0};
}

Problem problem_of(const Problem& p, const Piece& piece) {
  Problem part = p;
  part.m = piece.m;
  part.n = piece.n;
  part.batch_count = piece.products;
  const auto* a = static_cast<const std::byte*>(p.a.data);
  const auto* b = static_cast<const std::byte*>(p.b.data);
  if (a != nullptr) part.a.data = a + part_of_a(p, piece).host_offset;
  if (b != nullptr) part.b.data = b + part_of_b(p, piece).host_offset;
  part.c.data = static_cast<std::byte*>(p.c.data) + part_of_c(p, piece).host_offset;
  return part;
}

Problem problem_in_slots(const Problem& p, const Piece& piece, StagedOperands staged, const SlotAddresses& slots) {
  Problem part = problem_of(p, piece);
  const auto move = [](auto& matrix, const StagedPart& at, void* slot) {
    matrix.data = slot;
    matrix.ld = at.ld;
    matrix.step = 1;
    matrix.batch_stride = at.batch_stride;
  };
  if (staged.a) move(part.a, part_of_a(p, piece), slots.a);
  if (staged.b) move(part.b, part_of_b(p, piece), slots.b);
  if (staged.c) move(part.c, part_of_c(p, piece), slots.c);
  return part;
}

std::vector<Piece> rest_of(const Problem& p, const Piece& piece, int64_t packed_bytes) {
  const ColumnBlock block = part_of_c(p, piece).block;
  const int64_t column = packed_bytes / block.packed_pitch;
  const int64_t product = column / block.columns, j = column % block.columns;
  const int64_t i = std::min(packed_bytes % block.packed_pitch / size_of(p.c.type), piece.m);
  std::vector<Piece> rest;
  const auto add = [&](int64_t first, int64_t products, int64_t row, int64_t rows, int64_t col, int64_t cols) {
    if (products > 0 && rows > 0 && cols > 0)
      rest.push_back({piece.first_product + first, products, piece.i + row, rows, piece.j + col, cols, 0, 0});
  };
  if (product >= piece.products) return rest;
  const int64_t begun = i > 0 ? 1 : 0;  // columns of which a part is done
  add(product, 1, i, begun * (piece.m - i), j, 1);
  add(product, 1, 0, piece.m, j + begun, piece.n - j - begun);
  add(product + 1, piece.products - product - 1, 0, piece.m, 0, piece.n);
  return rest;
}

std::string to_string(const StagingPlan& plan) {
  const auto mib = [](int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  std::string text =
      format("staging: %lld piece%s of %lld x %lld", static_cast<long long>(plan.pieces), plan.pieces == 1 ? "" : "s",
             static_cast<long long>(plan.m_piece), static_cast<long long>(plan.n_piece));
  if (plan.group > 1) text += format(" x %lld products", static_cast<long long>(plan.group));
  text += format(", %s streamed past resident %s\n", plan.streams_columns ? "columns" : "rows",
                 plan.streams_columns ? "A" : "B");
  const auto operand = [&](const char* name, bool staged, const OperandSlots& slots) {
    if (!staged) return format("staging: %s in place\n", name);
    return format("staging: %s in %d slot%s of %.2f MiB\n", name, slots.count, slots.count == 1 ? "" : "s",
                  mib(slots.bytes));
  };
  text +=
      operand("A", plan.staged.a, plan.a) + operand("B", plan.staged.b, plan.b) + operand("C", plan.staged.c, plan.c);
  text += format("staging: %.2f MiB of device memory, %.2f MiB in, %.2f MiB out, chunks of %lld KiB\n",
                 mib(plan.device_bytes), mib(plan.bytes_in), mib(plan.bytes_out),
                 static_cast<long long>(plan.chunk_bytes >> 10));
  return text;
}

}  // namespace xgemm::transfer
