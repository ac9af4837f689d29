// The BLAS library of this machine, opened at run time and called through its Fortran interface.
//
// It is opened privately: libxgemm may itself be the program's sgemm_ (linked first or preloaded), so the function is
// taken from the library's own handle, never from the program's symbols, and one that turns out to be ours is refused.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <string>

#include "core/thread_state.h"
#include "host/builtin_gemm.h"

namespace xgemm::host {

// How a routine was found to behave. What BLAS promises and a library does not keep, the engine makes up for.
struct Conduct {
  bool right = true;      // on finite matrices; else it is not used
  bool spares_c = true;   // C is not read when beta = 0
  bool keeps_nan = true;  // zeros in one matrix do not hide NaN in the other (old reference BLAS, edges in BLIS)
};

// A library's product of matrices of T: float or double.
template <class T>
struct BlasRoutine {
  // sgemm_ or dgemm_ with the hidden lengths of its two strings. Integers are passed as pointers to 64-bit variables: a
  // library of 32-bit integers reads their low halves.
  using Function = void (*)(const char* transa, const char* transb, const std::int64_t* m, const std::int64_t* n,
                            const std::int64_t* k, const T* alpha, const T* a, const std::int64_t* lda, const T* b,
                            const std::int64_t* ldb, const T* beta, T* c, const std::int64_t* ldc,
                            std::size_t transa_length, std::size_t transb_length);

  Function function = nullptr;  // null: the built-in loop serves

  Conduct conduct;

  // Calls the library, whatever the width of its integers, with numbers of at most INT_MAX.
  void call(const Gemm<T>& p) const {
    const char transa = static_cast<char>(p.transa), transb = static_cast<char>(p.transb);
    function(&transa, &transb, &p.m, &p.n, &p.k, &p.alpha, p.a, &p.lda, p.b, &p.ldb, &p.beta, p.c, &p.ldc, 1, 1);
  }

  // The same, extents above largest_extent in several calls: libraries may have integers of 32 bits. The default leaves
  // room for what a library adds to an extent.
  void run(const Gemm<T>& product, std::int64_t largest_extent = std::int64_t{1} << 30) const;

  // Tries it out on small products.
  void try_out();
};

// Its rank-k update of a triangle: ssyrk_ or dsyrk_.
template <class T>
struct SyrkRoutine {
  using Function = void (*)(const char* uplo, const char* trans, const std::int64_t* n, const std::int64_t* k,
                            const T* alpha, const T* a, const std::int64_t* lda, const T* beta, T* c,
                            const std::int64_t* ldc, std::size_t uplo_length, std::size_t trans_length);

  Function function = nullptr;  // null: products of rectangles serve
  Conduct conduct;

  // Rank-k updates, but not with beta = NaN, which ssyrk_ of OpenBLAS 0.3.21 takes for 0.
  static bool takes(const Gemm<T>& p) { return p.is_rank_k_update() && !std::isnan(p.beta); }

  // What it takes.
  void call(const Gemm<T>& p) const {
    const char uplo = p.fill == Fill::lower ? 'L' : 'U', trans = static_cast<char>(p.transa);
    function(&uplo, &trans, &p.n, &p.k, &p.alpha, p.a, &p.lda, &p.beta, p.c, &p.ldc, 1, 1);
  }

  void try_out();
};

struct CpuBlas {
  std::string name = "builtin";  // "openblas", "blis", "mkl", "blas", "builtin" or the file that XGEMM_CPU_BLAS names
  std::string file;              // where the functions were found
  std::string reason;            // how it was chosen
  BlasRoutine<float> sgemm;
  BlasRoutine<double> dgemm;
  SyrkRoutine<float> ssyrk;
  SyrkRoutine<double> dsyrk;
  int (*threads)() = nullptr;       // for a product, of libraries that say it
  void (*before_fork)() = nullptr;  // OpenBLAS's own handler, where it can be called

  template <class T>
  const BlasRoutine<T>& gemm() const {
    if constexpr (sizeof(T) == 4) {
      return sgemm;
    } else {
      return dgemm;
    }
  }
  template <class T>
  const SyrkRoutine<T>& syrk() const {
    if constexpr (sizeof(T) == 4) {
      return ssyrk;
    } else {
      return dsyrk;
    }
  }
};

// Threads inside the library, and forks under way. Libraries have locks that no fork waits for (OpenBLAS's, of its
// buffers): a child that is forked while another thread holds one hangs at its first product. So a fork waits until
// nobody is inside, and lets nobody in. Neither waits for long: a product may last for seconds, but locks are held at
// its beginning and its end, and what holds the fork up may be a lock of the program's that the thread outside has.
// OpenBLAS's threads, which it ends before a fork, are its own: beside a product that has them it may hang, as it does
// in programs that call it themselves.
class LibraryDoor {
 public:
  void enter() noexcept {
    inside_.fetch_add(1, std::memory_order_seq_cst);
    if (forks_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      wait_for_forks();
  }
  void leave() noexcept { inside_.fetch_sub(1, std::memory_order_release); }

  // Around a fork. mine: whether the thread that forks is past the door itself.
  void close(bool mine) noexcept;
  void open() noexcept { forks_.fetch_sub(1, std::memory_order_release); }
  void open_in_child(bool mine) noexcept;

 private:
  void wait_for_forks() noexcept;

  std::atomic<int> inside_{0}, forks_{0};
};
extern constinit LibraryDoor library_door;

// Held while a thread runs the library, which has been opened. One that called sgemm_ by the program's symbols would
// come back to us: that call takes the built-in product.
class InsideLibrary {
 public:
  explicit InsideLibrary(ThreadState& mine) : mine_(mine), before_(mine.inside_library) {
    if (before_) return;
    library_door.enter();
    mine.inside_library = mine.past_door = true;
  }
  ~InsideLibrary() {
    if (before_) return;
    mine_.inside_library = mine_.past_door = false;
    library_door.leave();
  }
  InsideLibrary(const InsideLibrary&) = delete;
  InsideLibrary& operator=(const InsideLibrary&) = delete;

 private:
  ThreadState& mine_;
  const bool before_;
};

// What XGEMM_CPU_BLAS names, else the first library found of OpenBLAS, BLIS, MKL and libblas, else the built-in loop.
// Opened at the first call and kept; not for threads that are inside.
const CpuBlas& cpu_blas();

// The choice itself, for a value of XGEMM_CPU_BLAS ("" for none). complaint: the line that the user is to see, "" for
// none.
CpuBlas open_cpu_blas(const std::string& wanted, std::string* complaint);

}  // namespace xgemm::host
