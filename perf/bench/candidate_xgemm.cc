// libxgemm as a candidate: linked, from a file, or a copy of it in which one kernel is forced.
// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <utility>

#include "bench/candidate.h"
#include "bench/dynamic_library.h"
#include "bench/input_error.h"
#include "xgemm.h"

namespace xgemm::perf {
namespace {

/// The part of the C interface that a candidate needs, from whichever copy of the library.
struct Interface {
  decltype(&xgemm_create) create = nullptr;
  decltype(&xgemm_destroy) destroy = nullptr;
  decltype(&xgemm_set_stream) set_stream = nullptr;
  decltype(&xgemm_set_math_mode) set_math_mode = nullptr;
  decltype(&xgemm_gemm) gemm = nullptr;
  decltype(&xgemm_explain) explain = nullptr;
  decltype(&xgemm_status_string) status_string = nullptr;
  decltype(&xgemm_last_error) last_error = nullptr;
  decltype(&xgemm_version_string) version_string = nullptr;
};

Interface linked_interface() {
  return {xgemm_create,  xgemm_destroy,       xgemm_set_stream, xgemm_set_math_mode, xgemm_gemm,
          xgemm_explain, xgemm_status_string, xgemm_last_error, xgemm_version_string};
}

/// An empty text, or the function that the library lacks.
std::string load(const DynamicLibrary& library, Interface& functions) {
  const auto load_one = [&](auto& function, const char* name, std::string& missing) {
    if (!library.load(function, name) && missing.empty()) missing = name;
  };
  std::string missing;
  load_one(functions.create, "xgemm_create", missing);
  load_one(functions.destroy, "xgemm_destroy", missing);
  load_one(functions.set_stream, "xgemm_set_stream", missing);
  load_one(functions.set_math_mode, "xgemm_set_math_mode", missing);
  load_one(functions.gemm, "xgemm_gemm", missing);
  load_one(functions.explain, "xgemm_explain", missing);
  load_one(functions.status_string, "xgemm_status_string", missing);
  load_one(functions.last_error, "xgemm_last_error", missing);
  load_one(functions.version_string, "xgemm_version_string", missing);
  return missing;
}

/// alpha and beta of a product of doubles.
struct WideScalars {
  explicit WideScalars(const Case& one) : alpha(one.alpha), beta(one.beta) {}
  double alpha, beta;
};

xgemm_args arguments(const Case& one, const OperandSet& operands, const WideScalars& wide) {
  xgemm_args args = XGEMM_ARGS_INIT;
  const char input = one.input().letter;
  args.type = input == 'h' ? XGEMM_F16 : input == 'b' ? XGEMM_BF16 : input == 'd' ? XGEMM_F64 : XGEMM_F32;
  if (one.output().letter != input) args.type_c = XGEMM_C_F32;
  args.layout = one.row_major ? XGEMM_ROW_MAJOR : XGEMM_COL_MAJOR;
  args.transa = one.transa;
  args.transb = one.transb;
  args.m = one.m;
  args.n = one.n;
  args.k = one.k;
  args.alpha = input == 'd' ? static_cast<const void*>(&wide.alpha) : &one.alpha;
  args.a = operands.a;
  args.lda = one.lda;
  args.b = operands.b;
  args.ldb = one.ldb;
  args.beta = input == 'd' ? static_cast<const void*>(&wide.beta) : &one.beta;
  args.c = operands.c;
  args.ldc = one.ldc;
  args.batch_count = one.batch;
  args.stride_a = one.stride_a;
  args.stride_b = one.stride_b;
  args.stride_c = one.stride_c;
  if (one.by_pointers) {
    args.batch_kind = XGEMM_BATCH_POINTERS;
    args.a = operands.a_pointers, args.b = operands.b_pointers;
    args.c = const_cast<void**>(operands.c_pointers);
  }
  if (one.has_bias()) args.bias = operands.a;
  args.activation = one.has_relu() ? XGEMM_RELU : one.has_gelu() ? XGEMM_GELU_TANH : XGEMM_NO_ACTIVATION;
  return args;
}

/// The value of `kernel=` in the first line of an explanation, or of `route=` where there is no kernel.
std::string kernel_in(const std::string& explanation) {
  const std::string line = explanation.substr(0, explanation.find('\n'));
  for (const char* key : {"kernel=", "route="}) {
    const std::size_t start = line.find(key);
    if (start == std::string::npos) continue;
    const std::size_t value = line.find('=', start) + 1;
    return line.substr(value, line.find(' ', value) - value);
  }
  return "";
}

class XgemmCandidate final : public Candidate {
 public:
  struct Setup {
    std::string name;
    std::string file;
    std::string forced;  // kernel or family; empty: the planner chooses
    bool ours = true;
    std::string prepared = "";  // operands, of the linked library alone
  };

  XgemmCandidate(Setup setup, const Interface& functions, Device& device, int math_mode)
      : setup_(std::move(setup)), functions_(functions), math_mode_(math_mode) {
    if (int status = functions_.create(&context_); status != XGEMM_SUCCESS) fail("xgemm_create", status);
    if (int status = functions_.set_stream(context_, device.stream()); status != XGEMM_SUCCESS)
      fail("xgemm_set_stream", status);
    if (int status = functions_.set_math_mode(context_, math_mode); status != XGEMM_SUCCESS)
      fail("xgemm_set_math_mode", status);
  }
  XgemmCandidate(const XgemmCandidate&) = delete;
  XgemmCandidate& operator=(const XgemmCandidate&) = delete;
  ~XgemmCandidate() override {
    release();
    functions_.destroy(context_);
  }

  const std::string& name() const override { return setup_.name; }
  std::string description() const override {
    return fmt::format("libxgemm {} ({})", functions_.version_string(), file_name(setup_.file));
  }
  bool is_xgemm() const override { return setup_.ours; }
  bool serves_all() const override { return setup_.ours && setup_.forced.empty(); }
  double operand_unit(const Case& one) const override {
    return math_mode_ == XGEMM_MATH_TF32 && one.type == 's' ? 0x1p-11 : 0;
  }

  std::string prepare(const Case& one, const OperandSet& example) override {
    release();
    const WideScalars wide(one);
    const xgemm_args args = arguments(one, example, wide);
    char text[4096] = "";
    const int status = functions_.explain(context_, &args, text, sizeof(text));
    plan_ = text;
    while (plan_.ends_with('\n')) plan_.pop_back();
    kernel_ = kernel_in(plan_);
    if (status != XGEMM_SUCCESS) return error_text(status);
    if (!setup_.forced.empty() && kernel_ != setup_.forced && !kernel_.starts_with(setup_.forced + "_"))
      return fmt::format("the kernel {} would run instead of {}", kernel_.empty() ? "?" : kernel_, setup_.forced);
    return "";
  }

  std::string prepare_operands(const Case& one, const OperandSet& operands) override {
    const WideScalars wide(one);
    const xgemm_args args = arguments(one, operands, wide);
    for (const char operand : setup_.prepared) {
      const bool is_a = operand == 'A';
      xgemm_prepared*& handle = prepared_[is_a ? operands.a : operands.b];
      const int status = xgemm_prepare(context_, &args, is_a ? XGEMM_ARG_A : XGEMM_ARG_B, &handle);
      if (status != XGEMM_SUCCESS) return error_text(status);
    }
    return "";
  }

  std::string run(const Case& one, const OperandSet& operands) override {
    const WideScalars wide(one);
    xgemm_args args = arguments(one, operands, wide);
    if (!prepared_.empty()) {
      const auto handle_of = [&](const void* data) {
        const auto found = prepared_.find(data);
        return found == prepared_.end() ? nullptr : found->second;
      };
      args.prepared_a = handle_of(args.a);
      args.prepared_b = handle_of(args.b);
    }
    const int status = functions_.gemm(context_, &args);
    return status == XGEMM_SUCCESS ? std::string() : error_text(status);
  }

  std::string kernel(const Case&, const OperandSet&) override { return kernel_; }
  std::string plan(const Case&, const OperandSet&) override { return plan_; }

 private:
  void release() {
    for (const auto& [data, handle] : prepared_) xgemm_release(handle);
    prepared_.clear();
  }
  std::string error_text(int status) const {
    const std::string detail = functions_.last_error();
    return detail.empty() ? functions_.status_string(status) : detail;
  }
  [[noreturn]] void fail(const char* call, int status) const {
    throw InputError(fmt::format("{}: {}: {}", setup_.file, call, error_text(status)));
  }

  Setup setup_;
  Interface functions_;
  int math_mode_;
  xgemm_context* context_ = nullptr;
  std::string kernel_;
  std::string plan_;
  std::map<const void*, xgemm_prepared*> prepared_;  // by operand
};

std::unique_ptr<Candidate> make_from(const DynamicLibrary& library, XgemmCandidate::Setup setup, Device& device,
                                     int math_mode) {
  if (!library) throw InputError(fmt::format("{}: {}", setup.file, library.error()));
  Interface functions;
  if (const std::string missing = load(library, functions); !missing.empty())
    throw InputError(fmt::format("{}: has no function {}", setup.file, missing));
  return std::make_unique<XgemmCandidate>(std::move(setup), functions, device, math_mode);
}

/// An environment variable for as long as the object lives.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name); before != nullptr) {
      had_value_ = true;
      before_ = before;
    }
    setenv(name, value.c_str(), 1);
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;
  ~ScopedVariable() {
    if (had_value_)
      setenv(name_, before_.c_str(), 1);
    else
      unsetenv(name_);
  }

 private:
  const char* name_;
  bool had_value_ = false;
  std::string before_;
};

/// A copy of the linked library under a name of its own: the dynamic linker takes it for another library. The file is
/// gone when the object is; the mapping stays.
class TemporaryCopy {
 public:
  explicit TemporaryCopy(const std::string& file) {
    std::string pattern = (std::filesystem::temp_directory_path() / "xgemm-bench-XXXXXX").string();
    const int descriptor = mkstemp(pattern.data());
    if (descriptor < 0) throw InputError(fmt::format("{}: no temporary file can be made", pattern));
    close(descriptor);
    path_ = pattern;
    std::filesystem::copy_file(file, path_, std::filesystem::copy_options::overwrite_existing);
  }
  TemporaryCopy(const TemporaryCopy&) = delete;
  TemporaryCopy& operator=(const TemporaryCopy&) = delete;
  ~TemporaryCopy() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string linked_file() {
  return file_of_address(reinterpret_cast<const void*>(&xgemm_gemm));
}

}  // namespace

std::unique_ptr<Candidate> make_xgemm(Device& device, int math_mode, const std::string& prepared) {
  return std::make_unique<XgemmCandidate>(XgemmCandidate::Setup{"xgemm", linked_file(), "", true, prepared},
                                          linked_interface(), device, math_mode);
}

std::unique_ptr<Candidate> make_against(const std::string& path, Device& device, int math_mode) {
  // A name with a slash: otherwise dlopen() would look for it on the library path and might answer with our own.
  const std::string file = std::filesystem::absolute(path).string();
  const std::string name = std::filesystem::path(path).filename().string();
  return make_from(DynamicLibrary({file}), {"against:" + name, file, "", false}, device, math_mode);
}

std::unique_ptr<Candidate> make_forced(const std::string& kernel, Device& device, int math_mode) {
  const auto instances = kernel_instances();
  const bool known = std::any_of(instances.begin(), instances.end(), [&](const std::string& instance) {
    return instance == kernel || instance.starts_with(kernel + "_");
  });
  if (!known)
    throw InputError(
        fmt::format("--kernel: this libxgemm has no kernel '{}' (--list-kernels shows what it has)", kernel));
  const ScopedVariable forced("XGEMM_FORCE_KERNEL", kernel);
  const TemporaryCopy copy(linked_file());
  auto candidate =
      make_from(DynamicLibrary({copy.path()}), {"xgemm:" + kernel, linked_file(), kernel, true}, device, math_mode);
  // The first look at a call makes the library read its environment, if creating a context has not.
  Case one;
  one.m = one.n = one.k = 1;
  one.set_dense_layout(0);
  float values[3] = {0, 0, 0};
  (void)candidate->prepare(one, {&values[0], &values[1], &values[2]});
  return candidate;
}

std::vector<std::string> kernel_instances() {
  std::vector<std::string> names;
  for (int i = 0; i < xgemm_kernel_count(); ++i)
    if (const char* name = xgemm_kernel_name(i); name != nullptr) names.emplace_back(name);
  return names;
}

std::string family_of(const std::string& instance) {
  // Families are words; what follows is a type or starts with a digit.
  static const std::regex kInstancePart("_(b?f[0-9]|[0-9]).*$");
  return std::regex_replace(instance, kInstancePart, "");
}

std::vector<std::string> kernel_families() {
  std::vector<std::string> families;  // in the order of the ladder, as the library lists its kernels
  for (const std::string& instance : kernel_instances()) {
    const std::string family = family_of(instance);
    if (std::find(families.begin(), families.end(), family) == families.end()) families.push_back(family);
  }
  return families;
}

}  // namespace xgemm::perf
