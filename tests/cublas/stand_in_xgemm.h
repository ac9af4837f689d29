// What the stand-in for libxgemm tells tests.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "xgemm.h"

struct StandInProduct {
  xgemm_args args;
  float alpha;
  void* stream;
  void* workspace;
  size_t workspace_bytes;
  int scalar_location;
};

#pragma GCC visibility push(default)
extern "C" {
const StandInProduct* stand_in_product();  // the last one
int stand_in_products();
void stand_in_fail(int with);          // what xgemm_gemm returns from now on
void stand_in_within(void (*call)());  // called by xgemm_gemm
}
#pragma GCC visibility pop
