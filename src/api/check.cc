// Argument checks: one rule a line, in the order of the reference BLAS.
#include "api/check.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "core/canonicalize.h"
#include "core/dtype.h"
#include "core/magnitude.h"

namespace xgemm::api {
namespace {

bool is_flag(char flag) {
  switch (flag) {
    case 'N':
    case 'n':
    case 'T':
    case 't':
    case 'C':
    case 'c':
      return true;
    default:
      return false;
  }
}

bool is_transposed(char flag) {
  return flag != 'N' && flag != 'n';
}

// Flags may be any byte: print what can be read.
std::string printable(char flag) {
  return flag >= 32 && flag < 127 ? format("'%c'", flag) : format("'\\x%02x'", static_cast<unsigned char>(flag));
}

long long wide(std::int64_t value) {
  return value;
}

// Rows and columns of a matrix as its leading dimension sees them: `lines` lines of `extent` contiguous elements.
struct Stored {
  std::int64_t extent;
  std::int64_t lines;
  const char* rule;  // the extent's name
};

struct StoredMatrices {
  Stored a, b, c;
};

StoredMatrices stored(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, xgemm_layout layout) {
  const bool row_major = layout == XGEMM_ROW_MAJOR;
  // In row major the lines are rows: the roles of rows and columns swap.
  const bool a_lines_are_k = is_transposed(transa) == row_major;
  const bool b_lines_are_n = is_transposed(transb) == row_major;
  return {a_lines_are_k ? Stored{m, k, "m"} : Stored{k, m, "k"}, b_lines_are_n ? Stored{k, n, "k"} : Stored{n, k, "n"},
          row_major ? Stored{n, m, "n"} : Stored{m, n, "m"}};
}

constexpr std::int64_t max1(std::int64_t x) {
  return std::max<std::int64_t>(1, x);
}

// A matrix by its strides (xgemm_args::strided).
struct Strides {
  const char* name;
  xgemm_strided bit;
  xgemm_argument argument;
  std::int64_t row, column;
};

std::array<Strides, 3> strides_of(const xgemm_args& args) {
  return {{{"a", XGEMM_STRIDED_A, XGEMM_ARG_LDA, args.row_stride_a, args.column_stride_a},
           {"b", XGEMM_STRIDED_B, XGEMM_ARG_LDB, args.row_stride_b, args.column_stride_b},
           {"c", XGEMM_STRIDED_C, XGEMM_ARG_LDC, args.row_stride_c, args.column_stride_c}}};
}

bool is_strided(const xgemm_args& args, xgemm_strided bit) {
  return (args.strided & bit) != 0;
}

// Whether two elements share an address: whether (di, dj) != (0, 0) within the extents solves
// di * row stride + dj * column stride = 0. The solutions are the multiples of (column stride, -row stride) / gcd.
bool overlaps_itself(const Strides& x, std::int64_t rows, std::int64_t columns) {
  const std::uint64_t row = magnitude(x.row), column = magnitude(x.column), common = std::gcd(row, column);
  if (common == 0) return rows > 1 || columns > 1;
  return column / common < static_cast<std::uint64_t>(rows) && row / common < static_cast<std::uint64_t>(columns);
}

Status check_strides(const xgemm_args& args) {
  constexpr std::int32_t kAll = XGEMM_STRIDED_A | XGEMM_STRIDED_B | XGEMM_STRIDED_C;
  if ((args.strided & ~kAll) != 0)
    return illegal(XGEMM_ARG_STRIDED, format("strided = %d, but a sum of XGEMM_STRIDED_A = 1, XGEMM_STRIDED_B = 2, "
                                             "XGEMM_STRIDED_C = 4 is required",
                                             args.strided));
  for (const Strides& x : strides_of(args))
    if (!is_strided(args, x.bit) && (x.row != 0 || x.column != 0))
      return illegal(XGEMM_ARG_STRIDED,
                     format("row_stride_%s = %lld and column_stride_%s = %lld, but strided = %d does not say that they "
                            "are given: 0 is required",
                            x.name, wide(x.row), x.name, wide(x.column), args.strided));
  const Strides c = strides_of(args)[2];
  if (is_strided(args, c.bit) && args.m > 0 && args.n > 0 && overlaps_itself(c, args.m, args.n))
    return illegal(XGEMM_ARG_LDC, format("row_stride_c = %lld and column_stride_c = %lld, by which two of the %lld x "
                                         "%lld elements of C share an address",
                                         wide(c.row), wide(c.column), wide(args.m), wide(args.n)));
  return kOk;
}

Status illegal_leading_dimension(xgemm_argument argument, const char* name, std::int64_t ld, const Stored& matrix) {
  return illegal(argument, format("%s = %lld, but %s >= max(1, %s) = %lld is required", name, wide(ld), name,
                                  matrix.rule, wide(max1(matrix.extent))));
}

// The matrices of a batch.
struct Batch {
  const char* stride_name;
  xgemm_argument argument;
  std::int64_t stride, count;
  int element_size;

  std::int64_t most_elements() const { return INT64_MAX / element_size; }
};

// The last byte that is touched of a batch, of whose matrices one reaches so far, must have a 63-bit offset.
Status check_batch_reach(__int128 one, const Batch& batch) {
  if (one + static_cast<__int128>(batch.stride) * (batch.count - 1) > batch.most_elements())
    return illegal(batch.argument,
                   format("%s = %lld makes the batch of %lld reach past 2^63 - 1 bytes (%d bytes an element)",
                          batch.stride_name, wide(batch.stride), wide(batch.count), batch.element_size));
  return kOk;
}

// And that of a matrix.
Status check_reach(const char* ld_name, xgemm_argument argument, const Stored& matrix, std::int64_t ld,
                   const Batch& batch) {
  const __int128 one = static_cast<__int128>(ld) * matrix.lines;
  if (one > batch.most_elements())
    return illegal(argument,
                   format("%s = %lld makes the matrix reach past 2^63 - 1 bytes (%lld lines, %d bytes an element)",
                          ld_name, wide(ld), wide(matrix.lines), batch.element_size));
  return check_batch_reach(one, batch);
}

Status check_reach(const Strides& x, std::int64_t rows, std::int64_t columns, const Batch& batch) {
  const __int128 one = static_cast<__int128>(magnitude(x.row)) * (rows - 1) +
                       static_cast<__int128>(magnitude(x.column)) * (columns - 1) + 1;
  if (one > batch.most_elements())
    return illegal(x.argument,
                   format("row_stride_%s = %lld and column_stride_%s = %lld make the matrix of %lld x %lld "
                          "reach past 2^63 - 1 bytes (%d bytes an element)",
                          x.name, wide(x.row), x.name, wide(x.column), wide(rows), wide(columns), batch.element_size));
  return check_batch_reach(one, batch);
}

Status illegal_flag(xgemm_argument argument, const char* name, char flag) {
  return illegal(argument,
                 format("%s = %s, but one of N, T, C (either case) is required", name, printable(flag).c_str()));
}

Status illegal_extent(xgemm_argument argument, const char* name, std::int64_t extent) {
  return illegal(argument, format("%s = %lld, but %s >= 0 is required", name, wide(extent), name));
}

Status illegal_blas_argument(int number, const xgemm_args& args, const StoredMatrices& matrices) {
  switch (number) {
    case XGEMM_ARG_TRANSA:
      return illegal_flag(XGEMM_ARG_TRANSA, "transa", args.transa);
    case XGEMM_ARG_TRANSB:
      return illegal_flag(XGEMM_ARG_TRANSB, "transb", args.transb);
    case XGEMM_ARG_M:
      return illegal_extent(XGEMM_ARG_M, "m", args.m);
    case XGEMM_ARG_N:
      return illegal_extent(XGEMM_ARG_N, "n", args.n);
    case XGEMM_ARG_K:
      return illegal_extent(XGEMM_ARG_K, "k", args.k);
    case XGEMM_ARG_LDA:
      return illegal_leading_dimension(XGEMM_ARG_LDA, "lda", args.lda, matrices.a);
    case XGEMM_ARG_LDB:
      return illegal_leading_dimension(XGEMM_ARG_LDB, "ldb", args.ldb, matrices.b);
    default:
      return illegal_leading_dimension(XGEMM_ARG_LDC, "ldc", args.ldc, matrices.c);
  }
}

Status check_batch(const xgemm_args& args) {
  if ((args.batch_kind != XGEMM_BATCH_STRIDED && args.batch_kind != XGEMM_BATCH_POINTERS) || args.reserved != 0)
    return illegal(XGEMM_ARG_BATCH_KIND,
                   format("batch_kind = %d and reserved = %d, but one of XGEMM_BATCH_STRIDED = 0, XGEMM_BATCH_POINTERS "
                          "= 1, and 0 are required",
                          args.batch_kind, args.reserved));
  if (args.batch_count < 0)
    return illegal(XGEMM_ARG_BATCH_COUNT,
                   format("batch_count = %lld, but batch_count >= 0 is required", wide(args.batch_count)));
  if (args.batch_count <= 1 || args.batch_kind == XGEMM_BATCH_POINTERS) return kOk;
  if (args.stride_a < 0)
    return illegal(XGEMM_ARG_STRIDE_A, format("stride_a = %lld, but stride_a >= 0 is required", wide(args.stride_a)));
  if (args.stride_b < 0)
    return illegal(XGEMM_ARG_STRIDE_B, format("stride_b = %lld, but stride_b >= 0 is required", wide(args.stride_b)));
  if (args.stride_c <= 0)
    return illegal(XGEMM_ARG_STRIDE_C,
                   format("stride_c = %lld, but stride_c > 0 is required for a batch of %lld: its products "
                          "must not overlap in C",
                          wide(args.stride_c), wide(args.batch_count)));
  return kOk;
}

Status check_aux(const xgemm_args& args, const Stored& c) {
  if (args.aux == nullptr) return kOk;
  const bool bits = args.activation == XGEMM_RELU;
  if (args.activation == XGEMM_NO_ACTIVATION)
    return illegal(XGEMM_ARG_AUX, "aux is given, but activation = XGEMM_NO_ACTIVATION = 0: it has to be NULL then");
  if (args.ld_aux < max1(c.extent)) return illegal_leading_dimension(XGEMM_ARG_LD_AUX, "ld_aux", args.ld_aux, c);
  if (bits && args.ld_aux % 8 != 0)
    return illegal(XGEMM_ARG_LD_AUX, format("ld_aux = %lld, but a multiple of 8 is required: aux of XGEMM_RELU is of "
                                            "bits",
                                            wide(args.ld_aux)));
  if (args.batch_count > 1 && (args.stride_aux <= 0 || (bits && args.stride_aux % 8 != 0)))
    return illegal(XGEMM_ARG_STRIDE_AUX,
                   format("stride_aux = %lld, but stride_aux > 0%s is required for a batch of "
                          "%lld",
                          wide(args.stride_aux), bits ? ", a multiple of 8," : "", wide(args.batch_count)));
  return kOk;
}

Status check_epilogue(const xgemm_args& args, const Stored& c) {
  if (!is_activation(args.activation))
    return illegal(XGEMM_ARG_ACTIVATION,
                   format("activation = %d, but one of XGEMM_NO_ACTIVATION = 0, XGEMM_RELU = 1, XGEMM_GELU = 2, "
                          "XGEMM_GELU_TANH = 3, XGEMM_SILU = 4 is required",
                          args.activation));
  if (args.bias_along != XGEMM_BIAS_OF_ROWS && args.bias_along != XGEMM_BIAS_OF_COLUMNS)
    return illegal(XGEMM_ARG_BIAS_ALONG,
                   format("bias_along = %d, but one of XGEMM_BIAS_OF_ROWS = 0, XGEMM_BIAS_OF_COLUMNS = 1 is required",
                          args.bias_along));
  if (args.old_c == nullptr) return kOk;
  if (args.ld_old_c < max1(c.extent))
    return illegal_leading_dimension(XGEMM_ARG_LD_OLD_C, "ld_old_c", args.ld_old_c, c);
  if (args.batch_count > 1 && args.stride_old_c < 0)
    return illegal(XGEMM_ARG_STRIDE_OLD_C,
                   format("stride_old_c = %lld, but stride_old_c >= 0 is required", wide(args.stride_old_c)));
  if (args.old_c == args.c && is_strided(args, XGEMM_STRIDED_C))
    return illegal(XGEMM_ARG_OLD_C, "old_c = c, but C has strides of its own: NULL is required then");
  if (args.old_c == args.c &&
      ((c.lines > 1 && args.ld_old_c != args.ldc) || (args.batch_count > 1 && args.stride_old_c != args.stride_c)))
    return illegal(XGEMM_ARG_OLD_C, "old_c = c, but ld_old_c = ldc and stride_old_c = stride_c are required then");
  return kOk;
}

bool has_epilogue(const xgemm_args& args) {
  return args.activation != XGEMM_NO_ACTIVATION || args.bias != nullptr || args.row_scales != nullptr ||
         args.column_scales != nullptr || args.old_c != nullptr;
}

// What the call would read or write through must be there, and within reach. What it does not touch may be anything.
Status check_memory(const xgemm_args& args, const StoredMatrices& matrices, bool scalars_on_device, DType type,
                    DType type_c) {
  const bool empty = args.m == 0 || args.n == 0 || args.batch_count == 0;
  if (empty) return kOk;
  const bool alpha_is_zero = !scalars_on_device && args.alpha != nullptr && scalar_at(args.alpha, type) == 0;
  const bool beta_is_one = !scalars_on_device && args.beta != nullptr && scalar_at(args.beta, type) == 1;
  const bool reads_inputs = args.k > 0 && !alpha_is_zero;
  const bool writes_c = reads_inputs || !beta_is_one || has_epilogue(args);
  const std::int64_t batch = args.batch_count;
  const std::int64_t apart = args.batch_kind == XGEMM_BATCH_STRIDED ? batch : 1;  // in one piece of memory
  const auto [a, b, c] = strides_of(args);
  const auto check_one = [&](const Strides& x, std::int64_t rows, std::int64_t columns, const char* ld_name,
                             const Stored& matrix, std::int64_t ld, const Batch& of) {
    return is_strided(args, x.bit) ? check_reach(x, rows, columns, of)
                                   : check_reach(ld_name, x.argument, matrix, ld, of);
  };
  if (reads_inputs) {
    const bool a_plain = !is_transposed(args.transa), b_plain = !is_transposed(args.transb);
    XGEMM_RETURN_IF_FAILED(check_one(a, a_plain ? args.m : args.k, a_plain ? args.k : args.m, "lda", matrices.a,
                                     args.lda, {"stride_a", XGEMM_ARG_STRIDE_A, args.stride_a, apart, size_of(type)}));
    XGEMM_RETURN_IF_FAILED(check_one(b, b_plain ? args.k : args.n, b_plain ? args.n : args.k, "ldb", matrices.b,
                                     args.ldb, {"stride_b", XGEMM_ARG_STRIDE_B, args.stride_b, apart, size_of(type)}));
  }
  if (writes_c)
    XGEMM_RETURN_IF_FAILED(check_one(c, args.m, args.n, "ldc", matrices.c, args.ldc,
                                     {"stride_c", XGEMM_ARG_STRIDE_C, args.stride_c, apart, size_of(type_c)}));
  if (args.old_c != nullptr)
    XGEMM_RETURN_IF_FAILED(
        check_reach("ld_old_c", XGEMM_ARG_LD_OLD_C, matrices.c, args.ld_old_c,
                    {"stride_old_c", XGEMM_ARG_STRIDE_OLD_C, args.stride_old_c, batch, size_of(type_c)}));
  if (args.aux != nullptr)
    XGEMM_RETURN_IF_FAILED(check_reach("ld_aux", XGEMM_ARG_LD_AUX, matrices.c, args.ld_aux,
                                       {"stride_aux", XGEMM_ARG_STRIDE_AUX, args.stride_aux, batch, size_of(type_c)}));
  if (scalars_on_device && args.alpha == nullptr)
    return illegal(XGEMM_ARG_ALPHA, "alpha = NULL, but scalars on the device need a device pointer");
  if (reads_inputs && args.a == nullptr)
    return illegal(XGEMM_ARG_A, "a = NULL, but A is read: it may be NULL only when alpha = 0 or k = 0");
  if (reads_inputs && args.b == nullptr)
    return illegal(XGEMM_ARG_B, "b = NULL, but B is read: it may be NULL only when alpha = 0 or k = 0");
  if (scalars_on_device && args.beta == nullptr)
    return illegal(XGEMM_ARG_BETA, "beta = NULL, but scalars on the device need a device pointer");
  if (writes_c && args.c == nullptr) return illegal(XGEMM_ARG_C, "c = NULL, but C is written");
  return kOk;
}

// Handles are for the operands that they were made from, of which the first product of a batch has the only one.
Status check_prepared(const xgemm_args& args) {
  const auto check = [&](const xgemm_prepared* prepared, xgemm_argument argument, const char* name,
                         const OperandLines& operand, std::int64_t stride) -> Status {
    if (prepared == nullptr) return kOk;
    const OperandLines& made = prepared->operand;
    const xgemm_strided bit = argument == XGEMM_ARG_PREPARED_A ? XGEMM_STRIDED_A : XGEMM_STRIDED_B;
    const auto refuse = [&](const std::string& why) {
      return illegal(argument, format("prepared_%s is of another operand: %s", name, why.c_str()));
    };
    if (args.type != XGEMM_F32) return refuse(format("type = %d, but XGEMM_F32 = 0 alone is prepared", args.type));
    if (is_strided(args, bit))
      return refuse("it is given by its strides, and one with a leading dimension was prepared");
    if (args.batch_count > 1 && stride != 0)
      return refuse(format("stride_%s = %lld, but a single matrix was prepared", name, wide(stride)));
    if (operand.lines != made.lines || operand.k != made.k)
      return refuse(format("%lld %s of k = %lld, but %lld of k = %lld were prepared", wide(operand.lines),
                           argument == XGEMM_ARG_PREPARED_A ? "rows" : "columns", wide(operand.k), wide(made.lines),
                           wide(made.k)));
    if (operand.along_k != made.along_k) return refuse("it was prepared with the other flag or layout");
    if (operand.ld != made.ld)
      return refuse(format("ld%s = %lld, but %lld was prepared", name, wide(operand.ld), wide(made.ld)));
    if (operand.data != made.data) return refuse(format("%s = %p, but %p was prepared", name, operand.data, made.data));
    return kOk;
  };
  XGEMM_RETURN_IF_FAILED(
      check(args.prepared_a, XGEMM_ARG_PREPARED_A, "a", operand_lines(args, XGEMM_ARG_A), args.stride_a));
  return check(args.prepared_b, XGEMM_ARG_PREPARED_B, "b", operand_lines(args, XGEMM_ARG_B), args.stride_b);
}

}  // namespace

int first_illegal_blas_argument(char transa, char transb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                                int64_t ldc, xgemm_layout layout) {
  if (!is_flag(transa)) return XGEMM_ARG_TRANSA;
  if (!is_flag(transb)) return XGEMM_ARG_TRANSB;
  if (m < 0) return XGEMM_ARG_M;
  if (n < 0) return XGEMM_ARG_N;
  if (k < 0) return XGEMM_ARG_K;
  const StoredMatrices matrices = stored(transa, transb, m, n, k, layout);
  if (lda < max1(matrices.a.extent)) return XGEMM_ARG_LDA;
  if (ldb < max1(matrices.b.extent)) return XGEMM_ARG_LDB;
  if (ldc < max1(matrices.c.extent)) return XGEMM_ARG_LDC;
  return 0;
}

Status illegal_blas_argument(int number, const xgemm_args& args) {
  return illegal_blas_argument(
      number, args, stored(args.transa, args.transb, args.m, args.n, args.k, static_cast<xgemm_layout>(args.layout)));
}

Status check_syrk(char uplo, char trans, std::int64_t n, std::int64_t k, std::int64_t lda, std::int64_t ldc,
                  xgemm_layout layout) {
  if (fill_of_uplo(uplo) == XGEMM_FILL_FULL)
    return illegal(XGEMM_ARG_FILL,
                   format("uplo = %s, but one of U, L (either case) is required", printable(uplo).c_str()));
  if (!is_flag(trans)) return illegal_flag(XGEMM_ARG_TRANSA, "trans", trans);
  if (n < 0) return illegal_extent(XGEMM_ARG_N, "n", n);
  if (k < 0) return illegal_extent(XGEMM_ARG_K, "k", k);
  const bool lines_are_k = is_transposed(trans) == (layout == XGEMM_ROW_MAJOR);
  const Stored a = lines_are_k ? Stored{n, k, "n"} : Stored{k, n, "k"}, c = {n, n, "n"};
  if (lda < max1(a.extent)) return illegal_leading_dimension(XGEMM_ARG_LDA, "lda", lda, a);
  if (ldc < max1(c.extent)) return illegal_leading_dimension(XGEMM_ARG_LDC, "ldc", ldc, c);
  return kOk;
}

OperandLines operand_lines(const xgemm_args& args, xgemm_argument operand) {
  const bool row_major = args.layout == XGEMM_ROW_MAJOR;
  if (operand == XGEMM_ARG_A) return {args.a, args.m, args.k, args.lda, is_transposed(args.transa) != row_major};
  return {args.b, args.n, args.k, args.ldb, is_transposed(args.transb) == row_major};
}

Status check(const xgemm_args& args, bool scalars_on_device) {
  const std::optional<DType> type = dtype_of(args.type);
  if (!type)
    return illegal(
        XGEMM_ARG_TYPE,
        format("type = %d, but one of XGEMM_F32 = 0, XGEMM_F16 = 1, XGEMM_BF16 = 2, XGEMM_F64 = 3 is required",
               args.type));
  const std::optional<DType> type_c = dtype_of_c(args.type_c, *type);
  if (!type_c || (*type_c != *type && *type_c != sums_of(*type)))
    return illegal(XGEMM_ARG_TYPE_C,
                   *type == DType::f64
                       ? format("type_c = %d, but XGEMM_C_SAME = 0 or XGEMM_C_F64 = 4 is required", args.type_c)
                   : *type == DType::f32
                       ? format("type_c = %d, but XGEMM_C_SAME = 0 or XGEMM_C_F32 = 1 is required", args.type_c)
                       : format("type_c = %d, but XGEMM_C_SAME = 0, the type of A and B (%d here), or XGEMM_C_F32 = 1 "
                                "is required",
                                args.type_c, args.type + 1));
  if (args.math_mode < 0 || (args.math_mode > 0 && !compute_of(args.math_mode - 1)))
    return illegal(XGEMM_ARG_MATH_MODE,
                   format("math_mode = %d, but 0, XGEMM_MATH_STRICT + 1 = 1, XGEMM_MATH_FP32_EMULATED + 1 = 2 or "
                          "XGEMM_MATH_TF32 + 1 = 3 is required",
                          args.math_mode));
  if (args.layout != XGEMM_COL_MAJOR && args.layout != XGEMM_ROW_MAJOR)
    return illegal(XGEMM_ARG_LAYOUT,
                   format("layout = %d, but one of XGEMM_COL_MAJOR = 0, XGEMM_ROW_MAJOR = 1 is required", args.layout));

  if (!fill_of(args.fill))
    return illegal(XGEMM_ARG_FILL, format("fill = %d, but one of XGEMM_FILL_FULL = 0, XGEMM_FILL_LOWER = 1, "
                                          "XGEMM_FILL_UPPER = 2 is required",
                                          args.fill));
  const bool square = args.fill != XGEMM_FILL_FULL;
  const auto layout = static_cast<xgemm_layout>(args.layout);
  const auto ld = [&](std::int64_t given, xgemm_strided bit) { return is_strided(args, bit) ? INT64_MAX : given; };
  const int number =
      first_illegal_blas_argument(args.transa, args.transb, args.m, args.n, args.k, ld(args.lda, XGEMM_STRIDED_A),
                                  ld(args.ldb, XGEMM_STRIDED_B), ld(args.ldc, XGEMM_STRIDED_C), layout);
  const StoredMatrices matrices = stored(args.transa, args.transb, args.m, args.n, args.k, layout);
  const bool extents_are_legal = number == 0 || number >= XGEMM_ARG_LDA;
  if (extents_are_legal && square && args.m != args.n)
    return illegal(XGEMM_ARG_FILL, format("fill = %d, but a triangle of C requires m = n, and m = %lld, n = %lld",
                                          args.fill, wide(args.m), wide(args.n)));
  if (number != 0) return illegal_blas_argument(number, args, matrices);

  XGEMM_RETURN_IF_FAILED(check_strides(args));
  XGEMM_RETURN_IF_FAILED(check_batch(args));
  XGEMM_RETURN_IF_FAILED(check_epilogue(args, matrices.c));
  XGEMM_RETURN_IF_FAILED(check_aux(args, matrices.c));
  if (square && has_epilogue(args))
    return illegal(XGEMM_ARG_FILL, format("fill = %d, but an epilogue requires XGEMM_FILL_FULL = 0", args.fill));
  XGEMM_RETURN_IF_FAILED(check_memory(args, matrices, scalars_on_device, *type, *type_c));
  return check_prepared(args);
}

}  // namespace xgemm::api
