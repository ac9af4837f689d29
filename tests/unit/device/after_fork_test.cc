// The child of a process that uses CUDA has no GPU, and says so once.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "api/probe.h"
#include "device/device_info.h"

namespace {

// The runtime: two GPUs, of which a process that was forked from one that had asked gets an error, as from NVIDIA's.
pid_t initialised_in = 0;

}  // namespace

extern "C" {

cudaError_t CUDARTAPI cudaGetDeviceCount(int* count) {
  if (initialised_in != 0 && initialised_in != getpid()) return cudaErrorInitializationError;
  initialised_in = getpid();
  *count = 2;
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::memset(properties, 0, sizeof *properties);
  std::strcpy(properties->name, "pretended");
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 9;
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaGetDevice(int* device) {
  *device = 0;
  return initialised_in == getpid() ? cudaSuccess : cudaErrorInitializationError;
}

cudaError_t CUDARTAPI cudaSetDevice(int) {
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaGetLastError() {
  return cudaSuccess;
}

const char* CUDARTAPI cudaGetErrorString(cudaError_t) {
  return "an error of the test";
}

const char* CUDARTAPI cudaGetErrorName(cudaError_t) {
  return "cudaErrorOfTheTest";
}

cudaError_t CUDARTAPI cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t) {
  return cudaSuccess;
}

}  // extern "C"

namespace xgemm::test {
namespace {

bool has_no_gpu_for_its_parents_sake() {
  return device::device_count() == 0 && device::device_info(0) == nullptr && device::current_device() == 0 &&
         device::no_device_reason().find("forked") != std::string::npos;
}

// Of a child, 0 if check() holds there.
template <class Check>
int exit_code_of_child(const Check& check) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(check() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

// Which of the two asked first, libxgemm or the program, decides who finds out.
int look_in_child(bool library_asked) {
  int count = 0;
  if (library_asked && device::device_count() != 2) return 1;
  if (!library_asked && (cudaGetDeviceCount(&count) != cudaSuccess || count != 2)) return 2;
  if (exit_code_of_child([] { return has_no_gpu_for_its_parents_sake() && has_no_gpu_for_its_parents_sake(); }) != 0)
    return 3;
  return device::device_count() == 2 && device::device_info(1) != nullptr ? 0 : 4;
}

XGEMM_PROBE(after_the_library_asked) {
  return look_in_child(true);
}

XGEMM_PROBE(after_the_program_asked) {
  return look_in_child(false);
}

// Nobody had asked: the child's GPUs are its own, and its children have none.
XGEMM_PROBE(child_asks_first) {
  const int of_child = exit_code_of_child([] {
    return device::device_count() == 2 && exit_code_of_child([] { return has_no_gpu_for_its_parents_sake(); }) == 0;
  });
  if (of_child != 0) return 1;
  return device::device_count() == 2 ? 0 : 2;
}

TEST(AfterFork, AChildHasNoGpuAndSaysSoOnce) {
  for (const char* name : {"after_the_library_asked", "after_the_program_asked", "child_asks_first"}) {
    const ProbeResult quiet = run_probe(name);
    EXPECT_TRUE(quiet.ok()) << name << ": " << describe(quiet);
    EXPECT_EQ(quiet.err, "") << name;
    const ProbeResult verbose = run_probe(name, {{"XGEMM_VERBOSE", "1"}});
    EXPECT_TRUE(verbose.ok()) << name << ": " << describe(verbose);
    EXPECT_EQ(verbose.err_lines().size(), 1u) << name << ": " << verbose.err;
    EXPECT_NE(verbose.err.find("forked"), std::string::npos) << name << ": " << verbose.err;
  }
}

}  // namespace
}  // namespace xgemm::test
