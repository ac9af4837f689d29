// The version and the texts of the return values.
#include "core/status.h"
#include "xgemm.h"

#define XGEMM_STRINGIFY_(x) #x
#define XGEMM_STRINGIFY(x) XGEMM_STRINGIFY_(x)

namespace {

// Null for what is none. Of both, the compiler names enumerators that are missing.
const char* text_of(xgemm_status status) {
  switch (status) {
    case XGEMM_SUCCESS:
      return "success";
    case XGEMM_OUT_OF_HOST_MEMORY:
      return "out of host memory";
    case XGEMM_OUT_OF_DEVICE_MEMORY:
      return "out of device memory";
    case XGEMM_NO_DEVICE:
      return "device pointers, but no GPU that can serve them";
    case XGEMM_CUDA_ERROR:
      return "a CUDA call failed";
    case XGEMM_UNSUPPORTED:
      return "unsupported: where operands lie, or a stream that is being captured";
    case XGEMM_KERNEL_NOT_USABLE:
      return "the forced kernel cannot serve this call";
    case XGEMM_INTERNAL_ERROR:
      return "internal error of libxgemm";
  }
  return nullptr;
}
const char* text_of(xgemm_argument argument) {
  switch (argument) {
    case XGEMM_ARG_TRANSA:
      return "illegal argument 1, transa";
    case XGEMM_ARG_TRANSB:
      return "illegal argument 2, transb";
    case XGEMM_ARG_M:
      return "illegal argument 3, m";
    case XGEMM_ARG_N:
      return "illegal argument 4, n";
    case XGEMM_ARG_K:
      return "illegal argument 5, k";
    case XGEMM_ARG_ALPHA:
      return "illegal argument 6, alpha";
    case XGEMM_ARG_A:
      return "illegal argument 7, a";
    case XGEMM_ARG_LDA:
      return "illegal argument 8, lda";
    case XGEMM_ARG_B:
      return "illegal argument 9, b";
    case XGEMM_ARG_LDB:
      return "illegal argument 10, ldb";
    case XGEMM_ARG_BETA:
      return "illegal argument 11, beta";
    case XGEMM_ARG_C:
      return "illegal argument 12, c";
    case XGEMM_ARG_LDC:
      return "illegal argument 13, ldc";
    case XGEMM_ARG_CONTEXT:
      return "illegal context";
    case XGEMM_ARG_ARGS:
      return "illegal pointer to xgemm_args";
    case XGEMM_ARG_SIZE:
      return "illegal xgemm_args::size";
    case XGEMM_ARG_TYPE:
      return "illegal type";
    case XGEMM_ARG_LAYOUT:
      return "illegal layout";
    case XGEMM_ARG_BATCH_COUNT:
      return "illegal batch_count";
    case XGEMM_ARG_STRIDE_A:
      return "illegal stride_a";
    case XGEMM_ARG_STRIDE_B:
      return "illegal stride_b";
    case XGEMM_ARG_STRIDE_C:
      return "illegal stride_c";
    case XGEMM_ARG_WORKSPACE:
      return "illegal workspace";
    case XGEMM_ARG_MATH_MODE:
      return "illegal math mode";
    case XGEMM_ARG_SCALAR_LOCATION:
      return "illegal scalar location";
    case XGEMM_ARG_BUFFER:
      return "illegal buffer";
    case XGEMM_ARG_TYPE_C:
      return "illegal type_c";
    case XGEMM_ARG_ACTIVATION:
      return "illegal activation";
    case XGEMM_ARG_BIAS_ALONG:
      return "illegal bias_along";
    case XGEMM_ARG_BIAS:
      return "illegal bias";
    case XGEMM_ARG_ROW_SCALES:
      return "illegal row_scales";
    case XGEMM_ARG_COLUMN_SCALES:
      return "illegal column_scales";
    case XGEMM_ARG_OLD_C:
      return "illegal old_c";
    case XGEMM_ARG_LD_OLD_C:
      return "illegal ld_old_c";
    case XGEMM_ARG_STRIDE_OLD_C:
      return "illegal stride_old_c";
    case XGEMM_ARG_FILL:
      return "illegal fill";
    case XGEMM_ARG_PREPARED_A:
      return "illegal prepared_a";
    case XGEMM_ARG_PREPARED_B:
      return "illegal prepared_b";
    case XGEMM_ARG_OPERAND:
      return "illegal operand";
    case XGEMM_ARG_STRIDED:
      return "illegal strided";
    case XGEMM_ARG_AUX:
      return "illegal aux";
    case XGEMM_ARG_LD_AUX:
      return "illegal ld_aux";
    case XGEMM_ARG_STRIDE_AUX:
      return "illegal stride_aux";
    case XGEMM_ARG_BATCH_KIND:
      return "illegal batch_kind";
  }
  return nullptr;
}

}  // namespace

extern "C" {

int xgemm_version(void) {
  return XGEMM_VERSION;
}

const char* xgemm_version_string(void) {
  return XGEMM_STRINGIFY(XGEMM_VERSION_MAJOR) "." XGEMM_STRINGIFY(XGEMM_VERSION_MINOR) "." XGEMM_STRINGIFY(
      XGEMM_VERSION_PATCH);
}

const char* xgemm_status_string(int status) {
  // Numbers of more bits than the enumerators have are no values of an enumeration.
  static_assert(XGEMM_INTERNAL_ERROR < 8 && XGEMM_ARG_BATCH_KIND < 64);
  const char* text = nullptr;
  if (status >= 0 && status < 8) text = text_of(static_cast<xgemm_status>(status));
  if (status < 0 && status > -64) text = text_of(static_cast<xgemm_argument>(-status));
  return text != nullptr ? text : "unknown status";
}

const char* xgemm_last_error(void) {
  return xgemm::last_error();
}

}  // extern "C"
