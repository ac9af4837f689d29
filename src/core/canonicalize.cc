// Reduces flags to N and T, row major to column major, and strides to leading dimensions.
#include "core/canonicalize.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "core/magnitude.h"

namespace xgemm {
namespace {

Op to_op(char flag) {
  return flag == 'N' || flag == 'n' ? Op::none : Op::transpose;
}

// op(A), op(B) or C by its strides.
struct Strided {
  std::int64_t rows, cols, row_stride, col_stride;

  Strided transposed() const { return {cols, rows, col_stride, row_stride}; }

  // Its leading dimension as a plain matrix (core/problem.h), where it is one. The stride of an axis of one element is
  // never used.
  std::optional<std::int64_t> plain_ld() const {
    const std::int64_t least = std::max<std::int64_t>(1, rows);
    if (rows > 1 && row_stride != 1) return std::nullopt;
    if (cols <= 1) return least;
    return col_stride >= least ? std::optional(col_stride) : std::nullopt;
  }
};

// How the columns of a matrix lie, or, where `transposed`, its rows.
struct Columns {
  bool transposed;
  std::int64_t ld, step;
};

// As a plain matrix where it is one: a single line along itself. Others along the axis with the shorter stride.
Columns columns_of(const Strided& x) {
  const std::optional<std::int64_t> columns = x.plain_ld(), rows = x.transposed().plain_ld();
  if (rows && (!columns || (x.rows <= 1 && x.cols > 1))) return {true, *rows, 1};
  if (columns) return {false, *columns, 1};
  return magnitude(x.col_stride) < magnitude(x.row_stride) ? Columns{true, x.row_stride, x.col_stride}
                                                           : Columns{false, x.col_stride, x.row_stride};
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
                static_cast<int>(Compute::fp32_emulated) == XGEMM_MATH_FP32_EMULATED &&
                static_cast<int>(Compute::tf32) == XGEMM_MATH_TF32);
  if (math_mode < XGEMM_MATH_STRICT || math_mode > XGEMM_MATH_TF32) return std::nullopt;
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
  // Other types than fp32 know one mode, as do triangles: they share the plans of strict calls.
  if (args.type == XGEMM_F32 && p.fill == Fill::full) p.compute = compute;
  // The strides of a single product are unchecked and mean nothing: no pointer may be stepped by them.
  const bool batched = args.batch_count > 1;
  const bool by_pointers = args.batch_kind == XGEMM_BATCH_POINTERS;
  if (by_pointers) p.batch_kind = BatchKind::pointers;
  const bool strided = batched && !by_pointers;
  const DType type = *dtype_of(args.type);
  p.alpha = to_scalar(args.alpha, type, scalars_on_device, 1);
  p.beta = to_scalar(args.beta, type, scalars_on_device, 0);
  p.a = {type, args.a, to_op(args.transa), args.lda, strided ? args.stride_a : 0};
  p.b = {type, args.b, to_op(args.transb), args.ldb, strided ? args.stride_b : 0};
  p.c = {*dtype_of_c(args.type_c, type), args.c, args.ldc, strided ? args.stride_c : 0};
  Epilogue& e = p.epilogue;
  e.activation = static_cast<Activation>(args.activation);
  if (args.bias != nullptr) {
    e.bias_along = args.bias_along == XGEMM_BIAS_OF_ROWS ? Along::rows : Along::columns;
    e.bias = args.bias;
  }
  e.row_scales = args.row_scales;
  e.column_scales = args.column_scales;
  const std::int64_t stride_old_c = batched ? args.stride_old_c : 0;
  const bool row_major = args.layout == XGEMM_ROW_MAJOR;
  const std::int64_t lines = row_major ? args.m : args.n;
  const bool is_c = !by_pointers && args.old_c == args.c && (lines <= 1 || args.ld_old_c == args.ldc) &&
                    stride_old_c == p.c.batch_stride;
  if (args.old_c != nullptr && !is_c && p.reads_c())
    e.old_c = args.old_c, e.ld_old_c = args.ld_old_c, e.stride_old_c = stride_old_c;
  if (args.aux != nullptr) e.aux = args.aux, e.ld_aux = args.ld_aux, e.stride_aux = batched ? args.stride_aux : 0;
  if (p.compute == Compute::fp32_emulated && p.reads_inputs())
    p.a.prepared = args.prepared_a, p.b.prepared = args.prepared_b;

  // Whether the product is that of the transposes.
  bool turned = row_major;
  if (args.strided & XGEMM_STRIDED_C) {
    Strided c = {args.m, args.n, args.row_stride_c, args.column_stride_c};
    if (e.old_c == nullptr && e.aux == nullptr) turned = columns_of(c).transposed;
    if (turned) c = c.transposed();
    const Columns columns = columns_of(c);
    p.c.ld = columns.transposed ? c.col_stride : columns.ld;
    p.c.step = columns.transposed ? c.row_stride : columns.step;
  } else if (const std::int64_t rows = row_major ? args.n : args.m; rows == 1 && lines > 1 && args.ldc == 1) {
    // A row without gaps is a column as well: kernels store it in vectors, and know one kind of vectors.
    if (e.old_c == nullptr && e.aux == nullptr && p.compute != Compute::fp32_emulated) {
      turned = !turned;
      p.c.ld = lines;
    }
  }
  const auto describe = [&](InputMatrix& x, Strided stored, xgemm_strided bit) {
    if ((args.strided & bit) == 0) {
      if (turned != row_major) x.op = x.op == Op::none ? Op::transpose : Op::none;
    } else if (p.reads_inputs()) {
      const Columns columns = columns_of((x.op == Op::transpose) != turned ? stored.transposed() : stored);
      x.op = columns.transposed ? Op::transpose : Op::none;
      x.ld = columns.ld, x.step = columns.step;
    }
    // Of operands that are not read no stride is checked, and the pointer may be null.
    if (!p.reads_inputs()) x.ld = std::max<std::int64_t>({1, stored.rows, stored.cols}), x.batch_stride = 0;
  };
  const auto stored = [](char flag, std::int64_t rows, std::int64_t cols, std::int64_t row_stride,
                         std::int64_t col_stride) {
    const bool plain = to_op(flag) == Op::none;
    return Strided{plain ? rows : cols, plain ? cols : rows, row_stride, col_stride};
  };
  describe(p.a, stored(args.transa, args.m, args.k, args.row_stride_a, args.column_stride_a), XGEMM_STRIDED_A);
  describe(p.b, stored(args.transb, args.k, args.n, args.row_stride_b, args.column_stride_b), XGEMM_STRIDED_B);
  if (turned) {
    std::swap(p.a, p.b);
    std::swap(p.m, p.n);
    std::swap(e.row_scales, e.column_scales);
    if (e.bias != nullptr) e.bias_along = e.bias_along == Along::rows ? Along::columns : Along::rows;
    p.fill = transposed(p.fill);
  }
  // So is an input of one row.
  const auto stand_up = [&](InputMatrix& x, std::int64_t rows, std::int64_t length) {
    if (rows != 1 || x.ld != 1 || length <= 1 || !p.reads_inputs() || p.compute == Compute::fp32_emulated) return;
    x.op = x.op == Op::none ? Op::transpose : Op::none;
    x.ld = length, x.step = 1;
  };
  stand_up(p.a, p.a_rows(), p.a_cols());
  stand_up(p.b, p.b_rows(), p.b_cols());
  return p;
}

}  // namespace xgemm
