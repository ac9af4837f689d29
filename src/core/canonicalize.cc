// Reduces flags to N and T and row major to column major.
#include "core/canonicalize.h"

#include <iterator>
#include <utility>

namespace xgemm {
namespace {

Op to_op(char flag) {
  return flag == 'N' || flag == 'n' ? Op::none : Op::transpose;
}

Scalar to_scalar(const void* pointer, DType type, bool on_device, double when_null) {
  if (pointer == nullptr) return {when_null, nullptr};
  return on_device ? Scalar{0, pointer} : Scalar{scalar_at(pointer, type), nullptr};
}

}  // namespace

double scalar_at(const void* pointer, DType type) {
  return type == DType::f64 ? *static_cast<const double*>(pointer) : *static_cast<const float*>(pointer);
}

std::optional<DType> dtype_of(std::int32_t type) {
  static_assert(static_cast<int>(DType::f32) == XGEMM_F32 && static_cast<int>(DType::f16) == XGEMM_F16 &&
                static_cast<int>(DType::bf16) == XGEMM_BF16 && static_cast<int>(DType::f64) == XGEMM_F64);
  if (type < 0 || type >= std::ssize(kTypes)) return std::nullopt;
  return static_cast<DType>(type);
}

std::optional<DType> dtype_of_c(std::int32_t type_c, DType type) {
  static_assert(XGEMM_C_F32 == XGEMM_F32 + 1 && XGEMM_C_F16 == XGEMM_F16 + 1 && XGEMM_C_BF16 == XGEMM_BF16 + 1 &&
                XGEMM_C_F64 == XGEMM_F64 + 1);
  if (type_c == XGEMM_C_SAME) return type;
  return type_c > 0 ? dtype_of(type_c - 1) : std::nullopt;
}

std::optional<Fill> fill_of(std::int32_t fill) {
  static_assert(static_cast<int>(Fill::full) == XGEMM_FILL_FULL && static_cast<int>(Fill::lower) == XGEMM_FILL_LOWER &&
                static_cast<int>(Fill::upper) == XGEMM_FILL_UPPER);
  if (fill < XGEMM_FILL_FULL || fill > XGEMM_FILL_UPPER) return std::nullopt;
  return static_cast<Fill>(fill);
}

std::optional<Compute> compute_of(std::int32_t math_mode) {
  static_assert(static_cast<int>(Compute::strict) == XGEMM_MATH_STRICT &&
                static_cast<int>(Compute::fp32_emulated) == XGEMM_MATH_FP32_EMULATED);
  if (math_mode != XGEMM_MATH_STRICT && math_mode != XGEMM_MATH_FP32_EMULATED) return std::nullopt;
  return static_cast<Compute>(math_mode);
}

bool is_activation(std::int32_t activation) {
  static_assert(static_cast<int>(Activation::none) == XGEMM_NO_ACTIVATION &&
                static_cast<int>(Activation::relu) == XGEMM_RELU && static_cast<int>(Activation::gelu) == XGEMM_GELU &&
                static_cast<int>(Activation::gelu_tanh) == XGEMM_GELU_TANH &&
                static_cast<int>(Activation::silu) == XGEMM_SILU);
  return activation >= XGEMM_NO_ACTIVATION && activation <= XGEMM_SILU;
}

Problem canonicalize(const xgemm_args& args, bool scalars_on_device, Compute compute) {
  Problem p;
  if (args.math_mode != 0) compute = *compute_of(args.math_mode - 1);
  p.m = args.m;
  p.n = args.n;
  p.k = args.k;
  p.batch_count = args.batch_count;
  p.fill = *fill_of(args.fill);
  // Other types than fp32 know one mode, and triangles are not emulated: they share the plans of strict calls.
  if (args.type == XGEMM_F32 && p.fill == Fill::full) p.compute = compute;
  // The strides of a single product are unchecked and mean nothing: no pointer may be stepped by them.
  const bool batched = args.batch_count > 1;
  const DType type = *dtype_of(args.type);
  p.alpha = to_scalar(args.alpha, type, scalars_on_device, 1);
  p.beta = to_scalar(args.beta, type, scalars_on_device, 0);
  p.a = {type, args.a, to_op(args.transa), args.lda, batched ? args.stride_a : 0};
  p.b = {type, args.b, to_op(args.transb), args.ldb, batched ? args.stride_b : 0};
  p.c = {*dtype_of_c(args.type_c, type), args.c, args.ldc, batched ? args.stride_c : 0};
  Epilogue& e = p.epilogue;
  e.activation = static_cast<Activation>(args.activation);
  if (args.bias != nullptr) {
    e.bias_along = args.bias_along == XGEMM_BIAS_OF_ROWS ? Along::rows : Along::columns;
    e.bias = args.bias;
  }
  e.row_scales = args.row_scales;
  e.column_scales = args.column_scales;
  const std::int64_t stride_old_c = batched ? args.stride_old_c : 0;
  const std::int64_t lines = args.layout == XGEMM_ROW_MAJOR ? args.m : args.n;
  const bool is_c =
      args.old_c == args.c && (lines <= 1 || args.ld_old_c == args.ldc) && stride_old_c == p.c.batch_stride;
  if (args.old_c != nullptr && !is_c && p.reads_c())
    e.old_c = args.old_c, e.ld_old_c = args.ld_old_c, e.stride_old_c = stride_old_c;
  if (p.compute == Compute::fp32_emulated && p.reads_inputs())
    p.a.prepared = args.prepared_a, p.b.prepared = args.prepared_b;
  // Nor by those of operands that are not read and may be null.
  if (!p.reads_inputs()) p.a.batch_stride = p.b.batch_stride = 0;
  if (args.layout == XGEMM_ROW_MAJOR) {
    std::swap(p.a, p.b);
    std::swap(p.m, p.n);
    std::swap(e.row_scales, e.column_scales);
    if (e.bias != nullptr) e.bias_along = e.bias_along == Along::rows ? Along::columns : Along::rows;
    p.fill = transposed(p.fill);
  }
  return p;
}

}  // namespace xgemm
