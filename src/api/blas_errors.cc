// Finding the error handlers and telling them what they expect.
//
// Handlers are weak references: the program's own, or those of the BLAS that it is linked with, and null where there is
// none. The BLAS of a Python wheel is loaded out of their sight, and looked for when there is something to report.
//
// What the reference's handlers expect: a row-major call is the column-major call with A and B, m and n swapped, and
// cblas_xerbla is given the number that the argument has there; the handler itself swaps the numbers of m and n and of
// lda and ldb back when the variable RowMajorStrg says so, in every routine with "gemm" in its name at the places that
// they have in gemm. The variable belongs to the BLAS (or to the program that brings its own handler), so it is set
// where there is one. OpenBLAS's CBLAS reports to xerbla_, as the column-major call, and there the flags of A and B are
// swapped, too; its cblas_xerbla is for others, and ends the program.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "api/blas_errors.h"

#include <elf.h>
#include <sys/auxv.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "core/environment.h"
#include "core/status.h"
#include "host/loaded_objects.h"
#include "xgemm.h"

extern "C" {
[[gnu::weak, gnu::visibility("default")]] void xerbla_(const char* name, const int* number, std::size_t name_length);
[[gnu::weak, gnu::visibility("default")]] void xerbla_64_(const char* name, const std::int64_t* number,
                                                          std::size_t name_length);
[[gnu::weak, gnu::visibility("default")]] void scipy_xerbla_(const char* name, const int* number,
                                                             std::size_t name_length);
[[gnu::weak, gnu::visibility("default")]] void scipy_xerbla_64_(const char* name, const std::int64_t* number,
                                                                std::size_t name_length);
[[gnu::weak, gnu::visibility("default")]] void cblas_xerbla(int number, const char* routine, const char* form, ...);
[[gnu::weak, gnu::visibility("default")]] void cblas_xerbla_64(std::int64_t number, const char* routine,
                                                               const char* form, ...);
[[gnu::weak, gnu::visibility("default")]] extern int RowMajorStrg;
}

namespace xgemm::api {
namespace {

using Handler = void (*)(const char* name, const int* number, std::size_t name_length);
using WideHandler = void (*)(const char* name, const std::int64_t* number, std::size_t name_length);

// One of the two, or none.
struct FortranHandler {
  Handler handler = nullptr;
  WideHandler wide_handler = nullptr;

  explicit operator bool() const { return handler != nullptr || wide_handler != nullptr; }
  void operator()(const char* name, int number) const {
    const std::int64_t wide_number = number;
    if (wide_handler != nullptr)
      wide_handler(name, &wide_number, std::strlen(name));
    else
      handler(name, &number, std::strlen(name));
  }
};

template <class Function>
Function linked_or_loaded(Function linked, const char* name) {
  if (linked != nullptr) return linked;
  try {
    return reinterpret_cast<Function>(host::find_in_loaded("openblas", name));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

FortranHandler fortran_handler(Flavour flavour) {
  switch (flavour) {
    case Flavour::plain:
      break;
    case Flavour::reference_64:
    case Flavour::openblas_64:
      if (const WideHandler found = linked_or_loaded(&xerbla_64_, "xerbla_64_")) return {nullptr, found};
      break;
    case Flavour::wheels:
      return {linked_or_loaded(&scipy_xerbla_, "scipy_xerbla_"), nullptr};
    case Flavour::wheels_64:
      return {nullptr, linked_or_loaded(&scipy_xerbla_64_, "scipy_xerbla_64_")};
  }
  return {&xerbla_, nullptr};
}

// number: as the caller counts.
void report_without_handler(const Routine& routine, int number) {
  try {
    print_line(format("%s: argument %d is illegal: %s", routine.symbol, number, last_error()));
  } catch (const std::bad_alloc&) {
    print_line(routine.symbol);
  }
}

bool in_main_program(const void* address) {
  const void* program = host::object_of(reinterpret_cast<const void*>(getauxval(AT_PHDR))).base;
  return program != nullptr && host::object_of(address).base == program;
}

// MKL's function of this name has other arguments.
using MklHandler = void (*)(const char* routine, int number);

bool is_mkl(const void* handler) {
  const char* const file = host::object_of(handler).file;
  return file != nullptr && std::strstr(file, "libmkl") != nullptr;
}

void report_as_openblas(const Routine& routine, bool row_major, int argument) {
  if (const FortranHandler handler = fortran_handler(routine.flavour))
    handler(routine.fortran_name, routine.position(row_major ? transposed_argument(argument) : argument));
  else
    report_without_handler(routine, routine.position(argument) + 1);
}

// A library's cblas_xerbla without the variable that the reference's reads.
bool is_of_openblas(const void* handler) {
  return handler != nullptr && !in_main_program(handler) && !is_mkl(handler) &&
         (&RowMajorStrg == nullptr || host::object_of(&RowMajorStrg).base != host::object_of(handler).base);
}

// The number that the reference's handler turns into this one where RowMajorStrg is set, and the other way round.
int turned_back(const Routine& routine, int number) {
  if (std::strstr(routine.cblas_name, "gemm") == nullptr) return number;
  switch (number) {
    case 4:
      return 5;
    case 5:
      return 4;
    case 9:
      return 11;
    case 11:
      return 9;
    default:
      return number;
  }
}

void report_as_reference(const Routine& routine, bool row_major, int argument, bool explains) {
  const bool is_numeric = argument > XGEMM_ARG_TRANSB && argument != XGEMM_ARG_FILL;
  const bool is_turned = row_major && is_numeric;
  const int fortran_number = routine.position(is_turned ? transposed_argument(argument) : argument);
  const int own_number = routine.position(argument) + 1;
  const int number = is_turned ? turned_back(routine, own_number) : own_number;
  const auto handler = reinterpret_cast<const void*>(&cblas_xerbla);
  const FortranHandler fortran = {&xerbla_, nullptr};
  const char* const form = explains ? "%s\n" : "";

  if (&RowMajorStrg != nullptr) RowMajorStrg = row_major;
  if (has_wide_integers(routine.flavour) && cblas_xerbla_64 != nullptr) {
    cblas_xerbla_64(number, routine.cblas_name, form, last_error());
  } else if (is_numeric && fortran && in_main_program(reinterpret_cast<const void*>(&xerbla_)) &&
             !in_main_program(handler)) {
    // A program that brings its xerbla_ alone: in the reference the numeric checks are sgemm_'s, and end there.
    fortran(routine.fortran_name, fortran_number);
  } else if (handler != nullptr && is_mkl(handler)) {
    reinterpret_cast<MklHandler>(const_cast<void*>(handler))(routine.cblas_name, own_number);
  } else if (handler != nullptr) {
    cblas_xerbla(number, routine.cblas_name, form, last_error());
  } else if (fortran) {
    fortran(routine.fortran_name, fortran_number);
  } else {
    report_without_handler(routine, own_number);
  }
  if (&RowMajorStrg != nullptr) RowMajorStrg = 0;
}

}  // namespace

int transposed_argument(int argument) {
  switch (argument) {
    case XGEMM_ARG_TRANSA:
      return XGEMM_ARG_TRANSB;
    case XGEMM_ARG_TRANSB:
      return XGEMM_ARG_TRANSA;
    case XGEMM_ARG_M:
      return XGEMM_ARG_N;
    case XGEMM_ARG_N:
      return XGEMM_ARG_M;
    case XGEMM_ARG_LDA:
      return XGEMM_ARG_LDB;
    case XGEMM_ARG_LDB:
      return XGEMM_ARG_LDA;
    default:
      return argument;
  }
}

void report_fortran(const Routine& routine, int argument) {
  const int number = routine.position(argument);
  if (const FortranHandler handler = fortran_handler(routine.flavour))
    handler(routine.fortran_name, number);
  else
    report_without_handler(routine, number);
}

void report_cblas(const Routine& routine, bool row_major, int argument, bool explains) {
  const bool is_plain = routine.flavour == Flavour::plain || routine.flavour == Flavour::reference_64;
  if (is_plain && !is_of_openblas(reinterpret_cast<const void*>(&cblas_xerbla)))
    report_as_reference(routine, row_major, argument, explains);
  else
    report_as_openblas(routine, row_major, argument);
}

}  // namespace xgemm::api
