// What every call looks at in its thread. In one variable, for finding a thread's variables is a good part of what a
// small product costs.
#pragma once

namespace xgemm {

struct ThreadState {
  bool has_message = false;     // of the last call, for xgemm_last_error(); core/status.cc has the text
  bool inside_library = false;  // while it opens or runs the CPU BLAS; see host/cpu_blas.h
  bool past_door = false;       // while it runs it, which forks wait for
};

extern constinit thread_local ThreadState thread_state;

}  // namespace xgemm
