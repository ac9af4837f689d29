// A program as frameworks are: it loads plugins, linked with one version of cuBLAS each, into scopes of their own, and
// they multiply. Compiled as a plugin (PLUGIN) and as the program:
//
//     program PLUGIN... [-- WHAT...]      what: fork, threads, none, exit (a product after main)
//
// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#ifdef PLUGIN

#include "routines.h"

using namespace xgemm::cublas;

// One product of each of two kinds: of ones, 200x100x50 in fp32, and with beta = 1 in fp16, 64x64x64. True if right.
extern "C" [[gnu::visibility("default")]] bool multiply() {
  Handle handle = nullptr;
  cublasCreate_v2(&handle);
  if (const char* const mode = std::getenv("PLUGIN_MATH_MODE")) cublasSetMathMode(handle, std::atoi(mode));
  const float one = 1, zero = 0;
  std::vector<float> a(200 * 50, 1.0f), b(50 * 100, 1.0f), c(200 * 100, -1.0f);
  bool good = cublasSgemm_v2(handle, kOpN, kOpN, 200, 100, 50, &one, a.data(), 200, b.data(), 50, &zero, c.data(),
                             200) == kSuccess;
  for (const float x : c) good = good && x == 50.0f;
  constexpr std::uint16_t kOne = 0x3c00, k65 = 0x5410;
  std::vector<std::uint16_t> h(64 * 64, kOne), out(64 * 64, kOne);
  good = good && cublasGemmEx(handle, kOpT, kOpN, 64, 64, 64, &one, h.data(), kReal16F, 64, h.data(), kReal16F, 64,
                              &one, out.data(), kReal16F, 64, kCompute32F, kDefaultAlgorithm) == kSuccess;
  for (const std::uint16_t x : out) good = good && x == k65;
  cublasDestroy_v2(handle);
  return good;
}

#else

namespace {

bool (*last_multiply)() = nullptr;

int run(const std::vector<std::string>& plugins, const std::vector<std::string>& what) {
  int wrong = 0;
  const auto asked = [&](const char* word) {
    for (const std::string& w : what)
      if (w == word) return true;
    return false;
  };
  for (const std::string& plugin : plugins) {
    void* const handle = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      std::printf("%s\n", dlerror());
      return 2;
    }
    const auto multiply = reinterpret_cast<bool (*)()>(dlsym(handle, "multiply"));
    last_multiply = multiply;
    if (asked("none")) continue;
    if (asked("fork")) {
      const pid_t child = fork();
      if (child == 0) std::exit(multiply() ? 0 : 1);
      int status = 0;
      waitpid(child, &status, 0);
      if (status != 0) ++wrong;
    }
    std::vector<std::thread> threads;
    std::vector<int> results(asked("threads") ? 4 : 0);
    for (int& result : results) threads.emplace_back([&result, multiply] { result = multiply() ? 0 : 1; });
    for (std::thread& thread : threads) thread.join();
    for (const int result : results) wrong += result;
    if (!multiply()) ++wrong;
  }
  if (asked("exit")) std::atexit([] { std::printf("after main: %s\n", last_multiply() ? "right" : "wrong"); });
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> plugins, what;
  bool of_what = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--") == 0)
      of_what = true;
    else
      (of_what ? what : plugins).push_back(argv[i]);
  }
  const int wrong = run(plugins, what);
  std::printf("%d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}

#endif
