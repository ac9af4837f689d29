/* libxgemm: BLAS-compatible matrix products on NVIDIA GPUs, and on the CPU where there is none.
 *
 *     C := alpha * op(A) * op(B) + beta * C,      op(X) = X or X^T
 *
 * and, with xgemm_gemm, what activations, biases and scales make of it.
 *
 * op(A) is m x k, op(B) is k x n, C is m x n. Matrices are column-major unless xgemm_args says otherwise; the leading
 * dimension is the distance in elements between the starts of two neighbouring columns.
 *
 * Return values. 0: done. -i: the i-th argument is illegal (the numbers of the reference BLAS, enum xgemm_argument) and
 * nothing was written. > 0: a runtime failure, enum xgemm_status; C may then hold a part of the result.
 * xgemm_last_error() says more about either.
 *
 * Where data live. Every pointer may be device, managed or host memory. When A, B and C are all device or managed
 * memory, a call only enqueues work on the context's stream: it does not synchronise and can be captured in a CUDA
 * graph. Of several GPUs the one that has C computes, and the stream has to be one of its streams. As soon as one of A,
 * B and C is host memory, C is ready when the call returns, and work that the stream holds is waited for if another one
 * is device memory. Host memory alone goes to the GPU or stays with the CPU, as is faster, and to the CPU when the GPU
 * has no memory left or fails.
 *
 * Threads. A context serves one thread at a time; different contexts serve any threads at once. Each thread has a
 * default context of its own, which NULL stands for.
 *
 * C99. Needs no CUDA header. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef XGEMM_H
#define XGEMM_H

#include <stddef.h>
#include <stdint.h>

/* The build system reads the version from these three lines. */
#define XGEMM_VERSION_MAJOR 0
#define XGEMM_VERSION_MINOR 1
#define XGEMM_VERSION_PATCH 0
#define XGEMM_VERSION (XGEMM_VERSION_MAJOR * 10000 + XGEMM_VERSION_MINOR * 100 + XGEMM_VERSION_PATCH)

#if defined(__GNUC__)
#define XGEMM_API __attribute__((visibility("default")))
#else
#define XGEMM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The bits of an IEEE 754 binary16 number. A pointer to CUDA's __half or to _Float16 may be cast to it. */
typedef uint16_t xgemm_half;

/* The bits of a bfloat16 number: the upper half of a float. A pointer to CUDA's __nv_bfloat16 or to std::bfloat16_t may
 * be cast to it. */
typedef uint16_t xgemm_bfloat16;

/* Runtime failures. An illegal argument is the negative of its number instead (enum xgemm_argument). */
enum xgemm_status {
  XGEMM_SUCCESS = 0,
  XGEMM_OUT_OF_HOST_MEMORY = 1,
  XGEMM_OUT_OF_DEVICE_MEMORY = 2,
  XGEMM_NO_DEVICE = 3,         /* device pointers, but no usable GPU, driver or CUDA build */
  XGEMM_CUDA_ERROR = 4,        /* a CUDA call failed; the message carries CUDA's own words */
  XGEMM_UNSUPPORTED = 5,       /* operands lie where the call cannot be served, or the stream is being captured */
  XGEMM_KERNEL_NOT_USABLE = 6, /* the kernel named by XGEMM_FORCE_KERNEL cannot serve the call */
  XGEMM_INTERNAL_ERROR = 7     /* a defect in libxgemm */
};

/* What -i names. 1 to 13 are the arguments of xsgemm and the fields of the same name in xgemm_args; the rest are
 * further fields of xgemm_args and the arguments of the calls that configure a context. */
enum xgemm_argument {
  XGEMM_ARG_TRANSA = 1,
  XGEMM_ARG_TRANSB = 2,
  XGEMM_ARG_M = 3,
  XGEMM_ARG_N = 4,
  XGEMM_ARG_K = 5,
  XGEMM_ARG_ALPHA = 6,
  XGEMM_ARG_A = 7,
  XGEMM_ARG_LDA = 8,
  XGEMM_ARG_B = 9,
  XGEMM_ARG_LDB = 10,
  XGEMM_ARG_BETA = 11,
  XGEMM_ARG_C = 12,
  XGEMM_ARG_LDC = 13,
  XGEMM_ARG_CONTEXT = 14,
  XGEMM_ARG_ARGS = 15, /* the pointer to xgemm_args itself */
  XGEMM_ARG_SIZE = 16,
  XGEMM_ARG_TYPE = 17,
  XGEMM_ARG_LAYOUT = 18,
  XGEMM_ARG_BATCH_COUNT = 19,
  XGEMM_ARG_STRIDE_A = 20,
  XGEMM_ARG_STRIDE_B = 21,
  XGEMM_ARG_STRIDE_C = 22,
  XGEMM_ARG_WORKSPACE = 23,
  XGEMM_ARG_MATH_MODE = 24,
  XGEMM_ARG_SCALAR_LOCATION = 25,
  XGEMM_ARG_BUFFER = 26,
  XGEMM_ARG_TYPE_C = 27,
  XGEMM_ARG_ACTIVATION = 28,
  XGEMM_ARG_BIAS_ALONG = 29,
  XGEMM_ARG_BIAS = 30,
  XGEMM_ARG_ROW_SCALES = 31,
  XGEMM_ARG_COLUMN_SCALES = 32,
  XGEMM_ARG_OLD_C = 33,
  XGEMM_ARG_LD_OLD_C = 34,
  XGEMM_ARG_STRIDE_OLD_C = 35,
  XGEMM_ARG_FILL = 36,
  XGEMM_ARG_PREPARED_A = 37,
  XGEMM_ARG_PREPARED_B = 38,
  XGEMM_ARG_OPERAND = 39,
  XGEMM_ARG_STRIDED = 40,
  XGEMM_ARG_AUX = 41,
  XGEMM_ARG_LD_AUX = 42,
  XGEMM_ARG_STRIDE_AUX = 43,
  XGEMM_ARG_BATCH_KIND = 44
};

/* Element type of A and B, and of C unless enum xgemm_type_c says otherwise. Sums of doubles are kept in double, all
 * others in fp32, and a result is rounded to the element type of C once. */
enum xgemm_type {
  XGEMM_F32 = 0,  /* float */
  XGEMM_F16 = 1,  /* xgemm_half */
  XGEMM_BF16 = 2, /* xgemm_bfloat16 */
  XGEMM_F64 = 3   /* double */
};

/* Element type of C: that of A and B, or float beside 16-bit ones. The values after the first are those of enum
 * xgemm_type plus 1. */
enum xgemm_type_c {
  XGEMM_C_SAME = 0, /* the type of A and B */
  XGEMM_C_F32 = 1,  /* where A and B are not double */
  XGEMM_C_F16 = 2,  /* where A and B are fp16 */
  XGEMM_C_BF16 = 3, /* where A and B are bf16 */
  XGEMM_C_F64 = 4   /* where A and B are double */
};

enum xgemm_layout { XGEMM_COL_MAJOR = 0, XGEMM_ROW_MAJOR = 1 };

/* Which elements of C, as it is stored in the call's layout, a product computes. Those outside of a triangle, which
 * includes the diagonal, are neither read nor written; m = n is required for one, and no epilogue. */
enum xgemm_fill { XGEMM_FILL_FULL = 0, XGEMM_FILL_LOWER = 1, XGEMM_FILL_UPPER = 2 };

/* Matrices that lie in memory in any way (xgemm_args::strided), as a sum. */
enum xgemm_strided { XGEMM_STRIDED_A = 1, XGEMM_STRIDED_B = 2, XGEMM_STRIDED_C = 4 };

/* How products may be computed. */
enum xgemm_math_mode {
  XGEMM_MATH_STRICT = 0,        /* fused multiply-adds in the type of the sums; the default */
  XGEMM_MATH_FP32_EMULATED = 1, /* large products also on fp16 tensor cores, where errors are no larger for it; operands
                                   for which they would be are found on the GPU, and their products computed strictly */
  XGEMM_MATH_TF32 = 2 /* fp32 operands may be rounded to TF32, which has 11 significant bits, for tensor cores:
                         errors of about a thousandth; what they would not make faster is computed strictly */
};

/* A function of each element. NaN gives NaN. */
enum xgemm_activation {
  XGEMM_NO_ACTIVATION = 0, /* x */
  XGEMM_RELU = 1,          /* max(x, 0) */
  XGEMM_GELU = 2,          /* x times the normal distribution function of x */
  XGEMM_GELU_TANH = 3,     /* its approximation 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) */
  XGEMM_SILU = 4           /* x / (1 + exp(-x)) */
};

/* What the elements of a bias are added to. */
enum xgemm_bias {
  XGEMM_BIAS_OF_ROWS = 0,   /* m elements: bias[i] to row i of C */
  XGEMM_BIAS_OF_COLUMNS = 1 /* n elements: bias[j] to column j of C */
};

/* Where xgemm_args::alpha and ::beta point. */
enum xgemm_scalar_location {
  XGEMM_SCALARS_ON_HOST = 0,  /* read before the call returns; the default */
  XGEMM_SCALARS_ON_DEVICE = 1 /* device memory, read when the work runs; A, B and C must be device or managed memory */
};

typedef struct xgemm_context xgemm_context;

/* An operand that was prepared for several products: xgemm_prepare(). */
typedef struct xgemm_prepared xgemm_prepared;

/* ---- The calls most programs need -------------------------------------------------------------------------------- */

/* transa, transb: 'N' or 'n': as stored; 'T', 't', 'C' or 'c': transposed (the data are real).
 * A is lda x k (N) or lda x m (T); B is ldb x n (N) or ldb x k (T); C is ldc x n. They run on the calling thread's
 * default context. beta = 0: C is not read. alpha = 0 or k = 0: A and B are not read and may be NULL. */
XGEMM_API int xsgemm(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
                     int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc);

/* The same for matrices of doubles, in double throughout. */
XGEMM_API int xdgemm(char transa, char transb, int64_t m, int64_t n, int64_t k, double alpha, const double* a,
                     int64_t lda, const double* b, int64_t ldb, double beta, double* c, int64_t ldc);

/* For fp16 matrices: products and sums in fp32, each element of C rounded once. */
XGEMM_API int xhgemm(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const xgemm_half* a,
                     int64_t lda, const xgemm_half* b, int64_t ldb, float beta, xgemm_half* c, int64_t ldc);

/* And for bf16 matrices, likewise. */
XGEMM_API int xbgemm(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const xgemm_bfloat16* a,
                     int64_t lda, const xgemm_bfloat16* b, int64_t ldb, float beta, xgemm_bfloat16* c, int64_t ldc);

/* C := alpha * op(A) * op(A)^T + beta * C for a triangle of C, an n x n matrix; the other half is neither read nor
 * written. uplo: 'U' or 'L', either case. trans = 'N': A is n x k, and op(A) is A; 'T' or 'C': A is k x n, and op(A) is
 * its transpose. The number of an illegal argument is its place here. */
XGEMM_API int xssyrk(char uplo, char trans, int64_t n, int64_t k, float alpha, const float* a, int64_t lda, float beta,
                     float* c, int64_t ldc);
XGEMM_API int xdsyrk(char uplo, char trans, int64_t n, int64_t k, double alpha, const double* a, int64_t lda,
                     double beta, double* c, int64_t ldc);

/* ---- Contexts ---------------------------------------------------------------------------------------------------- */

/* Creates a context with the default settings. XGEMM_OUT_OF_HOST_MEMORY, or -XGEMM_ARG_CONTEXT for a null pointer. */
XGEMM_API int xgemm_create(xgemm_context** ctx);

/* Frees a context and what it owns, after the work it enqueued. NULL is allowed and does nothing. */
XGEMM_API int xgemm_destroy(xgemm_context* ctx);

/* cuda_stream: a cudaStream_t (or CUstream); NULL is the legacy default stream, which is also the initial one. */
XGEMM_API int xgemm_set_stream(xgemm_context* ctx, void* cuda_stream);

/* Lends the context `bytes` of device memory, 256-byte aligned, for kernels that need scratch space. Calls that run at
 * the same time must not share one. NULL and 0 take it back: kernels that need scratch space then take it from a
 * stream-ordered pool of the library, as they do where what was lent is too small. */
XGEMM_API int xgemm_set_workspace(xgemm_context* ctx, void* device_memory, size_t bytes);

/* mode: enum xgemm_math_mode, of calls that do not say it themselves. */
XGEMM_API int xgemm_set_math_mode(xgemm_context* ctx, int mode);

/* location: enum xgemm_scalar_location; concerns xgemm_gemm and xgemm_explain alone. Of scalars on the device it is not
 * known beforehand that they are 0: A, B and C have to be memory that may be read, of which nothing then counts. */
XGEMM_API int xgemm_set_scalar_location(xgemm_context* ctx, int location);

/* ---- The general call -------------------------------------------------------------------------------------------- */

/* How the matrices of a batch are found. */
enum xgemm_batch {
  XGEMM_BATCH_STRIDED = 0, /* by stride_a, stride_b and stride_c */
  /* a, b and c are arrays of batch_count pointers (void*) to the matrices, also where batch_count is 1. All three are
   * in host memory, and each product may be anywhere; or all in device or managed memory, of which no more is known on
   * the host than that the matrices are in memory of the same GPU, too. */
  XGEMM_BATCH_POINTERS = 1
};

/* Everything a product can carry. Start from XGEMM_ARGS_INIT: it fills in the size of the struct as the caller knows
 * it, by which the library tells which fields are there. New fields are added at the end, and zero is their default. So
 * a program may be built with the header of any release: fields that its header lacks have their defaults; fields that
 * the library does not know yet must be zero, else the call is refused with -XGEMM_ARG_SIZE. */
typedef struct xgemm_args {
  size_t size;    /* sizeof(struct xgemm_args) */
  int32_t type;   /* enum xgemm_type, of A and B */
  int32_t layout; /* enum xgemm_layout, of A, B and C */
  char transa;    /* 'N', 'T' or 'C', either case */
  char transb;
  int64_t m, n, k;
  const void* alpha; /* double where A and B are, else float; NULL: 1, where scalars are on the host */
  const void* a;
  int64_t lda; /* row-major: elements between the starts of two neighbouring rows */
  const void* b;
  int64_t ldb;
  const void* beta; /* likewise; NULL: 0, where scalars are on the host */
  void* c;
  int64_t ldc;
  int64_t batch_count; /* number of products; 0 does nothing */
  int64_t stride_a;    /* elements from a matrix to the next of the batch; 0 uses the same A (or B) for all */
  int64_t stride_b;
  int64_t stride_c; /* > 0 when batch_count > 1; the products of a batch must not overlap in C */
  /* The struct of the first headers ends here. */
  int32_t type_c;    /* enum xgemm_type_c */
  int32_t math_mode; /* 0: the context's; else an enum xgemm_math_mode plus 1 */
  /* The epilogue:
   *     C := activation(alpha * op(A) * op(B) + beta * old C + bias) * scale of the row * scale of the column,
   * computed in the type of the sums and rounded once. Vectors are contiguous, and the same for all products of a
   * batch. A call that has any of it needs its matrices and vectors all in host memory, or all in device or managed
   * memory of one GPU. */
  int32_t activation;        /* enum xgemm_activation */
  int32_t bias_along;        /* enum xgemm_bias */
  const void* bias;          /* of C's element type; NULL: none */
  const void* row_scales;    /* m factors, double where A and B are, else float; NULL: 1 */
  const void* column_scales; /* n factors, likewise */
  const void* old_c; /* what beta multiplies, of C's type, in the call's layout, where it is not C itself: it may not
                        overlap with C unless it is C; NULL: C */
  int64_t ld_old_c;
  int64_t stride_old_c; /* elements from a matrix to the next of the batch; 0 uses the same for all */
  int32_t fill;         /* enum xgemm_fill */
  int32_t strided; /* the matrices that the following strides describe, not layout and a leading dimension: a sum of
                      enum xgemm_strided. Strides of others are 0 */
  /* What xgemm_prepare() made of A, of B; NULL: nothing. A and B are given all the same. */
  const xgemm_prepared* prepared_a;
  const xgemm_prepared* prepared_b;
  /* Elements between the starts of two neighbouring rows, of two neighbouring columns, of a matrix as it is before op.
   * Any numbers, 0 and negative ones among them; elements of C must not share an address. An illegal one is reported as
   * the leading dimension in whose place it is. */
  int64_t row_stride_a;
  int64_t column_stride_a;
  int64_t row_stride_b;
  int64_t column_stride_b;
  int64_t row_stride_c;
  int64_t column_stride_c;
  /* What gradients need of the activation: a matrix in the call's layout, where C is, that overlaps with nothing else;
   * NULL: none. Of XGEMM_RELU it is of bits, the first one of a byte the lowest: whether an element of what the
   * activation is given is 0 or more. Of the others it is of C's type, and what the activation is given. */
  void* aux;
  int64_t ld_aux;     /* elements, or, of bits, a multiple of 8 of them; what is over in the last byte of a line is 0 */
  int64_t stride_aux; /* likewise, from a matrix to the next of the batch */
  int32_t batch_kind; /* enum xgemm_batch */
  int32_t reserved;   /* 0 */
} xgemm_args;

#define XGEMM_ARGS_INIT                                                                                                \
  {                                                                                                                    \
    sizeof(xgemm_args), XGEMM_F32, XGEMM_COL_MAJOR, 'N', 'N', 0, 0, 0, NULL, NULL, 1, NULL, 1, NULL, NULL, 1, 1, 0, 0, \
        0, XGEMM_C_SAME, 0, XGEMM_NO_ACTIVATION, XGEMM_BIAS_OF_ROWS, NULL, NULL, NULL, NULL, 0, 0, XGEMM_FILL_FULL, 0, \
        NULL, NULL, 0, 0, 0, 0, 0, 0, NULL, 0, 0, XGEMM_BATCH_STRIDED, 0                                               \
  }

XGEMM_API int xgemm_gemm(xgemm_context* ctx, const xgemm_args* args);

/* ---- Operands of several products -------------------------------------------------------------------------------- */

/* Prepares A (operand: XGEMM_ARG_A) or B (XGEMM_ARG_B) of args, a matrix of float in device memory that several
 * products in XGEMM_MATH_FP32_EMULATED will have, such as the weights of a model: what each of them would make of it
 * first is made once, and takes as much memory again. Of args the fields that describe the operand are read: its
 * pointer, leading dimension and flag, the layout, k, and m or n; type and strided must be XGEMM_F32 and 0.
 *
 * A product that is given the handle in prepared_a or prepared_b has the same operand in a or b, and the same
 * result, bit for bit. The matrix must not change between xgemm_prepare and the last of its products. The work is
 * enqueued on the context's stream; products on other streams, and graphs, have to be ordered behind it. In a capture
 * it becomes a part of the graph, and each launch of it prepares the operand anew.
 *
 * Where products of the matrix would not be emulated (other GPUs, short sums, no elements), the handle is of no
 * effect. */
XGEMM_API int xgemm_prepare(xgemm_context* ctx, const xgemm_args* args, int operand, xgemm_prepared** prepared);

/* Frees what was prepared, after the work that was enqueued before. Graphs that hold products of it must not be
 * launched any more. NULL is allowed and does nothing. */
XGEMM_API int xgemm_release(xgemm_prepared* prepared);

/* ---- Looking inside ---------------------------------------------------------------------------------------------- */

/* Writes to buf, in at most size bytes with the closing NUL, how xgemm_gemm would serve this call: where it runs, which
 * kernel, tile and vector width, and why. Text that does not fit is cut. Runs nothing. Returns what xgemm_gemm's checks
 * and planning would return. */
XGEMM_API int xgemm_explain(xgemm_context* ctx, const xgemm_args* args, char* buf, size_t size);

/* How many products (of very large ones, blocks) in XGEMM_MATH_FP32_EMULATED have been computed strictly in this
 * process because of what their operands held: as far as the GPUs have got. */
XGEMM_API int64_t xgemm_fp32_fallbacks(void);

/* The GPU kernels in this build; names are those that XGEMM_FORCE_KERNEL takes. NULL for an index out of range. */
XGEMM_API int xgemm_kernel_count(void);
XGEMM_API const char* xgemm_kernel_name(int index);

/* A short text for any return value of this library. Never NULL. Illegal arguments are named as those of xsgemm and
 * xgemm_args are; what xssyrk and xdsyrk call theirs, xgemm_last_error() says. */
XGEMM_API const char* xgemm_status_string(int status);

/* What went wrong in this thread's last call that can fail: the argument, its value and the rule it broke, or the
 * runtime failure; "" when it succeeded. Valid until this thread's next such call. Never NULL. */
XGEMM_API const char* xgemm_last_error(void);

/* XGEMM_VERSION of the library at run time, and the same as text ("0.1.0"). */
XGEMM_API int xgemm_version(void);
XGEMM_API const char* xgemm_version_string(void);

#ifdef __cplusplus
}
#endif

#endif /* XGEMM_H */
