// The entry points of xgemm.h that compute or look inside. They check once and hand over.
#include "xgemm.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>

#include "api/blas.h"
#include "api/check.h"
#include "api/context.h"
#include "api/entry.h"
#include "core/canonicalize.h"
#include "core/prepared.h"
#include "device/fallback_counter.h"
#include "dispatch/gemm.h"
#include "dispatch/short_way.h"
#include "kernels/instances.h"
#include "runtime/pointer_location.h"
#include "runtime/prepared.h"

namespace xgemm::api {
namespace {

dispatch::CallSettings settings_of(xgemm_context& ctx) {
  return {ctx.stream, ctx.workspace, ctx.workspace_bytes, &ctx.stager};
}

// A status that names an argument of the product, by the call's own: in a product that is that of the transposes, A and
// B have changed places, and so have the scales of rows and of columns.
Status in_terms_of(const xgemm_args& args, const Problem& problem, Status status) {
  switch (status.code) {
    case -XGEMM_ARG_A:
      return {problem.a.data == args.a ? -XGEMM_ARG_A : -XGEMM_ARG_B};
    case -XGEMM_ARG_B:
      return {problem.b.data == args.b ? -XGEMM_ARG_B : -XGEMM_ARG_A};
    case -XGEMM_ARG_ROW_SCALES:
      return {problem.epilogue.row_scales == args.row_scales ? -XGEMM_ARG_ROW_SCALES : -XGEMM_ARG_COLUMN_SCALES};
    case -XGEMM_ARG_COLUMN_SCALES:
      return {problem.epilogue.column_scales == args.column_scales ? -XGEMM_ARG_COLUMN_SCALES : -XGEMM_ARG_ROW_SCALES};
    default:
      return status;
  }
}

Status run(xgemm_context& context, const xgemm_args& args, bool scalars_on_device) {
  XGEMM_RETURN_IF_FAILED(check(args, scalars_on_device));
  const Problem problem = canonicalize(args, scalars_on_device, context.compute);
  return in_terms_of(args, problem, dispatch::gemm(settings_of(context), problem));
}

// Scalar: of the type in which sums are kept.
template <class T, class Scalar>
int simple_gemm(xgemm_type type, char transa, char transb, int64_t m, int64_t n, int64_t k, Scalar alpha, const T* a,
                int64_t lda, const T* b, int64_t ldb, Scalar beta, T* c, int64_t ldc) {
  if constexpr (std::is_same_v<T, Scalar>)
    if (dispatch::take_short_way<T>(transa, transb, {Op::none, Op::none, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}))
      return 0;
  return guarded([&] {
    xgemm_args args = XGEMM_ARGS_INIT;
    args.type = type;
    args.transa = transa;
    args.transb = transb;
    args.m = m;
    args.n = n;
    args.k = k;
    args.alpha = &alpha;
    args.a = a;
    args.lda = lda;
    args.b = b;
    args.ldb = ldb;
    args.beta = &beta;
    args.c = c;
    args.ldc = ldc;
    return gemm(nullptr, args);
  });
}

template <class Types>
int simple_syrk(char uplo, char trans, int64_t n, int64_t k, typename Types::Scalar alpha,
                const typename Types::Input* a, int64_t lda, typename Types::Scalar beta, typename Types::Output* c,
                int64_t ldc) {
  const int code = syrk<Types>(XGEMM_COL_MAJOR, uplo, trans, n, k, alpha, a, lda, beta, c, ldc);
  return code < 0 ? -position_in_syrk(-code) : code;
}

// The sizes that the struct has had and may get: releases add fields to its end, in whole multiples of its alignment,
// and none will make it larger than this. A size beyond it was never set.
constexpr std::size_t kSmallestArgs = offsetof(xgemm_args, type_c);
constexpr std::size_t kLargestArgs = 4096;
static_assert(kSmallestArgs % alignof(xgemm_args) == 0);

// The fields of a struct of any release, as this one knows them.
Status read_args(const xgemm_args* args, xgemm_args* known) {
  if (args == nullptr) return illegal(XGEMM_ARG_ARGS, "args = NULL, but a pointer to xgemm_args is required");
  const std::size_t size = args->size;
  if (size < kSmallestArgs || size > kLargestArgs || size % alignof(xgemm_args) != 0)
    return illegal(XGEMM_ARG_SIZE,
                   format("size = %zu, but a multiple of %zu from %zu to %zu is required (start from XGEMM_ARGS_INIT)",
                          size, alignof(xgemm_args), kSmallestArgs, kLargestArgs));
  const auto* bytes = reinterpret_cast<const unsigned char*>(args);
  for (std::size_t i = sizeof(xgemm_args); i < size; ++i)
    if (bytes[i] != 0)
      return illegal(XGEMM_ARG_SIZE,
                     format("size = %zu, but this libxgemm knows the first %zu bytes alone: the others are required to "
                            "be 0, and byte %zu is %d",
                            size, sizeof(xgemm_args), i, bytes[i]));
  *known = xgemm_args{};  // zero is the default of fields that a smaller struct lacks
  std::memcpy(known, args, std::min(size, sizeof(xgemm_args)));
  return kOk;
}

// The short way of a plain product of T's: one whose other fields are all their defaults.
template <class T>
bool take_short_way(const xgemm_args& args) noexcept {
  const auto number = [](const void* x, T otherwise) { return x == nullptr ? otherwise : *static_cast<const T*>(x); };
  const auto* a = static_cast<const T*>(args.a);
  const auto* b = static_cast<const T*>(args.b);
  const T alpha = number(args.alpha, 1), beta = number(args.beta, 0);
  auto* const c = static_cast<T*>(args.c);
  if (args.layout == XGEMM_COL_MAJOR)
    return dispatch::take_short_way<T>(
        args.transa, args.transb,
        {Op::none, Op::none, args.m, args.n, args.k, alpha, a, args.lda, b, args.ldb, beta, c, args.ldc});
  return args.layout == XGEMM_ROW_MAJOR &&
         dispatch::take_short_way<T>(
             args.transb, args.transa,
             {Op::none, Op::none, args.n, args.m, args.k, alpha, b, args.ldb, a, args.lda, beta, c, args.ldc});
}

bool take_short_way(const xgemm_context& context, const xgemm_args& args) noexcept {
  static constexpr unsigned char kDefaults[sizeof args - kSmallestArgs] = {};
  if (context.scalar_location != XGEMM_SCALARS_ON_HOST || args.batch_count != 1 ||
      std::memcmp(reinterpret_cast<const unsigned char*>(&args) + kSmallestArgs, kDefaults, sizeof kDefaults) != 0)
    return false;
  return args.type == XGEMM_F32 ? take_short_way<float>(args) : args.type == XGEMM_F64 && take_short_way<double>(args);
}

// A product that has the operand which args describe, and a vector as the other one. Nothing computes it. An operand
// without elements may be null; what stands for the vector and for C is not, so that no check finds fault with them.
xgemm_args product_with(const xgemm_args& args, bool of_a) {
  static float nothing;
  xgemm_args product = XGEMM_ARGS_INIT;
  const bool row_major = args.layout == XGEMM_ROW_MAJOR;
  const auto least = [](bool contiguous, int64_t extent) { return contiguous ? std::max<int64_t>(1, extent) : 1; };
  product.layout = args.layout;
  product.k = args.k;
  const void* const operand = of_a ? args.a : args.b;
  product.a = product.b = operand != nullptr ? operand : &nothing;
  product.c = const_cast<void*>(product.a);
  if (of_a) {
    product.m = args.m, product.n = 1;
    product.transa = args.transa, product.lda = args.lda;
    product.ldb = least(!row_major, args.k), product.ldc = least(!row_major, args.m);
  } else {
    product.m = 1, product.n = args.n;
    product.transb = args.transb, product.ldb = args.ldb;
    product.lda = least(row_major, args.k), product.ldc = least(row_major, args.n);
  }
  return product;
}

}  // namespace

Status gemm(xgemm_context* ctx, const xgemm_args& args) {
  return run(resolve(ctx), args, false);
}

}  // namespace xgemm::api

using namespace xgemm;
using namespace xgemm::api;

extern "C" {

int xsgemm(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda,
           const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
  return simple_gemm(XGEMM_F32, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

int xdgemm(char transa, char transb, int64_t m, int64_t n, int64_t k, double alpha, const double* a, int64_t lda,
           const double* b, int64_t ldb, double beta, double* c, int64_t ldc) {
  return simple_gemm(XGEMM_F64, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

int xhgemm(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const xgemm_half* a, int64_t lda,
           const xgemm_half* b, int64_t ldb, float beta, xgemm_half* c, int64_t ldc) {
  return simple_gemm(XGEMM_F16, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

int xbgemm(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const xgemm_bfloat16* a, int64_t lda,
           const xgemm_bfloat16* b, int64_t ldb, float beta, xgemm_bfloat16* c, int64_t ldc) {
  return simple_gemm(XGEMM_BF16, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

int xssyrk(char uplo, char trans, int64_t n, int64_t k, float alpha, const float* a, int64_t lda, float beta, float* c,
           int64_t ldc) {
  return simple_syrk<SgemmTypes>(uplo, trans, n, k, alpha, a, lda, beta, c, ldc);
}

int xdsyrk(char uplo, char trans, int64_t n, int64_t k, double alpha, const double* a, int64_t lda, double beta,
           double* c, int64_t ldc) {
  return simple_syrk<DgemmTypes>(uplo, trans, n, k, alpha, a, lda, beta, c, ldc);
}

int xgemm_gemm(xgemm_context* ctx, const xgemm_args* args) {
  return guarded([&]() -> Status {
    xgemm_context& context = resolve(ctx);
    if (args != nullptr && args->size == sizeof *args && take_short_way(context, *args)) return kOk;
    xgemm_args known;
    XGEMM_RETURN_IF_FAILED(read_args(args, &known));
    return run(context, known, context.scalar_location == XGEMM_SCALARS_ON_DEVICE);
  });
}

int xgemm_explain(xgemm_context* ctx, const xgemm_args* args, char* buf, size_t size) {
  return guarded([&]() -> Status {
    if (buf == nullptr || size == 0)
      return illegal(XGEMM_ARG_BUFFER, format("buf = %p with size = %zu, but room for the text is required",
                                              static_cast<void*>(buf), size));
    buf[0] = '\0';
    xgemm_args known;
    XGEMM_RETURN_IF_FAILED(read_args(args, &known));
    xgemm_context& context = resolve(ctx);
    const bool on_device = context.scalar_location == XGEMM_SCALARS_ON_DEVICE;
    XGEMM_RETURN_IF_FAILED(check(known, on_device));
    const Problem problem = canonicalize(known, on_device, context.compute);
    std::string text;
    const Status status = in_terms_of(known, problem, dispatch::explain(settings_of(context), problem, &text));
    const std::size_t length = text.size() < size - 1 ? text.size() : size - 1;
    std::memcpy(buf, text.data(), length);
    buf[length] = '\0';
    return status;
  });
}

int xgemm_prepare(xgemm_context* ctx, const xgemm_args* args, int operand, xgemm_prepared** prepared) {
  return guarded([&]() -> Status {
    if (prepared == nullptr)
      return illegal(XGEMM_ARG_BUFFER, "prepared = NULL, but a place for the handle is required");
    *prepared = nullptr;
    if (operand != XGEMM_ARG_A && operand != XGEMM_ARG_B)
      return illegal(XGEMM_ARG_OPERAND, format("operand = %d, but XGEMM_ARG_A = %d or XGEMM_ARG_B = %d is required",
                                               operand, XGEMM_ARG_A, XGEMM_ARG_B));
    xgemm_args known;
    XGEMM_RETURN_IF_FAILED(read_args(args, &known));
    if (known.type != XGEMM_F32)
      return illegal(XGEMM_ARG_TYPE, format("type = %d, but XGEMM_F32 = 0 is required", known.type));
    const bool of_a = operand == XGEMM_ARG_A;
    if (known.strided != 0)
      return illegal(XGEMM_ARG_STRIDED,
                     format("strided = %d, but 0 is required: operands have leading dimensions", known.strided));
    const auto argument = static_cast<xgemm_argument>(operand);
    const OperandLines lines = operand_lines(known, argument);
    const bool is_empty = lines.lines == 0 || lines.k == 0;
    known = product_with(known, of_a);
    XGEMM_RETURN_IF_FAILED(check(known, false));
    auto handle = std::make_unique<xgemm_prepared>();
    if (is_empty) {
      handle->operand = lines;  // by which products are checked
      *prepared = handle.release();
      return kOk;
    }
    if (lines.data == nullptr)
      return illegal(argument, format("%s = NULL, but device memory is required", of_a ? "a" : "b"));
    const runtime::Placement placement = runtime::locate(canonicalize(known, false, Compute::strict));
    if (placement.a.location != runtime::Location::device)
      return illegal(argument, format("%s = %p, but device memory is required", of_a ? "a" : "b", lines.data));
    if (reinterpret_cast<std::uintptr_t>(lines.data) % sizeof(float) != 0)
      return illegal(argument, format("%s = %p, but a multiple of 4 is required", of_a ? "a" : "b", lines.data));
    const device::DeviceInfo* const device = runtime::device_for(placement);
    if (device == nullptr) return fail(XGEMM_NO_DEVICE, "there is no usable GPU");
    XGEMM_RETURN_IF_FAILED(runtime::prepare(lines, *device, {resolve(ctx).stream, nullptr, 0}, handle.get()));
    *prepared = handle.release();
    return kOk;
  });
}

int xgemm_release(xgemm_prepared* prepared) {
  return guarded([&]() -> Status {
    if (prepared == nullptr) return kOk;
    const std::unique_ptr<xgemm_prepared> handle(prepared);
    return runtime::release(*handle);
  });
}

int64_t xgemm_fp32_fallbacks(void) {
  return device::fallbacks();
}

int xgemm_kernel_count(void) {
  return kernels::count();
}

const char* xgemm_kernel_name(int index) {
  return index >= 0 && index < kernels::count() ? kernels::info(index).name : nullptr;
}

}  // extern "C"
