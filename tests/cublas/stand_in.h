// What the stand-ins for cuBLAS, cublasLt and the CUDA driver tell tests. The cuBLAS is one of host memory: it computes
// what it is asked for by the definition, and remembers what it was asked.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <sstream>
#include <string>

// The arguments of a call as text: what a client passed and what the stand-in got can be compared.
template <class... Arguments>
std::string text_of_call(const char* name, Arguments... arguments) {
  std::ostringstream text;
  text << name;
  ((text << ' ' << arguments), ...);
  return text.str();
}

extern "C" {

// libcublas: calls that reached it so far, those that it made itself included, and the text of the last one.
int stand_in_calls();
const char* stand_in_last_call();

// libcublasLt.
int stand_in_lt_calls();

// libcuda: whether streams are being captured, and that the memory from `begin` to `end` is that of a GPU (0 is
// the current one), or the host's alone. All other memory is managed, which the CPU may read.
void stand_in_capture(bool capturing);
void* stand_in_last_copy_stream();  // of copies from device to device
int stand_in_pointers_asked();      // how often where a pointer leads was asked so far
void stand_in_device_memory(const void* begin, const void* end, int ordinal = 0);
void stand_in_host_memory(const void* begin, const void* end);
}
