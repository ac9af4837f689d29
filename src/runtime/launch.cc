// GemmParams from a Problem, and the launches of a plan: the product, and the copies that it may need.
#include "runtime/launch.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <type_traits>

#include "device/capture_mode.h"
#include "device/cuda_status.h"
#include "device/max_devices.h"
#include "kernels/common/lone_line.h"
#include "kernels/common/schedule_pieces.h"
#include "kernels/fp16x3/split.h"
#include "kernels/launchers.h"
#include "kernels/pack/pack.h"
#include "plan/planner.h"
#include "runtime/prepared.h"
#include "runtime/workspace.h"

namespace xgemm::runtime {
namespace {

// lines: as stored.
kernels::ConstMatrixArg input_arg(InputMatrix x, std::int64_t lines) {
  x.ld = kernels::stride_of_lines(x.ld, lines);
  return {x.data, x.row_stride(), x.col_stride(), x.batch_stride};
}

// Where sums lie in a workspace that begins with the word of a Condition; those of a fallback over the parts of
// operands that it does not read.
constexpr std::size_t kSumsOffset = 256;

// Of the type in which sums are kept.
kernels::Factor factor_of(const Scalar& x, DType type) {
  return type == DType::f64 ? kernels::Factor::of(x.value, x.device)
                            : kernels::Factor::of(static_cast<float>(x.value), x.device);
}

kernels::GemmParams params_of(const Problem& p) {
  kernels::GemmParams params = {{factor_of(p.alpha, p.sums()), factor_of(p.beta, p.sums()), p.fill},
                                input_arg(p.a, p.a_cols()),
                                input_arg(p.b, p.b_cols()),
                                {p.c.data, 1, p.c.ld, p.c.batch_stride},
                                p.m,
                                p.n,
                                p.k,
                                p.batch_count};
  if (p.by_pointers()) {
    params.c.batch_stride = kernels::kStrideOfPointers;
    if (p.reads_inputs()) params.a.batch_stride = params.b.batch_stride = kernels::kStrideOfPointers;
  }
  const Epilogue& e = p.epilogue;
  params.finishing = {e.bias, e.bias_along == Along::rows, e.activation, static_cast<const float*>(e.row_scales),
                      static_cast<const float*>(e.column_scales)};
  return params;
}

// Enqueues a schedule with room for some or all of its sums.
Status enqueue(const plan::Plan& plan, const kernels::GemmParams& params, const kernels::Schedule& schedule, void* room,
               std::size_t room_bytes, const LaunchSettings& settings) {
  const kernels::Launcher launcher = kernels::launcher_of(plan.kernel);
  kernels::SchedulePieces pieces(schedule, room_bytes);
  for (kernels::Schedule piece; pieces.next(&piece);)
    XGEMM_RETURN_IF_FAILED(device::launch_status(
        launcher(params, piece, room, static_cast<cudaStream_t>(settings.stream)), plan::name_of(plan)));
  return kOk;
}

// Memory for the copies of a block and the sums of its parts. Where there is too little, blocks shrink as far as that
// leaves every bit of the result as it is.
class PackedWorkspace {
 public:
  PackedWorkspace(const plan::Plan& plan, const Problem& problem, const device::DeviceInfo& device,
                  const LaunchSettings& settings)
      : packing_(plan.packing) {
    const kernels::KernelInfo& kernel = kernels::info(plan.kernel);
    while (true) {
      const std::size_t sums = plan.schedule.workspace_bytes, least = kernels::least_workspace(plan.schedule);
      memory_.emplace(device.ordinal, settings, packing_.bytes + sums, packing_.bytes + least);
      if (memory_->data() != nullptr || !plan.may_shrink_blocks()) return;
      const auto smaller =
          plan::in_smaller_blocks(packing_, problem, std::int64_t{kernel.config.cta_m} * plan.schedule.cluster.m,
                                  std::int64_t{kernel.config.cta_n} * plan.schedule.cluster.n);
      if (!smaller) return;
      packing_ = *smaller;
    }
  }

  const plan::Packing& packing() const { return packing_; }
  const Workspace& memory() const { return *memory_; }
  char* copies() const { return static_cast<char*>(memory_->data()); }
  void* sums() const { return copies() + packing_.bytes; }
  std::size_t sums_bytes() const { return memory_->bytes() - packing_.bytes; }

 private:
  plan::Packing packing_;
  std::optional<Workspace> memory_;
};

// The copy of an operand, and what it is a copy of.
kernels::PackJob copy_job(const kernels::ConstMatrixArg& source, std::int64_t rows, std::int64_t cols,
                          std::int64_t batch, const plan::PackedOperand& copy, char* copies) {
  const bool along_rows = copy.contiguous == layout::Axis::row;
  return {.source = source.data,
          .destination = copies + copy.offset,
          .length = along_rows ? rows : cols,
          .lines = along_rows ? cols : rows,
          .batch_count = source.batch_stride == 0 ? 1 : batch,
          .step = along_rows ? source.row_stride : source.col_stride,
          .line_stride = along_rows ? source.col_stride : source.row_stride,
          .batch_stride = source.batch_stride,
          .ld = copy.ld,
          .ld_batch = copy.batch_stride,
          .pointers = source.by_pointers(),
          .found = source.by_pointers() ? reinterpret_cast<void**>(copies + copy.pointers) : nullptr};
}

// In its place. by_pointers: as the operand is found.
kernels::ConstMatrixArg copy_arg(const plan::PackedOperand& copy, char* copies, bool by_pointers) {
  const bool along_rows = copy.contiguous == layout::Axis::row;
  return {copies + (by_pointers ? copy.pointers : copy.offset), along_rows ? 1 : copy.ld, along_rows ? copy.ld : 1,
          by_pointers ? kernels::kStrideOfPointers : copy.batch_stride};
}

// From an element of an entry on; of matrices that are found by pointers, from the first one.
template <class Matrix>
Matrix moved(Matrix x, std::int64_t row, std::int64_t col, std::int64_t entry, int element_bytes) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(x.data)>>, const char, char>;
  x.data = static_cast<Byte*>(x.data) +
           (x.by_pointers() ? entry * std::int64_t{sizeof(void*)}
                            : (row * x.row_stride + col * x.col_stride + entry * x.batch_stride) * element_bytes);
  return x;
}

kernels::Finishing moved(kernels::Finishing x, std::int64_t row, std::int64_t col, int bias_bytes) {
  if (x.bias != nullptr) x.bias = static_cast<const char*>(x.bias) + (x.bias_of_rows ? row : col) * bias_bytes;
  if (x.row_scales != nullptr) x.row_scales += row;
  if (x.column_scales != nullptr) x.column_scales += col;
  return x;
}

// Block after block of C: the copies that it needs and that are not there, then the product. Blocks follow one another
// along m, back and forth, so that at a turn the rows of op(A) are there.
Status launch_packed(const plan::Plan& plan, const Problem& problem, const device::DeviceInfo& device,
                     const LaunchSettings& settings) {
  const PackedWorkspace workspace(plan, problem, device, settings);
  if (workspace.copies() == nullptr)
    return workspace.memory().failure(workspace.packing().bytes, "aligned copies of operands");
  const plan::Packing& packing = workspace.packing();
  const kernels::GemmParams all = params_of(problem);
  const int in_bytes = size_of(problem.a.type), c_bytes = size_of(problem.c.type);
  std::int64_t a_row = -1, a_entry = -1, b_col = -1, b_entry = -1;  // of the copies that are there
  for (std::int64_t entry = 0; entry < problem.batch_count; entry += packing.batch) {
    bool forward = true;
    for (std::int64_t col = 0; col < problem.n; col += packing.n, forward = !forward) {
      const std::int64_t last_row = (problem.m - 1) / packing.m * packing.m;
      for (std::int64_t step = 0; step <= last_row; step += packing.m) {
        const std::int64_t row = forward ? step : last_row - step;
        Problem block = problem;
        block.m = std::min(packing.m, problem.m - row);
        block.n = std::min(packing.n, problem.n - col);
        block.batch_count = std::min(packing.batch, problem.batch_count - entry);
        kernels::GemmParams params = all;
        params.m = block.m, params.n = block.n, params.batch_count = block.batch_count;
        params.a = moved(all.a, row, 0, entry, in_bytes);
        params.b = moved(all.b, 0, col, entry, in_bytes);
        params.c = moved(all.c, row, col, entry, c_bytes);
        params.finishing = moved(all.finishing, row, col, c_bytes);

        kernels::PackParams copies{.element_bytes = in_bytes};
        if (packing.a.used) {
          const std::int64_t wanted = all.a.batch_stride == 0 ? 0 : entry;
          if (a_row != row || a_entry != wanted)
            copies.add(copy_job(params.a, block.m, problem.k, block.batch_count, packing.a, workspace.copies()));
          a_row = row, a_entry = wanted;
          params.a = copy_arg(packing.a, workspace.copies(), all.a.by_pointers());
        }
        if (packing.b.used) {
          const std::int64_t wanted = all.b.batch_stride == 0 ? 0 : entry;
          if (b_col != col || b_entry != wanted)
            copies.add(copy_job(params.b, problem.k, block.n, block.batch_count, packing.b, workspace.copies()));
          b_col = col, b_entry = wanted;
          params.b = copy_arg(packing.b, workspace.copies(), all.b.by_pointers());
        }
        if (packing.c.used) {  // of 16 bits, as A and B are then
          const kernels::ConstMatrixArg c = {params.c.data, params.c.row_stride, params.c.col_stride,
                                             params.c.batch_stride};
          copies.add(copy_job(c, block.m, block.n, block.batch_count, packing.c, workspace.copies()));
          params.c_copy = copy_arg(packing.c, workspace.copies(), false);
        }
        XGEMM_RETURN_IF_FAILED(device::launch_status(
            kernels::launch_pack(copies, static_cast<cudaStream_t>(settings.stream)), "the copies of operands"));
        XGEMM_RETURN_IF_FAILED(enqueue(plan, params, plan::schedule_of_block(plan, block, device), workspace.sums(),
                                       workspace.sums_bytes(), settings));
      }
    }
  }
  return kOk;
}

}  // namespace

const device::DeviceInfo& completed(const device::DeviceInfo& device) {
#if !defined(XGEMM_NO_SM90A)
  static std::array<std::once_flag, device::kMaxDevices> once;
  static std::array<device::DeviceInfo, device::kMaxDevices> known;
  if (device.compute_capability != 90 || device.ordinal < 0 || device.ordinal >= device::kMaxDevices) return device;
  device::DeviceInfo& own = known[static_cast<std::size_t>(device.ordinal)];
  std::call_once(once[static_cast<std::size_t>(device.ordinal)], [&] {
    own = device;
    const device::RelaxedCaptureGuard relaxed;  // the first call may well be one that is captured
    const device::DeviceGuard guard(device.ordinal);
    if (guard.status() != cudaSuccess || kernels::ask_resident_clusters(own) != cudaSuccess) {
      own = device;
      device::forget_last_error();
    }
  });
  return own;
#else
  return device;
#endif
}

Status launch(const plan::Plan& plan, const Problem& problem, const device::DeviceInfo& device,
              const LaunchSettings& settings) {
  const device::RelaxedCaptureGuard relaxed;
  const device::DeviceGuard guard(device.ordinal);
  XGEMM_RETURN_IF_FAILED(device::cuda_status(guard.status(), "cudaSetDevice"));
  if (plan.packing.any()) return launch_packed(plan, problem, completed(device), settings);
  if (plan.schedule.workspace_bytes == 0) return enqueue(plan, params_of(problem), plan.schedule, nullptr, 0, settings);
  // With less memory than all sums need the same sums are made in several launches, and from fewer parts of split
  // operands at a time: the bits of a product do not depend on what is free.
  kernels::GemmParams params = params_of(problem);
  if (plan.has_fallback)
    params =
        kernels::in_parts(params, parts_of(problem.a, lines_of_a(problem)), parts_of(problem.b, lines_of_b(problem)));
  const plan::Plan fallback = plan.has_fallback ? plan::fallback_of(plan, problem, completed(device)) : plan::Plan{};
  std::size_t wanted = plan.schedule.workspace_bytes, least = kernels::least_workspace(plan.schedule);
  if (plan.has_fallback) {
    wanted = std::max(wanted, kSumsOffset + fallback.schedule.workspace_bytes);
    least = std::max(kernels::SplitBlocks::least_bytes(kernels::split_shape(params)),
                     kSumsOffset + kernels::least_workspace(fallback.schedule));
  }
  const Workspace workspace(device.ordinal, settings, wanted, least);
  if (workspace.data() == nullptr) return workspace.failure(least, format("what %s keeps there", plan::name_of(plan)));
  if (!plan.has_fallback) return enqueue(plan, params, plan.schedule, workspace.data(), workspace.bytes(), settings);
  kernels::Schedule schedule = plan.schedule;
  schedule.workspace_bytes = std::min(schedule.workspace_bytes, workspace.bytes());
  XGEMM_RETURN_IF_FAILED(enqueue(plan, params, schedule, workspace.data(), schedule.workspace_bytes, settings));
  params = params_of(problem);
  params.condition = {.word = static_cast<unsigned*>(workspace.data()), .value = 0, .equal = false};
  return enqueue(fallback, params, fallback.schedule, static_cast<char*>(workspace.data()) + kSumsOffset,
                 workspace.bytes() - kSumsOffset, settings);
}

}  // namespace xgemm::runtime
