// Types, architectures, contiguous axes and alignment.
#include "kernels/common/legality.h"

#include "core/status.h"

namespace xgemm::kernels {
namespace {

using layout::StridedOperand;

// An operand whose lines have a single element may be walked along either axis.
bool walks(const StridedOperand& x, Axis axis) {
  const Axis line = layout::other(axis);
  return (x.stride(axis) == 1 || x.extent(axis) <= 1) && (x.extent(line) <= 1 || x.stride(line) >= x.extent(axis));
}

bool strides_fit_tma(const StridedOperand& x, Axis axis) {
  constexpr double kMostBytes = 0x1p40;
  const Axis line = layout::other(axis);
  const auto fits = [&](std::int64_t count, std::int64_t stride) {
    return count <= 1 || double(stride) * x.element_bytes < kMostBytes;
  };
  return fits(x.extent(line), x.stride(line)) && fits(x.batch_count, x.batch_stride);
}

std::string alignment_text(const char* name, int vector, const StridedOperand& x, Axis axis) {
  return format(
      "it needs the pointer, leading dimension and batch stride of %s to be multiples of %d bytes, and they are of %d",
      name, vector * x.element_bytes, divisibility_along(x, axis));
}

}  // namespace

// The facts' divisibility speaks of the operand's own contiguous axis; where an instance walks the other one (which has
// one element: see walks), the contiguous axis is what it steps from line to line by.
int divisibility_along(const StridedOperand& x, Axis axis) {
  const Axis line = layout::other(axis);
  std::uint64_t steps = x.address;
  const auto add_step = [&](std::int64_t stride) {
    steps |= static_cast<std::uint64_t>(stride) * static_cast<std::uint64_t>(x.element_bytes);
  };
  if (x.extent(line) > 1) add_step(x.stride(line));
  if (x.batch_count > 1) add_step(x.batch_stride);
  return layout::detail::power_of_two_divisor(steps);
}

bool c_is_on(const Request& request, int bytes) {
  const Problem& p = request.problem;
  return divisibility_along(request.facts.c, Axis::row) >= bytes && p.m * size_of(p.c.type) % bytes == 0;
}

Walks Walks::of(const StridedOperand& x) {
  return {{walks(x, Axis::row), walks(x, Axis::col)},
          {divisibility_along(x, Axis::row), divisibility_along(x, Axis::col)},
          {strides_fit_tma(x, Axis::row), strides_fit_tma(x, Axis::col)}};
}

Obstacle obstacle(const TileConfig& c, const Request& request) {
  const Problem& problem = request.problem;
  const device::DeviceInfo& device = request.device;
  const auto aligned = [](const Walks& x, Axis axis, int vector, DType type) {
    return x.divisibility(axis) >= vector * size_of(type);
  };
  if (c.types() != problem.types()) return Obstacle::type;
  if (c.compute != Compute::strict && c.compute != problem.compute) return Obstacle::compute;
  if (!c.runs_on(device.compute_capability) || c.min_compute_capability > device.architecture())
    return Obstacle::architecture;
  // What the others take, every GPU that they are for has.
  if (c.type == DType::f64 && c.on_tensor_cores() && slices_bytes(c) > device.max_shared_bytes_per_block)
    return Obstacle::shared_memory;
  if (problem.reads_inputs() && !c.any_strides) {  // what most instances fail on goes first
    if (!request.a.along(c.a_contiguous)) return Obstacle::axis_a;
    if (!request.b.along(c.b_contiguous)) return Obstacle::axis_b;
  }
  if (!aligned(request.c, Axis::row, c.vector_c, c.type_c)) return Obstacle::alignment_c;
  if (problem.reads_c() && !aligned(request.old_c, Axis::row, c.vector_old_c, c.type_c))
    return Obstacle::alignment_old_c;
  if (!problem.reads_inputs()) return Obstacle::none;
  if (!aligned(request.a, c.a_contiguous, c.vector_a(), c.type)) return Obstacle::alignment_a;
  if (!aligned(request.b, c.b_contiguous, c.vector_b(), c.type)) return Obstacle::alignment_b;
  return Obstacle::none;
}

std::string to_string(Obstacle obstacle, const TileConfig& c, const Request& request) {
  const layout::ProblemFacts& facts = request.facts;
  const device::DeviceInfo& device = request.device;
  switch (obstacle) {
    case Obstacle::none:
      return {};
    case Obstacle::type:
      return format("it computes %s, and the call is %s", to_string(c.types()).c_str(),
                    to_string(request.problem.types()).c_str());
    case Obstacle::compute:
      return format("it is for the math mode %s", name_of(c.compute));
    case Obstacle::architecture:
      if (c.runs_on(device.compute_capability))
        return format("it needs compute capability %d.%d, and this build has code for %d.%d here",
                      c.min_compute_capability / 10, c.min_compute_capability % 10, device.architecture() / 10,
                      device.architecture() % 10);
      return format("it needs compute capability %d.%d%s, and this GPU has %d.%d", c.min_compute_capability / 10,
                    c.min_compute_capability % 10, c.later_architectures ? "" : " and no other",
                    device.compute_capability / 10, device.compute_capability % 10);
    case Obstacle::shared_memory:
      return format("it needs %d KiB of shared memory, and a CTA of this GPU has %d", slices_bytes(c) / 1024,
                    device.max_shared_bytes_per_block / 1024);
    case Obstacle::axis_a:
      return format("it is for transa = %s", c.a_contiguous == Axis::row ? "N" : "T");
    case Obstacle::axis_b:
      return format("it is for transb = %s", c.b_contiguous == Axis::row ? "N" : "T");
    case Obstacle::alignment_a:
      return alignment_text("A", c.vector_a(), facts.a, c.a_contiguous);
    case Obstacle::alignment_b:
      return alignment_text("B", c.vector_b(), facts.b, c.b_contiguous);
    case Obstacle::alignment_c:
      return alignment_text("C", c.vector_c, facts.c, Axis::row);
    case Obstacle::alignment_old_c:
      return alignment_text("C", c.vector_old_c, facts.old_c, Axis::row);
  }
  return "?";
}

}  // namespace xgemm::kernels
