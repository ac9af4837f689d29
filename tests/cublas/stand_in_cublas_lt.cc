// libcublasLt.so.12 and libcublasLt.so.13 without a GPU (stand_in.h): descriptors are tables of attributes. Version 12
// does not know the mode of batches.
#include <atomic>
#include <cstddef>
#include <cstring>
#include <map>
#include <vector>

#include "stand_in.h"
#include "stand_in_product.h"

using namespace xgemm::cublas;

namespace {

std::atomic<int> calls{0};

struct Descriptor {
  std::map<int, std::vector<char>> attributes;

  template <class T>
  void set(int attribute, T value) {
    attributes[attribute].resize(sizeof value);
    std::memcpy(attributes[attribute].data(), &value, sizeof value);
  }
  template <class T>
  T get(int attribute) const {
    T value{};
    std::memcpy(&value, attributes.at(attribute).data(), sizeof value);
    return value;
  }
};

int set_attribute(void* descriptor, int attribute, const void* value, std::size_t size) {
  auto& attributes = static_cast<Descriptor*>(descriptor)->attributes;
  const auto found = attributes.find(attribute);
  if (found == attributes.end() || found->second.size() != size) return 7;
  std::memcpy(found->second.data(), value, size);
  return kSuccess;
}

int get_attribute(const void* descriptor, int attribute, void* value, std::size_t size, std::size_t* written) {
  const auto& attributes = static_cast<const Descriptor*>(descriptor)->attributes;
  const auto found = attributes.find(attribute);
  if (found == attributes.end() || found->second.size() != size) return 7;
  std::memcpy(value, found->second.data(), size);
  *written = size;
  return kSuccess;
}

Operand operand(const void* data, const Descriptor& layout) {
  return {data, static_cast<int>(layout.get<std::uint32_t>(kLayoutType)), layout.get<std::int64_t>(kLayoutLd),
          layout.get<std::int64_t>(kLayoutBatchStride)};
}

}  // namespace

extern "C" {

#pragma GCC visibility push(default)

int cublasLtMatmulDescCreate(void** descriptor, int compute, int scale) {
  auto* const made = new Descriptor;
  made->set<std::int32_t>(kMatmulComputeType, compute);
  made->set<std::int32_t>(kMatmulScaleType, scale);
  for (const int attribute : {kMatmulPointerMode, kMatmulTransA, kMatmulTransB, kMatmulTransC, kMatmulSmCountTarget})
    made->set<std::int32_t>(attribute, 0);
  made->set<std::int32_t>(kMatmulFillMode, kFillFull);
  made->set<std::uint32_t>(kMatmulEpilogue, kEpilogueDefault);
  for (const int attribute : {kMatmulAtomicRows, kMatmulAtomicCols}) made->set<std::int32_t>(attribute, 0);
  for (const int attribute : {kMatmulAtomicIn, kMatmulAtomicOut}) made->set<void*>(attribute, nullptr);
  for (const int attribute : {kMatmulAScale, kMatmulBScale, kMatmulCScale, kMatmulDScale, kMatmulAmaxD})
    made->set<void*>(attribute, nullptr);
  made->set<const void*>(kMatmulBias, nullptr);
  made->set<std::int64_t>(kMatmulBiasBatchStride, 0);
  made->set<void*>(kMatmulAux, nullptr);
  made->set<std::int64_t>(kMatmulAuxLd, 0);
  made->set<std::int64_t>(kMatmulAuxBatchStride, 0);
  made->set<std::int32_t>(kMatmulAuxType, -1);
  made->set<std::int32_t>(kMatmulBiasType, -1);
  *descriptor = made;
  return kSuccess;
}
int cublasLtMatmulDescDestroy(void* descriptor) {
  delete static_cast<Descriptor*>(descriptor);
  return kSuccess;
}
int cublasLtMatrixLayoutCreate(void** layout, int type, std::uint64_t rows, std::uint64_t cols, std::int64_t ld) {
  auto* const made = new Descriptor;
  made->set<std::uint32_t>(kLayoutType, type);
  made->set<std::int32_t>(kLayoutOrder, kOrderCol);
  made->set<std::uint64_t>(kLayoutRows, rows);
  made->set<std::uint64_t>(kLayoutCols, cols);
  made->set<std::int64_t>(kLayoutLd, ld);
  made->set<std::int32_t>(kLayoutBatchCount, 1);
  made->set<std::int64_t>(kLayoutBatchStride, 0);
  made->set<std::int64_t>(kLayoutPlaneOffset, 0);
  if (STAND_IN_VERSION >= 13) made->set<std::uint32_t>(kLayoutBatchMode, kBatchStrided);
  *layout = made;
  return kSuccess;
}
int cublasLtMatrixLayoutDestroy(void* layout) {
  delete static_cast<Descriptor*>(layout);
  return kSuccess;
}
int cublasLtMatmulDescSetAttribute(void* descriptor, int attribute, const void* value, std::size_t size) {
  return set_attribute(descriptor, attribute, value, size);
}
int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value, std::size_t size) {
  return set_attribute(layout, attribute, value, size);
}
int cublasLtMatmulDescGetAttribute(const void* descriptor, int attribute, void* value, std::size_t size,
                                   std::size_t* written) {
  return get_attribute(descriptor, attribute, value, size, written);
}
int cublasLtMatrixLayoutGetAttribute(const void* layout, int attribute, void* value, std::size_t size,
                                     std::size_t* written) {
  return get_attribute(layout, attribute, value, size, written);
}

// Computes only what tests forward and look at: column-major, a single product.
int cublasLtMatmul(Handle, const void* operation, const void* alpha, const void* a, const void* a_layout, const void* b,
                   const void* b_layout, const void* beta, const void* c, const void*, void* d, void* d_layout,
                   const void*, void*, std::size_t, void*) {
  ++calls;
  const auto& what = *static_cast<const Descriptor*>(operation);
  const auto& out = *static_cast<const Descriptor*>(d_layout);
  Call call;
  call.compute = what.get<std::int32_t>(kMatmulComputeType);
  call.transa = what.get<std::int32_t>(kMatmulTransA);
  call.transb = what.get<std::int32_t>(kMatmulTransB);
  call.a = operand(a, *static_cast<const Descriptor*>(a_layout));
  call.b = operand(b, *static_cast<const Descriptor*>(b_layout));
  call.c = operand(d, out);
  call.m = static_cast<std::int64_t>(out.get<std::uint64_t>(kLayoutRows));
  call.n = static_cast<std::int64_t>(out.get<std::uint64_t>(kLayoutCols));
  const auto& left = *static_cast<const Descriptor*>(a_layout);
  call.k = static_cast<std::int64_t>(left.get<std::uint64_t>(call.transa == kOpN ? kLayoutCols : kLayoutRows));
  return xgemm::test::multiply_by_definition(call, xgemm::test::scalar(alpha, call.compute),
                                             xgemm::test::scalar(beta, call.compute), c)
             ? kSuccess
             : 7;
}

int stand_in_lt_calls() {
  return calls;
}

#pragma GCC visibility pop

}  // extern "C"
