// What needs a copy, and how large blocks are.
#include "plan/packing.h"

#include <algorithm>

#include "core/status.h"
#include "kernels/pack/params.h"

namespace xgemm::plan {
namespace {

using layout::Axis;
using layout::StridedOperand;

constexpr int kVectorBytes = 16;  // what vectors and the copy engine want aligned
constexpr std::int64_t kLineBytes = 128;
constexpr std::size_t kCopyBytes = 256;  // copies start at multiples

std::int64_t round_up(std::int64_t x, std::int64_t step) {
  return (x + step - 1) / step * step;
}

std::int64_t parts(std::int64_t extent, std::int64_t part) {
  return (extent + part - 1) / part;
}

// Not along `axis`, in lines that overlap or run backwards, or, where vectors are to be read, that do not start on
// them.
bool lies_badly(const StridedOperand& x, Axis axis, bool vectors) {
  const Axis line = layout::other(axis);
  if (x.extent(axis) > 1 && x.stride(axis) != 1) return true;
  if (x.extent(line) > 1 && x.stride(line) < x.extent(axis)) return true;
  const auto aligned = [&](std::int64_t count, std::int64_t stride) {
    return count <= 1 || stride * x.element_bytes % kVectorBytes == 0;
  };
  return vectors && (x.address % kVectorBytes != 0 || !aligned(x.extent(line), x.stride(line)) ||
                     !aligned(x.batch_count, x.batch_stride));
}

constexpr std::size_t whole_copy(std::size_t bytes) {
  return (bytes + kCopyBytes - 1) / kCopyBytes * kCopyBytes;
}

// The layout of a copy of rows x cols elements; entries: of the batch. `bytes` grows by what it takes.
void lay_out(PackedOperand& copy, std::int64_t rows, std::int64_t cols, std::int64_t entries, int element_bytes,
             std::size_t& bytes) {
  if (!copy.used) return;
  const std::int64_t length = copy.contiguous == Axis::row ? rows : cols;
  const std::int64_t lines = copy.contiguous == Axis::row ? cols : rows;
  // Lines of the L2, where they are no waste.
  const std::int64_t whole = round_up(length, kLineBytes / element_bytes);
  copy.ld = whole <= length + length / 8 ? whole : round_up(length, kVectorBytes / element_bytes);
  copy.batch_stride = entries > 1 ? copy.ld * lines : 0;
  copy.offset = bytes;
  const auto size = static_cast<std::size_t>(copy.ld) * static_cast<std::size_t>(lines) *
                    static_cast<std::size_t>(entries) * static_cast<std::size_t>(element_bytes);
  bytes += whole_copy(size);
}

void lay_out(Packing& packing, const Problem& p) {
  packing.bytes = 0;
  const auto entries = [&](const InputMatrix& x) { return p.shares(x) ? 1 : packing.batch; };
  lay_out(packing.a, packing.m, p.k, entries(p.a), size_of(p.a.type), packing.bytes);
  lay_out(packing.b, p.k, packing.n, entries(p.b), size_of(p.b.type), packing.bytes);
  lay_out(packing.c, packing.m, packing.n, packing.batch, size_of(p.c.type), packing.bytes);
  if (!p.by_pointers()) return;
  for (PackedOperand* const copy : {&packing.a, &packing.b}) {
    if (!copy->used) continue;
    copy->pointers = packing.bytes;
    packing.bytes += whole_copy(static_cast<std::size_t>(packing.batch) * sizeof(void*));
  }
}

// Lays the copies out, in blocks as large as the limit allows; false where the least ones take more.
bool fit(Packing& packing, const Problem& p, std::size_t limit) {
  constexpr std::int64_t kLeastTile = 256;
  lay_out(packing, p);
  while (packing.bytes > limit) {
    if (p.fill != Fill::full) return false;  // blocks of a triangle are none
    const std::optional<Packing> smaller = in_smaller_blocks(packing, p, kLeastTile, kLeastTile);
    if (!smaller) return false;
    packing = *smaller;
  }
  return true;
}

}  // namespace

std::size_t packing_limit(const device::DeviceInfo& device) {
  return device.has_memory_pools ? std::min(device.memory_bytes / 128, kMostPackedBytes) : 0;
}

std::vector<Packing> packings_of(const Problem& p, const layout::ProblemFacts& facts,
                                 const device::DeviceInfo& device) {
  // Beyond this no device's limit reaches, and sizes below cannot overflow.
  constexpr double kMostBytes = 0x1p50;
  const double bytes =
      double(p.batch_count) * (double(p.m) * double(p.k) + double(p.k) * double(p.n) + double(p.m) * double(p.n)) * 16;
  if (!p.reads_inputs() || bytes > kMostBytes) return {};

  const bool vectors = size_of(p.a.type) <= 4;
  // Those who compute triangles, or find C by pointers, read it as it lies.
  const bool c =
      p.fill == Fill::full && !p.by_pointers() && p.reads_c() && lies_badly(facts.c, Axis::row, size_of(p.c.type) < 4);
  std::vector<Packing> all;
  const auto add = [&](bool copies_a, Axis a_axis, bool copies_b, Axis b_axis) {
    Packing packing;
    packing.a = {.used = copies_a, .contiguous = a_axis};
    packing.b = {.used = copies_b, .contiguous = b_axis};
    packing.c.used = c;
    packing.m = p.m, packing.n = p.n, packing.batch = p.batch_count;
    if (packing.any() && fit(packing, p, packing_limit(device))) all.push_back(packing);
  };
  if (p.a.type != DType::f32) {
    // Tensor cores read 16-bit operands along either axis, and want them aligned, one of them or both; doubles wherever
    // they start.
    const bool a = lies_badly(facts.a, p.a.op == Op::none ? Axis::row : Axis::col, vectors);
    const bool b = lies_badly(facts.b, p.b.op == Op::none ? Axis::row : Axis::col, vectors);
    const Axis a_axis = facts.a_facts.contiguous, b_axis = facts.b_facts.contiguous;
    add(a, a_axis, b, b_axis);
    if (a && b && size_of(p.a.type) == 2) {
      add(true, a_axis, false, b_axis);
      add(false, a_axis, true, b_axis);
    }
    return all;
  }
  // The FMA units are fed with columns of op(A) and rows of op(B), and whatever lies otherwise is turned on the way to
  // them.
  const bool a = lies_badly(facts.a, Axis::row, vectors), b = lies_badly(facts.b, Axis::col, vectors);
  add(a, Axis::row, b, Axis::col);
  if (a && b) {
    add(true, Axis::row, false, Axis::col);
    add(false, Axis::row, true, Axis::col);
  }
  if (p.compute != Compute::tf32) return all;
  // Tensor cores read TF32 along k, and one operand also along the axis that it shares with C: that is weighed where it
  // saves a copy.
  const bool a_off_k = lies_badly(facts.a, Axis::col, vectors), b_off_k = lies_badly(facts.b, Axis::row, vectors);
  if (a_off_k && !a) add(false, Axis::row, b_off_k, Axis::row);
  if (b_off_k && !b) add(a_off_k, Axis::col, false, Axis::col);
  add(a_off_k, Axis::col, b_off_k, Axis::row);
  return all;
}

std::optional<Packing> in_smaller_blocks(const Packing& packing, const Problem& p, std::int64_t tile_m,
                                         std::int64_t tile_n) {
  Packing smaller = packing;
  // An operand that needs no copy costs nothing: only the extents along which copies shrink are cut.
  const bool along_batch = (packing.a.used && !p.shares(p.a)) || (packing.b.used && !p.shares(p.b)) || packing.c.used;
  // Pointers are to the first elements of whole matrices.
  const bool along_m = !p.by_pointers() && (packing.a.used || packing.c.used);
  const bool along_n = !p.by_pointers() && (packing.b.used || packing.c.used);
  const auto half = [](std::int64_t extent, std::int64_t tile) { return round_up(parts(extent, 2), tile); };
  const std::int64_t half_m = along_m ? half(packing.m, tile_m) : packing.m;
  const std::int64_t half_n = along_n ? half(packing.n, tile_n) : packing.n;
  if (along_batch && packing.batch > 1) {
    smaller.batch = parts(packing.batch, 2);
  } else if (half_m < packing.m && (packing.m >= packing.n || half_n >= packing.n)) {
    smaller.m = half_m;
  } else if (half_n < packing.n) {
    smaller.n = half_n;
  } else {
    return std::nullopt;
  }
  lay_out(smaller, p);
  return smaller;
}

Problem packed_problem(const Packing& packing, const Problem& problem) {
  Problem block = problem;
  block.m = packing.m, block.n = packing.n, block.batch_count = packing.batch;
  const auto replace = [&](InputMatrix& x, const PackedOperand& copy) {
    if (!copy.used) return;
    x.data = reinterpret_cast<const void*>(problem.by_pointers() ? copy.pointers : copy.offset);
    x.op = copy.contiguous == Axis::row ? Op::none : Op::transpose;
    x.ld = copy.ld;
    x.step = 1;
    x.batch_stride = problem.by_pointers() ? 0 : copy.batch_stride;
  };
  replace(block.a, packing.a);
  // op(B) is k x n: its rows are along k.
  replace(block.b, packing.b);
  return block;
}

layout::ProblemFacts packed_facts(const Packing& packing, const Problem& block, const Problem& problem) {
  if (problem.by_pointers()) return layout::facts_on_vectors(block);
  Problem blocks = block;
  blocks.batch_count = problem.batch_count;
  layout::ProblemFacts facts = layout::gather_facts(blocks);
  if (packing.c.used) {
    facts.old_c.address = packing.c.offset;
    facts.old_c.col_stride = packing.c.ld;
    facts.old_c.batch_stride = packing.c.batch_stride;
  }
  return facts;
}

double blocks_of(const Packing& packing, const Problem& p) {
  return double(parts(p.m, packing.m)) * double(parts(p.n, packing.n)) * double(parts(p.batch_count, packing.batch));
}

namespace {

// Cycles of an SM to copy rows x cols elements of 16 bits: for a vector of each thread, whether the line has one there
// or not, and once more for warps in which one reaches beyond its line. By batches of perf/tune/measured/wild/*-flat-h.
double copy_cycles(const PackedOperand& copy, std::int64_t rows, std::int64_t cols) {
  using Pass = kernels::PackParams;
  constexpr double kCyclesOfVector = 1.28, kWarp = 32;
  if (!copy.used) return 0;
  const bool along_rows = copy.contiguous == layout::Axis::row;
  const std::int64_t length = along_rows ? rows : cols, lines = along_rows ? cols : rows;
  const std::int64_t bytes = 2 * length, vectors = Pass::tiles(bytes, Pass::kVectorBytes);
  const double tiles = double(Pass::tiles(vectors, lines, Pass::width_of(vectors, lines)));
  const double beyond = bytes % Pass::kVectorBytes == 0 ? 0 : std::min(1.0, kWarp / double(vectors));
  return tiles * Pass::kThreads * Pass::kLinesAtOnce * kCyclesOfVector * (1 + beyond);
}

}  // namespace

double packing_us(const Packing& packing, const Problem& p, const device::DeviceInfo& device) {
  // Of 16-bit operands as measured on an H100, from 128^3 to 1024^3.
  const double launch_us = size_of(p.a.type) == 2 ? 3.8 : 1.7;
  constexpr double kCopyShare = 1.15;  // of the rate of the memory: much of a copy stays in the L2
  // Blocks follow one another along m, back and forth: the copy of B is made once for each entry of the batch, that of
  // A as often as blocks go along n, but for the one that is there at the turn.
  const double blocks_n = double(parts(p.n, packing.n));
  const double times_a = packing.m == p.m ? 1.0 : blocks_n;
  const double batch = double(p.batch_count);
  const double times_of_a = (p.shares(p.a) ? 1.0 : batch) * times_a, times_b = p.shares(p.b) ? 1.0 : batch;
  const auto bytes = [&](const PackedOperand& copy, double elements, int element_bytes) {
    return copy.used ? 2 * elements * element_bytes : 0.0;
  };
  const double all = bytes(packing.a, double(p.m) * double(p.k) * times_of_a, size_of(p.a.type)) +
                     bytes(packing.b, double(p.k) * double(p.n) * times_b, size_of(p.b.type)) +
                     bytes(packing.c, double(p.m) * double(p.n) * batch, size_of(p.c.type));
  double cycles = 0;
  if (size_of(p.a.type) == 2)
    cycles = times_of_a * copy_cycles(packing.a, p.m, p.k) + times_b * copy_cycles(packing.b, p.k, p.n) +
             batch * copy_cycles(packing.c, p.m, p.n);
  return blocks_of(packing, p) * launch_us + std::max(all * 1e-6 / (kCopyShare * device.rates.memory_tbs),
                                                      cycles * 1e-3 / (device.sm_count * device.rates.sm_ghz));
}

std::string to_string(const Packing& packing) {
  if (!packing.any()) return {};
  return format(" packed=%s%s%s block=%lldx%lldx%lld packed_bytes=%zu", packing.a.used ? "A" : "",
                packing.b.used ? "B" : "", packing.c.used ? "C" : "", static_cast<long long>(packing.m),
                static_cast<long long>(packing.n), static_cast<long long>(packing.batch), packing.bytes);
}

}  // namespace xgemm::plan
