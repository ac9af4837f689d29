// cublasLt as a candidate, opened at run time: its first heuristic, with a workspace of 32 MiB and the epilogue in its
// kernel. Its prototypes are written down here from its public documentation, so that building needs none of its
// headers. SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "bench/candidate.h"
#include "bench/dynamic_library.h"

namespace xgemm::perf {
namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;
constexpr int kReal32 = 0, kReal64 = 1, kReal16 = 2, kBrain16 = 14;  // cudaDataType
constexpr int kComputeFloat = 68, kComputeDouble = 70;               // cublasComputeType_t
constexpr int kTransA = 3, kTransB = 4, kEpilogue = 7, kBias = 8;    // cublasLtMatmulDescAttributes_t
constexpr int kDefault = 1, kRelu = 2, kWithBias = 4, kGelu = 32;    // cublasLtEpilogue_t
constexpr int kBatchCount = 5, kBatchStride = 6;                     // cublasLtMatrixLayoutAttribute_t
constexpr int kMostWorkspace = 1;                                    // cublasLtMatmulPreferenceAttributes_t
using Pointer = void*;

/// cublasLtMatmulHeuristicResult_t.
struct Heuristic {
  std::uint64_t algorithm[8];
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

struct CublasLt {
  int (*create)(Pointer*) = nullptr;
  int (*destroy)(Pointer) = nullptr;
  std::size_t (*version)() = nullptr;
  int (*make_operation)(Pointer*, int, int) = nullptr;
  int (*set_operation)(Pointer, int, const void*, std::size_t) = nullptr;
  int (*free_operation)(Pointer) = nullptr;
  int (*make_layout)(Pointer*, int, std::uint64_t, std::uint64_t, std::int64_t) = nullptr;
  int (*set_layout)(Pointer, int, const void*, std::size_t) = nullptr;
  int (*free_layout)(Pointer) = nullptr;
  int (*make_preference)(Pointer*) = nullptr;
  int (*set_preference)(Pointer, int, const void*, std::size_t) = nullptr;
  int (*free_preference)(Pointer) = nullptr;
  int (*ask)(Pointer, Pointer, Pointer, Pointer, Pointer, Pointer, Pointer, int, Heuristic*, int*) = nullptr;
  int (*multiply)(Pointer, Pointer, const void*, const void*, Pointer, const void*, Pointer, const void*, const void*,
                  Pointer, void*, Pointer, const void*, void*, std::size_t, void*) = nullptr;
};

bool load(const DynamicLibrary& library, CublasLt& lt) {
  return library.load(lt.create, "cublasLtCreate") && library.load(lt.destroy, "cublasLtDestroy") &&
         library.load(lt.version, "cublasLtGetVersion") &&
         library.load(lt.make_operation, "cublasLtMatmulDescCreate") &&
         library.load(lt.set_operation, "cublasLtMatmulDescSetAttribute") &&
         library.load(lt.free_operation, "cublasLtMatmulDescDestroy") &&
         library.load(lt.make_layout, "cublasLtMatrixLayoutCreate") &&
         library.load(lt.set_layout, "cublasLtMatrixLayoutSetAttribute") &&
         library.load(lt.free_layout, "cublasLtMatrixLayoutDestroy") &&
         library.load(lt.make_preference, "cublasLtMatmulPreferenceCreate") &&
         library.load(lt.set_preference, "cublasLtMatmulPreferenceSetAttribute") &&
         library.load(lt.free_preference, "cublasLtMatmulPreferenceDestroy") &&
         library.load(lt.ask, "cublasLtMatmulAlgoGetHeuristic") && library.load(lt.multiply, "cublasLtMatmul");
}

int type_of(const Element& element) {
  switch (element.letter) {
    case 'h':
      return kReal16;
    case 'b':
      return kBrain16;
    case 'd':
      return kReal64;
    default:
      return kReal32;
  }
}

class CublasLtCandidate final : public Candidate {
 public:
  CublasLtCandidate(std::string description, const CublasLt& lt, Pointer handle, Device& device, void* workspace)
      : description_(std::move(description)), lt_(lt), handle_(handle), device_(device), workspace_(workspace) {}
  CublasLtCandidate(const CublasLtCandidate&) = delete;
  CublasLtCandidate& operator=(const CublasLtCandidate&) = delete;
  ~CublasLtCandidate() override {
    forget();
    lt_.destroy(handle_);
    device_.release('d', workspace_);
  }

  const std::string& name() const override { return name_; }
  std::string description() const override { return description_; }

  std::string prepare(const Case& one, const OperandSet& example) override {
    forget();
    if (one.location != "ddd") return "serves device memory only";
    if (one.by_pointers) return "knows no arrays of pointers";
    const ColumnMajorCall x = column_major(one, example);
    const bool doubles = one.input().letter == 'd';
    int status = lt_.make_operation(&operation_, doubles ? kComputeDouble : kComputeFloat, doubles ? kReal64 : kReal32);
    const auto set = [&](int attribute, const auto& value) {
      if (status == 0) status = lt_.set_operation(operation_, attribute, &value, sizeof value);
    };
    set(kTransA, int{x.transa != 'N'});
    set(kTransB, int{x.transb != 'N'});
    set(kEpilogue, one.epilogue.empty() ? kDefault
                                        : (one.has_bias() ? kWithBias : 0) | (one.has_relu()   ? kRelu
                                                                              : one.has_gelu() ? kGelu
                                                                                               : 0));
    if (one.has_bias()) set(kBias, example.a);
    const auto layout = [&](int i, const Element& element, bool transposed, std::int64_t rows, std::int64_t columns,
                            std::int64_t ld, std::int64_t stride) {
      if (transposed) std::swap(rows, columns);
      if (status == 0)
        status = lt_.make_layout(&layouts_[static_cast<std::size_t>(i)], type_of(element),
                                 static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), ld);
      const auto count = static_cast<std::int32_t>(one.batch);
      Pointer& made = layouts_[static_cast<std::size_t>(i)];
      if (status == 0) status = lt_.set_layout(made, kBatchCount, &count, sizeof count);
      if (status == 0) status = lt_.set_layout(made, kBatchStride, &stride, sizeof stride);
    };
    layout(0, one.input(), x.transa != 'N', x.m, x.k, x.lda, x.stride_a);
    layout(1, one.input(), x.transb != 'N', x.k, x.n, x.ldb, x.stride_b);
    layout(2, one.output(), false, x.m, x.n, x.ldc, x.stride_c);
    Pointer preference = nullptr;
    if (status == 0) status = lt_.make_preference(&preference);
    if (status == 0) status = lt_.set_preference(preference, kMostWorkspace, &kWorkspace, sizeof kWorkspace);
    int found = 0;
    if (status == 0)
      status = lt_.ask(handle_, operation_, layouts_[0], layouts_[1], layouts_[2], layouts_[2], preference, 1,
                       &heuristic_, &found);
    if (preference != nullptr) lt_.free_preference(preference);
    return status == 0 && found == 1 ? "" : fmt::format("cublasLt has no algorithm (status {})", status);
  }

  std::string run(const Case& one, const OperandSet& operands) override {
    const ColumnMajorCall x = column_major(one, operands);
    const double alpha = one.alpha, beta = one.beta;
    const bool doubles = one.input().letter == 'd';
    // The bias lies in A, and each set of operands has its own.
    int status = one.has_bias() ? lt_.set_operation(operation_, kBias, &operands.a, sizeof operands.a) : 0;
    if (status == 0)
      status =
          lt_.multiply(handle_, operation_, doubles ? static_cast<const void*>(&alpha) : &one.alpha, x.a, layouts_[0],
                       x.b, layouts_[1], doubles ? static_cast<const void*>(&beta) : &one.beta, x.c, layouts_[2], x.c,
                       layouts_[2], heuristic_.algorithm, workspace_, kWorkspace, device_.stream());
    return status == 0 ? "" : fmt::format("cublasLt status {}", status);
  }

 private:
  void forget() {
    if (operation_ != nullptr) lt_.free_operation(operation_);
    operation_ = nullptr;
    for (Pointer& layout : layouts_) {
      if (layout != nullptr) lt_.free_layout(layout);
      layout = nullptr;
    }
  }

  std::string name_ = "cublaslt";
  std::string description_;
  CublasLt lt_;
  Pointer handle_;
  Device& device_;
  void* workspace_;
  Pointer operation_ = nullptr;
  std::array<Pointer, 3> layouts_{};
  Heuristic heuristic_{};
};

}  // namespace

std::unique_ptr<Candidate> make_cublaslt(Device& device, std::string& why) {
  if (!device.facts().is_gpu) {
    why = "no GPU";
    return nullptr;
  }
  std::vector<std::string> names;
  for (const char* folder : {"", "/usr/local/cuda/lib64/"})
    for (const char* version : {".13", ".12"}) names.push_back(fmt::format("{}libcublasLt.so{}", folder, version));
  const DynamicLibrary library(names);
  CublasLt lt;
  if (!library || !load(library, lt)) {
    why = library ? library.path() + " lacks functions" : library.error();
    return nullptr;
  }
  Pointer handle = nullptr;
  if (const int status = lt.create(&handle); status != 0) {
    why = fmt::format("cublasLtCreate: status {}", status);
    return nullptr;
  }
  void* const workspace = device.allocate('d', kWorkspace);
  if (workspace == nullptr) {
    lt.destroy(handle);
    why = "no memory for its workspace";
    return nullptr;
  }
  const std::string description = fmt::format("cublasLt {} ({}), its first heuristic with 32 MiB workspace",
                                              lt.version(), file_name(library.path()));
  return std::make_unique<CublasLtCandidate>(description, lt, handle, device, workspace);
}

}  // namespace xgemm::perf
