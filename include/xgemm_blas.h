/* libxgemm: the BLAS symbols that libxgemm.so exports, for programs that have no header of a BLAS at hand.
 *
 * Programs that include a cblas.h go on using that one: include it before this header, which then leaves out what that
 * one declares in any of its releases. The enumerations of CBLAS are plain int in this header, with the values that
 * every CBLAS uses.
 *
 * Checks, their order and their numbers are those of the reference BLAS, but for an unknown transb or uplo of a
 * row-major call, which it counts as another argument. Errors go to the program's xerbla_ or cblas_xerbla (or to those
 * of the BLAS that it is linked with); where there is none, one line on stderr says what was wrong and the call
 * returns. A failure at run time, which BLAS has no way to report, is one line on stderr as well.
 *
 * fp16 and bf16 numbers are passed as their bits: hgemm is MKL's and Arm PL's, bgemm OpenBLAS's and Arm PL's; with C,
 * alpha and beta in fp32, sbgemm is OpenBLAS's, and gemm_bf16bf16f32 and gemm_f16f16f32 are MKL's.
 *
 * C99. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef XGEMM_BLAS_H
#define XGEMM_BLAS_H

#include "xgemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* No cblas.h so far: netlib's, OpenBLAS's, BLIS's and ATLAS's define CBLAS_H, the others are MKL's and GSL's. */
#if !defined(CBLAS_H) && !defined(__MKL_CBLAS_H__) && !defined(__GSL_CBLAS_H__)
enum { CblasRowMajor = 101, CblasColMajor = 102 };
enum { CblasNoTrans = 111, CblasTrans = 112, CblasConjTrans = 113 };
enum { CblasUpper = 121, CblasLower = 122 };

XGEMM_API void cblas_sgemm(int layout, int transa, int transb, int m, int n, int k, float alpha, const float* a,
                           int lda, const float* b, int ldb, float beta, float* c, int ldc);
XGEMM_API void cblas_dgemm(int layout, int transa, int transb, int m, int n, int k, double alpha, const double* a,
                           int lda, const double* b, int ldb, double beta, double* c, int ldc);

/* Rank-k updates of a triangle of C, as xssyrk. */
XGEMM_API void cblas_ssyrk(int layout, int uplo, int trans, int n, int k, float alpha, const float* a, int lda,
                           float beta, float* c, int ldc);
XGEMM_API void cblas_dsyrk(int layout, int uplo, int trans, int n, int k, double alpha, const double* a, int lda,
                           double beta, double* c, int ldc);
#endif

/* 64-bit integers, as in the reference BLAS with the suffix _64. */
#if !defined(CBLAS_64_H) && !defined(__MKL_CBLAS_H__)
XGEMM_API void cblas_sgemm_64(int layout, int transa, int transb, int64_t m, int64_t n, int64_t k, float alpha,
                              const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c,
                              int64_t ldc);
XGEMM_API void cblas_dgemm_64(int layout, int transa, int transb, int64_t m, int64_t n, int64_t k, double alpha,
                              const double* a, int64_t lda, const double* b, int64_t ldb, double beta, double* c,
                              int64_t ldc);
XGEMM_API void cblas_ssyrk_64(int layout, int uplo, int trans, int64_t n, int64_t k, float alpha, const float* a,
                              int64_t lda, float beta, float* c, int64_t ldc);
XGEMM_API void cblas_dsyrk_64(int layout, int uplo, int trans, int64_t n, int64_t k, double alpha, const double* a,
                              int64_t lda, double beta, double* c, int64_t ldc);
XGEMM_API void cblas_sbgemm_64(int layout, int transa, int transb, int64_t m, int64_t n, int64_t k, float alpha,
                               const xgemm_bfloat16* a, int64_t lda, const xgemm_bfloat16* b, int64_t ldb, float beta,
                               float* c, int64_t ldc);
#endif

/* fp16 matrices; products and sums in fp32, each element of C rounded once. Then A and B alone in 16 bits, C in fp32.
 */
#if !defined(__MKL_CBLAS_H__)
XGEMM_API void cblas_hgemm(int layout, int transa, int transb, int m, int n, int k, xgemm_half alpha,
                           const xgemm_half* a, int lda, const xgemm_half* b, int ldb, xgemm_half beta, xgemm_half* c,
                           int ldc);
XGEMM_API void cblas_gemm_f16f16f32(int layout, int transa, int transb, int m, int n, int k, float alpha,
                                    const xgemm_half* a, int lda, const xgemm_half* b, int ldb, float beta, float* c,
                                    int ldc);
XGEMM_API void cblas_gemm_bf16bf16f32(int layout, int transa, int transb, int m, int n, int k, float alpha,
                                      const xgemm_bfloat16* a, int lda, const xgemm_bfloat16* b, int ldb, float beta,
                                      float* c, int ldc);
#endif

/* bf16 matrices, likewise; sbgemm with C in fp32. OpenBLAS's cblas.h defines OPENBLAS_CONST. */
#if !defined(OPENBLAS_CONST)
XGEMM_API void cblas_bgemm(int layout, int transa, int transb, int m, int n, int k, xgemm_bfloat16 alpha,
                           const xgemm_bfloat16* a, int lda, const xgemm_bfloat16* b, int ldb, xgemm_bfloat16 beta,
                           xgemm_bfloat16* c, int ldc);
XGEMM_API void cblas_sbgemm(int layout, int transa, int transb, int m, int n, int k, float alpha,
                            const xgemm_bfloat16* a, int lda, const xgemm_bfloat16* b, int ldb, float beta, float* c,
                            int ldc);
#endif

/* Batches, as OpenBLAS and MKL have them: products of matrices that are stride_a, stride_b and stride_c elements apart.
 */
#if !defined(OPENBLAS_CONST) && !defined(__MKL_CBLAS_H__)
XGEMM_API void cblas_sgemm_batch_strided(int layout, int transa, int transb, int m, int n, int k, float alpha,
                                         const float* a, int lda, int stride_a, const float* b, int ldb, int stride_b,
                                         float beta, float* c, int ldc, int stride_c, int batch_count);
XGEMM_API void cblas_dgemm_batch_strided(int layout, int transa, int transb, int m, int n, int k, double alpha,
                                         const double* a, int lda, int stride_a, const double* b, int ldb, int stride_b,
                                         double beta, double* c, int ldc, int stride_c, int batch_count);
XGEMM_API void cblas_sgemm_batch_strided_64(int layout, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                            float alpha, const float* a, int64_t lda, int64_t stride_a, const float* b,
                                            int64_t ldb, int64_t stride_b, float beta, float* c, int64_t ldc,
                                            int64_t stride_c, int64_t batch_count);
XGEMM_API void cblas_dgemm_batch_strided_64(int layout, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                            double alpha, const double* a, int64_t lda, int64_t stride_a,
                                            const double* b, int64_t ldb, int64_t stride_b, double beta, double* c,
                                            int64_t ldc, int64_t stride_c, int64_t batch_count);
#endif

/* Groups of products, as MKL and OpenBLAS have them: flags, extents, leading dimensions and factors have an element for
 * each group, whose products are group_size many; a, b and c one for each product of all groups. Nothing is computed
 * where an argument of any group is illegal. The arrays are the host's, the matrices may be device memory. Matrices of
 * a group that lie at equal distances on the same device are computed as one batch. */
#if !defined(OPENBLAS_CONST) && !defined(__MKL_CBLAS_H__) && !defined(BLIS_TYPE_DEFS_H)
XGEMM_API void cblas_sgemm_batch(int layout, const int* transa, const int* transb, const int* m, const int* n,
                                 const int* k, const float* alpha, const float** a, const int* lda, const float** b,
                                 const int* ldb, const float* beta, float** c, const int* ldc, int group_count,
                                 const int* group_size);
XGEMM_API void cblas_dgemm_batch(int layout, const int* transa, const int* transb, const int* m, const int* n,
                                 const int* k, const double* alpha, const double** a, const int* lda, const double** b,
                                 const int* ldb, const double* beta, double** c, const int* ldc, int group_count,
                                 const int* group_size);
XGEMM_API void cblas_sgemm_batch_64(int layout, const int* transa, const int* transb, const int64_t* m,
                                    const int64_t* n, const int64_t* k, const float* alpha, const float** a,
                                    const int64_t* lda, const float** b, const int64_t* ldb, const float* beta,
                                    float** c, const int64_t* ldc, int64_t group_count, const int64_t* group_size);
XGEMM_API void cblas_dgemm_batch_64(int layout, const int* transa, const int* transb, const int64_t* m,
                                    const int64_t* n, const int64_t* k, const double* alpha, const double** a,
                                    const int64_t* lda, const double** b, const int64_t* ldb, const double* beta,
                                    double** c, const int64_t* ldc, int64_t group_count, const int64_t* group_size);
#endif

/* The Fortran interface. The hidden lengths of transa and transb are not read: pass them or leave them out. */
#if !defined(XGEMM_NO_FORTRAN_NAMES) /* define it where another header declares these */
XGEMM_API void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                      const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
                      const float* beta, float* c, const int* ldc);
XGEMM_API void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                      const double* alpha, const double* a, const int* lda, const double* b, const int* ldb,
                      const double* beta, double* c, const int* ldc);
XGEMM_API void sgemm_64_(const char* transa, const char* transb, const int64_t* m, const int64_t* n, const int64_t* k,
                         const float* alpha, const float* a, const int64_t* lda, const float* b, const int64_t* ldb,
                         const float* beta, float* c, const int64_t* ldc);
XGEMM_API void dgemm_64_(const char* transa, const char* transb, const int64_t* m, const int64_t* n, const int64_t* k,
                         const double* alpha, const double* a, const int64_t* lda, const double* b, const int64_t* ldb,
                         const double* beta, double* c, const int64_t* ldc);
XGEMM_API void ssyrk_(const char* uplo, const char* trans, const int* n, const int* k, const float* alpha,
                      const float* a, const int* lda, const float* beta, float* c, const int* ldc);
XGEMM_API void dsyrk_(const char* uplo, const char* trans, const int* n, const int* k, const double* alpha,
                      const double* a, const int* lda, const double* beta, double* c, const int* ldc);
XGEMM_API void ssyrk_64_(const char* uplo, const char* trans, const int64_t* n, const int64_t* k, const float* alpha,
                         const float* a, const int64_t* lda, const float* beta, float* c, const int64_t* ldc);
XGEMM_API void dsyrk_64_(const char* uplo, const char* trans, const int64_t* n, const int64_t* k, const double* alpha,
                         const double* a, const int64_t* lda, const double* beta, double* c, const int64_t* ldc);
XGEMM_API void hgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                      const xgemm_half* alpha, const xgemm_half* a, const int* lda, const xgemm_half* b, const int* ldb,
                      const xgemm_half* beta, xgemm_half* c, const int* ldc);
XGEMM_API void bgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                      const xgemm_bfloat16* alpha, const xgemm_bfloat16* a, const int* lda, const xgemm_bfloat16* b,
                      const int* ldb, const xgemm_bfloat16* beta, xgemm_bfloat16* c, const int* ldc);
XGEMM_API void sbgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                       const float* alpha, const xgemm_bfloat16* a, const int* lda, const xgemm_bfloat16* b,
                       const int* ldb, const float* beta, float* c, const int* ldc);
XGEMM_API void sbgemm_64_(const char* transa, const char* transb, const int64_t* m, const int64_t* n, const int64_t* k,
                          const float* alpha, const xgemm_bfloat16* a, const int64_t* lda, const xgemm_bfloat16* b,
                          const int64_t* ldb, const float* beta, float* c, const int64_t* ldc);
XGEMM_API void sgemm_batch_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                            const float* alpha, const float** a, const int* lda, const float** b, const int* ldb,
                            const float* beta, float** c, const int* ldc, const int* group_count,
                            const int* group_size);
XGEMM_API void dgemm_batch_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                            const double* alpha, const double** a, const int* lda, const double** b, const int* ldb,
                            const double* beta, double** c, const int* ldc, const int* group_count,
                            const int* group_size);
XGEMM_API void sgemm_batch_64_(const char* transa, const char* transb, const int64_t* m, const int64_t* n,
                               const int64_t* k, const float* alpha, const float** a, const int64_t* lda,
                               const float** b, const int64_t* ldb, const float* beta, float** c, const int64_t* ldc,
                               const int64_t* group_count, const int64_t* group_size);
XGEMM_API void dgemm_batch_64_(const char* transa, const char* transb, const int64_t* m, const int64_t* n,
                               const int64_t* k, const double* alpha, const double** a, const int64_t* lda,
                               const double** b, const int64_t* ldb, const double* beta, double** c, const int64_t* ldc,
                               const int64_t* group_count, const int64_t* group_size);
XGEMM_API void sgemm_batch_strided_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                                    const float* alpha, const float* a, const int* lda, const int* stride_a,
                                    const float* b, const int* ldb, const int* stride_b, const float* beta, float* c,
                                    const int* ldc, const int* stride_c, const int* batch_count);
XGEMM_API void dgemm_batch_strided_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                                    const double* alpha, const double* a, const int* lda, const int* stride_a,
                                    const double* b, const int* ldb, const int* stride_b, const double* beta, double* c,
                                    const int* ldc, const int* stride_c, const int* batch_count);
XGEMM_API void sgemm_batch_strided_64_(const char* transa, const char* transb, const int64_t* m, const int64_t* n,
                                       const int64_t* k, const float* alpha, const float* a, const int64_t* lda,
                                       const int64_t* stride_a, const float* b, const int64_t* ldb,
                                       const int64_t* stride_b, const float* beta, float* c, const int64_t* ldc,
                                       const int64_t* stride_c, const int64_t* batch_count);
XGEMM_API void dgemm_batch_strided_64_(const char* transa, const char* transb, const int64_t* m, const int64_t* n,
                                       const int64_t* k, const double* alpha, const double* a, const int64_t* lda,
                                       const int64_t* stride_a, const double* b, const int64_t* ldb,
                                       const int64_t* stride_b, const double* beta, double* c, const int64_t* ldc,
                                       const int64_t* stride_c, const int64_t* batch_count);
#endif

/* The names by which Python's wheels import gemm and syrk from the OpenBLAS that they carry; nobody else needs them.
 * NumPy's are scipy_cblas_sgemm64_ and scipy_sgemm_64_ (cblas_sgemm64_ and sgemm_64_ before NumPy 2), SciPy's
 * scipy_cblas_sgemm and scipy_sgemm_. Errors go to the wheel's xerbla. */
#if !defined(CBLAS_H)
XGEMM_API void cblas_sgemm64_(int layout, int transa, int transb, int64_t m, int64_t n, int64_t k, float alpha,
                              const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c,
                              int64_t ldc);
XGEMM_API void cblas_dgemm64_(int layout, int transa, int transb, int64_t m, int64_t n, int64_t k, double alpha,
                              const double* a, int64_t lda, const double* b, int64_t ldb, double beta, double* c,
                              int64_t ldc);
XGEMM_API void scipy_cblas_sgemm(int layout, int transa, int transb, int m, int n, int k, float alpha, const float* a,
                                 int lda, const float* b, int ldb, float beta, float* c, int ldc);
XGEMM_API void scipy_cblas_dgemm(int layout, int transa, int transb, int m, int n, int k, double alpha, const double* a,
                                 int lda, const double* b, int ldb, double beta, double* c, int ldc);
XGEMM_API void scipy_cblas_sgemm64_(int layout, int transa, int transb, int64_t m, int64_t n, int64_t k, float alpha,
                                    const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c,
                                    int64_t ldc);
XGEMM_API void scipy_cblas_dgemm64_(int layout, int transa, int transb, int64_t m, int64_t n, int64_t k, double alpha,
                                    const double* a, int64_t lda, const double* b, int64_t ldb, double beta, double* c,
                                    int64_t ldc);
XGEMM_API void cblas_ssyrk64_(int layout, int uplo, int trans, int64_t n, int64_t k, float alpha, const float* a,
                              int64_t lda, float beta, float* c, int64_t ldc);
XGEMM_API void cblas_dsyrk64_(int layout, int uplo, int trans, int64_t n, int64_t k, double alpha, const double* a,
                              int64_t lda, double beta, double* c, int64_t ldc);
XGEMM_API void scipy_cblas_ssyrk(int layout, int uplo, int trans, int n, int k, float alpha, const float* a, int lda,
                                 float beta, float* c, int ldc);
XGEMM_API void scipy_cblas_dsyrk(int layout, int uplo, int trans, int n, int k, double alpha, const double* a, int lda,
                                 double beta, double* c, int ldc);
XGEMM_API void scipy_cblas_ssyrk64_(int layout, int uplo, int trans, int64_t n, int64_t k, float alpha, const float* a,
                                    int64_t lda, float beta, float* c, int64_t ldc);
XGEMM_API void scipy_cblas_dsyrk64_(int layout, int uplo, int trans, int64_t n, int64_t k, double alpha,
                                    const double* a, int64_t lda, double beta, double* c, int64_t ldc);
#endif
XGEMM_API void scipy_sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                            const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
                            const float* beta, float* c, const int* ldc);
XGEMM_API void scipy_dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                            const double* alpha, const double* a, const int* lda, const double* b, const int* ldb,
                            const double* beta, double* c, const int* ldc);
XGEMM_API void scipy_sgemm_64_(const char* transa, const char* transb, const int64_t* m, const int64_t* n,
                               const int64_t* k, const float* alpha, const float* a, const int64_t* lda, const float* b,
                               const int64_t* ldb, const float* beta, float* c, const int64_t* ldc);
XGEMM_API void scipy_dgemm_64_(const char* transa, const char* transb, const int64_t* m, const int64_t* n,
                               const int64_t* k, const double* alpha, const double* a, const int64_t* lda,
                               const double* b, const int64_t* ldb, const double* beta, double* c, const int64_t* ldc);
XGEMM_API void scipy_ssyrk_(const char* uplo, const char* trans, const int* n, const int* k, const float* alpha,
                            const float* a, const int* lda, const float* beta, float* c, const int* ldc);
XGEMM_API void scipy_dsyrk_(const char* uplo, const char* trans, const int* n, const int* k, const double* alpha,
                            const double* a, const int* lda, const double* beta, double* c, const int* ldc);
XGEMM_API void scipy_ssyrk_64_(const char* uplo, const char* trans, const int64_t* n, const int64_t* k,
                               const float* alpha, const float* a, const int64_t* lda, const float* beta, float* c,
                               const int64_t* ldc);
XGEMM_API void scipy_dsyrk_64_(const char* uplo, const char* trans, const int64_t* n, const int64_t* k,
                               const double* alpha, const double* a, const int64_t* lda, const double* beta, double* c,
                               const int64_t* ldc);

#ifdef __cplusplus
}
#endif

#endif /* XGEMM_BLAS_H */
