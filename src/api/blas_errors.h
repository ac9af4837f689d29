// How errors of the BLAS symbols reach the error handler of their flavour of BLAS.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace xgemm::api {

// Whose name it is: whose integers its arguments have, and whose error handlers it calls.
enum class Flavour {
  plain,         // sgemm_, cblas_sgemm: the reference, with 32-bit integers
  reference_64,  // sgemm_64_, cblas_sgemm_64
  openblas_64,   // sgemm_64_, cblas_sgemm64_
  wheels,        // scipy_sgemm_, scipy_cblas_sgemm: the OpenBLAS that SciPy's wheels carry
  wheels_64      // scipy_sgemm_64_, scipy_cblas_sgemm64_: NumPy's
};

constexpr bool has_wide_integers(Flavour flavour) {
  return flavour != Flavour::plain && flavour != Flavour::wheels;
}

// What errors of a call are reported by.
struct Routine {
  const char* symbol;        // in our own messages
  const char* fortran_name;  // that a Fortran error handler is told
  const char* cblas_name;    // that cblas_xerbla is told; unused in Fortran names
  Flavour flavour;
  int (*position)(int argument);  // of an xgemm_argument among those of the Fortran name; CBLAS counts one more
};

// The same argument of the column-major product that a row-major one is: A and B, m and n change places.
int transposed_argument(int argument);

// Reports an xgemm_argument, whose message is this thread's last error, to xerbla_ of the flavour; where the process
// has none, in one line on stderr.
void report_fortran(const Routine& routine, int argument);

// The same for a CBLAS name; 0 is its layout. explains: the message is for the handler, too.
void report_cblas(const Routine& routine, bool row_major, int argument, bool explains = false);

}  // namespace xgemm::api
