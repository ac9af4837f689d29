// Arguments and state of a handle as xgemm_args.
#include "cublas/request.h"

#include <optional>

#include "core/status.h"
#include "cublas/mode.h"
#include "xgemm/float16.hpp"

namespace xgemm::cublas {
namespace {

struct Types {
  xgemm_type type;
  xgemm_type_c type_c;
};

// Null where libxgemm has no such product.
std::optional<Types> types_of(const Call& call) {
  if (call.a.type != call.b.type) return std::nullopt;
  const bool same = call.c.type == call.a.type;
  const bool wide = call.c.type == kReal32F && call.a.type != kReal64F;
  if (!same && !wide) return std::nullopt;
  const xgemm_type_c type_c = same ? XGEMM_C_SAME : XGEMM_C_F32;
  switch (call.a.type) {
    case kReal32F:
      return Types{XGEMM_F32, type_c};
    case kReal16F:
      return Types{XGEMM_F16, type_c};
    case kReal16BF:
      return Types{XGEMM_BF16, type_c};
    case kReal64F:
      return Types{XGEMM_F64, type_c};
    default:
      return std::nullopt;
  }
}

char flag_of(int operation) {
  switch (operation) {
    case kOpN:
      return 'N';
    case kOpT:
      return 'T';
    case kOpC:
      return 'C';
    default:
      return '?';
  }
}

bool is_algorithm(int algorithm) {
  return (algorithm >= kDefaultAlgorithm && algorithm <= kLastAlgorithm) ||
         (algorithm >= kDefaultTensorOpAlgorithm && algorithm <= kLastTensorOpAlgorithm) ||
         algorithm == kAutotuneAlgorithm;
}

const char* obstacle_of(const Call& call, const HandleState& state, const std::optional<Types>& types) {
  const bool half_scalars = call.compute == kCompute16F;
  if (!types) return "these types";
  if (half_scalars) {
    if (call.a.type != kReal16F || call.c.type != kReal16F) return "these types";
    // Sums are in fp32, which is what a caller wants who does not insist on less.
    if ((state.math_mode & kMathModes) == kPedanticMath) return "sums in fp16 are insisted on";
    if (state.pointer_mode == kScalarsOnDevice) return "scalars in fp16 on the device";
  } else if (call.compute == kCompute16FPedantic) {
    return "sums in fp16 are insisted on";
  } else if (scalar_type_of(call.compute) != (call.a.type == kReal64F ? kReal64F : kReal32F)) {
    return "this compute type";
  } else if ((call.a.type == kReal16F || call.a.type == kReal16BF) && call.compute != kCompute32F &&
             call.compute != kCompute32FPedantic) {
    return "a compute type for fp32 alone";
  }
  if (state.pointer_mode != kScalarsOnHost && state.pointer_mode != kScalarsOnDevice) return "this pointer mode";
  if (call.alpha == nullptr || call.beta == nullptr) return "a null pointer";
  if (flag_of(call.transa) == '?' || flag_of(call.transb) == '?') return "an illegal flag";
  if (!is_algorithm(call.algorithm)) return "an unknown algorithm";
  if (state.sm_count_target != 0) return "a part of the GPU's multiprocessors";
  return nullptr;
}

// fp32 products that the caller allows to be computed in TF32.
bool allows_tf32(const Call& call, const HandleState& state) {
  return call.a.type == kReal32F && !forbids_tf32() &&
         (call.compute == kCompute32FFastTF32 ||
          (call.compute == kCompute32F && (state.math_mode & kMathModes) == kTf32Math));
}

// fp32 products of which the caller insists on fp32, whatever XGEMM_MATH says.
bool insists_on_fp32(const Call& call, const HandleState& state) {
  return call.a.type == kReal32F && (call.compute == kCompute32FPedantic ||
                                     (call.compute == kCompute32F && (state.math_mode & kMathModes) == kPedanticMath));
}

// fp32 products that tensor cores may compute from 16 bits: cuBLAS is then several times as fast. And products that it
// may emulate.
const char* reservation_of(const Call& call, const HandleState& state) {
  if (call.a.type == kReal64F)
    return call.compute == kCompute64FEmulatedFixedPoint ||
                   (call.compute == kCompute64F && (state.math_mode & kEmulatedFp64Math) != 0)
               ? "emulation is allowed"
               : nullptr;
  if (call.a.type != kReal32F || call.compute == kCompute32FPedantic) return nullptr;
  switch (call.compute) {
    case kCompute32FFast16F:
    case kCompute32FFast16BF:
      return "16 bits are allowed for fp32";
    case kCompute32FFastTF32:
      return nullptr;
    case kCompute32FEmulated16BFx9:
      return "emulation is allowed";
    default:
      break;
  }
  switch (state.math_mode & kMathModes) {
    case kTensorOpMath:
      return "16 bits are allowed for fp32";
    case kTf32Math:
      return nullptr;
    default:
      return (state.math_mode & kEmulatedBf16x9Math) != 0 ? "emulation is allowed" : nullptr;
  }
}

std::string name_of_type(int type) {
  switch (type) {
    case kReal32F:
      return "f32";
    case kReal16F:
      return "f16";
    case kReal16BF:
      return "bf16";
    case kReal64F:
      return "f64";
    default:
      return format("cuda%d", type);
  }
}

// "f16", or "f16,f32" with the type of C where it is another.
std::string types_in_words(const Call& call) {
  std::string text = name_of_type(call.a.type);
  if (call.b.type != call.a.type) text.append("*").append(name_of_type(call.b.type));
  if (call.c.type != call.a.type) text.append(",").append(name_of_type(call.c.type));
  return text;
}

std::string epilogue_in_words(const Call& call) {
  std::string text;
  if ((call.epilogue & kEpilogueRelu) != 0) text += " relu";
  if ((call.epilogue & kEpilogueGelu) != 0) text += " gelu";
  if ((call.epilogue & kEpilogueBias) != 0) text += " bias";
  if ((call.epilogue & kEpilogueAux) != 0) text += " aux";
  if (call.old_c.data != nullptr) text += " old_c";
  return text;
}

long long wide(std::int64_t value) {
  return value;
}

}  // namespace

int scalar_type_of(int compute) {
  switch (compute) {
    case kCompute16F:
    case kCompute16FPedantic:
      return kReal16F;
    case kCompute32F:
    case kCompute32FPedantic:
    case kCompute32FFast16F:
    case kCompute32FFast16BF:
    case kCompute32FFastTF32:
    case kCompute32FEmulated16BFx9:
      return kReal32F;
    case kCompute64F:
    case kCompute64FPedantic:
    case kCompute64FEmulatedFixedPoint:
      return kReal64F;
    default:
      return -1;
  }
}

void translate(Request* request) {
  const Call& call = request->call;
  const std::optional<Types> types = types_of(call);
  if ((request->obstacle = obstacle_of(call, request->state, types)) != nullptr) return;
  request->reservation = reservation_of(call, request->state);

  xgemm_args& args = request->product;
  args.type = types->type;
  args.type_c = types->type_c;
  if (allows_tf32(call, request->state)) args.math_mode = XGEMM_MATH_TF32 + 1;
  if (insists_on_fp32(call, request->state)) args.math_mode = XGEMM_MATH_STRICT + 1;
  args.layout = call.row_major ? XGEMM_ROW_MAJOR : XGEMM_COL_MAJOR;
  args.transa = flag_of(call.transa);
  args.transb = flag_of(call.transb);
  args.m = call.m;
  args.n = call.n;
  args.k = call.k;
  args.a = call.a.data;
  args.lda = call.a.ld;
  args.b = call.b.data;
  args.ldb = call.b.ld;
  args.c = const_cast<void*>(call.c.data);
  args.ldc = call.c.ld;
  args.batch_kind = call.pointer_arrays ? XGEMM_BATCH_POINTERS : XGEMM_BATCH_STRIDED;
  args.batch_count = call.batch_count;
  args.stride_a = call.a.stride;
  args.stride_b = call.b.stride;
  args.stride_c = call.c.stride;
  args.alpha = call.alpha;
  args.beta = call.beta;
  if (call.compute == kCompute16F) {
    request->alpha = half_to_float(*static_cast<const xgemm_half*>(call.alpha));
    request->beta = half_to_float(*static_cast<const xgemm_half*>(call.beta));
    args.alpha = &request->alpha;
    args.beta = &request->beta;
  }
  const auto is_zero = [&] {
    return args.type == XGEMM_F64 ? *static_cast<const double*>(args.beta) == 0
                                  : *static_cast<const float*>(args.beta) == 0;
  };
  request->reads_c = call.old_c.data == nullptr && (request->scalars_on_device() || !is_zero());

  args.activation = (call.epilogue & kEpilogueRelu) != 0   ? XGEMM_RELU
                    : (call.epilogue & kEpilogueGelu) != 0 ? XGEMM_GELU_TANH
                                                           : XGEMM_NO_ACTIVATION;
  if ((call.epilogue & kEpilogueBias) != 0) args.bias = call.bias;
  args.bias_along = XGEMM_BIAS_OF_ROWS;
  if ((call.epilogue & kEpilogueAux) != 0) {
    args.aux = const_cast<void*>(call.aux.data);
    args.ld_aux = call.aux.ld;
    args.stride_aux = call.aux.stride;
  }
  args.old_c = call.old_c.data;
  args.ld_old_c = call.old_c.data != nullptr ? call.old_c.ld : 0;
  args.stride_old_c = call.old_c.stride;
}

std::string to_string(const Call& call) {
  std::string text = format("type=%s transa=%c transb=%c m=%lld n=%lld k=%lld lda=%lld ldb=%lld ldc=%lld",
                            types_in_words(call).c_str(), flag_of(call.transa), flag_of(call.transb), wide(call.m),
                            wide(call.n), wide(call.k), wide(call.a.ld), wide(call.b.ld), wide(call.c.ld));
  if (call.pointer_arrays)
    text += format(" batch_kind=pointers batch=%lld", wide(call.batch_count));
  else if (call.batch_count != 1)
    text += format(" batch=%lld stride_a=%lld stride_b=%lld stride_c=%lld", wide(call.batch_count), wide(call.a.stride),
                   wide(call.b.stride), wide(call.c.stride));
  if (call.row_major) text += " layout=row";
  return text + epilogue_in_words(call);
}

std::string shape_of(const Call& call) {
  std::string text = format("%s %c%c %lldx%lldx%lld", types_in_words(call).c_str(), flag_of(call.transa),
                            flag_of(call.transb), wide(call.m), wide(call.n), wide(call.k));
  if (call.batch_count != 1 || call.pointer_arrays)
    text += format(" batch of %lld%s", wide(call.batch_count), call.pointer_arrays ? " by pointers" : "");
  return text + epilogue_in_words(call);
}

}  // namespace xgemm::cublas
